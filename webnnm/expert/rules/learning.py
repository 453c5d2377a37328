"""Rules on what a model did not learn (spec E901, E902, E904, E906, E922–E924, E927).

Thresholds without another source were measured on the programs of tests/teach: sound programs stay
on the other side of them.
"""

from __future__ import annotations

from typing import Any

from webnnm.data.preparation.agreement import MIN_ROWS as MIN_NEIGHBOURS
from webnnm.expert.facts.course import (
    highest_rate,
    losses_to_monitor,
    percent,
    relative_losses,
    score,
    skill,
    updates,
    usual_rate,
)
from webnnm.expert.facts.facts import Facts, HistoryFacts, PredictionFacts
from webnnm.expert.facts.learning import (
    MAX_CONVERGED_LOSS,
    MIN_EPOCHS,
    MIN_GOOD_SKILL,
    MIN_LOSS_TO_LEARN,
    MIN_UPDATES,
    has_learnt_nothing,
    orderless_pools,
    pools_at_chance,
    positionless_pools,
    rarely_predicted_classes,
    scores_of,
    skills_of,
    tokens_hint,
)
from webnnm.expert.facts.paths import POSITIONS_REMEDY
from webnnm.expert.rules.rule import Hit, after, join_names, merge_hits
from webnnm.expert.rules.symptoms import BEATEN
from webnnm.training.automatic import choose_decay
from webnnm.training.optimizers import OPTIMIZERS

MAX_STATIC_MOVE, MAX_STATIC_FALL = 0.05, 0.1
"""Weights moved by less than the first share of their norm, losses fell by less than the second."""
MAX_INFORMED_LOSS, LARGE_SHARE = 0.9, 0.8
"""Of a loss, relative to that of constant probabilities, and of the labels of one class."""
MAX_EARLY_FALL = 0.005
"""A loss that changed by at most this much, in a third of the epochs, does not move."""
MIN_FALL, MIN_FAST_FALL = 0.05, 0.45
"""A loss that falls by this much in the last quarter, or half, of a training has not converged."""
SLOW_RATE_RATIO = 3
"""A rate this many times below the default of the optimizer explains slow learning."""
SEQUENCE_REMEDY = (
    "If it matters when something happens, put positionalEncoding() before the convolutions; if "
    "not, check whether labels belong to their rows."
)
MIN_DISTANCE_TO_NEIGHBOURS = 0.15
"""The share of rows by which nearest neighbours beat a model."""
MIN_DECAY_RATIO, MAX_LEAD = 8, 0.05
"""Weight decay this many times the default, and a fit better than neighbours by at most this."""


