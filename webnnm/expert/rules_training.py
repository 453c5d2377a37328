"""Rules on the course of a training, and on its result (spec E901–E924).

Thresholds without another source were measured on the programs of tests/teach: sound programs stay
on the other side of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from itertools import pairwise
from typing import Any

from webnnm.core.finding import Severity
from webnnm.expert.course import (
    chance,
    course,
    doubt,
    highest_rate,
    monitored,
    percent,
    relative,
    right,
    skill,
    updates,
    usual_rate,
)
from webnnm.expert.facts import Facts, HistoryFacts, PredictionFacts
from webnnm.expert.paths import pools_without_order, pools_without_places
from webnnm.expert.rule import FOUND, Hit, Test, grouped, listed, rule

UNMOVED, UNCHANGED = 0.05, 0.1
"""Weights moved by less than the first share of their norm, losses fell by less than the second."""
UNLEARNT = 0.3
"""Losses above this, relative to a constant prediction, leave something to learn."""
CONVERGED = 0.03
"""Losses below this are as good as 0."""
EARLY = 0.005
"""A loss that changed by at most this much, in a third of the epochs, does not move."""
FEW_EPOCHS = 3
"""Fewer epochs show no course."""
FALLING, FALLING_FAST = 0.05, 0.45
"""A loss that falls by this much in the last quarter, or half, of a training has not converged."""
SLOW = 3
"""A rate this many times below the default of the optimizer explains slow learning."""
FEW_UPDATES = 100
"""The defaults make 300 updates for 300 rows."""
LEARNT = 0.9
"""Skill on other rows that leaves little for further epochs."""
RISEN, WORSE = 2, 1.25
"""A validation loss this many times the best one has risen, or is worse to keep."""
LITTLE = 0.3
"""Skill on training rows from which it may be memorising."""
GAP, GAP_RIGHT = 0.2, 0.15
"""Skill on training rows minus skill on other rows, beyond chance; and the same of accuracies."""
USEFUL = 0.5
"""Skill on other rows of a model in which overfitting was limited as far as possible."""
CLEARLY = 0.1
"""A share of the loss of a constant prediction, so that losses close to 0 may rise."""
UNLIKE = 5
"""Ratio of validation losses to training losses, from the first epochs on."""
DEAD, SATURATED = 0.5, 0.75
"""A share of a layer's units, and of its values, that leaves less than half of the layer."""
VANISHED = 1e-4
"""Ratio of the gradients of two layers below which no single rate fits both."""
STILL, MOVING = 1e-3, 0.05
"""A weight moved by less than `STILL` of its norm while another one moved by `MOVING`."""
LEAPT = 10
"""A weight that moved by this many times its norm has nothing left of its initial value."""
FEW_ROWS = 8
"""Gradients of fewer rows are noise that a rate for 20 rows does not average out."""
HEAVY = 0.95
"""Momentum m remembers 1/(1 − m) steps: over 20 steps or more, the loss surface has changed."""
ABOVE = 1.1
LEAP, LEAPS = 1.2, 0.15
"""A loss `LEAP` times that of the epoch before, in a share `LEAPS` of the epochs."""
LOW_RATE, IDLE = 0.02, 0.4
"""A rate below the first share of the highest does little; the second is a share of the epochs."""
RISING = 0.8
"""A rate that is highest after this share of the epochs has been warming up all along."""
HURRIED, IMPATIENT = 0.3, 10
"""Validation losses are noisy: a patience below 10 epochs can end a training by chance."""
OVERFLOWS = 0.1
"""Gradient scaling skips a step now and then to find its scale, but not one in ten."""
CREPT = 0.01
CLIPPED = 0.9
"""Clipping is for peaks; with this share of clipped steps there are no peaks."""
BEHIND, NEIGHBOURS = 0.15, 200
"""The share of rows by which nearest neighbours beat a model, and the number of rows examined."""
HINDERING = (
    *("E305", "E310", "E313", "E314", "E315", "E316", "E318", "E321", "E322", "E324", "E331"),
    *("E409", "E410", "E415", "E603", "E624", "E630", "E901", "E909", "E910", "E913", "E920"),
)
"""Rules that explain why a model learns nothing, whether or not its layers know positions."""
HARDLY = 0.2
"""A class predicted for a smaller share of its rows is as good as never predicted."""
RARE = 3
"""With this many rows of a class, at least one would be predicted by chance."""


HistoryTest = Callable[[Facts, HistoryFacts], Hit | None]


def after(
    id: str, severity: Severity, remedy: str, *, early: bool = False, **more: Any
) -> Callable[[HistoryTest], Test]:
    """Declare a rule on a training that has ended; an `early` one is also applied while it runs."""

    def declare(test: HistoryTest) -> Test:
        @wraps(test)
        def guarded(facts: Facts) -> Hit | None:
            history = facts.history
            if history is None or not history.epochs or not (history.ended or early):
                return None
            return test(facts, history)

        return rule(id, severity, remedy, early=early, **more)(guarded)

    return declare


