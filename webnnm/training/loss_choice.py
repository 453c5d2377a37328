"""Chooses the loss of an output, and its parameters if they are not given (spec D.3, D.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, show
from webnnm.graph.elaboration.loss_words import loss_name
from webnnm.training.losses import DEFAULTS, LOSSES, Alpha, Labels, Loss, LossSettings
from webnnm.training.output_activation import OutputActivation

LARGE_SHARE = 0.9
"""Labels are unbalanced if one class has more than this share (spec D.4)."""

MAD_TO_STD = 1.4826
"""A normal distribution's standard deviation in median absolute deviations."""

HUBER_FACTOR = 1.345
"""δ in standard deviations of the error (95% efficiency, Holland and Welsch 1977)."""
REMAINING_ERROR = 0.25
"""The expected remaining error of a model, in robust standard deviations of the labels. These
are based on the median: a few outliers would inflate any other measure."""

FOCAL_GAMMA = 2.0
FOCAL_ALPHA = 0.25
"""Automatic γ, and α of sigmoid outputs with unknown labels (spec D.3; Lin et al. 2017)."""

Conversion = Literal["onehot", "classes", "signs"]
"""The conversions of labels before training: class numbers become one-hot rows, one-hot rows
become class numbers, 0 and 1 become −1 and 1 (class numbers after they became one-hot)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFacts:
    """Facts about the labels of an output, measured on its training rows.

    >>> LabelFacts(kind="classes", class_counts=(30, 10)).share
    0.75

    - `kind`: what they are according to the dataset (spec G.1), `declared` if the user said so;
      `shape`: the shape of one row, or of one position of a sequence.
    - `classes`, `class_counts`: how many there are, and how often each occurs; also for yes/no
      labels that exclude one another; for others (no, yes) over all elements. 0 and () without
      classes.
    - `minimum`, `maximum`: of all values, negative class numbers included.
    - `mean`, `std`, `deviation`, `median_deviation`: mean, standard deviation, mean absolute
      deviation from the mean, median absolute deviation from the median; each averaged over the
      last dimension (`std` as a variance); of class numbers those of their one-hot form.
    - `raw_minimum`, `raw_maximum`, `raw_whole`: smallest and largest value, and whether all are
      integers, in the units of the data, if the values are standardised.
    - `whole`, `binary`, `signs`: all values are integers; are 0 or 1; are −1 or 1.
    - `single`, `several`: all are 0 or 1, and every row has exactly one 1; or some row has several.
    - `sums_to_one`: values are at least 0 and every row sums to 1 ± 1e-3.
    - `outliers`: a few values are far from the rest (spec D.4.5); `skewed`: these are the long tail
      of non-negative values, whose logarithms have no outliers, such as counts and prices.
    - `constant`: the columns of several measurements that are the same in all rows.
    - `negative`: the share of positions with a negative class number, which do not count.
    """

    kind: str
    declared: bool = False
    shape: Shape = ()
    classes: int = 0
    class_counts: tuple[int, ...] = ()
    minimum: float = 0.0
    maximum: float = 0.0
    mean: float = 0.0
    std: float = 0.0
    deviation: float = 0.0
    median_deviation: float = 0.0
    raw_minimum: float = 0.0
    raw_maximum: float = 0.0
    raw_whole: bool = False
    whole: bool = False
    binary: bool = False
    signs: bool = False
    single: bool = False
    several: bool = False
    sums_to_one: bool = False
    outliers: bool = False
    skewed: bool = False
    constant: tuple[int, ...] = ()
    negative: float = 0.0

    @property
    def long_tailed(self) -> bool:
        """Whether outliers are the long tail of counts and prices, of which the mean is wanted."""
        return self.outliers and (self.skewed or (self.raw_whole and round(self.raw_minimum) >= 0))

    @property
    def share(self) -> float:
        """The share of the largest class, 0 without classes."""
        return max(self.class_counts, default=0) / max(1, sum(self.class_counts))

    @property
    def exclusive(self) -> bool:
        """Whether every row has one class, and `class_counts` counts those."""
        return self.single or self.kind in ("classes", "onehot")


@dataclass(frozen=True, slots=True)
class Choice:
    """The loss of an output, the reason for it, and the form of its targets.

    `labels` is the form of the targets that the loss receives, `conversion` how the dataset's
    labels are converted to it, None if they already have that form.
    """

    loss: Loss
    reason: str
    labels: Labels
    conversion: Conversion | None = None


def choose_loss(
    activation: OutputActivation,
    features: Shape,
    requested: str | None = None,
    labels: LabelFacts | None = None,
    where: str = "the output",
) -> Choice:
    """Return the loss of an output: as written, or else the first of D.4 that fits.

    >>> choice = choose_loss("softmax", (3,), None, LabelFacts(kind="onehot", single=True))
    >>> choice.loss.name, choice.reason
    ('CCE', 'softmax and one-hot labels')

    - `activation`: the output activation; `features`: the output's sizes without batch and
      sequence.
    - `requested`: a loss by any of its names, None to choose one.
    - `labels`: the facts about the training rows' labels, None without a dataset.
    - `where`: the name of the output in errors.

    Raises `DataError` NNM604 if the loss is impossible for this output or these labels, NNM706
    for a class without a score.
    """
    scores = features[-1] if features else 1
    numbers = labels is not None and scores > 1 and _are_class_numbers(labels, features)
    if requested is not None:
        loss, reason = LOSSES[loss_name(requested) or requested], "as written"
    elif labels is None:
        loss, reason = LOSSES[DEFAULTS[activation]], f"{activation} output, no labels available"
    else:
        name, reason = _choose_name(activation, scores, labels, numbers, where)
        loss = LOSSES[name]
    form = "same" if loss.name == "FOL" and activation == "sigmoid" else loss.labels
    _check_output(loss, form, activation, scores, where)
    if labels is None:
        return Choice(loss, reason, form)
    if numbers and labels.maximum >= scores:
        raise DataError(
            "NNM706",
            f"{where} has labels up to {labels.maximum:g}, but scores for classes "
            f"0 … {scores - 1} only",
            hint=f"give the model {labels.maximum + 1:g} scores, or correct the labels",
        )
    if numbers and labels.minimum < 0 and form == "distribution":
        return Choice(loss, reason, "classes")  # one-hot rows could not show which positions count
    return Choice(loss, reason, form, _choose_conversion(loss, form, labels, numbers, where))


def _are_class_numbers(labels: LabelFacts, features: Shape) -> bool:
    """Return whether labels are one class number instead of the scores of all classes."""
    has_matching_shape = labels.whole and labels.shape == features[:-1]
    return labels.kind == "classes" or (labels.kind == "continuous" and has_matching_shape)


def _choose_name(
    activation: OutputActivation, scores: int, labels: LabelFacts, numbers: bool, where: str
) -> tuple[str, str]:
    """Return the name of the first loss of D.4 that fits, and the reason."""
    if labels.kind == "boxes":
        return "BOX", "a grid of boxes"
    if activation in ("softmax", "logSoftmax") and scores > 1:
        if numbers:
            return "SCE", f"{activation} and class numbers"
        if labels.exclusive:
            return "CCE", f"{activation} and one-hot labels"
        if labels.sums_to_one:
            return "KLD", f"{activation} and labels that sum to 1"
        description = _describe(labels)
        hint = "end it in sigmoid() for yes/no labels, or without an activation for measurements"
        if labels.binary and not labels.several:
            hint = "drop the rows without a label; or end it in sigmoid() for yes/no labels"
        _fail(
            f"{where} ends in {activation}, which is for classes; its labels are {description}",
            hint,
        )
    if activation == "sigmoid":
        return "BCE", "sigmoid output"
    if activation == "linear":
        if numbers and (labels.kind == "classes" or labels.minimum >= 0):
            return "SCE", f"class numbers for {scores} scores"
        if labels.signs:
            return "HIL", "all labels are −1 or 1"
        if labels.outliers:
            return "HUL", "labels with outliers"
    return DEFAULTS[activation], "labels are numbers without outliers"


def _check_output(
    loss: Loss, form: Labels, activation: OutputActivation, scores: int, where: str
) -> None:
    """Refuse losses that an output cannot have, whatever its labels are."""
    if loss.name == "BOX" and activation != "linear":
        hint = f"leave {activation}() out"
        _fail(f"BOX takes logits and sizes, and {where} ends in {activation}", hint)
    if loss.name == "FOL" and activation == "linear":
        hint = "end the model in softmax() or sigmoid()"
        _fail(f"FOL needs probabilities, and {where} ends in neither softmax nor sigmoid", hint)
    if scores < 2 and form in ("distribution", "classes"):
        hint = "for yes/no labels end the model in sigmoid() and use BCE"
        _fail(f"{loss.name} compares classes, but {where} has one score", hint)


def _choose_conversion(
    loss: Loss, form: Labels, labels: LabelFacts, numbers: bool, where: str
) -> Conversion | None:
    """Return how labels are converted to the form that a loss needs; refuse what cannot be."""
    if (loss.name == "BOX") != (labels.kind == "boxes"):
        what = "boxes" if labels.kind == "boxes" else _describe(labels)
        hint = "DetectionDataset has labels for BOX, and BOX is the loss for its labels"
        _fail(f"{loss.name} is not the loss for the labels of {where}, which are {what}", hint)
    if form == "classes":
        if numbers:
            return None
        if labels.single:
            return "classes"
        hint = "give class numbers, or use CCE for distributions and MSE for measurements"
        _fail(f"SCE needs class numbers or one-hot rows, {where} has {_describe(labels)}", hint)
    if numbers and labels.minimum < 0:
        hint = "use SCE, CCE or FOL on a softmax, or drop these rows"
        _fail(
            f"{where} has negative class numbers, down to {labels.minimum:g}, which mark "
            f"positions that do not count; {loss.name} cannot leave them out",
            hint,
        )
    if form == "signs":
        if numbers or labels.binary:
            return "signs"
        if labels.signs:
            return None
        hint = "use MSE or HUL for measurements"
        _fail(f"{loss.name} needs labels −1 and 1, {where} has {_describe(labels)}", hint)
    if numbers:
        return "onehot"
    if form == "distribution" or "sigmoid" in loss.fused:
        limit = math.inf if form == "distribution" else 1
        if labels.minimum < 0 or labels.maximum > limit:
            bounds = "from 0" if limit > 1 else "from 0 to 1"
            hint = "leave the activation out and use MSE for measurements, or scale the labels"
            if labels.signs:
                hint = "make them 0 and 1: (labels + 1) / 2"
            _fail(f"{loss.name} needs labels {bounds}, {where} has {_describe(labels)}", hint)
    return None


def _describe(labels: LabelFacts) -> str:
    """Return a description of labels, for errors."""
    extent = f"between {labels.minimum:g} and {labels.maximum:g}"
    if labels.several:
        return "rows with more than one 1"
    if labels.binary and labels.kind != "classes" and labels.shape[-1:] > (1,):
        return "rows of 0 and 1, some without a 1"
    if labels.sums_to_one and not labels.single:
        return "rows that sum to 1"
    return f"{'integers' if labels.whole else 'numbers'} {extent} {show(labels.shape)}"


def _fail(message: str, hint: str) -> NoReturn:
    raise DataError("NNM604", message, hint=hint)


def choose_loss_settings(
    choice: Choice,
    activation: OutputActivation,
    features: Shape,
    written: Mapping[str, Alpha] | None = None,
    labels: LabelFacts | None = None,
    *,
    smoothing: float = 0.0,
    where: str = "the output",
) -> LossSettings:
    """Return the parameters of a loss: those written, or else the automatic ones (spec D.3).

    >>> labels = LabelFacts(kind="continuous", median_deviation=2.0)
    >>> choice = choose_loss("linear", (1,), "HUL")
    >>> round(choose_loss_settings(choice, "linear", (1,), labels=labels).delta, 3)
    0.997

    - `activation`, `features`, `labels`, `where`: as for `choose_loss`.
    - `written`: "delta", "gamma", "alpha" of the notation, in range.
    - `smoothing`: the label smoothing, 0 ≤ ε < 1.

    Raises `DataError` NNM603 for a parameter of another loss, or an α that does not fit the output.
    """
    parameters: dict[str, Any] = dict(written or {})
    for name in parameters.keys() - set(choice.loss.parameters):
        owner = next(loss.name for loss in LOSSES.values() if name in loss.parameters)
        raise DataError(
            "NNM603",
            f"{name} is not a parameter of {choice.loss.name}, "
            f"the loss of {where} ({choice.reason})",
            hint=f"write {owner} as its loss, or leave {name} out",
        )
    if choice.loss.name == "HUL":
        delta = 0.0 if labels is None else REMAINING_ERROR * MAD_TO_STD * labels.median_deviation
        delta *= HUBER_FACTOR
        parameters.setdefault("delta", delta if 0 < delta < math.inf else 1.0)
    if choice.loss.name == "QUL":
        count = features[-1] if features else 1
        spread = tuple((k + 0.5) / count for k in range(count))
        _check_levels(parameters.setdefault("alpha", spread), count, where)
    if choice.loss.name == "FOL":
        parameters.setdefault("gamma", FOCAL_GAMMA)
        scores = features[-1] if features else 1
        if "alpha" in parameters:
            check_alpha(parameters["alpha"], activation, features, where)
        elif activation == "sigmoid":
            parameters["alpha"] = _balance_alpha(labels)
        elif labels is not None and labels.exclusive and labels.class_counts:
            parameters["alpha"] = _balance_weights(labels.class_counts, scores)
    return LossSettings(smoothing=smoothing, **parameters)


def _balance_alpha(labels: LabelFacts | None) -> float:
    """Return the α of yes that gives both answers the same total weight; 0.25 if unknown."""
    if labels is None or labels.exclusive or len(labels.class_counts) != 2:
        return FOCAL_ALPHA
    no, yes = labels.class_counts
    return no / (no + yes) if no and yes else FOCAL_ALPHA


def _balance_weights(counts: tuple[int, ...], scores: int) -> tuple[float, ...]:
    """Return N/N_c scaled to mean 1 over the classes that occur; 1 for those that do not."""
    positive = [count for count in counts if count]
    scale = len(positive) / sum(1 / count for count in positive) if positive else 1.0
    padded = (*counts, *(0,) * (scores - len(counts)))
    return tuple(scale / count if count else 1.0 for count in padded)


def check_alpha(alpha: Alpha, activation: OutputActivation, features: Shape, where: str) -> None:
    """Raise `DataError` NNM603 for weights of a focal loss that do not fit an output."""
    numbers = alpha if isinstance(alpha, tuple) else (alpha,)
    classes = max(2, features[-1] if features else 1)
    if isinstance(alpha, tuple) and len(alpha) != classes:
        raise DataError(
            "NNM603",
            f"alpha of {where} has {len(alpha)} numbers, but there are {classes} classes",
            hint="give one number, or one for each class",
        )
    if activation == "sigmoid" and max(numbers) >= 1:
        raise DataError(
            "NNM603",
            f"alpha of {where} is {max(numbers):g}; with sigmoid it is the weight of yes, and "
            "1 − alpha that of no",
            hint="give a number above 0 and below 1",
        )


def _check_levels(alpha: Alpha, count: int, where: str) -> None:
    """Raise `DataError` NNM603 for levels of quantiles that do not fit an output."""
    levels = alpha if isinstance(alpha, tuple) else (alpha,)
    if max(levels) >= 1 or len(levels) not in (1, count):
        raise DataError(
            "NNM603",
            f"alpha of {where} is {[*levels]} for {count} quantiles",
            hint="give one level above 0 and below 1, or one for each quantile",
        )


def compute_reference_loss(
    loss: Loss, activation: OutputActivation, features: Shape, labels: LabelFacts | None = None
) -> float:
    """Return the loss of an uninformed prediction, which makes losses comparable (spec E.4).

    >>> round(compute_reference_loss(LOSSES["CCE"], "softmax", (3,)), 4)
    1.0986

    ln C for C classes, ln 2 for yes and no, the variance of the labels for MSE and HUL, their mean
    absolute deviation for MAE and QUL; 1 for other losses, and for labels that are unknown or
    constant.
    """
    if "sigmoid" in loss.fused and (loss.labels == "same" or activation == "sigmoid"):
        return math.log(2)
    if loss.labels in ("distribution", "classes"):
        return math.log(features[-1])
    if labels is None or loss.name == "HIL":
        return 1.0
    return (labels.deviation if loss.name in ("MAE", "QUL") else labels.std**2) or 1.0
