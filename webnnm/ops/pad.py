"""Padding: a constant, the edge repeated, or the elements next to the edge mirrored."""

from __future__ import annotations

from typing import Any

from webnnm.core.dtypes import holds
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.along import pad_axis, slice_axis
from webnnm.ops.declare.constants import constant_values
from webnnm.ops.declare.feature_rules import per_feature, unify_result
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import REQUIRED, AnyOperator, Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType

Ints = tuple[int, ...]

MODES = {"constant": "constant", "edge": "edge", "reflection": "reflect", "symmetric": "symmetric"}
"""Ways to pad, with NumPy's words. "symmetric", which repeats the edge, is from the 2022 draft."""


def _infer(
    x: TensorType, *, beginning_padding: Ints, ending_padding: Ints, mode: str, value: float
) -> TensorType:
    if mode == "constant" and not holds(x.dtype, value):
        raise OperatorError("NNM502", f"padding of {value} in an {x.dtype} tensor")
    sizes = list(zip(x.shape, beginning_padding, ending_padding, strict=True))
    for axis, (size, before, after) in enumerate(sizes):
        _check_mirror(size, max(before, after), mode, f"axis {axis}")
    return TensorType(x.dtype, tuple(before + size + after for size, before, after in sizes))


def _check_mirror(size: int, padding: int, mode: str, where: str) -> None:
    """Refuse to mirror more elements than there are."""
    limit = {"reflection": size - 1, "symmetric": size}.get(mode, padding)
    if padding > limit:
        raise OperatorError(
            "NNM303", f"padding {padding} by {mode}, but {where} of {size} elements allows {limit}"
        )


def _covers(*, mode: str, **_: Any) -> bool:
    """Every mode but that of the 2022 draft is WebNN's."""
    return mode != "symmetric"