@after(
    "E901",
    "warning",
    "Raise lr, at least to the default of the optimizer.",
    early=True,
    raises=["lr"],
)
def unmoved(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The training loss hardly fell, and no weight moved by more than 5 % of its norm.

    Parameters that moved by less than 5 % of their norm are where they started, and the loss
    confirms it. Most often the rate is too low by orders of magnitude.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [1 - i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, lr=1e-7)
    >>> print(*[found for found in history.findings if found.id == "E901"])
    warning E901: the training loss fell by 0.00056 % in 20 epochs at lr 1e-07, and no weight ...
      → Raise lr, at least to the default of the optimizer.

    Ignore it where the parameters were pretrained and need no further training.
    """
    losses = course(history)
    if len(losses) < FEW_EPOCHS or losses[-1] < UNLEARNT or history.settings.get("freeze"):
        return None
    fallen = 1 - losses[-1] / losses[0] if losses[0] else 0.0
    moved = max(history.moved.values(), default=None)
    if history.ended:
        if moved is None or moved > UNMOVED or abs(fallen) > UNCHANGED:
            return None
    elif abs(fallen) > EARLY:
        return None
    rate, usual = history.settings.get("lr", 0.0), usual_rate(history)
    way = "" if moved is None else f", and no weight moved by more than {percent(moved)}"
    return Hit(
        message=f"the training loss fell by {percent(max(0.0, fallen))} in {len(losses)} epochs at "
        f"lr {rate:g}{way}",
        evidence={"losses": [losses[0], losses[-1]], "moved": moved, "lr": rate},
        fix={"lr": usual if rate < usual else 10 * rate},
    )


@after(
    "E902",
    "warning",
    "Check that the inputs and labels of each row belong together, add features that predict the "
    "label, or add layers and epochs to learn it.",
    confidence=0.8,
)
def nothing_learnt(facts: Facts, history: HistoryFacts) -> Hit | None:
    """An output is no better than a constant prediction: its skill could be chance (95 %) on rows
    that were not trained on, if there are any, and is below 0.3 on training rows. It may be above
    0.3 if so many rows were held back that chance is below half of it; not what E903, E923 or E924
    reports.

    The constant prediction is the mean, or the most frequent class. A model may be no better in a
    test only by chance; hence the 95 % bound and the check of the training rows.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(300)]
    >>> data = Dataset(rows, [i * i * 7919 % 1009 % 2 for i in range(300)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E902"])
    warning E902: m: 108 of 210 right on training rows, 46 of 90 right on testing rows: no ...
      → Add a hidden layer with an activation, or features.

    Ignore it where the purpose was to show that nothing can be learnt.
    """
    if (updates(facts, history) or FEW_UPDATES) < FEW_UPDATES or _pooled_away(facts, history):
        return None
    found = {
        name: f"{name}: {_scores(history, name)}"
        for name in history.predictions
        if _nothing(history, name)
    }
    linear = facts.profile.heavy_ops == 1
    more = {"remedy": "Add a hidden layer with an activation, or features."} if linear else {}
    more = {"remedy": words} if (words := _words(facts)) else more
    return grouped(found, tail=": no better than a constant prediction", **more)


def _nothing(history: HistoryFacts, name: str) -> bool:
    """Return whether an output is no better than a constant prediction, and memorised nothing."""
    trained = history.predictions[name]
    held = history.held_out.get(name, trained)
    known, other, bound = skill(trained), skill(held), chance(held)
    if known is None or other is None or _missed(trained) or other > bound:
        return False
    by_heart = _by_heart(history, name) is not None
    return not by_heart and not (known > LITTLE and bound >= known / 2)


def _words(facts: Facts) -> str:
    """Return what to do about numbers that may be token ids, "" if there are none."""
    known = facts.data.suspicions.get("E903")
    if known is None:
        return ""
    return (
        "If the numbers stand for words or categories, declare int32 tokens and begin with an "
        f"embedding: embedding(table, size={known.evidence['size']}). They have no order, and "
        "products treat them as quantities."
    )


def _pooled_away(facts: Facts, history: HistoryFacts) -> list[str]:
    """Return the layers that pool without order or position, if the model is at chance."""
    return _order_lost(facts, history) or _places_lost(facts, history)


def _order_lost(facts: Facts, history: HistoryFacts) -> list[str]:
    """Return the layers that pool a sequence without its order, if the model is at chance."""
    return pools_without_order(facts.network) if _at_chance(facts, history) else []


def _places_lost(facts: Facts, history: HistoryFacts) -> list[str]:
    """Return the layers that pool over all positions of a picture, if the model is at chance and
    nothing else is known that would prevent learning."""
    if not _at_chance(facts, history):
        return []
    pools = pools_without_places(facts.network)
    known = (FOUND[id].test(facts) for id in HINDERING if id in FOUND)
    return [] if pools and any(hit and hit.severity != "info" for hit in known) else pools


def _at_chance(facts: Facts, history: HistoryFacts) -> bool:
    """Return whether the only output is at chance on other rows after enough training."""
    ((name, trained), *others) = [*history.predictions.items()] or [("", None)]
    if trained is None or others or (updates(facts, history) or FEW_UPDATES) < FEW_UPDATES:
        return False
    held = history.held_out.get(name, trained)
    other = skill(held)
    if other is None or other > chance(held):
        return False
    return _nothing(history, name) or _by_heart(history, name) is not None


@after(
    "E903",
    "warning",
    "Gather more rows, use a smaller model, regularise, or look for more informative features.",
    confidence=0.8,
    lowers=["capacity"],
    raises=["regularisation"],
)
def learnt_by_heart(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The skill of an output on training rows is more than 0.2 above that on other rows, beyond
    what chance (95 %) explains; only information where there already is dropout or a penalty and
    the skill on other rows is 0.5 or more; not what E923 or E924 reports, and not for MAE or HUL on
    targets with outliers, which dominate R².

    What is right on training rows and wrong on others was memorised. Some gap is normal; 0.2 beyond
    what chance explains costs more than a simpler model would. Whole numbers that look like tokens
    of one vocabulary, and are only memorised, should be looked up in an embedding.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[20]; m:output shape=[2]; "
    >>> text += "m:layers matmul(w, shape=[64]), add(b), relu(), matmul(v), softmax();"
    >>> rows = [[(i * 7 + 1) * (k + 3) * 0.618 % 1 for k in range(20)] for i in range(120)]
    >>> data = Dataset(rows, [i * i * 7919 % 1009 % 2 for i in range(120)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=100)
    >>> print(*[found for found in history.findings if found.id == "E903"])
    warning E903: m: 81 of 84 right on training rows, 14 of 36 right on testing rows: training ...
      → Gather more rows, use a smaller model, regularise, or look for more informative features.

    Ignore it where no model reaches a higher score on other rows.
    """
    if _pooled_away(facts, history):
        return None
    found: dict[str, str] = {}
    least, guessed = 1.0, False
    robust = {
        o.name
        for o in facts.outputs
        if o.loss in ("MAE", "HUL") and o.labels is not None and o.labels.outliers
    }
    for name in history.predictions:
        if name not in robust and (other := _by_heart(history, name)) is not None:
            found[name] = f"{name}: {_scores(history, name)}"
            least = min(least, other)
            guessed |= other <= chance(history.held_out[name])
    careful = facts.profile.dropout_count or "regularization" in facts.given
    noted: Any = {"severity": "info"} if careful and least >= USEFUL else {}
    if guessed and (words := _words(facts)):
        noted = {"remedy": words}
    return grouped(found, tail=": training rows are memorised", **noted)


def _by_heart(history: HistoryFacts, name: str) -> float | None:
    """Return the skill on other rows of an output that memorised its training rows."""
    trained, held = history.predictions[name], history.held_out.get(name)
    if held is None:
        return None
    known, other = skill(trained), skill(held)
    if known is None or other is None or known < LITTLE:
        return None
    gap = known - other - doubt(held) > GAP and right(trained) - right(held) > GAP_RIGHT
    return other if gap else None


def _skills(predictions: Mapping[str, PredictionFacts]) -> list[float]:
    """Return the skills of all outputs that have one."""
    found = [skill(known) for known in predictions.values()]
    return [known for known in found if known is not None]


def _scores(history: HistoryFacts, name: str) -> str:
    """Return the scores of an output on training rows and on others."""
    parts = {"training": history.predictions.get(name), history.subset: history.held_out.get(name)}
    return ", ".join(f"{_score(p)} on {part} rows" for part, p in parts.items() if p and part)


def _score(found: PredictionFacts) -> str:
    if found.r2 is not None:
        return f"R² {found.r2:.2f}"
    return f"{sum(found.hits)} of {found.rows} right"


@after("E904", "advice", "Train more epochs.", confidence=0.7, raises=["epochs", "lr"])
def still_falling(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The best epoch is the last one, and the loss was falling: by 5 % in the last quarter if the
    rate had not fallen, by 45 % in the second half if it had; or there were fewer than 100 updates,
    except for sequences, which have a loss at every position; not where the skill on other rows, or
    without validation rows that on training rows, is 0.9 or more.

    Where the best epoch is the last one and the loss was still falling, further epochs lower it. A
    rate that falls to 0 hides some of the trend, hence the higher bound. Where nearly all training
    rows are right, further epochs lower only the loss.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [3 - i / 10 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=60, lr=0.002, schedule="constant")
    >>> print(*[found for found in history.findings if found.id == "E904"])
    advice E904: the last of 60 epochs is the best, and the loss fell by 7.9 % in the last 15, ...
      → Raise lr, to the default of the optimizer.

    Ignore it where the score is good enough for its purpose.
    """
    losses, last = monitored(history), history.epochs[-1].epoch
    if history.stopped != "epochs" or history.best_epoch < last or not losses:
        return None
    known = [history.held_out]
    if not course(history, validation=True):
        known.append(history.predictions)
    if any(min(_skills(rows), default=0.0) >= LEARNT for rows in known):
        return None
    total, rate = history.settings.get("epochs", last), history.settings.get("lr", 0.0)
    made = updates(facts, history)
    few = made is not None and made < FEW_UPDATES and not facts.data.length
    if made is not None and few and losses[-1] > UNLEARNT / 2:
        message = f"{made} updates in {last} epochs, and the last epoch is the best"
        fix: dict[str, Any] = {"epochs": -(-total * 3 * FEW_UPDATES // max(1, made))}
        return Hit(message=message, evidence={"updates": made}, fix=fix)
    high = history.epochs[-1].lr > highest_rate(history)[0] / 2
    part, least = (0.75, FALLING) if high else (0.5, FALLING_FAST)
    begin = int(part * len(losses))
    fallen = 1 - losses[-1] / losses[begin] if begin and losses[begin] else 0.0
    if fallen < least or losses[-1] < CONVERGED:
        return None
    slow: bool = rate < usual_rate(history) / SLOW
    return Hit(
        message=f"the last of {last} epochs is the best, and the loss fell by {percent(fallen)} "
        f"in the last {last - begin}, at lr {rate:g}",
        evidence={"fallen": fallen, "lr": rate},
        remedy="Raise lr, to the default of the optimizer." if slow else "",
        fix={"lr": usual_rate(history)} if slow else {"epochs": 3 * total},
    )


@after(
    "E905",
    "warning",
    "Use a smaller model, regularise, gather more rows, or train fewer epochs with a patience.",
    confidence=0.8,
    lowers=["capacity", "epochs"],
    raises=["regularisation"],
)
def validation_rises(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The validation loss ends above twice its best, while the training loss kept falling; above
    1.25 times where the best parameters are not restored. Only information where they are restored
    and do well on the validation rows.

    Once the validation loss rises while the training loss falls, the model overfits. The best epoch
    is kept, but the steps after it were wasted.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> from random import Random
    >>> text = "m:input shape=[8]; m:output shape=[2]; "
    >>> text += "m:layers matmul(w, shape=[64]), add(b), relu(), matmul(v), softmax();"
    >>> draw = Random(1)
    >>> rows = [[draw.gauss(0, 1) for _ in range(8)] for _ in range(120)]
    >>> labels = [int(row[0] + draw.gauss(0, 1) > 0) for row in rows]
    >>> data = Dataset(rows, labels, split=(0.4, 0.4, 0.2))
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=100, weight_decay=0, restore_best=False)
    >>> print(*[found for found in history.findings if found.id == "E905"])
    warning E905: the validation loss rose from 0.629 in epoch 2 to 2.05, the training loss ...
      → Use a smaller model, regularise, gather more rows, or train fewer epochs with a patience.

    Ignore it where restore_best is on and time does not matter.
    """
    found = [record for record in history.epochs if record.val_loss is not None]
    best = next((r for r in found if r.epoch == history.best_epoch), None)
    if best is None or best.val_loss is None or len(found) < FEW_EPOCHS:
        return None
    last = found[-1]
    assert last.val_loss is not None
    validation = [relative(history, record, validation=True) for record in (best, last)]
    least = RISEN if history.settings.get("restore_best", True) else WORSE
    risen = validation[1] > max(least * validation[0], validation[0] + CLEARLY)
    if not risen or last.loss > best.loss or relative(history, best) > 1 or _unlike(history):
        return None
    kept = history.settings.get("restore_best", True)
    handled = kept and min(_skills(history.held_out), default=0.0) >= USEFUL
    return Hit(
        message=f"the validation loss rose from {best.val_loss:.3g} in epoch {best.epoch} to "
        f"{last.val_loss:.3g}, the training loss fell from {best.loss:.3g} to {last.loss:.3g}",
        evidence={"best": best.epoch, "validation": [best.val_loss, last.val_loss]},
        severity="info" if handled else None,
    )


@after(
    "E906",
    "warning",
    "Gather or repeat rows of it, or set class_weight='balanced'.",
)
def never_predicted(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A class or label is rare, and predicted for less than a fifth as many rows as have it.

    A class that is hardly ever predicted has a recall of nearly 0. With few rows its share of the
    loss is too small to be learnt.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> rows = [[i * 0.618 % 1] for i in range(200)]
    >>> data = Dataset(rows, [int(i % 12 == 0) for i in range(200)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E906"])
    warning E906: m hardly ever predicts "1" (0 times, 12 rows have it)
      → Gather or repeat rows of it, or set class_weight='balanced'.

    Ignore it where the class is only meant to lower the confidence in others.
    """
    found: dict[str, str] = {}
    for name, known in history.predictions.items():
        if "E330" in facts.data.suspicions and name in facts.outputs_of_positions:
            continue  # next-token predictions rarely contain rare letters and words
        if missed := _missed(known):
            found[name] = f"{name} hardly ever predicts {listed(missed)}"
    weighed = history.settings.get("class_weight")
    more = {"remedy": "Gather or repeat rows of it."} if weighed else {}
    return grouped(found, fix={} if weighed else {"class_weight": "balanced"}, **more)


def _missed(known: PredictionFacts) -> list[str]:
    """Return the rare classes that are hardly ever predicted, with their counts."""
    usual = max(known.support, default=0)
    return [
        f'"{label}" ({times} times, {rows} rows have it)'
        for label, rows, times in zip(known.labels, known.support, known.predicted, strict=True)
        if times < HARDLY * rows and RARE <= rows < usual / 2
    ]


@after(
    "E907",
    "warning",
    "Give all rows the same units, and split rows at random.",
    confidence=0.8,
)
def unlike_rows(facts: Facts, history: HistoryFacts) -> Hit | None:
    """Validation losses are five times those of training rows from the first epochs on.

    Rows from one source have similar losses before anything is memorised. A ratio of five from the
    start means other units, another order of columns or another source.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> xs = [i / 40 for i in range(40)] + [100 + i / 40 for i in range(40)]
    >>> split = {"split": (0.5, 0.25, 0.25), "method": "sequential"}
    >>> data = Dataset([[x] for x in xs], [x * x for x in xs], **split)
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E907"])
    warning E907: the validation loss is 1.04e+08 in the first epoch, the training loss 1.43: ...
      → Give all rows the same units, and split rows at random.

    Ignore it where validation rows are meant to be of another kind.
    """
    if not (early := _unlike(history)):
        return None
    loss, val = early[0]
    return Hit(
        message=f"the validation loss is {val:.3g} in the first epoch, the training loss "
        f"{loss:.3g}: validation rows are unlike training rows",
        evidence={"loss": loss, "validation": val},
    )


def _unlike(history: HistoryFacts) -> list[tuple[float, float]]:
    """Return training and validation losses of the first quarter, if the latter are far higher."""
    pairs = [(r.loss, r.val_loss) for r in history.epochs if r.val_loss is not None]
    early = pairs[: max(1, len(pairs) // 4)]
    # Losses below 0, as some custom ones are, have no ratio.
    return early if all(val > UNLIKE * loss > 0 for loss, val in early) else []


@after("E908", "warning", "Lower lr, or use leakyRelu.", lowers=["lr"], refuted=True)
def died(facts: Facts, history: HistoryFacts) -> Hit | None:
    """More than half of the units of a relu, gelu or hardSwish layer are 0 for every row after the
    training, and were not before (E310); only information where the skill is 0.9 on training rows,
    or 0.95 on other rows.

    A relu unit that is 0 for every row has no gradient, and remains 0. It happens when a step at
    too high a rate makes its bias very negative.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; "
    >>> text += "m:layers matmul(w, shape=[16]), add(b), relu(), matmul(v);"
    >>> data = Dataset([[i / 40] for i in range(40)], [i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=10, optimizer="sgdm", lr=30, schedule="constant")
    >>> print(*[found for found in history.findings if found.id == "E908"])
    warning E908 line 1, column 80: 100% of the units of relu1 are 0 for every row after the ...
      → Lower lr, or use leakyRelu.

    Ignore it where half of the units are enough.
    """
    before = facts.scouting.dead
    found = {
        layer: share
        for layer, share in history.dead.items()
        if share > DEAD and before.get(layer, 0.0) <= DEAD
    }
    skills = _skills(history.predictions)
    hit = _by_rate(
        history,
        {layer: f"{share:.0%} of the units of {layer}" for layer, share in found.items()},
        " are 0 for every row after the training",
        evidence={"dead": found},
        otherwise="Use leakyRelu, and initialise the layer with the default init.",
    )
    fitted = bool(skills) and min(skills) >= LEARNT  # units that are left were enough
    return replace(hit, severity="info") if hit and fitted else hit


def _by_rate(
    history: HistoryFacts,
    found: Mapping[str, str],
    tail: str,
    *,
    evidence: Mapping[str, Any],
    otherwise: str,
) -> Hit | None:
    """Return what was found, node → text; a rate above the usual one is the first explanation."""
    rate, usual = highest_rate(history)[0], usual_rate(history)
    high = rate > usual
    return grouped(
        found,
        tail=f"{tail}, at lr {rate:g}",
        evidence=evidence,
        fix={"lr": usual} if high else {},
        remedy="" if high else otherwise,
    )


@after(
    "E909",
    "warning",
    "Standardise the inputs, and leave init out; relu does not saturate.",
)
def saturated(facts: Facts, history: HistoryFacts) -> Hit | None:
    """More than three quarters of the values of a tanh or sigmoid layer are at the ends of its
    range.

    At the ends of tanh and sigmoid the slope is below a hundredth: neither the layer nor those
    before it learn.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; "
    >>> text += "m:layers matmul(w, shape=[8]), add(b), tanh(), matmul(v);"
    >>> data = Dataset([[1000.0 * i] for i in range(1, 41)], [i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E909"])
    warning E909 line 1, column 79: 100% of the values of tanh1 are at the ends of its range, ...
      → Standardise the inputs, and leave init out; relu does not saturate.

    Ignore it where the layer is meant to switch, as gates do.
    """
    found = {layer: share for layer, share in history.saturated.items() if share > SATURATED}
    return grouped(
        {layer: f"{share:.0%} of the values of {layer}" for layer, share in found.items()},
        tail=" are at the ends of its range, where its gradient vanishes",
        evidence={"saturated": found},
    )


@after(
    "E910",
    "warning",
    "Use the relu family, fewer layers, residual connections or normalisation.",
)
def vanished(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The gradient of a weight is less than 10⁻⁴ of that of another weight.

    All layers share one rate. If the gradient of one layer is a ten-thousandth of another's, either
    the first does not move or the second leaps; adaptive optimizers partly compensate for it.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> deep = ", ".join(["matmul(w, shape=[4]), sigmoid()"] * 12)
    >>> text = f"m:input shape=[1]; m:output shape=[1]; m:layers {deep}, matmul(v), add(c);"
    >>> data = Dataset([[i / 40] for i in range(40)], [i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E910"])
    warning E910 line 1, column 89: the gradient of w2 is 1.3e-10, that of v1 1.8e-01
      → Use the relu family, fewer layers, residual connections or normalisation.

    Ignore it where the layer is meant to keep its values.
    """
    found = {name: norm for name, norm in history.gradients.items() if norm > 0}
    if len(found) < 2:
        return None
    low, high = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    if found[low] > VANISHED * found[high]:
        return None
    return Hit(
        message=f"the gradient of {low} is {found[low]:.1e}, that of {high} {found[high]:.1e}",
        nodes=(low, high),
        evidence={"gradients": found},
    )


@after("E911", "warning", "Leave lrm out, or raise it.", raises=["lrm"])
def hardly_learns(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A weight moved by less than 10⁻³ of its norm, while another one moved by 5 % or more.

    A weight that moved by a thousandth of its norm still has its initial value, while its
    neighbours learnt.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> deep = ", ".join(["matmul(w, shape=[4]), sigmoid()"] * 12)
    >>> text = f"m:input shape=[1]; m:output shape=[1]; m:layers {deep}, matmul(v), add(c);"
    >>> data = Dataset([[i / 40] for i in range(40)], [i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, optimizer="sgdm", lr=0.1, weight_decay=0)
    >>> print(*[found for found in history.findings if found.id == "E911"])
    warning E911 line 1, column 56: w1 moved by 0.063 %; w2 moved by 0.063 %; w3 moved by 0.063 ...
      → Leave lrm out, or raise it.

    Ignore it where it was taken from a trained model and should stay unchanged.
    """
    moved = history.moved
    if max(moved.values(), default=0.0) < MOVING:
        return None
    found = {name: way for name, way in moved.items() if 0 < way < STILL}
    return grouped(
        {name: f"{name} moved by {percent(way)}" for name, way in found.items()},
        tail=f" in the whole training, other weights by up to {percent(max(moved.values()))}",
        evidence={"moved": dict(moved)},
    )


@after("E912", "warning", "Lower lr, and lrm of this layer.", lowers=["lr", "lrm"])
def leapt(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A weight moved by more than ten times its norm.

    A weight that moved by ten times its norm has nothing left of its initial value: one step was
    too long, and the layers after it get values that they never saw.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 4000] for i in range(40)], [10.0 * i for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=100, lr=3)
    >>> print(*[found for found in history.findings if found.id == "E912"])
    warning E912 line 1, column 56: w1 moved by 20 times its norm, at lr 3
      → Lower lr, and lrm of this layer.

    Ignore it where it was intentionally initialised near 0.
    """
    found = {name: way for name, way in history.moved.items() if way > LEAPT}
    return _by_rate(
        history,
        {name: f"{name} moved by {way:.0f} times its norm" for name, way in found.items()},
        "",
        evidence={"moved": found},
        otherwise="Leave lrm of this layer out, or lower it.",
    )


@after(
    "E913",
    "warning",
    "Lower lr, or let it fall with schedule='cosine'.",
    early=True,
    lowers=["lr"],
)
def unsteady(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The training loss repeatedly leaps up by 20 % or more, or ends 10 % or more above that of the
    first epoch.

    A step past the minimum raises the loss, and the next one turns back: above a certain rate this
    never ends. One leap is chance, one in seven epochs is not.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[2]; m:output shape=[2]; "
    >>> text += "m:layers matmul(w, shape=[8]), add(b), tanh(), matmul(v), add(c), softmax();"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(100)]
    >>> data = Dataset(rows, [int(a > b) for a, b in rows])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=30, lr=3, schedule="constant")
    >>> print(*[found for found in history.findings if found.id == "E913"])
    warning E913: the training loss leapt up in 8 of 30 epochs, as from 1.92 to 2.66 in epoch ...
      → Lower lr, or let it fall with schedule='cosine'.

    Ignore it where the best epoch is kept and good enough.
    """
    losses = course(history)
    high = UNLEARNT / 2
    leaps = [k for k, (a, b) in enumerate(pairwise(losses), 2) if b > max(LEAP * a, high)]
    if len(losses) < FEW_EPOCHS:
        return None
    if len(leaps) >= max(2, LEAPS * len(losses)):
        message = (
            f"the training loss leapt up in {len(leaps)} of {len(losses)} epochs, as from "
            f"{losses[leaps[-1] - 2]:.3g} to {losses[leaps[-1] - 1]:.3g} in epoch {leaps[-1]}"
        )
    elif losses[-1] > max(ABOVE * losses[0], CONVERGED):
        message = f"the training loss rose from {losses[0]:.3g} to {losses[-1]:.3g}"
    else:
        return None
    rate, usual = history.settings.get("lr", 0.0), usual_rate(history)
    fix: dict[str, Any] = {"lr": usual if rate > usual else rate / 10}
    if history.settings.get("schedule") == "constant":
        fix["schedule"] = "cosine"
    momentum = history.settings.get("momentum_factor") or 0.0
    heavy = momentum > HEAVY and history.settings.get("optimizer") in ("sgdm", "nesterov")
    if heavy:
        fix["momentum_factor"] = 0.9
    rows = facts.batch_size or FEW_ROWS
    return Hit(
        message=f"{message} (1 is a constant prediction), at lr {rate:g}"
        + f" and a momentum of {momentum:g}" * heavy
        + f" and batches of {rows} rows" * (rows < FEW_ROWS),
        remedy="Set momentum_factor=0.9, and lower lr." if heavy else "",
        evidence={"epochs": leaps, "lr": rate},
        fix=fix,
    )


@after("E914", "warning", "Let the rate fall over all epochs: schedule='cosine' alone.")
def rate_fell(facts: Facts, history: HistoryFacts) -> Hit | None:
    """For 40 % or more of the epochs the rate was below 2 % of its maximum.

    Below 2 % of the highest rate, parameters hardly move any more, and the epochs are wasted.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [1 - i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=40, schedule="step", step_epochs=4, step_factor=0.01)
    >>> print(*[found for found in history.findings if found.id == "E914"])
    warning E914: from epoch 5 on lr was below 2 % of its highest, 0.05: 36 of 40 epochs ...
      → Let the rate fall over all epochs: schedule='cosine' alone.

    Ignore it where fine-tuning at the end is worth the time.
    """
    highest, _ = highest_rate(history)
    low = [record for record in history.epochs if record.lr < LOW_RATE * highest]
    if len(low) < max(2, IDLE * len(history.epochs)) or monitored(history)[-1:] < [CONVERGED]:
        return None
    return Hit(
        message=f"from epoch {low[0].epoch} on lr was below {percent(LOW_RATE)} of its highest, "
        f"{highest:.3g}: {len(low)} of {len(history.epochs)} epochs changed hardly anything",
        evidence={"from": low[0].epoch, "highest": highest},
        fix={"schedule": "cosine", "schedule_epochs": None},
    )


@after("E915", "warning", "Warm up for one or two epochs, with min_lr below lr.")
def rate_rose(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The rate was rising for 80 % or more of the epochs.

    A warm-up is for the first steps, when gradients are still large and erratic. Throughout the
    training it means that the rate was too low nearly all the time, and highest when it should have
    fallen.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [1 - i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, warmup_epochs=18)
    >>> print(*[found for found in history.findings if found.id == "E915"])
    warning E915: lr rose until epoch 18 of 20, from 0.00278 to 0.05
      → Warm up for one or two epochs, with min_lr below lr.

    Ignore it where the rate is being searched, as in a range test.
    """
    highest, epoch = highest_rate(history)
    first, total = history.epochs[0], len(history.epochs)
    if (
        total < FEW_EPOCHS + 2
        or first.lr > highest / 2
        or epoch - first.epoch < RISING * (total - 1)
    ):
        return None
    return Hit(
        message=f"lr rose until epoch {epoch} of {total}, from {first.lr:.3g} to {highest:.3g}",
        evidence={"epoch": epoch, "highest": highest},
        fix={"warmup_epochs": max(1, total // 20)},
    )


@after("E916", "warning", "Set a larger patience.", raises=["patience"])
def hurried(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A patience below 10 ended the training in its first 30 %, with a training loss above 0.3
    times that of a constant prediction.

    The validation loss goes up and down by chance. A patience of a few epochs takes the first rise
    for the end.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> import math
    >>> text = "m:input shape=[1]; m:output shape=[1]; "
    >>> text += "m:layers matmul(w, shape=[16]), add(b), tanh(), matmul(v);"
    >>> rows, targets = [[i / 10] for i in range(60)], [math.sin(i / 3) for i in range(60)]
    >>> data = Dataset(rows, targets, split=(0.4, 0.4, 0.2))
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=500, patience=1)
    >>> print(*[found for found in history.findings if found.id == "E916"])
    warning E916: patience 1 ended the training after 7 of 500 epochs
      → Set a larger patience.

    Ignore it where the training is only a trial.
    """
    patience, total = history.settings.get("patience", 0), history.settings.get("epochs", 0)
    done = history.epochs[-1].epoch
    if history.stopped != "patience" or patience >= IMPATIENT or done >= HURRIED * total:
        return None
    if course(history)[-1:] < [UNLEARNT]:  # everything there was to learn is learnt
        return None
    return Hit(
        message=f"patience {patience} ended the training after {done} of {total} epochs",
        evidence={"patience": patience, "epochs": done},
        fix={"patience": 2 * IMPATIENT},
    )


@after("E917", "warning", "Lower scale, or set compute_type='float32'.", lowers=["scale"])
def overflowed(facts: Facts, history: HistoryFacts) -> Hit | None:
    """One in ten steps or more was skipped, because its gradient left the range of float16.

    A gradient beyond 65,504 is infinite in float16, and its step is skipped. Now and then that
    serves to find the right scale; one in ten costs a tenth of the training.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [9000.0 * i for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, compute_type="float16", scale=65536)
    >>> print(*[found for found in history.findings if found.id == "E917"])
    warning E917: 40 of 40 steps were skipped: their gradients were not finite
      → Lower scale, or set compute_type='float32'.

    Ignore it where the loss falls as far as in float32.
    """
    skipped = sum(record.overflows for record in history.epochs)
    made = updates(facts, history)
    if not made or skipped <= OVERFLOWS * made:
        return None
    return Hit(
        message=f"{skipped} of {made} steps were skipped: their gradients were not finite",
        evidence={"skipped": skipped, "steps": made},
        fix={"compute_type": "float32"},
    )


@after("E918", "warning", "Set restore_best=True.")
def best_lost(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The last parameters were kept, and their loss is above 1.25 times that of the best ones, or
    below that only by chance: in the last quarter, losses go up as high.

    At a constant rate the parameters oscillate around the minimum, and the last ones are a random
    moment.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[2]; m:output shape=[2]; "
    >>> text += "m:layers matmul(w, shape=[8]), add(b), tanh(), matmul(v), add(c), softmax();"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(100)]
    >>> data = Dataset(rows, [int(a > b) for a, b in rows])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=30, lr=1, schedule="constant", restore_best=False)
    >>> print(*[found for found in history.findings if found.id == "E918"])
    warning E918: the model keeps the parameters of the last epoch, with a loss of 0.574 times ...
      → Set restore_best=True.

    Ignore it where every run must have the same number of steps.
    """
    losses = monitored(history)
    if history.settings.get("restore_best", True) or not losses:
        return None
    quarter = losses[-max(1, len(losses) // 4) :]
    least, most = min(losses), max(quarter)
    if most < max(WORSE * least, least + CLEARLY / 2):
        return None
    return Hit(
        message="the model keeps the parameters of the last epoch, with a loss of "
        f"{losses[-1]:.3g} times that of a constant prediction; in the last {len(quarter)} epochs "
        f"it went up to {most:.3g}, and in epoch {history.best_epoch} it was {least:.3g}",
        evidence={"best": history.best_epoch},
        fix={"restore_best": True},
    )


@after(
    "E919", "warning", "Set gradient_clipping='off', or a larger agc_lambda.", raises=["agc_lambda"]
)
def clipped(facts: Facts, history: HistoryFacts) -> Hit | None:
    """Nine in ten steps or more were clipped, and a weight moved by less than 1 %.

    Clipping is for peaks. If nearly all gradients are clipped, each step has the length of the
    bound, and the bound acts as the learning rate.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[2]; m:output shape=[1]; "
    >>> text += "m:layers matmul(w, shape=[8]), tanh(), matmul(v);"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(40)]
    >>> data = Dataset(rows, [a + b for a, b in rows])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, optimizer="sgdm", gradient_clipping="agc", agc_lambda=1e-5)
    >>> print(*[found for found in history.findings if found.id == "E919"])
    warning E919 line 1, column 56: gradients were clipped in 100 % of the steps, and w1 moved ...
      → Set gradient_clipping='off', or a larger agc_lambda.

    Ignore it where lr was chosen with that in mind.
    """
    rates = [record.clip_rate for record in history.epochs if record.clip_rate is not None]
    if not rates or sum(rates) < CLIPPED * len(rates):
        return None
    name = min(history.moved, key=history.moved.__getitem__, default="")
    if not name or history.moved[name] > CREPT or vanished(facts):
        return None
    return Hit(
        message=f"gradients were clipped in {percent(sum(rates) / len(rates))} of the steps, and "
        f"{name} moved by {percent(history.moved[name])}",
        nodes=(name,),
        evidence={"clip_rate": sum(rates) / len(rates)},
        fix={"gradient_clipping": "off"},
    )


@after("E920", "warning", "Lower lambda1 and lambda2.", lowers=["regularisation"])
def penalised(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The penalty on the weights outweighed the loss in the first epoch, and the loss did not fall
    below 0.3 times that of a constant prediction.

    The penalty pulls every weight towards 0. If it is larger than the loss, weights of 0 are
    cheaper than right predictions.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [1 - i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, regularization="L1", lambda1=100)
    >>> print(*[found for found in history.findings if found.id == "E920"])
    warning E920: the penalty on the weights was 136 in the first epoch, the loss 1.45: weights ...
      → Lower lambda1 and lambda2.

    Ignore it where the sparsest model is wanted.
    """
    first, losses = history.epochs[0], course(history)
    if not first.penalty or not losses or first.penalty < first.loss or losses[-1] < UNLEARNT:
        return None
    names = [name for name in ("lambda1", "lambda2") if history.settings.get(name)]
    return Hit(
        message=f"the penalty on the weights was {first.penalty:.3g} in the first epoch, the loss "
        f"{first.loss:.3g}: weights go to zero before they learn",
        evidence={"penalty": first.penalty, "loss": first.loss},
        fix=dict.fromkeys(names, 0.0001),
    )


@after("E921", "warning", "Set validate_every=1.", lowers=["validate_every"])
def never_validated(facts: Facts, history: HistoryFacts) -> Hit | None:
    """There are validation rows, and no epoch was validated.

    The best epoch and patience follow the validation loss. Without it they follow the training
    loss, which overfitting lowers as well.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> rows, targets = [[i / 40] for i in range(40)], [i / 40 for i in range(40)]
    >>> data = Dataset(rows, targets, split=(0.6, 0.2, 0.2))
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, validate_every=50)
    >>> print(*[found for found in history.findings if found.id == "E921"])
    warning E921: none of 20 epochs was validated: validate_every is 50
      → Set validate_every=1.

    Ignore it where the rows are kept for later.
    """
    rows = facts.data.sizes.get("validation", 0)
    if not rows or any(record.val_loss is not None for record in history.epochs):
        return None
    every = history.settings.get("validate_every", 1)
    return Hit(
        message=f"none of {len(history.epochs)} epochs was validated: validate_every is {every}",
        evidence={"validate_every": every},
        fix={"validate_every": 1},
    )


@after(
    "E922",
    "warning",
    "Add hidden layers or units with an activation, and train more epochs.",
    confidence=0.8,
    raises=["capacity", "epochs"],
)
def behind_neighbours(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The model predicts the class of far fewer training rows than their nearest neighbours do.

    The classes of the three nearest rows are the result of a look-up without any training (Cover &
    Hart 1967: at worst twice the error of the best classifier). A model that is worse by 15 % of
    the rows, on the very rows that it was trained on, has too few units, no activation between its
    layers, or too short a training; if it had memorised them, it would be better.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> import math
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> rows = [[math.cos(i) * (1 + i % 2), math.sin(i) * (1 + i % 2)] for i in range(300)]
    >>> data = Dataset(rows, [i % 2 for i in range(300)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E922"])
    warning E922: m predicts the class of 52% of the training rows, their nearest neighbours ...
      → Add hidden layers or units with an activation, and train more epochs.

    Ignore it where a small model is wanted for its speed or simplicity.
    """
    told = facts.data.suspicions.get("E922")
    if told is None or len(history.predictions) != 1 or unmoved(facts) is not None:
        return None
    ((name, found),) = history.predictions.items()
    reach, got = told.evidence["found"], right(found)
    if found.several or not found.rows or skill(found) is None:
        return None
    error = (reach * (1 - reach) / NEIGHBOURS) ** 0.5 + (got * (1 - got) / found.rows) ** 0.5
    if reach - got < BEHIND + error:
        return None
    return Hit(
        message=f"{name} predicts the class of {got:.0%} of the training rows, their nearest "
        f"neighbours that of {reach:.0%}",
        evidence={"found": got, "neighbours": reach},
    )


@after(
    "E923",
    "warning",
    "If their order matters, put a recurrent layer, a convolution, or positionalEncoding() and "
    "attention before the pooling; if not, check whether labels belong to their rows, and gather "
    "more.",
    confidence=0.95,
)
def order_lost(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A model is at chance (95 %) on rows that were not trained on, and pools its sequence without
    anything before the pooling that depends on the order: no recurrent layer, convolution,
    positions, or attention with causal=true.

    The mean, sum or maximum over positions is the same in any order, and so is attention without
    positions. A dependence on the order cannot be learnt then, only memorised. Many texts need no
    order: such a model then learns more than chance, and the rule does not fire.

    >>> from webnnm import Dataset
    >>> from webnnm.core.arrays import HostArray
    >>> from webnnm.sync import NNModel
    >>> text = "m:input int32 shape=[6]; m:output shape=[2]; m:layers embedding(t, size=30, "
    >>> text += "shape=[6, 8]), reduceMean(axes=[0]), matmul(w, shape=[8]), relu(), matmul(v), "
    >>> text += "softmax();"
    >>> from random import Random
    >>> draw = Random(1)
    >>> rows = [draw.sample(range(30), 6) for _ in range(400)]
    >>> data = Dataset(HostArray.of(rows, "int32"), [int(row[0] > row[1]) for row in rows])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E923"])
    warning E923 line 1, column 92: m: 202 of 256 right on training rows, 61 of 120 right on ...
      → If their order matters, put a recurrent layer, a convolution, or positionalEncoding() ...

    Ignore it where the order is irrelevant, and the data do not contain the answer.
    """
    pools = _order_lost(facts, history)
    if not pools:
        return None
    (name,) = history.predictions
    verb = "pools" if len(pools) == 1 else "pool"
    return Hit(
        message=f"{name}: {_scores(history, name)}: at chance, and {' and '.join(pools)} {verb} "
        "the sequence without its order",
        nodes=tuple(pools),
    )


@after(
    "E924",
    "warning",
    "If it matters where something is, use flatten() instead, or pool to a few parts, such as "
    "averagePool2d to 4 × 4; if not, check whether labels belong to their rows.",
    confidence=0.8,
)
def places_lost(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A model is at chance (95 %) on rows that were not trained on, and pools its picture, or its
    signal, over all positions after the convolutions; not where a warning on scales, rates, initial
    values or saturated layers explains why it learnt nothing.

    Convolutions do the same everywhere. The mean or maximum over all positions says how much of a
    pattern there is, not where, for example in which quarter. Textures, and objects that may
    be anywhere, need no positions: such a model then learns more than chance, and the rule does not
    fire.

    >>> from webnnm import Dataset
    >>> from webnnm.core.arrays import HostArray
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1, 8, 8]; m:output shape=[4]; m:layers conv2d(f, filters=4, "
    >>> text += "kernel=3), relu(), globalAveragePool(), matmul(w), add(b), softmax();"
    >>> from random import Random
    >>> draw = Random(1)
    >>> places = [(draw.randrange(2, 6), draw.randrange(2, 6)) for _ in range(400)]
    >>> pixels = [float((y, x) == place) for place in places for y in range(8) for x in range(8)]
    >>> pictures = HostArray.of(pixels, "float32", [400, 1, 8, 8])
    >>> data = Dataset(pictures, [y // 4 * 2 + x // 4 for y, x in places], standardize=True)
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=10)
    >>> print(*[found for found in history.findings if found.id == "E924"])
    warning E924 line 1, column 95: m: 71 of 256 right on training rows, 34 of 120 right on ...
      → If it matters where something is, use flatten() instead, or pool to a few parts, such as ...

    Ignore it where positions are irrelevant, and the data do not contain the answer.
    """
    pools = _places_lost(facts, history)
    if not pools:
        return None
    (name,) = history.predictions
    verb = "takes" if len(pools) == 1 else "take"
    return Hit(
        message=f"{name}: {_scores(history, name)}: at chance, and {' and '.join(pools)} {verb} "
        "all places together",
        nodes=tuple(pools),
    )
