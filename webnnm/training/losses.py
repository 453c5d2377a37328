"""The losses: ℓ per row of an output, given its target (spec part D)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.loss_words import loss_parameters
from webnnm.graph.node import Operand
from webnnm.training.output_activation import ActivatedOutput, OutputActivation

PROBABILITY_FLOOR = 1e-7
"""Probabilities without a fused form are clamped to [floor, 1 − floor] (spec D.2)."""

SIZE_WEIGHT = 0.1
"""The weight of the sizes of boxes beside the offsets of their centers (CenterNet)."""

SHAPE_VALUES = 4
"""The numbers of a cell of a grid of boxes after its classes, in cells: the offset (x, y) of the
center in the cell, width and height of the box."""

MIN_TARGET = 1e-30
"""Below this, a target counts as 0 when its logarithm is taken."""

Alpha = float | tuple[float, ...]

Labels = Literal["same", "distribution", "classes", "signs"]
"""Forms of targets: values of the output's shape, float32; the same with a distribution over the
last dimension; class numbers, int32, without the last dimension; ±1 in the output's shape."""


@dataclass(frozen=True)
class LossSettings:
    """The parameters of a loss; None means the fallback of D.3: δ = 1, γ = 2, no weights α.

    >>> LossSettings(delta=1.5).delta
    1.5

    - `delta`: where the Huber loss changes from quadratic to linear, in units of the target, > 0.
    - `gamma`: the exponent of the focal loss, ≥ 0.
    - `alpha`: its weights. For softmax one number for all classes or one per class; for sigmoid
      the weight of "yes" (of "no": 1 − α), or one per output, or the pair (no, yes) of one output.
      For quantiles their levels, one for all or one for each along the last dimension.
    - `smoothing`: ε in [0, 1): categorical targets become y(1−ε) + ε/C, binary ones
      y(1−ε) + ε/2 (Szegedy et al. 2016, section 7); losses not in `SMOOTHED` ignore it.
    - `class_weights`: the factors of ℓ of a row, one for each class; (no, yes) for a single score;
      for several labels, the factors of ℓ of yes.
    """

    delta: float | None = None
    gamma: float | None = None
    alpha: Alpha | None = None
    smoothing: float = 0.0
    class_weights: tuple[float, ...] | None = None


@dataclass(frozen=True)
class LossRows:
    """ℓ of every row, or position: `values` [batch] or [batch, positions…] in float32.

    `mask` has the same shape, 1 where a position counts and 0 where it does not; None if all do.
    """

    values: Operand
    mask: Operand | None = None


Rows = Callable[[GraphBuilder, ActivatedOutput, Operand, LossSettings, bool], LossRows]

Total = Callable[[GraphBuilder, ActivatedOutput, Operand, Operand], Operand]


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A loss: `rows(b, activation, target, settings, sequence)` gives ℓ per row.

    >>> from webnnm import GraphBuilder
    >>> from webnnm.training.output_activation import find_activation
    >>> b = GraphBuilder()
    >>> z, y = b.input("z", "float32", [8, 3]), b.input("y", "int32", [8])
    >>> LOSSES["SCE"].rows(b, find_activation(b.softmax(z)), y, LossSettings(), False).values
    float32[8]

    `sequence` says that axis 1 of the output is a sequence, each position of which is a row.
    A loss that reduces itself has `total(b, activation, target, weights)`, the weighted mean of
    all rows, instead of ℓ. Its names and parameters are in `LossWord`.

    - `labels` is the form of the targets; losses over classes also take int32 class numbers.
    - `fused`: the output activations with which it is computed together, from their operands (spec
      D.2). `unfitting`: those for which it is not made, with a `remedy` in words.
    - `logits`: a linear output is taken as logits, or as a score whose threshold is 0;
      `of_probabilities` names the same loss of probabilities, which it is after an activation.
    - `smoothed`: label smoothing applies. `measured`: targets are measurements; `robust`: of which
      outliers count less than squared.
    """

    name: str
    labels: Labels
    rows: Rows
    fused: tuple[OutputActivation, ...] = ()
    unfitting: tuple[OutputActivation, ...] = ()
    remedy: str = ""
    logits: bool = False
    of_probabilities: str = ""
    smoothed: bool = False
    measured: bool = False
    robust: bool = False
    total: Total | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The numbers that the notation can set."""
        return loss_parameters(self.name)


def name_loss_function(functions: Any, output: str) -> str:
    """Return the name of an output's loss that is given as a function, "" if it is not one.

    >>> name_loss_function(print, "y"), name_loss_function({"y": print}, "z")
    ('print()', '')
    """
    function = cast("Any", functions.get(output) if isinstance(functions, Mapping) else functions)
    return f"{getattr(function, '__name__', 'loss')}()" if function else ""


