"""Rules on losses: does the loss fit output activation and labels? (spec E101–E118)."""

from __future__ import annotations

import math
from collections.abc import Callable

from webnnm.core.shapes import count
from webnnm.expert.facts import Facts, OutputFacts
from webnnm.expert.rule import Hit, grouped, rule
from webnnm.training.loss_choice import LARGE_SHARE, LabelFacts
from webnnm.training.losses import LOSSES, is_fused

SOFTMAX = ("softmax", "logSoftmax")
UNFITTING = {
    "BCE": ("linear", *SOFTMAX),
    "CCE": ("linear", "sigmoid"),
    "KLD": ("linear", "sigmoid"),
    "MSE": SOFTMAX,
    "MAE": SOFTMAX,
    "HUL": SOFTMAX,
    "HIL": ("sigmoid", *SOFTMAX),
}
"""Heads that a loss is not made for."""

CONVERTED = {
    "onehot": "class numbers become one-hot rows",
    "classes": "one-hot rows become class numbers",
    "signs": "0 and 1 become −1 and 1",
}
MANY_CLASSES = 1000
SCALE = {"least": 0.1, "most": 10.0, "mean": 3.0}
"""Targets are well scaled with a deviation between the first two and a mean within the third."""


RANGES = {
    "relu": (0.0, math.inf),
    "softplus": (0.0, math.inf),
    "exp": (0.0, math.inf),
    "abs": (0.0, math.inf),
    "sigmoid": (0.0, 1.0),
    "hardSigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "softsign": (-1.0, 1.0),
}
"""From where to where the last operator of a model goes."""

SLACK = 0.01
"""Targets may lie so much of their extent beyond the range: as noise does."""

MEASURED = ("MSE", "MAE", "HUL")
"""Losses of measurements."""

MOST_NUMBERS = 20
"""Whole numbers from 0 or 1 up to this may be classes; counts and years go further."""

MOST_CLASSES = 100
"""Of so many scores, as of the words of a language, many are for classes that no row has."""


def _beyond(output: OutputFacts, labels: LabelFacts) -> bool:
    """Tell whether targets lie where the last operator cannot reach them."""
    low, high = RANGES.get(output.operator, (-math.inf, math.inf))
    slack = SLACK * (labels.maximum - labels.minimum)
    beyond = labels.minimum < low - slack or labels.maximum > high + slack
    return beyond and labels.kind == "continuous" and not labels.signs


def _outputs(
    facts: Facts, text: Callable[[OutputFacts, LabelFacts], str | None], loss: str = ""
) -> dict[str, str]:
    """Return what a rule says of outputs with this loss and known labels, by node."""
    texts = {
        output.node: text(output, output.labels)
        for output in facts.outputs
        if output.labels is not None and loss in ("", output.loss)
    }
    return {node: found for node, found in texts.items() if found}


@rule("E101", "info", "Write the loss into the text to decide yourself.", "chooses by D.4")
def chosen(facts: Facts) -> Hit | None:
    """An output has no loss in the text."""
    free = [o for o in facts.outputs if not (o.written or o.problem)]
    return grouped(
        {o.node: f"{o.loss} for {o.name}{o.reason and f' ({o.reason})'}" for o in free},
        changes={f"{o.name}:loss": o.loss for o in free},
    )


@rule(
    "E102",
    "warning",
    "Take the loss that fits the output activation, or the activation that fits the loss.",
)
def unfitting_activation(facts: Facts) -> Hit | None:
    """A written loss is not made for the output activation: BCE without sigmoid, CCE or KLD
    without softmax, MSE, MAE or HUL on softmax, HIL on softmax or sigmoid."""
    return grouped(
        {
            o.node: f"{o.loss} on the {o.activation} output {o.name}"
            for o in facts.outputs
            if o.written and o.activation in UNFITTING.get(o.loss, ())
        }
    )


@rule("E103", "error", "Change the loss, the output activation or the form of the labels.")
def impossible(facts: Facts) -> Hit | None:
    """Labels cannot fit the loss (NNM604, NNM706)."""
    found = [o for o in facts.outputs if o.problem]
    return grouped(
        {o.node: o.problem for o in found},
        evidence={
            o.name: {"activation": o.activation, "loss": o.loss or "not written"} for o in found
        },
    )