def _decompose(
    b: Builder,
    x: Tensor,
    *,
    beginning_padding: Ints,
    ending_padding: Ints,
    mode: str,
    value: float,
) -> Tensor:
    if not any(beginning_padding) and not any(ending_padding):
        return b.identity(x)
    for axis, (before, after) in enumerate(zip(beginning_padding, ending_padding, strict=True)):
        if mode == "constant":
            shapes = [(*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in (before, after)]
            front, back = (
                [b.expand(b.constant(value, x.dtype), new_shape=shape)] if shape[axis] else []
                for shape in shapes
            )
            x = b.concat([*front, x, *back], axis=axis) if front or back else x
        elif before or after:
            # Checked here as well: modes without a WebNN method are inlined, without a node.
            _check_mirror(x.shape[axis], max(before, after), mode, f"axis {axis}")
            cells = _cells(x.shape[axis], before, after, mode)
            x = b.gather(x, b.constant(cells, "int32"), axis=axis)
    return x


def _cells(size: int, before: int, after: int, mode: str) -> list[int]:
    """Return which element is at each place of a padded axis.

    >>> _cells(3, 2, 2, "edge"), _cells(3, 2, 2, "reflection"), _cells(3, 2, 2, "symmetric")
    ([0, 0, 0, 1, 2, 2, 2], [2, 1, 0, 1, 2, 1, 0], [1, 0, 0, 1, 2, 2, 1])
    """
    checks.check_amount(before + size + after, f"{size} elements with {before} and {after} more")
    indices = range(-before, size + after)
    if mode == "edge":
        return [min(max(index, 0), size - 1) for index in indices]
    first = 0 if mode == "reflection" else -1  # the mirror image of the first element
    last = 2 * (size - 1) - first
    return [first - p if p < 0 else last - p if p >= size else p for p in indices]


def _gradient(
    b: Builder,
    g: Tensor,
    _y: Tensor,
    x: Tensor,
    *,
    beginning_padding: Ints,
    ending_padding: Ints,
    mode: str,
    value: float,
) -> list[Tensor]:
    del value
    if mode == "constant":
        return [b.slice(g, starts=beginning_padding, sizes=x.shape)]
    for axis, (before, after) in enumerate(zip(beginning_padding, ending_padding, strict=True)):
        g = _fold_padding(b, g, axis, before, after, mode)
    return [g]


def _fold_padding(b: Builder, g: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    """Add the gradient in the padding of an axis to the elements that the padding shows."""
    size = g.shape[axis] - before - after
    total = slice_axis(b, g, axis, before, size)
    for start, amount in ((0, before), (before + size, after)):
        if not amount:
            continue
        part = slice_axis(b, g, axis, start, amount)
        if mode == "edge":
            part = b.reduce_sum(part, axes=[axis], keep_dimensions=True)
            start_index = size - 1 if start else 0
        else:  # the element at the edge itself is not mirrored
            part = b.reverse(part, axes=[axis])
            start_index = size - 1 - amount if start else 1
        total = total + pad_axis(b, part, axis, start_index, size - start_index - part.shape[axis])
    return total


def _reference(
    np: Any, x: Any, *, beginning_padding: Ints, ending_padding: Ints, mode: str, value: float
) -> Any:
    if not x.shape:
        return x
    sides = list(zip(beginning_padding, ending_padding, strict=True))
    if mode == "constant":
        return np.pad(x, sides, constant_values=np.asarray(value).astype(x.dtype))
    return np.pad(x, sides, mode=MODES[mode])


def _earlier(
    _b: Builder, _operator: AnyOperator, operands: list[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """Take the 2022 draft's padding: a constant `[rank, 2]` as second operand."""
    if len(operands) == 2:
        x, padding = operands
        pairs = constant_values(padding)
        if pairs is None or padding.shape != (x.rank, 2):
            message = f'padding of "pad" is {padding.type}, but must be a constant [{x.rank}, 2]'
            raise OperatorError("NNM303", message)
        numbers = [int(number) for number in pairs]
        options |= {"beginning_padding": numbers[::2], "ending_padding": numbers[1::2]}
        operands = [x]
    return operands, options


def _sides(layer: ShapeView | BuildView, names: Any) -> list[tuple[int, int]]:
    """Return the padding before and after every feature."""
    before, after = (
        per_feature(layer, option, names, 0, low=0)
        for option in ("beginning_padding", "ending_padding")
    )
    return list(zip(before, after, strict=True))


def _shape(layer: ShapeView) -> None:
    source = layer.input
    if source.dims is None:
        return
    dims: list[int | None] = []
    for size, (before, after) in zip(source.dims, _sides(layer, source.names), strict=True):
        dims.append(None if size is None else before + size + after)
        if size is not None:
            _check_mirror(size, max(before, after), layer.options["mode"], "a dimension")
    unify_result(layer, dims, source.names, source.sequence)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    beginning, ending = [0] * source.tensor.rank, [0] * source.tensor.rank
    for feature, (before, after) in enumerate(_sides(layer, layer.features[0].names)):
        position = source.position(feature)
        beginning[position], ending[position] = before, after
    options = {name: layer.options[name] for name in ("mode", "value")}
    return source.with_tensor(
        b.pad(source.tensor, beginning_padding=beginning, ending_padding=ending, **options)
    )


def _stablehlo(
    h: Any, x: Any, *, beginning_padding: Any, ending_padding: Any, mode: str, value: float
) -> Any:
    if mode == "constant":
        return h.pad(x, beginning_padding, ending_padding, value)
    for axis, (before, after) in enumerate(zip(beginning_padding, ending_padding, strict=True)):
        size = x.shape[axis]
        if before or after:
            cells = h.subtract(h.iota((before + size + after,), 0, "int32"), before)
            if mode == "edge":
                cells = h.maximum(h.minimum(cells, size - 1), 0)
            else:
                mirrored = h.subtract(2 * size - 2, cells)
                cells = h.select(h.compare("LT", cells, size), h.abs(cells), mirrored)
            x = h.take(x, cells, axis)
    return x


pad = Composite(
    name="pad",
    traits=frozenset({"linear"}),
    summary="a tensor extended by a constant, its edge, or its mirror image",
    operands=(Slot(name="input"),),
    options={
        "beginning_padding": Option(REQUIRED, checks.per_axis(0, 0), positional=True),
        "ending_padding": Option(REQUIRED, checks.per_axis(0, 0), positional=True),
        "mode": Option("constant", checks.choice(*MODES)),
        "value": Option(0.0, checks.number),
    },
    native="pad",
    covers=_covers,
    infer=_infer,
    decompose=_decompose,
    stablehlo=_stablehlo,
    gradient=_gradient,
    reference=_reference,
    earlier=_earlier,
    batch="axes",
    layer=LayerRules(
        options={
            "beginning_padding": ValueOption(read=values.sizes, operand=True),
            "ending_padding": ValueOption(read=values.sizes, operand=True),
            "mode": ValueOption(read=values.choice(*MODES), default="constant"),
            "value": ValueOption(read=values.number, default=0.0),
        },
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((2, 3), beginning_padding=(1, 0), ending_padding=(0, 2)),
        sample((2, 3), beginning_padding=(0, 2), ending_padding=(1, 0), value=3),
        sample((2, 3, 4), beginning_padding=(2, 0, 1), ending_padding=(1, 0, 3), mode="edge"),
        sample((3, 1, 4), beginning_padding=(2, 0, 0), ending_padding=(1, 0, 3), mode="reflection"),
        sample((2, 3), beginning_padding=(2, 1), ending_padding=(0, 3), mode="symmetric"),
        sample((), beginning_padding=(), ending_padding=()),
    ),
)
