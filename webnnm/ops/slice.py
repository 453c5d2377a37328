"""A box cut out of a tensor, with strides."""

from __future__ import annotations

from typing import Any

from webnnm.ops import checks, values
from webnnm.ops.algebra import zeros_like
from webnnm.ops.features import Conflict
from webnnm.ops.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.layout import Laid
from webnnm.ops.operator import (
    REQUIRED,
    Builder,
    Operator,
    OperatorError,
    Option,
    Slot,
    Tensor,
    TensorType,
    sample,
)
from webnnm.shapes import show

Ints = tuple[int, ...]


def _infer(x: TensorType, *, starts: Ints, sizes: Ints, strides: Ints) -> TensorType:
    for axis, (size, start, length) in enumerate(zip(x.shape, starts, sizes, strict=True)):
        if start + length > size:
            raise OperatorError("NNM308", f"{start} + {length} exceeds {size} in axis {axis}")
    shape = tuple(-(-size // stride) for size, stride in zip(sizes, strides, strict=True))
    return TensorType(x.dtype, shape)


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, *, starts: Ints, sizes: Ints, strides: Ints
) -> list[Tensor]:
    del sizes
    for axis in range(x.rank):
        g = _spread(b, g, axis, strides[axis])
        g = _embed(b, g, axis, starts[axis], x.shape[axis])
    return [g]


def _spread(b: Builder, g: Tensor, axis: int, stride: int) -> Tensor:
    """Put `stride − 1` zeros between the elements along an axis."""
    if stride == 1 or g.shape[axis] == 1:
        return g
    n = g.shape[axis]
    column = b.reshape(g, new_shape=(*g.shape[: axis + 1], 1, *g.shape[axis + 1 :]))
    gap = (*g.shape[: axis + 1], stride - 1, *g.shape[axis + 1 :])
    filled = b.concat([column, zeros_like(b, g, gap)], axis=axis + 1)
    flat = b.reshape(filled, new_shape=(*g.shape[:axis], n * stride, *g.shape[axis + 1 :]))
    length = (n - 1) * stride + 1
    cut = (*g.shape[:axis], length, *g.shape[axis + 1 :])
    return b.slice(flat, starts=(0,) * g.rank, sizes=cut)


def _embed(b: Builder, g: Tensor, axis: int, start: int, size: int) -> Tensor:
    """Put zeros before and behind along an axis until it has `size` elements."""

    def zeros(n: int) -> list[Tensor]:
        return [zeros_like(b, g, (*g.shape[:axis], n, *g.shape[axis + 1 :]))] if n else []

    parts = [*zeros(start), g, *zeros(size - start - g.shape[axis])]
    return b.concat(parts, axis=axis) if len(parts) > 1 else g


def _box(layer: ShapeView | BuildView, dims: list[int | None], names: Any) -> list[Any]:
    """Return (start, size, stride) per feature, with None where the dimension is unknown."""
    starts = _per_feature(layer, "starts", names, 0)
    sizes = _per_feature(layer, "sizes", names, None)
    strides = _per_feature(layer, "strides", names, 1)
    box: list[Any] = []
    for whole, start, size, stride in zip(dims, starts, sizes, strides, strict=True):
        if whole is not None:
            begin = start + whole if start < 0 else start
            length = whole - begin if size is None else size
            if begin < 0 or length < 1 or begin + length > whole:
                layer.fail("NNM308", f"{start} … {start + (size or 0)} of {whole}", at="starts")
            box.append((begin, length, stride or 1))
        else:
            box.append((start, size, stride or 1))
    return box


def _per_feature(layer: ShapeView | BuildView, option: str, names: Any, default: Any) -> list[Any]:
    asked: values.Sizes | None = layer.options[option]
    if asked is None:
        return [default] * len(names)
    if asked.names is None:
        if len(asked.sizes) != len(names):
            layer.fail("NNM303", f"{len(asked.sizes)} numbers for rank {len(names)}", at=option)
        return list(asked.sizes)
    for name in asked.names:
        if name not in names:
            layer.fail("NNM307", f'no dimension "{name}"', at=option)
    given = dict(zip(asked.names, asked.sizes, strict=True))
    return [given.get(name, default) for name in names]


def _shape(layer: ShapeView) -> None:
    flow, result = layer.flow, layer.result
    if flow.dims is None:
        return
    box = _box(layer, flow.dims, flow.names)
    dims = [None if size is None else -(-size // stride) for _, size, stride in box]
    try:
        result.learn(dims)
    except Conflict:
        layer.fail("NNM402", f"declared {result}, inferred {show(dims)}", at="shape")
    result.learn_names(flow.names)
    result.learn_sequence(flow.sequence)


def _build(builder: Builder, layer: BuildView) -> Laid:
    flow = layer.operands[0]
    box = _box(layer, list(flow.features), layer.features[0].names)
    whole = [(0, size, 1) for size in flow.tensor.shape]
    for feature, cut in enumerate(box):
        whole[flow.position(feature)] = cut
    starts, sizes, strides = zip(*whole, strict=True)
    return flow.with_tensor(builder.slice(flow.tensor, starts=starts, sizes=sizes, strides=strides))


def _reference(np: Any, x: Any, *, starts: Ints, sizes: Ints, strides: Ints) -> Any:
    cuts = zip(starts, sizes, strides, strict=True)
    return x[tuple(slice_(a, a + n, s) for a, n, s in cuts)]


slice_ = slice

slice = Operator(
    name="slice",
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