def has_several_labels(loss: str, features: Sequence[int]) -> bool:
    """Return whether an output with this loss says yes or no to each of several labels."""
    record = LOSSES.get(loss)
    decides = record is not None and record.labels == "same" and "sigmoid" in record.fused
    return decides and len(features) > 0 and features[-1] > 1


# Shared by several losses.


def _mean(b: GraphBuilder, values: Operand, sequence: bool) -> LossRows:
    """Return the mean over everything except the batch and the sequence."""
    axes = range(1 + sequence, values.rank)
    return LossRows(b.reduce_mean(values, axes=axes) if axes else values)


def _sum(b: GraphBuilder, values: Operand, mask: Operand | None = None) -> LossRows:
    """Return the sum over the last dimension."""
    return LossRows(b.reduce_sum(values, axes=[values.rank - 1]), mask)


def _clamp_probabilities(b: GraphBuilder, p: Operand) -> Operand:
    return b.clamp(p, min_value=PROBABILITY_FLOOR, max_value=1 - PROBABILITY_FLOOR)


def _log_p(b: GraphBuilder, activation: ActivatedOutput, *, logits: bool = False) -> Operand:
    """Return ln p of every class; `logits` says whether a linear output is taken as logits."""
    last = activation.output.rank - 1
    if activation.kind == "softmax":
        return b.log_softmax(activation.logits, axis=last)
    if activation.kind == "logSoftmax":
        return activation.output
    return (
        b.log_softmax(activation.output, axis=last)
        if logits
        else b.log(_clamp_probabilities(b, activation.output))
    )


def _log_p_q(
    b: GraphBuilder, activation: ActivatedOutput, *, logits: bool = False
) -> tuple[Operand, Operand]:
    """Return ln p and ln(1 − p) of every element."""
    if activation.kind != "sigmoid" and not logits:
        p = _clamp_probabilities(b, activation.output)
        return b.log(p), b.log(1 - p)
    return _log_sigmoid(b, activation.logits if activation.kind == "sigmoid" else activation.output)


def _log_sigmoid(b: GraphBuilder, z: Operand) -> tuple[Operand, Operand]:
    """Return ln p and ln(1 − p) of p = σ(z)."""
    # ln σ(z) = −max(−z, 0) − ln(1 + e^−|z|): nothing overflows or cancels. The maximum as
    # (|z| − z)/2 has the slope at 0 for which the gradient is σ(z) − y there, too.
    size = b.abs(z)
    rest = b.softplus(-size)
    return (z - size) * 0.5 - rest, (-z - size) * 0.5 - rest


def _to_distribution(
    b: GraphBuilder, activation: ActivatedOutput, target: Operand, smoothing: float
) -> tuple[Operand, Operand | None]:
    """Return targets over classes and which positions count; class numbers become one-hot."""
    classes, mask = activation.output.shape[-1], None
    if target.dtype != "float32":
        # Compared, not gathered: no number, negative or too large, is out of bounds.
        mask = b.cast(b.greater_or_equal(target, 0), type="float32")
        column = b.reshape(target, new_shape=(*target.shape, 1))
        numbers = b.constant(range(classes), target.dtype)
        target = b.cast(b.equal(column, numbers), type="float32")
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    return target, mask


def _smooth_binary(target: Operand, smoothing: float) -> Operand:
    return target * (1 - smoothing) + smoothing / 2 if smoothing else target


# The losses (spec D.1).


def _mse(
    b: GraphBuilder, h: ActivatedOutput, y: Operand, _s: LossSettings, sequence: bool
) -> LossRows:
    error = y - h.output
    return _mean(b, error * error, sequence)


def _mae(
    b: GraphBuilder, h: ActivatedOutput, y: Operand, _s: LossSettings, sequence: bool
) -> LossRows:
    return _mean(b, b.abs(y - h.output), sequence)


def _huber(
    b: GraphBuilder, h: ActivatedOutput, y: Operand, s: LossSettings, sequence: bool
) -> LossRows:
    size = b.abs(y - h.output)
    # c(|e| − c/2) with c = min(|e|, δ) combines both branches; no square can overflow.
    cut = b.min(size, 1.0 if s.delta is None else s.delta)
    return _mean(b, cut * (size - cut * 0.5), sequence)


def _quantile(
    b: GraphBuilder, h: ActivatedOutput, y: Operand, s: LossSettings, sequence: bool
) -> LossRows:
    """The pinball loss, least at the quantile α (Koenker & Bassett 1978)."""
    error = y - h.output
    level = b.constant(0.5 if s.alpha is None else s.alpha, "float32")
    return _mean(b, b.max(error * level, error * (level - 1)), sequence)