@rule("E104", "info", "Give the labels in the form that the loss takes.", "converts")
def converted(facts: Facts) -> Hit | None:
    """Labels have another form than the loss takes, and mean the same in it."""
    found = {
        o.node: f"{o.loss} of {o.name}: {CONVERTED[o.conversion]}"
        for o in facts.outputs
        if o.conversion
    }
    return grouped(found, action="labels converted")


@rule("E105", "warning", "Normalise the targets to rows that sum to 1.")
def unnormalised(facts: Facts) -> Hit | None:
    """KLD on targets whose rows do not sum to 1 ± 1e-3."""

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        exact = labels.sums_to_one or labels.kind in ("classes", "onehot")
        return None if exact else f"KLD, and rows of {output.name} do not sum to 1"

    return grouped(_outputs(facts, text, "KLD"))


@rule("E106", "warning", "End the model in softmax() and take CCE.")
def exclusive(facts: Facts) -> Hit | None:
    """BCE over two outputs or more of which each row has exactly one 1."""
    sizes = {o.name: count(o.source.features.sizes()) for o in facts.network.outputs}

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        width = sizes.get(output.name, 0)
        alone = labels.single and width > 1
        return f"BCE over {width} values of {output.name}, each row has one 1" if alone else None

    return grouped(_outputs(facts, text, "BCE"))


@rule("E107", "warning", "End the model in sigmoid() and take BCE.")
def inclusive(facts: Facts) -> Hit | None:
    """CCE on rows with several 1s."""
    return grouped(
        _outputs(
            facts,
            lambda o, labels: f"CCE, and {o.name} has several 1s in a row" * labels.several,
            "CCE",
        )
    )


@rule("E108", "warning", "Standardise the targets: standardize_targets=True.")
def unscaled(facts: Facts) -> Hit | None:
    """MSE on numbers with std > 10 or < 0.1, or |mean| > 3·max(std, 1); not E114 or E117."""

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        mean, std = labels.mean, labels.std
        if labels.std == 0 or _beyond(output, labels):
            return None
        scaled = SCALE["least"] <= std <= SCALE["most"]
        scaled &= abs(mean) <= SCALE["mean"] * max(std, 1)
        if scaled or labels.kind != "continuous" or labels.binary or labels.signs:
            return None
        return f"MSE, and targets of {output.name} have mean {mean:.3g}, std {std:.3g}"

    return grouped(_outputs(facts, text, "MSE"))


@rule("E109", "advice", "Take HUL, which outliers move less.", "HUL if no loss is written")
def outliers(facts: Facts) -> Hit | None:
    """MSE with outliers among the targets, or with gradients whose norms vary more than their mean
    over the batches of the seed search."""
    variation = facts.scouting.gradient_variation
    found = [
        o
        for o in facts.outputs
        if o.loss == "MSE"
        and (
            (o.labels is not None and o.labels.outliers)
            or (variation > 1 and o.activation == "linear")
        )
    ]
    why = f": gradient norms vary by {variation:.2f} of their mean" * (variation > 1)
    return grouped(
        {o.node: f"MSE on {o.name}{why or ', whose targets have outliers'}" for o in found},
        evidence={"gradient_variation": variation},
        changes={f"{o.name}:loss": "HUL" for o in found if not o.written},
    )


@rule(
    "E110",
    "advice",
    "Set class_weight='balanced' if rare classes matter as much as others.",
)
def unbalanced(facts: Facts) -> Hit | None:
    """One class has more than 90 % of the labels."""
    found = [
        (o, o.labels.share)
        for o in facts.outputs
        if o.labels is not None
        and o.labels.share > LARGE_SHARE
        and not (o.written and o.loss == "FOL")
    ]
    return grouped(
        {o.node: f"{share:.1%} of the labels of {o.name} are one class" for o, share in found},
        evidence={o.name: share for o, share in found},
        fix={"class_weight": "balanced"},
    )


@rule("E111", "info", action="computes output activation and loss together, from the logits")
def fused(facts: Facts) -> Hit | None:
    """ActivatedOutput and loss have a fused form (D.2)."""
    return grouped(
        {
            o.node: f"{o.activation} and {o.loss} of {o.name}"
            + f", which means {o.loss[:-1]} here" * (o.loss in ("CCEL", "BCEL"))
            for o in facts.outputs
            if not o.problem and is_fused(LOSSES[o.loss], o.activation)
        },
        action="output activation and loss computed together, from the logits",
    )


