"""Rules on training rows against others (spec E903, E905, E907, E918, E921, E925, E926).

Thresholds without another source were measured on the programs of tests/teach: sound programs stay
on the other side of them.
"""

from __future__ import annotations

from typing import Any

from webnnm.evaluation.baselines import ERRORS
from webnnm.evaluation.simple_models import LINEAR, NEIGHBOURS
from webnnm.expert.facts.course import chance_skill, losses_to_monitor, relative_loss, score
from webnnm.expert.facts.facts import Facts, HistoryFacts
from webnnm.expert.facts.learning import (
    MIN_EPOCHS,
    MIN_LEAD,
    SIGNIFICANT_WORSE,
    pools_at_chance,
    scores_of,
    skill_if_memorised,
    skills_of,
    tokens_hint,
    unlike_losses,
)
from webnnm.expert.rules.rule import Hit, after, merge_hits
from webnnm.expert.rules.symptoms import BEATEN

RISEN_RATIO, WORSE_RATIO = 2, 1.25
"""A validation loss this many times the best one has risen, or is worse to keep."""
MIN_USEFUL_SKILL = 0.5
"""Skill on other rows of a model in which overfitting was limited as far as possible."""
CHECK_FIRST = (
    "Check in this order whether its layers, or an augmentation, lose what the inputs say, whether "
    "the loss fits the targets, and whether lr and epochs let the loss fall"
)
BEGIN_SIMPLY = (
    "Begin with a linear model, a single product without hidden layers, and add to it only what "
    "raises the score."
)
MORE_UNITS = (
    "Give it more layers and units with an activation, such as two of 64, and lower weight_decay "
    "to 0.01."
)
COMPARE_SMALLER = (
    "Check first whether its layers mix up what the inputs say; then compare smaller models and "
    "larger weight_decay by their validation loss."
)
"""What to do about a model that predicts its training rows badly, or them alone well."""
CHANCE_REMEDY = (
    "Check first that testing rows are prepared as training rows are: order of channels and "
    "columns, scale, codes. Then gather more rows, use a smaller model, or regularise."
)
"""What to do if other rows are predicted no better than by chance."""
MIN_RISE = 0.1
"""A share of the loss of a constant prediction, so that losses close to 0 may rise."""


