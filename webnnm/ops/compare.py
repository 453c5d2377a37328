"""Comparisons of two operands: 1 where they hold, else 0, as uint8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.core.dtypes import ANY, DataType
from webnnm.ops.declare.algebra import broadcast_type
from webnnm.ops.declare.layer import LayerRules, TensorSlot
from webnnm.ops.declare.operator import Operator, Sample, Slot, no_gradient, sample
from webnnm.ops.declare.rules import broadcast_shape, build_broadcast
from webnnm.ops.declare.tensors import TensorType


def _infer(*types: TensorType) -> TensorType:
    return TensorType("uint8", broadcast_type(*types).shape)


SAMPLES = (
    sample((2, 3), (3,)),
    sample((4,), (4,), values=([1.0, 2.0, 3.0, -1.0], [1.0, 3.0, 2.0, -1.0])),
)


def comparison(
    name: str,
    summary: str,
    reference: Callable[[Any, Any, Any], Any],
    stablehlo: Callable[[Any, Any, Any], Any],
    *,
    dtypes: frozenset[DataType] = ANY,
    samples: tuple[Sample, ...] = SAMPLES,
    aliases: tuple[str, ...] = (),
) -> Operator:
    """Declare an operator that returns, for each pair of elements, whether something holds."""

    def as_bytes(np: Any, a: Any, b: Any) -> Any:
        return np.astype(reference(np, a, b), np.uint8)

    return Operator(
        name=name,
        summary=summary,
        operands=(Slot(name="a", dtypes=dtypes), Slot(name="b", dtypes=dtypes, like=0)),
        options={},
        infer=_infer,
        gradient=no_gradient,
        reference=as_bytes,
        stablehlo=stablehlo,
        batch="elementwise",
        layer=LayerRules(
            slots=(TensorSlot(name="y"),),
            shape=broadcast_shape,
            build=build_broadcast,
            dtype=lambda compute, options, types: "uint8",
        ),
        samples=samples,
        aliases=aliases,
    )


equal = comparison("equal", "a = b", lambda np, a, b: a == b, lambda h, a, b: h.compare("EQ", a, b))
not_equal = comparison(
    "notEqual", "a ≠ b", lambda np, a, b: a != b, lambda h, a, b: h.compare("NE", a, b)
)
greater = comparison(
    "greater", "a > b", lambda np, a, b: a > b, lambda h, a, b: h.compare("GT", a, b)
)
greater_or_equal = comparison(
    "greaterOrEqual", "a ≥ b", lambda np, a, b: a >= b, lambda h, a, b: h.compare("GE", a, b)
)
lesser = comparison(
    "lesser", "a < b", lambda np, a, b: a < b, lambda h, a, b: h.compare("LT", a, b)
)
lesser_or_equal = comparison(
    "lesserOrEqual", "a ≤ b", lambda np, a, b: a <= b, lambda h, a, b: h.compare("LE", a, b)
)
