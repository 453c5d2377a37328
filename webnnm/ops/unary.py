"""Element-wise functions of one operand without options."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from webnnm.core.dtypes import ANY, FLOAT, SIGNED, DataType
from webnnm.ops.declare.algebra import chain, same_as_first, scalar_like
from webnnm.ops.declare.layer import LayerRules
from webnnm.ops.declare.operator import UNBOUNDED, Operator, Sample, Slot, no_gradient, sample
from webnnm.ops.declare.rules import build_unary, same_shape
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.declare.traits import Trait

UNIT = (-1.0, 1.0)
NOT_NEGATIVE = (0.0, math.inf)
ANYWHERE = (sample((2, 3)), sample(()), sample((2, 1, 3, 2)))


def _unary(
    name: str,
    summary: str,
    reference: Callable[[Any, Any], Any],
    gradient: Callable[[Builder, Tensor, Tensor, Tensor], Sequence[Any]],
    stablehlo: Callable[[Any, Any], Any],
    *,
    dtypes: frozenset[DataType] = FLOAT,
    samples: Sequence[Sample] = ANYWHERE,
    hazards: frozenset[str] = frozenset(),
    traits: Sequence[Trait] = (),
    bounds: tuple[float, float] = UNBOUNDED,
    silent_below: float | None = None,
) -> Operator:
    return Operator(
        name=name,
        summary=summary,
        operands=(Slot(name="input", dtypes=dtypes),),
        options={},
        infer=same_as_first,
        gradient=gradient,
        reference=reference,
        stablehlo=stablehlo,
        batch="elementwise",
        layer=LayerRules(shape=same_shape, build=build_unary),
        samples=tuple(samples),
        hazards=hazards,
        traits=frozenset(traits),
        bounds=bounds,
        silent_below=silent_below,
    )


def _within(low: float, high: float) -> tuple[Sample, ...]:
    return (sample((2, 3), low=low, high=high), sample((), low=low, high=high))


def _kink(*at: float) -> tuple[Sample, ...]:
    return (sample((2, 3), kinks=at), sample((2, 1, 3), kinks=at))


def _relu_gradient(b: Builder, g: Tensor, y: Tensor, _x: Tensor) -> list[Tensor]:
    # Derived from the result, so that the operand need not be kept. Rounded up, everything positive
    # is 1 or more; a comparison and its cast take five times as long.
    return [g * b.min(b.ceil(y), scalar_like(b, 1, y))]


def _sigmoid(np: Any, x: Any) -> Any:
    # exp of a negative number never overflows.
    small = np.exp(-np.abs(x))
    return np.astype(np.where(x >= 0, 1 / (1 + small), small / (1 + small)), x.dtype)


abs = _unary(
    "abs",
    "absolute value",
    lambda np, x: np.abs(x),
    chain(lambda b, y, x: b.sign(x)),
    lambda h, x: h.abs(x),
    dtypes=SIGNED,
    samples=_kink(0.0),
    bounds=NOT_NEGATIVE,
)
ceil = _unary(
    "ceil",
    "round up",
    lambda np, x: np.ceil(x),
    no_gradient,
    lambda h, x: h.ceil(x),
    samples=_kink(*range(-2, 3)),
)
cos = _unary(
    "cos",
    "cosine",
    lambda np, x: np.cos(x),
    chain(lambda b, y, x: -b.sin(x)),
    lambda h, x: h.cosine(x),
    bounds=UNIT,
)
erf = _unary(
    "erf",
    "Gauss error function",
    lambda np, x: np.erf(x),
    chain(lambda b, y, x: 2 / math.sqrt(math.pi) * b.exp(-(x * x))),
    lambda h, x: h.erf(x),
    traits=("activation", "saturating"),
    bounds=UNIT,
)
exp = _unary(
    "exp",
    "exponential",
    lambda np, x: np.exp(x),
    chain(lambda b, y, x: y),
    lambda h, x: h.exponential(x),
    hazards=frozenset({"overflow", "wide"}),
    bounds=NOT_NEGATIVE,
)
floor = _unary(
    "floor",
    "round down",
    lambda np, x: np.floor(x),
    no_gradient,
    lambda h, x: h.floor(x),
    samples=_kink(*range(-2, 3)),
)
identity = _unary(
    "identity",
    "the operand itself",
    lambda np, x: x,
    lambda b, g, y, x: [g],
    lambda h, x: x,
    dtypes=ANY,
    traits=("passing", "linear", "copying", "rearranging", "choosing"),
)
log = _unary(
    "log",
    "natural logarithm",
    lambda np, x: np.log(x),
    chain(lambda b, y, x: b.reciprocal(x)),
    lambda h, x: h.log(x),
    samples=_within(0.5, 3),
    hazards=frozenset({"overflow", "wide"}),
    traits=("positive",),
)
neg = _unary(
    "neg",
    "negation",
    lambda np, x: -x,
    lambda b, g, y, x: [-g],
    lambda h, x: h.negate(x),
    dtypes=SIGNED,
    traits=("linear",),
)
reciprocal = _unary(
    "reciprocal",
    "1/x",
    lambda np, x: 1 / x,
    chain(lambda b, y, x: -(y * y)),
    lambda h, x: h.divide(1, x),
    samples=_within(0.5, 3),
    hazards=frozenset({"overflow"}),
)
relu = _unary(
    "relu",
    "max(x, 0); gradient 0 at 0",
    lambda np, x: np.maximum(x, np.asarray(0, dtype=x.dtype)),
    _relu_gradient,
    lambda h, x: h.maximum(x, 0),
    dtypes=SIGNED,
    samples=_kink(0.0),
    traits=("activation", "rectifying", "choosing"),
    bounds=NOT_NEGATIVE,
    silent_below=0.0,
)
round_even = _unary(
    "roundEven",
    "round to the nearest integer, halves to the even one",
    lambda np, x: np.round(x),
    no_gradient,
    lambda h, x: h.round_nearest_even(x),
    samples=_kink(-1.5, -0.5, 0.5, 1.5),
)
sigmoid = _unary(
    "sigmoid",
    "1/(1 + exp(−x))",
    _sigmoid,
    chain(lambda b, y, x: y * (1 - y)),
    lambda h, x: h.logistic(x),
    traits=("activation", "saturating", "probabilistic"),
    bounds=(0.0, 1.0),
)
sign = _unary(
    "sign",
    "−1, 0 or 1",
    lambda np, x: np.sign(x),
    no_gradient,
    lambda h, x: h.sign(x),
    dtypes=SIGNED,
    samples=_kink(0.0),
    bounds=UNIT,
)
sin = _unary(
    "sin",
    "sine",
    lambda np, x: np.sin(x),
    chain(lambda b, y, x: b.cos(x)),
    lambda h, x: h.sine(x),
    bounds=UNIT,
)
sqrt = _unary(
    "sqrt",
    "square root",
    lambda np, x: np.sqrt(x),
    chain(lambda b, y, x: 0.5 / y),
    lambda h, x: h.sqrt(x),
    samples=_within(0.5, 3),
    traits=("positive",),
    bounds=NOT_NEGATIVE,
)
tan = _unary(
    "tan",
    "tangent",
    lambda np, x: np.tan(x),
    chain(lambda b, y, x: 1 + y * y),
    lambda h, x: h.tan(x),
    samples=_within(-1, 1),
)
tanh = _unary(
    "tanh",
    "hyperbolic tangent",
    lambda np, x: np.tanh(x),
    chain(lambda b, y, x: 1 - y * y),
    lambda h, x: h.tanh(x),
    traits=("activation", "saturating"),
    bounds=UNIT,
)