@after(
    "E903",
    "warning",
    "Gather more rows, use a smaller model, regularise, or look for more informative features.",
    confidence=0.8,
    lowers=["capacity"],
    raises=["regularisation"],
    explains=["E905", "E925", "E926"],
)
def memorising(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The skill of an output on training rows is more than 0.2 above that on other rows, beyond
    what chance (95%) explains; only information where there already is dropout or a penalty and
    the skill on other rows is 0.5 or more; not what E923 or E924 reports.

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
    warning E903: m: 64 of 84 right on training rows, 15 of 36 right on testing rows: training ...
      → Check first that testing rows are prepared as training rows are: order of channels ...

    Ignore it where no model reaches a higher score on other rows.
    """
    if pools_at_chance(facts, history):
        return None
    messages: dict[str, str] = {}
    lowest_skill, is_chance = 1.0, False
    for name in history.predictions:
        if (other_skill := skill_if_memorised(history, name)) is not None:
            messages[name] = f"{name}: {scores_of(history, name)}"
            lowest_skill = min(lowest_skill, other_skill)
            is_chance |= other_skill <= chance_skill(history.held_out[name])
    is_regularised = facts.profile.dropout_count or "regularization" in facts.settings.explicit
    details: Any = (
        {"severity": "info"} if is_regularised and lowest_skill >= MIN_USEFUL_SKILL else {}
    )
    if is_chance:
        details = {"remedy": tokens_hint(facts) or CHANCE_REMEDY}
    return merge_hits(messages, tail=": training rows are memorised", **details)


@after(
    "E905",
    "warning",
    "Use a smaller model, regularise, gather more rows, or train fewer epochs with a patience.",
    confidence=0.8,
    lowers=["capacity", "epochs"],
    raises=["regularisation"],
)
def rising_validation_loss(facts: Facts, history: HistoryFacts) -> Hit | None:
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
    info E905: the validation loss rose from 0.629 in epoch 2 to 2.05, the training loss fell ...
      probably because of E903

    Ignore it where restore_best is on and time does not matter.
    """
    records = [record for record in history.epochs if record.val_loss is not None]
    best = next((r for r in records if r.epoch == history.best_epoch), None)
    if best is None or best.val_loss is None or len(records) < MIN_EPOCHS:
        return None
    last = records[-1]
    assert last.val_loss is not None
    validation = [relative_loss(history, record, validation=True) for record in (best, last)]
    min_ratio = RISEN_RATIO if history.settings.restore_best else WORSE_RATIO
    has_risen = validation[1] > max(min_ratio * validation[0], validation[0] + MIN_RISE)
    if (
        not has_risen
        or last.loss > best.loss
        or relative_loss(history, best) > 1
        or unlike_losses(history)
    ):
        return None
    kept = history.settings.restore_best
    is_harmless = kept and min(skills_of(history.held_out), default=0.0) >= MIN_USEFUL_SKILL
    return Hit(
        message=f"the validation loss rose from {best.val_loss:.3g} in epoch {best.epoch} to "
        f"{last.val_loss:.3g}, the training loss fell from {best.loss:.3g} to {last.loss:.3g}",
        evidence={"best": best.epoch, "validation": [best.val_loss, last.val_loss]},
        severity="info" if is_harmless else None,
    )


@after(
    "E907",
    "warning",
    "Give all rows the same units, and split rows at random.",
    confidence=0.8,
)
def validation_mismatch(facts: Facts, history: HistoryFacts) -> Hit | None:
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
    info E907: the validation loss is 1.04e+08 in the first epoch, the training loss 1.44: ...
      probably because of E622

    Ignore it where validation rows are meant to be of another kind.
    """
    if not (early := unlike_losses(history)):
        return None
    loss, val = early[0]
    return Hit(
        message=f"the validation loss is {val:.3g} in the first epoch, the training loss "
        f"{loss:.3g}: validation rows are unlike training rows",
        evidence={"loss": loss, "validation": val},
    )


@after(
    "E925",
    "warning",
    BEGIN_SIMPLY,
    lowers=["capacity"],
    explains=["E902", "E905"],
)
def worse_than_linear_model(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A linear model is better than the network on rows that were not trained on, by every score
    and at a level of 0.5%; of two models that are equally good that is reported in one of 400
    trainings. Only information where it is better by less than 0.2 of the accuracy, of R², or of
    the error of a constant.

    A linear model, a ridge regression on the same inputs, has nothing to tune and no local minimum.
    A network that is worse has fitted noise, has lost what its inputs say on the way through its
    layers, or was trained badly: the last two where its score is low on its training rows too.
    Classes are compared by McNemar's test, quantities by a paired
    t-test of the loss.

    >>> from random import Random
    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[12]; m:output shape=[1]; "
    >>> text += "m:layers matmul(w, shape=[64]), add(b), relu(), matmul(v), add(c);"
    >>> draw = Random(1)
    >>> rows = [[draw.gauss(0, 1) for _ in range(12)] for _ in range(200)]
    >>> data = Dataset(rows, [sum(row[:4]) + draw.gauss(0, 1) for row in rows])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=200, weight_decay=0, patience=200)
    >>> print(*[found for found in history.findings if found.id == "E925"])
    info E925: m: a linear model is better than the network: R² 0.8337 against 0.6190 ...
      probably because of E903

    Ignore it where the network does more than its score says, such as calibrated probabilities.
    """
    return _find_better_model(
        history, LINEAR, f"{CHECK_FIRST}; or {BEGIN_SIMPLY[0].lower()}{BEGIN_SIMPLY[1:]}", ""
    )


@after(
    "E926",
    "warning",
    f"{CHECK_FIRST}; then {MORE_UNITS[0].lower()}{MORE_UNITS[1:]}",
    confidence=0.8,
    lowers=["regularisation", "weight_decay"],
    raises=["capacity"],
    explains=["E902"],
)
def worse_than_nearest_neighbours(facts: Facts, history: HistoryFacts) -> Hit | None:
    """Nearest neighbours are better than the network on rows that were not trained on, by every
    score and at a level of 0.5%; only information where they are so by less than 0.2, as in E925.

    Looking up similar training rows takes no training at all, and no assumption but that similar
    rows have similar targets. A network that is worse, on its training rows too, loses what the
    inputs say on the way through its layers, was trained badly, or has too few units; one that is
    better on these fits noise.

    >>> import math
    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> rows = [[math.cos(i) * (1 + i % 2), math.sin(i) * (1 + i % 2)] for i in range(300)]
    >>> data = Dataset(rows, [3.0 * (i % 2) + x * x for i, (x, y) in enumerate(rows)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E926"])
    warning E926: m: nearest neighbours are better than the network: R² 0.9997 against ...
      → Give it more layers and units with an activation, such as two of 64, and lower ...

    Ignore it where a small model is wanted for its speed or simplicity.
    """
    is_linear = facts.profile.heavy_ops == 1
    return _find_better_model(history, NEIGHBOURS, MORE_UNITS * is_linear, COMPARE_SMALLER)


def _find_better_model(
    history: HistoryFacts, simple: str, if_underfitted: str, if_overfitted: str
) -> Hit | None:
    """Return which outputs a simple model predicts better, as the best of the simple models.

    The remedy is another one if the network is worse on its own training rows than the simple model
    on rows that neither was trained on.
    """
    better = {
        name: baselines
        for name, baselines in history.baselines.items()
        if baselines.find_better(SIGNIFICANT_WORSE) == simple
    }
    leads = [baselines.measure_lead(simple) for baselines in better.values()]
    is_overfitted = all(
        baselines.score not in ERRORS
        and name in history.predictions
        and score(history.predictions[name]) > baselines.simple[simple][baselines.score]
        for name, baselines in better.items()
    )
    return merge_hits(
        {name: f"{name}: {baselines.verdict}" for name, baselines in better.items()},
        remedy=if_overfitted if is_overfitted else if_underfitted,
        severity=None if max(leads, default=0.0) >= MIN_LEAD else "info",
    )


@after("E918", "warning", "Set restore_best=True.", explains=BEATEN)
def last_parameters_worse(facts: Facts, history: HistoryFacts) -> Hit | None:
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
    info E918: the model keeps the parameters of the last epoch, with a loss of 0.15 times ...
      probably because of E305, E713

    Ignore it where every run must have the same number of steps.
    """
    losses = losses_to_monitor(history)
    if history.settings.restore_best or not losses:
        return None
    quarter = losses[-max(1, len(losses) // 4) :]
    lowest, highest = min(losses), max(quarter)
    if highest < max(WORSE_RATIO * lowest, lowest + MIN_RISE / 2):
        return None
    return Hit(
        message="the model keeps the parameters of the last epoch, with a loss of "
        f"{losses[-1]:.3g} times that of a constant prediction; in the last {len(quarter)} epochs "
        f"it went up to {highest:.3g}, and in epoch {history.best_epoch} it was {lowest:.3g}",
        evidence={"best": history.best_epoch},
        fix={"restore_best": True},
    )


@after("E921", "warning", "Set validate_every=1.", lowers=["validate_every"])
def no_validation_epoch(facts: Facts, history: HistoryFacts) -> Hit | None:
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
    interval = history.settings.validate_every
    return Hit(
        message=f"none of {len(history.epochs)} epochs was validated: validate_every is {interval}",
        evidence={"validate_every": interval},
        fix={"validate_every": 1},
    )
