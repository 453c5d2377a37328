"""Running sums along an axis."""

from __future__ import annotations

from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.algebra import same_as_first
from webnnm.ops.declare.layer import BuildView, LayerRules, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import REQUIRED, Operator, Option, Slot, sample
from webnnm.ops.declare.padding import fill_padding
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, Tensor


def _gradient(
    b: Builder,
    g: Tensor,
    _y: Tensor,
    _x: Tensor,
    *,
    axis: int,
    exclusive: bool,
    reversed: bool,
) -> list[Tensor]:
    return [b.cumulative_sum(g, axis=axis, exclusive=exclusive, reversed=not reversed)]


def _reference(np: Any, x: Any, *, axis: int, exclusive: bool, reversed: bool) -> Any:
    wide = np.astype(x, np.float32) if x.dtype == np.float16 else x
    ordered = np.flip(wide, axis=axis) if reversed else wide
    sums = np.cumulative_sum(ordered, axis=axis, dtype=ordered.dtype, include_initial=True)
    # Subtracting the element again would lose what it outweighs, and turn infinities into NaN.
    first = 0 if exclusive else 1
    sums = np.take(sums, np.arange(first, first + x.shape[axis]), axis=axis)
    return np.astype(np.flip(sums, axis=axis) if reversed else sums, x.dtype)


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    (role,) = layer.axes("axis")
    options = {name: layer.options[name] for name in ("exclusive", "reversed")}
    x = source.tensor
    if role == "sequence" and source.mask is not None and options["reversed"]:
        x = fill_padding(builder, source, 0)
    result = builder.cumulative_sum(x, axis=source.position(role), **options)
    return source.with_tensor(result)


def _stablehlo(h: Any, x: Any, *, axis: int, exclusive: bool, reversed: bool) -> Any:
    wide = h.reverse(h.wide(x), [axis] if reversed else [])
    if exclusive:
        shift = [int(k == axis) for k in range(x.rank)]
        wide = h.pad(wide, shift, [-k for k in shift])
    sums = h.reverse(h.running_sum(wide, axis), [axis] if reversed else [])
    return h.convert(sums, x.dtype)


cumulative_sum = Operator(
    name="cumulativeSum",
    summary="running sums along an axis",
    operands=(
        Slot(
            name="input",
            dtypes=FLOAT.union(("int32", "uint32", "int64", "uint64")),
            ranks=(1, None),
        ),
    ),
    options={
        "axis": Option(REQUIRED, checks.axis, positional=True),
        "exclusive": Option(False, checks.boolean),
        "reversed": Option(False, checks.boolean),
    },
    infer=same_as_first,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="axes",
    layer=LayerRules(
        options={
            "axis": ValueOption(read=values.one_axis, default=(-1,), operand=True),
            "exclusive": ValueOption(read=values.boolean, default=False),
            "reversed": ValueOption(read=values.boolean, default=False),
        },
        shape=same_shape,
        build=_build,
    ),
    traits=frozenset({"sequential"}),
    samples=(
        sample((2, 3), axis=1),
        sample((4, 2), axis=0, exclusive=True),
        sample((2, 3, 2), axis=1, reversed=True),
        sample((5,), axis=0, exclusive=True, reversed=True),
    ),
    hazards=frozenset({"overflow"}),
)