def _binary_cross_entropy(*, logits: bool) -> Rows:
    def rows(
        b: GraphBuilder, h: ActivatedOutput, y: Operand, s: LossSettings, sequence: bool
    ) -> LossRows:
        log_p, log_q = _log_p_q(b, h, logits=logits)
        y = _smooth_binary(y, s.smoothing)
        if s.class_weights is not None and h.output.shape[-1] > 1:
            log_p = log_p * b.constant(s.class_weights, "float32")
        return _mean(b, -(y * log_p + (1 - y) * log_q), sequence)

    return rows


def _cross_entropy(logits: Callable[[OutputActivation], bool]) -> Rows:
    def rows(
        b: GraphBuilder, h: ActivatedOutput, y: Operand, s: LossSettings, _sequence: bool
    ) -> LossRows:
        y, mask = _to_distribution(b, h, y, s.smoothing)
        return _sum(b, -(y * _log_p(b, h, logits=logits(h.kind))), mask)

    return rows


def _divergence(
    b: GraphBuilder, h: ActivatedOutput, y: Operand, s: LossSettings, _sequence: bool
) -> LossRows:
    y, mask = _to_distribution(b, h, y, s.smoothing)
    log_y = b.log(b.max(y, MIN_TARGET))
    return _sum(b, y * (log_y - _log_p(b, h)), mask)


def _hinge(
    b: GraphBuilder, h: ActivatedOutput, y: Operand, _s: LossSettings, sequence: bool
) -> LossRows:
    violation = b.relu(1 - y * h.output)
    return _sum(b, violation) if violation.rank > 1 + sequence else LossRows(violation)


def _focal(
    b: GraphBuilder, h: ActivatedOutput, y: Operand, s: LossSettings, sequence: bool
) -> LossRows:
    """−α(1 − p)^γ ln p (Lin et al. 2017), for soft targets weighted with y."""
    gamma = 2.0 if s.gamma is None else s.gamma

    def term(log_p: Operand, log_q: Operand) -> Operand:
        # (1 − p)^γ as a power has no derivative at p = 1 for γ < 1.
        return log_p * b.exp(log_q * gamma) if gamma else log_p

    if h.kind == "sigmoid":
        yes, no = _pair(b, s.alpha, h.output.shape[1 + sequence :])
        log_p, log_q = _log_p_q(b, h)
        y = _smooth_binary(y, s.smoothing)
        loss: Any = -(y * term(log_p, log_q) * yes + (1 - y) * term(log_q, log_p) * no)
        return _mean(b, loss, sequence)
    y, mask = _to_distribution(b, h, y, s.smoothing)
    log_p = _log_p(b, h)
    log_q = b.log(b.max(1 - b.exp(log_p), PROBABILITY_FLOOR))
    weight = 1.0 if s.alpha is None else b.constant(s.alpha, "float32")
    return _sum(b, -(y * term(log_p, log_q) * weight), mask)


def _boxes(
    b: GraphBuilder, h: ActivatedOutput, y: Operand, _s: LossSettings, _sequence: bool
) -> LossRows:
    """The loss of CenterNet (Zhou, Wang & Krähenbühl 2019, equations 1 to 4), by picture.

    Scores of classes are logits. At centers, where the target is 1, −(1 − p)² ln p; elsewhere
    −(1 − y)⁴ p² ln(1 − p); and the absolute errors of the offsets, and of the sizes times 0.1, at
    centers; all summed and divided by the number of centers, at least 1.
    """
    classes = y.shape[-1] - SHAPE_VALUES

    def part(values: Operand, start: int, size: int) -> Operand:
        starts = [*[0] * (values.rank - 1), start]
        return b.slice(values, starts=starts, sizes=[*values.shape[:-1], size])

    scores, heat = part(h.output, 0, classes), part(y, 0, classes)
    log_p, log_q = _log_sigmoid(b, scores)
    centers = b.cast(b.equal(heat, 1), type="float32")
    near = (1 - heat) * (1 - heat)
    far = near * near  # 0 at centers
    focal: Operand = -(centers * b.exp(log_q * 2) * log_p + far * b.exp(log_p * 2) * log_q)
    axes = range(1, y.rank)
    count = b.max(b.reduce_sum(centers, axes=axes), 1)
    has_center = b.reduce_max(centers, axes=[y.rank - 1], keep_dimensions=True)
    weights = b.constant([1.0, 1.0, SIZE_WEIGHT, SIZE_WEIGHT], "float32")
    errors = b.abs(part(h.output, classes, SHAPE_VALUES) - part(y, classes, SHAPE_VALUES))
    shapes = b.reduce_sum(errors * has_center * weights, axes=axes)
    return LossRows((b.reduce_sum(focal, axes=axes) + shapes) / count)


