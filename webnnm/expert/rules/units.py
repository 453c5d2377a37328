"""Rules on units, weights and gradients after a training (spec E908–E912, E919, E920).

Thresholds without another source were measured on the programs of tests/teach: sound programs stay
on the other side of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webnnm.expert.facts.course import highest_rate, percent, relative_losses, usual_rate
from webnnm.expert.facts.facts import Facts, HistoryFacts
from webnnm.expert.facts.learning import (
    MIN_GOOD_SKILL,
    MIN_LOSS_TO_LEARN,
    is_beaten,
    keeps_up_with_neighbours,
    skills_of,
)
from webnnm.expert.rules.rule import Hit, after, merge_hits
from webnnm.expert.rules.symptoms import BEATEN, STUCK

MAX_DEAD, MAX_SATURATED = 0.5, 0.75
"""A share of a layer's units, and of its values, that leaves less than half of the layer."""
MIN_GRADIENT_RATIO = 1e-4
"""Ratio of the gradients of two layers below which no single rate fits both."""
MAX_STILL_MOVE, MIN_OTHER_MOVE = 1e-3, 0.05
"""A weight moved by less than the first share of its norm, another one by the second or more."""
MAX_MOVE = 10
"""A weight that moved by this many times its norm has nothing left of its initial value."""
MAX_CLIPPED_MOVE = 0.01
MAX_CLIPPED_STEPS = 0.9
"""Clipping is for peaks; with this share of clipped steps there are no peaks."""


@after(
    "E908",
    "warning",
    "Lower lr, or use leakyRelu.",
    lowers=["lr"],
    refuted=True,
    explains=["E902", "E904", "E910", "E911", "E922"],
)
def dead_units(facts: Facts, history: HistoryFacts) -> Hit | None:
    """More than half of the units of a relu, gelu or hardSwish layer are 0 for every row after the
    training, and were not before (E310); only information where the skill is 0.9 on training rows,
    or 0.95 on other rows, or the model predicts no worse than the nearest training rows, or where a
    simple model is far better, which has more causes (E925, E926).

    A relu unit that is 0 for every row has no gradient, and remains 0. It happens when a step at
    too high a rate makes its bias very negative. Where the units that are left predict other rows
    as well as a look-up does, they were enough: at most 5% of such models are reported.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; "
    >>> text += "m:layers matmul(w, shape=[16]), add(b), relu(), matmul(v);"
    >>> data = Dataset([[i / 40] for i in range(40)], [i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=10, optimizer="sgdm", lr=30, schedule="constant")
    >>> print(*[found for found in history.findings if found.id == "E908"])
    info E908 line 1, column 80: 100% of the units of relu1 are 0 for every row after the ...
      probably because of E305

    Ignore it where half of the units are enough.
    """
    before = facts.scouting.dead
    shares = {
        layer: share
        for layer, share in history.dead.items()
        if share > MAX_DEAD and before.get(layer, 0.0) <= MAX_DEAD
    }
    hit = _by_rate(
        history,
        {layer: f"{share:.0%} of the units of {layer}" for layer, share in shares.items()},
        " are 0 for every row after the training",
        evidence={"dead": shares},
        otherwise="Use leakyRelu, and initialise the layer with the default init.",
    )
    is_minor = is_beaten(history) or _are_enough(facts, history)
    return replace(hit, severity="info") if hit and is_minor else hit


def _are_enough(facts: Facts, history: HistoryFacts) -> bool:
    """Return whether the units that are left have learnt what there is to learn."""
    skills = skills_of(history.predictions)
    fitted = bool(skills) and min(skills) >= MIN_GOOD_SKILL
    return fitted or keeps_up_with_neighbours(facts, history)


def _by_rate(
    history: HistoryFacts,
    messages: Mapping[str, str],
    tail: str,
    *,
    evidence: Mapping[str, Any],
    otherwise: str,
) -> Hit | None:
    """Return what was found, node → text; a rate above the usual one is the first explanation."""
    rate, default = highest_rate(history)[0], usual_rate(history.settings)
    high = rate > default
    return merge_hits(
        messages,
        tail=f"{tail}, at lr {rate:g}",
        evidence=evidence,
        fix={"lr": default} if high else {},
        remedy="" if high else otherwise,
    )


@after(
    "E909",
    "warning",
    "Standardise the inputs, and leave init out; relu does not saturate.",
    explains=[*BEATEN, "E902", "E904", "E910", "E911", "E922"],
)
def saturation(facts: Facts, history: HistoryFacts) -> Hit | None:
    """More than three quarters of the values of a tanh or sigmoid layer are at the ends of its
    range; only information where the skill is 0.9 on training rows, or the model predicts no worse
    than the nearest training rows.

    At the ends of tanh and sigmoid the slope is below a hundredth: neither the layer nor those
    before it learn. A layer that has learnt to tell classes apart may end there, too.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; "
    >>> text += "m:layers matmul(w, shape=[8]), add(b), tanh(), matmul(v);"
    >>> data = Dataset([[1000.0 * i] for i in range(1, 41)], [i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20)
    >>> print(*[found for found in history.findings if found.id == "E909"])
    info E909 line 1, column 79: 100% of the values of tanh1 are at the ends of its range, ...
      probably because of E603

    Ignore it where the layer is meant to switch, as gates do.
    """
    shares = {layer: share for layer, share in history.saturated.items() if share > MAX_SATURATED}
    return merge_hits(
        {layer: f"{share:.0%} of the values of {layer}" for layer, share in shares.items()},
        tail=" are at the ends of its range, where its gradient vanishes",
        evidence={"saturated": shares},
        severity="info" if _are_enough(facts, history) else None,
    )