@rule("E112", "advice", "Give class numbers and take SCE.")
def many_classes(facts: Facts) -> Hit | None:
    """One-hot labels of 1000 classes or more."""
    return grouped(
        _outputs(
            facts,
            lambda o, labels: (
                f"{o.name} has one-hot rows of {labels.classes:,} classes"
                * (labels.kind == "onehot" and labels.classes >= MANY_CLASSES)
            ),
        )
    )


@rule("E113", "info", action="computes CCEL")
def from_logits(facts: Facts) -> Hit | None:
    """CCE where most heavy operators are float16, or on an NPU."""
    if not (facts.profile.mostly_float16 or facts.npu):
        return None
    return grouped(
        {
            o.node: f"CCE of {o.name} would take logarithms of float16 probabilities"
            for o in facts.outputs
            if o.loss == "CCE" and o.activation in SOFTMAX
        },
        action="computed from the logits, as CCEL",
    )


@rule("E114", "warning", "Look for the column that is meant: there is nothing to learn.")
def constant(facts: Facts) -> Hit | None:
    """All targets of the training rows are the same number, or the same class."""

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        alone = [n for n, rows in enumerate(labels.class_counts) if rows]
        if labels.exclusive:
            same = len(alone) == 1 < sum(labels.class_counts)
            return f"all labels of {output.name} are class {alone[0]}" if same else None
        same = labels.minimum == labels.maximum and labels.kind == "continuous"
        value = "the same" if output.standardized else f"{labels.minimum:g}"
        return f"all targets of {output.name} are {value}" if same else None

    return grouped(_outputs(facts, text))


@rule(
    "E115",
    "advice",
    "If the numbers are classes, give the model a score for each, end it in softmax() and give "
    "them as integers of shape [rows].",
    confidence=0.6,
)
def numbered(facts: Facts) -> Hit | None:
    """Targets of MSE, MAE or HUL on a single output are a few whole numbers from 0 or 1 on."""

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        whole = labels.whole and labels.minimum in (0, 1) and count(labels.shape) == 1
        few = labels.maximum - labels.minimum >= 2 and labels.maximum <= MOST_NUMBERS
        measured = output.loss in MEASURED and labels.kind in ("continuous", "classes")
        if not (whole and few and measured):
            return None
        low, high = labels.minimum, labels.maximum
        low, high = (0, labels.classes - 1) if labels.kind == "classes" else (low, high)
        return f"the targets of {output.name} are whole numbers {low:g} … {high:g}"

    return grouped(_outputs(facts, text))


@rule(
    "E116",
    "advice",
    "For one-hot rows end in softmax() and take CCE, for yes and no in sigmoid() and BCE.",
    confidence=0.7,
)
def squared(facts: Facts) -> Hit | None:
    """MSE, MAE or HUL, written or not, on yes/no labels or one-hot rows."""

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        if output.loss not in MEASURED or not labels.binary or labels.std == 0:
            return None
        kind = "one-hot rows" if labels.single else "0 and 1"
        return f"{output.loss} on {kind} of {output.name}, which {output.operator or 'it'} delivers"

    return grouped(_outputs(facts, text))


@rule(
    "E117",
    "warning",
    "Leave the output activation out, or scale the targets to where it goes.",
    confidence=0.95,
)
def out_of_reach(facts: Facts) -> Hit | None:
    """Targets lie where the last operator, as relu, sigmoid or tanh, cannot reach them."""

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        if not _beyond(output, labels):
            return None
        low, high = RANGES[output.operator]
        ends = f"from {low:g} to {high:g}" if high < math.inf else f"from {low:g} on"
        what = "standardised targets" if output.standardized else "targets"
        return (
            f"{output.name} ends in {output.operator}, which goes {ends}; its {what} go from "
            f"{labels.minimum:.4g} to {labels.maximum:.4g}"
        )

    return grouped(_outputs(facts, text))


@rule("E118", "advice", "Give the model a score for each class that there is.", confidence=0.6)
def spare_scores(facts: Facts) -> Hit | None:
    """A softmax has more scores than the data have classes, and at most 100."""
    sizes = {o.name: count(o.source.features.sizes()) for o in facts.network.outputs}

    def text(output: OutputFacts, labels: LabelFacts) -> str | None:
        scores = sizes.get(output.name, 0)
        known = labels.kind == "classes" and 1 < labels.classes < scores <= MOST_CLASSES
        if not known or output.activation not in SOFTMAX or labels.negative:
            return None
        return f"{output.name} has {scores} scores, the labels are 0 … {labels.classes - 1}"

    return grouped(_outputs(facts, text))
