"""Sum of the flow and an earlier value (spec A.9)."""

from __future__ import annotations

from webnnm.ops import values
from webnnm.ops.binary import add
from webnnm.ops.layer import LayerRules, TensorSlot, ValueOption
from webnnm.ops.operator import Builder, Composite, Slot, Tensor, sample
from webnnm.ops.rules import broadcast_shape, build_broadcast


def _residual(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    return b.apply(add, [x, y], {})


residual = Composite(
    name="residual",
    summary="sum of the flow and an earlier value",
    operands=(Slot(name="input"), Slot(name="to", like=0)),
    options={},
    decompose=_residual,
    layer=LayerRules(
        slots=(TensorSlot(name="to", option=True),),
        options={"skip": ValueOption(read=values.integer(0))},
        shape=broadcast_shape,
        build=build_broadcast,
    ),
    samples=(sample((2, 3), (2, 3)),),
)