def _pair(b: GraphBuilder, alpha: Alpha | None, features: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the weights of yes and no of a sigmoid."""
    if alpha is None:
        return 1.0, 1.0
    if not isinstance(alpha, tuple):
        return alpha, 1 - alpha
    if len(alpha) == 2 and features[-1:] != (2,):
        return alpha[1], alpha[0]
    return b.constant(alpha, "float32"), b.constant([1 - value for value in alpha], "float32")


_CLASSES: tuple[OutputActivation, ...] = ("softmax", "logSoftmax")
_QUANTITY = "Use CCE for classes; leave softmax() out for quantities."
_DISTRIBUTION = "End the model in softmax()."

_ALL = (
    Loss(
        name="MSE",
        labels="same",
        rows=_mse,
        unfitting=_CLASSES,
        remedy=_QUANTITY,
        measured=True,
    ),
    Loss(
        name="MAE",
        labels="same",
        rows=_mae,
        unfitting=_CLASSES,
        remedy=_QUANTITY,
        measured=True,
        robust=True,
    ),
    Loss(
        name="HUL",
        labels="same",
        rows=_huber,
        unfitting=_CLASSES,
        remedy=_QUANTITY,
        measured=True,
        robust=True,
    ),
    Loss(
        name="QUL",
        labels="same",
        rows=_quantile,
        unfitting=_CLASSES,
        remedy=_QUANTITY,
        measured=True,
        robust=True,
    ),
    Loss(
        name="BCE",
        labels="same",
        rows=_binary_cross_entropy(logits=False),
        fused=("sigmoid",),
        unfitting=("linear", *_CLASSES),
        remedy="End it in sigmoid() if outputs are yes or no; use CCE for one class of several.",
        smoothed=True,
    ),
    Loss(
        name="BCEL",
        labels="same",
        rows=_binary_cross_entropy(logits=True),
        fused=("sigmoid",),
        logits=True,
        of_probabilities="BCE",
        smoothed=True,
    ),
    Loss(
        name="CCE",
        labels="distribution",
        rows=_cross_entropy(lambda kind: False),
        fused=_CLASSES,
        unfitting=("linear", "sigmoid"),
        remedy=_DISTRIBUTION,
        smoothed=True,
    ),
    Loss(
        name="CCEL",
        labels="distribution",
        rows=_cross_entropy(lambda kind: True),
        fused=_CLASSES,
        logits=True,
        of_probabilities="CCE",
        smoothed=True,
    ),
    Loss(
        name="SCE",
        labels="classes",
        # It takes an output without activation as logits (spec D.1), a sigmoid as probabilities.
        rows=_cross_entropy(lambda kind: kind == "linear"),
        fused=_CLASSES,
        logits=True,
        smoothed=True,
    ),
    Loss(
        name="HIL",
        labels="signs",
        rows=_hinge,
        unfitting=("sigmoid", *_CLASSES),
        remedy="End it without an activation, or use BCE after sigmoid(), CCE after softmax().",
        logits=True,
    ),
    Loss(
        name="KLD",
        labels="distribution",
        rows=_divergence,
        fused=_CLASSES,
        unfitting=("linear", "sigmoid"),
        remedy=_DISTRIBUTION,
        smoothed=True,
    ),
    Loss(
        name="FOL",
        labels="distribution",
        rows=_focal,
        fused=(*_CLASSES, "sigmoid"),
        smoothed=True,
    ),
    Loss(
        name="BOX",
        labels="same",
        rows=_boxes,
    ),
)

LOSSES: Mapping[str, Loss] = {loss.name: loss for loss in _ALL}
"""Every loss by its short name."""

SMOOTHED = tuple(loss.name for loss in _ALL if loss.smoothed)
"""The losses to which label smoothing applies."""

DEFAULTS: Mapping[OutputActivation, str] = {
    "softmax": "CCE",
    "logSoftmax": "CCE",
    "sigmoid": "BCE",
    "linear": "MSE",
}
"""The default loss of an output activation (spec D.4)."""


def default_loss(activation: ActivatedOutput) -> Loss:
    """Return the default loss of an output activation (spec D.4)."""
    return LOSSES[DEFAULTS[activation.kind]]


def is_fused(loss: Loss, kind: OutputActivation) -> bool:
    """Return whether activation and loss are computed together, from the logits (spec D.2).

    >>> is_fused(LOSSES["CCE"], "softmax"), is_fused(LOSSES["MSE"], "softmax")
    (True, False)
    """
    return kind in loss.fused
