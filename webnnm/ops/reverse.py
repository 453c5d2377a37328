"""Reversal of the order of elements along axes."""

from __future__ import annotations

from typing import Any

from webnnm.ops.declare import checks, values
from webnnm.ops.declare.algebra import same_as_first
from webnnm.ops.declare.layer import BuildView, LayerRules, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Operator, Option, Slot, sample
from webnnm.ops.declare.padded_sequences import reverse_rows
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, Tensor


def _gradient(b: Builder, g: Tensor, _y: Tensor, _x: Tensor, *, axes: Any) -> list[Tensor]:
    return [b.reverse(g, axes=axes)]


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    roles = layer.axes("axes")
    if source.mask is not None and "sequence" in roles:
        source = reverse_rows(builder, source)
        roles.remove("sequence")
        if not roles:
            return source
    axes = sorted(source.position(role) for role in roles)
    return source.with_tensor(builder.reverse(source.tensor, axes=axes))


def _reference(np: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    return np.flip(x, axis=axes)


def _stablehlo(h: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    return h.reverse(x, axes)


reverse = Operator(
    name="reverse",
    summary="order of elements reversed along axes",
    operands=(Slot(name="input"),),
    options={"axes": Option(None, checks.axes)},
    infer=same_as_first,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="axes",
    layer=LayerRules(
        options={"axes": ValueOption(read=values.axis_names, operand=True, aliases=("axis",))},
        shape=same_shape,
        build=_build,
    ),
    traits=frozenset({"rearranging", "choosing", "sequential"}),
    samples=(sample((2, 3)), sample((2, 3, 4), axes=(0, 2))),
)