@after(
    "E910",
    "warning",
    "Use the relu family, fewer layers, residual connections or normalisation.",
    explains=BEATEN,
)
def vanishing_gradient(facts: Facts, history: HistoryFacts) -> Hit | None:
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
    info E910 line 1, column 89: the gradient of w2 is 1.3e-10, that of v1 1.8e-01
      probably because of E303, E304, E709

    Ignore it where the layer is meant to keep its values.
    """
    norms = {name: norm for name, norm in history.gradients.items() if norm > 0}
    if len(norms) < 2:
        return None
    low, high = min(norms, key=norms.__getitem__), max(norms, key=norms.__getitem__)
    if norms[low] > MIN_GRADIENT_RATIO * norms[high]:
        return None
    return Hit(
        message=f"the gradient of {low} is {norms[low]:.1e}, that of {high} {norms[high]:.1e}",
        nodes=(low, high),
        evidence={"gradients": norms},
    )


@after("E911", "warning", "Leave lrm out, or raise it.", raises=["lrm"], explains=BEATEN)
def slow_weight(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A weight moved by less than 10⁻³ of its norm, while another one moved by 5% or more.

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
    info E911 line 1, column 56: w1 moved by 0.063%; w2 moved by 0.063%; w3 moved by 0.063%...
      probably because of E303, E304, E709

    Ignore it where it was taken from a trained model and should stay unchanged.
    """
    moved = history.moved
    if max(moved.values(), default=0.0) < MIN_OTHER_MOVE:
        return None
    moves = {name: way for name, way in moved.items() if 0 < way < MAX_STILL_MOVE}
    return merge_hits(
        {name: f"{name} moved by {percent(way)}" for name, way in moves.items()},
        tail=f" in the whole training, other weights by up to {percent(max(moved.values()))}",
        evidence={"moved": dict(moved)},
    )


@after("E912", "warning", "Lower lr, and lrm of this layer.", lowers=["lr", "lrm"], explains=BEATEN)
def leaping_weight(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A weight moved by more than ten times its norm; not that of a linear model, nor one whose
    initial values the text sets.

    A weight that moved by ten times its norm has nothing left of its initial value: one step was
    too long, and the layers after it get values that they never saw. A linear model has no layers
    after it, and reaches the same weights from any initial value.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w, shape=[2]), matmul(v);"
    >>> data = Dataset([[i / 4000] for i in range(40)], [10.0 * i for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=100, lr=3)
    >>> print(*[found for found in history.findings if found.id == "E912"])
    info E912 line 1, column 56: w1 moved by 34 times its norm; v1 moved by 28 times its norm, ...
      probably because of E108, E305, E603

    Ignore it where it was intentionally initialised near 0.
    """
    if facts.profile.is_linear:
        return None
    written = {parameter.name for parameter in facts.network.parameters if parameter.init}
    moves = {
        name: way for name, way in history.moved.items() if way > MAX_MOVE and name not in written
    }
    return _by_rate(
        history,
        {name: f"{name} moved by {way:.0f} times its norm" for name, way in moves.items()},
        "",
        evidence={"moved": moves},
        otherwise="Leave lrm of this layer out, or lower it.",
    )


@after(
    "E919",
    "warning",
    "Set gradient_clipping='off', or a larger agc_lambda.",
    raises=["agc_lambda"],
    explains=STUCK,
)
def constant_clipping(facts: Facts, history: HistoryFacts) -> Hit | None:
    """Nine in ten steps or more were clipped, and a weight moved by less than 1%.

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
    info E919 line 1, column 56: gradients were clipped in 100% of the steps, and w1 moved by ...
      probably because of E325

    Ignore it where lr was chosen with that in mind.
    """
    rates = [record.clip_rate for record in history.epochs if record.clip_rate is not None]
    if not rates or sum(rates) < MAX_CLIPPED_STEPS * len(rates):
        return None
    name = min(history.moved, key=history.moved.__getitem__, default="")
    if not name or history.moved[name] > MAX_CLIPPED_MOVE or vanishing_gradient(facts):
        return None
    return Hit(
        message=f"gradients were clipped in {percent(sum(rates) / len(rates))} of the steps, and "
        f"{name} moved by {percent(history.moved[name])}",
        nodes=(name,),
        evidence={"clip_rate": sum(rates) / len(rates)},
        fix={"gradient_clipping": "off"},
    )


@after("E920", "warning", "Lower lambda1 and lambda2.", lowers=["regularisation"], explains=STUCK)
def dominant_penalty(facts: Facts, history: HistoryFacts) -> Hit | None:
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
    info E920: the penalty on the weights was 137 in the first epoch, the loss 1.45: weights ...
      probably because of E415

    Ignore it where the sparsest model is wanted.
    """
    first, losses = history.epochs[0], relative_losses(history)
    if (
        not first.penalty
        or not losses
        or first.penalty < first.loss
        or losses[-1] < MIN_LOSS_TO_LEARN
    ):
        return None
    strengths = {"lambda1": history.settings.lambda1, "lambda2": history.settings.lambda2}
    return Hit(
        message=f"the penalty on the weights was {first.penalty:.3g} in the first epoch, the loss "
        f"{first.loss:.3g}: weights go to zero before they learn",
        evidence={"penalty": first.penalty, "loss": first.loss},
        fix={name: 0.0001 for name, strength in strengths.items() if strength},
    )