@after(
    "E901",
    "warning",
    "Raise lr, at least to the default of the optimizer.",
    early=True,
    raises=["lr"],
    explains=[*BEATEN, "E902", "E904", "E910", "E911", "E922"],
)
def static_weights(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The training loss hardly fell, and no weight moved by more than 5% of its norm.

    Parameters that moved by less than 5% of their norm are where they started, and the loss
    confirms it. Most often the rate is too low by orders of magnitude.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [1 - i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, lr=1e-7)
    >>> print(*[found for found in history.findings if found.id == "E901"])
    info E901: the training loss fell by 0.00051% in 20 epochs at lr 1e-07, and no weight ...
      probably because of E324, E709

    Ignore it where the parameters were pretrained and need no further training.
    """
    losses = relative_losses(history)
    if len(losses) < MIN_EPOCHS or losses[-1] < MIN_LOSS_TO_LEARN or history.settings.freeze:
        return None
    fallen = 1 - losses[-1] / losses[0] if losses[0] else 0.0
    moved = max(history.moved.values(), default=None)
    if history.ended:
        if moved is None or moved > MAX_STATIC_MOVE or abs(fallen) > MAX_STATIC_FALL:
            return None
    elif abs(fallen) > MAX_EARLY_FALL:
        return None
    rate, default = history.settings.lr, usual_rate(history.settings)
    way = "" if moved is None else f", and no weight moved by more than {percent(moved)}"
    return Hit(
        message=f"the training loss fell by {percent(max(0.0, fallen))} in {len(losses)} epochs at "
        f"lr {rate:g}{way}",
        evidence={"losses": [losses[0], losses[-1]], "moved": moved, "lr": rate},
        fix={"lr": default if rate < default else 10 * rate},
    )


@after(
    "E902",
    "warning",
    "Check that the inputs and labels of each row belong together, add features that predict the "
    "label, or add layers and epochs to learn it.",
    confidence=0.8,
)
def no_skill(facts: Facts, history: HistoryFacts) -> Hit | None:
    """An output is no better than a constant prediction: its skill could be chance (95%) on rows
    that were not trained on, if there are any, and is below 0.3 on training rows. It may be above
    0.3 if so many rows were held back that chance is below half of it; not what E903, E923 or E924
    reports, nor where eight of ten labels are one class and the loss is 10% or more below that of
    their frequencies: probabilities then tell rows apart, though the likeliest class is the same.

    The constant prediction is the mean, or the most frequent class. A model may be no better in a
    test only by chance; hence the 95% bound and the check of the training rows.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(300)]
    >>> data = Dataset(rows, [i * i * 7919 % 1009 % 2 for i in range(300)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E902"])
    info E902: m: 108 of 210 right on training rows, 46 of 90 right on testing rows: no better ...
      probably because of E627, E636

    Ignore it where the purpose was to show that nothing can be learnt.
    """
    if (updates(facts, history) or MIN_UPDATES) < MIN_UPDATES or pools_at_chance(facts, history):
        return None
    messages = {
        name: f"{name}: {scores_of(history, name)}"
        for name in history.predictions
        if has_learnt_nothing(history, name) and not _knows_rare_class(facts, history, name)
    }
    linear = facts.profile.heavy_ops == 1
    more = {"remedy": "Add a hidden layer with an activation, or features."} if linear else {}
    more = {"remedy": words} if (words := tokens_hint(facts)) else more
    return merge_hits(messages, tail=": no better than a constant prediction", **more)


def _knows_rare_class(facts: Facts, history: HistoryFacts, name: str) -> bool:
    """Return whether the probabilities of a rare class tell rows apart."""
    losses = relative_losses(history)
    shares = [o.labels.share for o in facts.outputs if o.name == name and o.labels is not None]
    return bool(losses and shares) and losses[-1] < MAX_INFORMED_LOSS and shares[0] > LARGE_SHARE


@after(
    "E904", "advice", "Train more epochs.", confidence=0.7, raises=["epochs", "lr"], explains=BEATEN
)
def still_learning(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The best epoch is the last one, and the loss was falling: by 5% in the last quarter if the
    rate had not fallen, by 45% in the second half if it had; or there were fewer than 100 updates,
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
    warning E904: the last of 60 epochs is the best, and the loss fell by 7.5% in the last 15, ...
      → Raise lr, to the default of the optimizer.
      explains E902, E925

    Ignore it where the score is good enough for its purpose.
    """
    losses, last = losses_to_monitor(history), history.epochs[-1].epoch
    if history.stopped != "epochs" or history.best_epoch < last or not losses:
        return None
    predictions = [history.held_out]
    if not relative_losses(history, validation=True):
        predictions.append(history.predictions)
    if any(min(skills_of(rows), default=0.0) >= MIN_GOOD_SKILL for rows in predictions):
        return None
    total, rate = history.settings.epochs or last, history.settings.lr
    steps = updates(facts, history)
    few = steps is not None and steps < MIN_UPDATES and not facts.data.length
    if steps is not None and few and losses[-1] > MIN_LOSS_TO_LEARN / 2:
        message = f"{steps} updates in {last} epochs, and the last epoch is the best"
        fix: dict[str, Any] = {"epochs": -(-total * 3 * MIN_UPDATES // max(1, steps))}
        return Hit(message=message, evidence={"updates": steps}, fix=fix)
    high = history.epochs[-1].lr > highest_rate(history)[0] / 2
    part, least = (0.75, MIN_FALL) if high else (0.5, MIN_FAST_FALL)
    begin = int(part * len(losses))
    fallen = 1 - losses[-1] / losses[begin] if begin and losses[begin] else 0.0
    if fallen < least or losses[-1] < MAX_CONVERGED_LOSS:
        return None
    slow = rate < usual_rate(history.settings) / SLOW_RATE_RATIO
    return Hit(
        message=f"the last of {last} epochs is the best, and the loss fell by {percent(fallen)} "
        f"in the last {last - begin}, at lr {rate:g}",
        evidence={"fallen": fallen, "lr": rate},
        remedy="Raise lr, to the default of the optimizer." if slow else "",
        fix={"lr": usual_rate(history.settings)} if slow else {"epochs": 3 * total},
    )


@after(
    "E906",
    "warning",
    "Gather or repeat rows of it, or set class_weight='balanced'.",
)
def class_never_predicted(facts: Facts, history: HistoryFacts) -> Hit | None:
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
    info E906: m hardly ever predicts "1" (0 times, 12 rows have it)
      probably because of E110

    Ignore it where the class is only meant to lower the confidence in others.
    """
    messages: dict[str, str] = {}
    for name, predictions in history.predictions.items():
        if "E330" in facts.data.suspicions and name in facts.outputs_of_positions:
            continue  # next-token predictions rarely contain rare letters and words
        if missed := rarely_predicted_classes(predictions):
            messages[name] = f"{name} hardly ever predicts {join_names(missed)}"
    weighed = history.settings.class_weight
    more = {"remedy": "Gather or repeat rows of it."} if weighed else {}
    return merge_hits(messages, fix={} if weighed else {"class_weight": "balanced"}, **more)


@after(
    "E922",
    "warning",
    "Add hidden layers or units with an activation, and train more epochs.",
    confidence=0.8,
    raises=["capacity", "epochs"],
    explains=["E902", "E925", "E926"],
)
def worse_than_neighbours(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The model predicts the class of far fewer training rows than their nearest neighbours do.

    The classes of the three nearest rows are the result of a look-up without any training (Cover &
    Hart 1967: at worst twice the error of the best classifier). A model that is worse by 15% of
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
      explains E902, E926

    Ignore it where a small model is wanted for its speed or simplicity.
    """
    suspicion = facts.data.suspicions.get("E922")
    if suspicion is None or len(history.predictions) != 1 or static_weights(facts) is not None:
        return None
    ((name, predictions),) = history.predictions.items()
    reach, got = suspicion.evidence["found"], score(predictions)
    if predictions.several or not predictions.rows or skill(predictions) is None:
        return None
    error = suspicion.evidence["error"] + (got * (1 - got) / predictions.rows) ** 0.5
    if reach - got < MIN_DISTANCE_TO_NEIGHBOURS + error:
        return None
    return Hit(
        message=f"{name} predicts the class of {got:.0%} of the training rows, their nearest "
        f"neighbours that of {reach:.0%}",
        evidence={"found": got, "neighbours": reach},
    )


@after(
    "E927",
    "advice",
    "Leave weight_decay out: by default it follows from the rows.",
    confidence=0.7,
    lowers=["regularisation"],
    refuted=True,
    explains=["E902", "E922", "E925", "E926"],
)
def decay_holds_back(facts: Facts, history: HistoryFacts) -> Hit | None:
    """Decoupled weight decay is eight times what adamw has by default for such rows, and the
    training rows are predicted hardly better than their nearest neighbours predict them: by less
    than 0.05 of the rows, or of R².

    A network that is free to follow its training rows is far better on these than neighbours, which
    do not know the row itself. Of the sixty tuning problems of docs/defaults.md with eight values
    of decay each, 28 met the condition with ten times the default: in a test the default was better
    by two standard errors in 18, and worse in 2. Of 13 in which decay cost more than 0.01 of
    accuracy or R², it named 12.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> import math
    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w, shape=[32]), add(b), "
    >>> text += "relu(), matmul(v), add(c), softmax();"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(300)]
    >>> labels = [int(y > 0.5 + 0.3 * math.sin(9 * x)) for x, y in rows]
    >>> data = Dataset(rows, labels, standardize=True)
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=60, weight_decay=1.0)
    >>> print(*[found for found in history.findings if found.id == "E927"])
    advice E927: weight decay 1 is 37 times the default for such rows, and m predicts ...
      → Leave weight_decay out: by default it follows from the rows.

    Ignore it where small weights are wanted more than a good fit.
    """
    suspicion, settings, rows = facts.data.suspicions.get("E922"), history.settings, facts.data
    if suspicion is None or len(history.predictions) != 1 or rows.training < MIN_NEIGHBOURS:
        return None
    ((name, predictions),) = history.predictions.items()
    reach, got = suspicion.evidence["found"], score(predictions)
    if predictions.several or skill(predictions) is None or got > reach + MAX_LEAD:
        return None
    usual = choose_decay(rows.training, facts.profile.input_features, 1 - reach)
    optimizer, decay = OPTIMIZERS[settings.optimizer], settings.weight_decay
    if not (optimizer.decoupled and optimizer.adaptive) or decay < MIN_DECAY_RATIO * usual:
        return None
    return Hit(
        message=f"weight decay {decay:g} is {decay / usual:.0f} times the default for such rows, "
        f"and {name} predicts {rows.training:,} training rows with {_show(predictions)}, their "
        f"nearest neighbours with {reach:.2f}",
        evidence={"weight_decay": decay, "usual": usual},
        fix={"weight_decay": usual},
    )


def _show(predictions: PredictionFacts) -> str:
    name = "accuracy" if predictions.explained is None else "R²"
    return f"{name} {score(predictions):.2f}"


@after(
    "E923",
    "warning",
    "If their order matters, put a recurrent layer, a convolution, or positionalEncoding() and "
    "attention before the pooling; if not, check whether labels belong to their rows, and gather "
    "more.",
    confidence=0.95,
    explains=[*BEATEN, "E310", "E902", "E908"],
)
def order_loss(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A model is at chance (95%) on rows that were not trained on, and pools its sequence without
    anything before the pooling that depends on the order: no recurrent layer, convolution,
    positions, or attention with causal=true; not where it is right on more than 99% of its
    training rows, which it could not tell apart if the order made their difference, nor where which
    tokens come first, last or after each other tells the target no better than in one of 499 random
    orders of the targets (p = 0.002).

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
    pools = orderless_pools(facts, history)
    if not pools:
        return None
    (name,) = history.predictions
    verb = "pools" if len(pools) == 1 else "pool"
    return Hit(
        message=f"{name}: {scores_of(history, name)}: at chance, and {' and '.join(pools)} {verb} "
        "the sequence without its order",
        nodes=tuple(pools),
    )


@after(
    "E924",
    "warning",
    "Check whether labels belong to their rows; if it matters how things far apart are arranged, "
    "let windows reach further by more convolutions and strides of 2, or use flatten() in place of "
    "the pooling.",
    confidence=0.8,
    explains=[*BEATEN, "E310", "E902", "E908"],
)
def position_loss(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A model is at chance (95%) on rows that were not trained on, and pools its picture, or its
    signal, over all positions after the convolutions; not where a warning on scales, rates, initial
    values or saturated layers explains why it learnt nothing, nor where it is right on more than
    99% of its training rows.

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
    info E924 line 1, column 95: m: 71 of 256 right on training rows, 34 of 120 right on ...
      probably because of E323

    Ignore it where positions are irrelevant, and the data do not contain the answer.
    """
    pools = positionless_pools(facts, history)
    if not pools:
        return None
    (name,) = history.predictions
    verb = "takes" if len(pools) == 1 else "take"
    positions = facts.data.suspicions.get("E323")
    ordered = any(vertex.features[0].sequence for vertex in facts.network.inputs)
    remedy = SEQUENCE_REMEDY if ordered else POSITIONS_REMEDY if positions else ""
    return Hit(
        message=f"{name}: {scores_of(history, name)}: at chance, and {' and '.join(pools)} {verb} "
        "all places together" + (f", and {positions.message}" if positions else ""),
        nodes=tuple(pools),
        remedy=remedy,
    )
