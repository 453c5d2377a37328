"""A box cut out of a tensor, with strides."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import MAX_DIMENSION
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.along import pad_axis, slice_axis
from webnnm.ops.declare.feature_rules import per_feature, unify_result
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import REQUIRED, AnyOperator, Operator, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType

Ints = tuple[int, ...]


def _infer(x: TensorType, *, starts: Ints, sizes: Ints, strides: Ints) -> TensorType:
    for axis, (size, start, length) in enumerate(zip(x.shape, starts, sizes, strict=True)):
        if start + length > size:
            raise OperatorError("NNM308", f"{start} + {length} exceeds {size} along axis {axis}")
    shape = tuple(-(-size // stride) for size, stride in zip(sizes, strides, strict=True))
    return TensorType(x.dtype, shape)


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, *, starts: Ints, sizes: Ints, strides: Ints
) -> list[Tensor]:
    del sizes
    for axis, stride in enumerate(strides):
        g = _spread(b, g, axis, stride)
    behind = [n - a - m for n, a, m in zip(x.shape, starts, g.shape, strict=True)]
    is_whole = g.shape == x.shape
    return [g if is_whole else b.pad(g, beginning_padding=starts, ending_padding=behind)]


def _spread(b: Builder, g: Tensor, axis: int, stride: int) -> Tensor:
    """Put `stride − 1` zeros between the elements along an axis."""
    n = g.shape[axis]
    if stride == 1 or n == 1:
        return g
    column = b.reshape(g, new_shape=(*g.shape[: axis + 1], 1, *g.shape[axis + 1 :]))
    filled = pad_axis(b, column, axis + 1, 0, stride - 1)
    flat = b.reshape(filled, new_shape=(*g.shape[:axis], n * stride, *g.shape[axis + 1 :]))
    return slice_axis(b, flat, axis, 0, (n - 1) * stride + 1)


def _earlier(
    _b: Builder, _operator: AnyOperator, operands: list[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """Take the 2022 draft's `axes`, negative starts, and sizes of −1 for the rest."""
    axes = options.pop("axes", None)
    type = getattr(operands[0], "type", None) if len(operands) == 1 else None
    if type is None:
        return operands, options
    chosen = checks.axes(axes, type)
    try:
        starts, sizes = (_INTEGERS(options.get(name)) for name in ("starts", "sizes"))
    except OperatorError:  # today's checks report what is wrong
        return operands, options
    if len(starts) == len(sizes) == len(chosen):
        box = {axis: (0, size) for axis, size in enumerate(type.shape)}
        for axis, start, size in zip(chosen, starts, sizes, strict=True):
            first = start + type.shape[axis] if start < 0 else start
            box[axis] = (first, type.shape[axis] - first if size == -1 else size)
        options["starts"], options["sizes"] = zip(*box.values(), strict=True) if box else ((), ())
    return operands, options


_INTEGERS = checks.integers(-MAX_DIMENSION)


def _box(layer: ShapeView | BuildView, dims: list[int | None], names: Any) -> list[Any]:
    """Return (start, size, stride) per feature, with None where the dimension is unknown."""
    starts = per_feature(layer, "starts", names, 0)
    sizes = per_feature(layer, "sizes", names, None)
    strides = per_feature(layer, "strides", names, 1, low=0)
    box: list[Any] = []
    for full, start, size, stride in zip(dims, starts, sizes, strides, strict=True):
        if full is not None:
            begin = start + full if start < 0 else start
            length = full - begin if size in (None, -1) else size
            if begin < 0 or length < 1 or begin + length > full:
                layer.fail("NNM308", f"{start} … {start + (size or 0)} of {full}", at="starts")
            box.append((begin, length, stride or 1))
        else:
            box.append((start, None if size == -1 else size, stride or 1))
    return box


def _shape(layer: ShapeView) -> None:
    source = layer.input
    if source.dims is None:
        return
    box = _box(layer, source.dims, source.names)
    dims = [None if size is None else -(-size // stride) for _, size, stride in box]
    unify_result(layer, dims, source.names, source.sequence)


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    box = _box(layer, list(source.features), layer.features[0].names)
    full_box = [(0, size, 1) for size in source.tensor.shape]
    for feature, part in enumerate(box):
        full_box[source.position(feature)] = part
    starts, sizes, strides = zip(*full_box, strict=True)
    return source.with_tensor(
        builder.slice(source.tensor, starts=starts, sizes=sizes, strides=strides)
    )


def _reference(np: Any, x: Any, *, starts: Ints, sizes: Ints, strides: Ints) -> Any:
    cuts = zip(starts, sizes, strides, strict=True)
    return x[tuple(slice_(a, a + n, s) for a, n, s in cuts)]


def _stablehlo(h: Any, x: Any, *, starts: Ints, sizes: Ints, strides: Ints) -> Any:
    return h.slice(x, starts, sizes, strides)


slice_ = slice

slice = Operator(
    name="slice",
    traits=frozenset({"linear", "rearranging", "choosing"}),
    summary="a box cut out, with strides",
    operands=(Slot(name="input"),),
    options={
        "starts": Option(REQUIRED, checks.per_axis(0, 0), positional=True),
        "sizes": Option(REQUIRED, checks.per_axis(1, 1), positional=True),
        "strides": Option(None, checks.per_axis(1, 1)),
    },
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    earlier=_earlier,
    batch="axes",
    layer=LayerRules(
        options={
            "starts": ValueOption(read=values.sizes, operand=True),
            "sizes": ValueOption(read=values.sizes, operand=True),
            "strides": ValueOption(read=values.sizes),
        },
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((4, 5), starts=(1, 0), sizes=(2, 5)),
        sample((4, 7), starts=(0, 1), sizes=(4, 5), strides=(3, 2)),
    ),
)
