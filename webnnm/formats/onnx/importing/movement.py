"""Data movement: shapes, slices, padding, transposition."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import (
    arange,
    as_type,
    broadcast_shapes,
    broadcast_to,
    cut,
    part,
    reshape_to,
    scalar_like,
)
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


@imports("Reshape")
def reshape(c: Call, x: Operand, shape: Operand | None = None) -> Operand:
    """Another shape: 0 keeps a size, −1 is inferred."""
    sizes = c.integers_or_attribute(shape, "shape", ())
    if not c.flag("allowzero"):
        sizes = [x.shape[k] if n == 0 else n for k, n in enumerate(sizes)]
    if -1 in sizes:
        rest = count([n for n in sizes if n != -1])
        if sizes.count(-1) > 1 or rest == 0 or count(x.shape) % rest:
            raise c.invalid(f"{x} cannot take the shape {sizes}")
        sizes[sizes.index(-1)] = count(x.shape) // rest
    return reshape_to(c, x, sizes)


@imports("Flatten")
def flatten(c: Call, x: Operand) -> Operand:
    """Two dimensions: all before an axis, and all from it onwards."""
    axis = c.integer("axis", 1)
    axis = axis if axis == x.rank else c.axis(axis, x.rank)
    return reshape_to(c, x, (count(x.shape[:axis]), count(x.shape[axis:])))


@imports("Squeeze")
def squeeze(c: Call, x: Operand, axes: Operand | None = None) -> Operand:
    """Dimensions of size 1 removed."""
    ones = [k for k, n in enumerate(x.shape) if n == 1]
    chosen = c.axes(c.integers_or_attribute(axes, "axes", ones), x.rank)
    if not set(chosen) <= set(ones):
        raise c.invalid(f"axes {chosen} of {x} are not all of size 1")
    return reshape_to(c, x, [n for k, n in enumerate(x.shape) if k not in chosen])


@imports("Unsqueeze")
def unsqueeze(c: Call, x: Operand, axes: Operand | None = None) -> Operand:
    """Dimensions of size 1 added."""
    axis_list = c.integers_or_attribute(axes, "axes", ())
    rank = x.rank + c.check_size(len(axis_list), "its axes")
    new_axes, sizes = c.axes(axis_list, rank), iter(x.shape)
    return reshape_to(c, x, [1 if k in new_axes else next(sizes) for k in range(rank)])


@imports("Transpose")
def transpose(c: Call, x: Operand) -> Operand:
    """Dimensions in another order, by default reversed."""
    order = c.integers("perm", [*reversed(range(x.rank))])
    return x if order == [*range(x.rank)] else c.b.transpose(x, permutation=order)


@imports("Concat")
def concat(c: Call, x: Operand, *more: Operand) -> Operand:
    """Tensors concatenated along an axis."""
    axis = c.axis(c.integer("axis", 1 if c.opset < 4 else None), x.rank)
    operands = [operand for operand in (x, *more) if operand.shape[axis]]
    return c.b.concat(operands, axis=axis) if len(operands) > 1 else (operands or [x])[0]


@imports("Split")
def split(c: Call, x: Operand, sizes: Operand | None = None) -> list[Operand]:
    """Parts along an axis: of given sizes, or equal ones, of which the last may be smaller."""
    axis = c.axis(c.integer("axis", 0), x.rank)
    number = c.integer("num_outputs", len(c.node.output))
    total = x.shape[axis]
    even = -(-total // max(1, number))
    default = [
        max(0, min(even, total - k * even)) for k in range(c.check_size(number, "its parts"))
    ]
    part_sizes = c.integers_or_attribute(sizes, "split", default)
    if sum(part_sizes) != total:
        raise c.invalid(f"parts of {part_sizes} are not {total}")
    return [part(c, x, axis, sum(part_sizes[:k]), size) for k, size in enumerate(part_sizes)]


@imports("Slice")
def slice_(
    c: Call,
    x: Operand,
    starts: Operand | None = None,
    ends: Operand | None = None,
    axes: Operand | None = None,
    steps: Operand | None = None,
) -> Operand:
    """A slice with strides, attributes before opset 10; negative strides go backwards."""
    first = c.integers_or_attribute(starts, "starts", ())
    last = c.integers_or_attribute(ends, "ends", ())
    chosen = c.axes(c.integers_or_attribute(axes, "axes", [*range(len(first))]), x.rank)
    strides = [1] * len(first) if steps is None else c.require_integers(steps, "steps")
    begin, size, stride = [0] * x.rank, list(x.shape), [1] * x.rank
    backwards: list[int] = []
    for axis, *bounds in zip(chosen, first, last, strides, strict=True):
        line = _line(x.shape[axis], *bounds)
        stride[axis] = abs(line.step)
        size[axis] = (len(line) - 1) * stride[axis] + 1 if line else 0
        begin[axis] = line.start if line else 0
        if line.step < 0 and line:
            backwards.append(axis)
            begin[axis] = x.shape[axis] - 1 - line.start
    if all(size) and backwards:
        x = c.b.reverse(x, axes=backwards)
    return cut(c, x, begin, size, stride)


def _line(size: int, start: int, end: int, step: int) -> range:
    """Return the elements of a slice: beyond both ends of an axis, bounds are what is nearest.

    Backwards, a start before the first element is the first one, which in Python is none; and the
    largest integers are an end that is left open, in ONNX Runtime.
    """
    if step < 0 and end in (2**31 - 1, 2**63 - 1):
        end = -size - 1
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    low, high = (0, size) if step > 0 else (-1, size - 1)
    return range(min(max(start, max(low, 0)), high), min(max(end, low), high), step)


@imports("Pad")
def pad(
    c: Call,
    x: Operand,
    pads: Operand | None = None,
    value: Operand | None = None,
    axes: Operand | None = None,
) -> Operand:
    """Padding on all sides; negative padding crops."""
    amounts = c.integers_or_attribute(pads, "pads", ())
    chosen = [*range(x.rank)] if axes is None else c.axes(c.require_integers(axes, "axes"), x.rank)
    if len(amounts) != 2 * len(chosen):
        raise c.invalid(f"{len(amounts)} paddings for {len(chosen)} axes")
    before, after = [0] * x.rank, [0] * x.rank
    for k, axis in enumerate(chosen):
        before[axis], after[axis] = amounts[k], amounts[len(chosen) + k]
    x = cut(
        c,
        x,
        [max(0, -n) for n in before],
        [max(0, n + min(0, p) + min(0, q)) for n, p, q in zip(x.shape, before, after, strict=True)],
    )
    fill = c.number("value", 0.0) if value is None else c.require_scalar(value, "its value")
    return pad_sides(
        c,
        x,
        [max(0, n) for n in before],
        [max(0, n) for n in after],
        c.string("mode", "constant"),
        fill,
    )


def pad_sides(
    c: Call,
    x: Operand,
    before: Sequence[int],
    after: Sequence[int],
    mode: str = "constant",
    value: float = 0,
) -> Operand:
    """Pad a tensor before and after each axis."""
    if not any(before) and not any(after):
        return x
    if mode == "constant" and not count(x.shape):
        shape = [a + n + z for a, n, z in zip(before, x.shape, after, strict=True)]
        return broadcast_to(c, scalar_like(c, value, x), shape)
    if mode in ("constant", "edge"):
        if mode == "constant" and not is_float(x.dtype):
            value = int(value)
        return c.b.pad(x, beginning_padding=before, ending_padding=after, mode=mode, value=value)
    if mode not in ("reflect", "wrap"):
        raise c.not_supported(f'there is no mode "{mode}"')
    for axis, (a, z) in enumerate(zip(before, after, strict=True)):
        if a or z:
            x = c.b.gather(x, _around(c, x.shape[axis], a, z, mode), axis=axis)
    return x


def _around(c: Call, size: int, before: int, after: int, mode: str) -> Operand:
    """Return the indices of elements along an axis that is extended beyond its ends."""
    c.check_bytes(before + size + after, "int32", "its padding")
    period = size if mode == "wrap" else max(1, 2 * size - 2)
    source = array("i", [index % period for index in range(-before, size + after)])
    if mode == "reflect":
        source = array("i", [min(index, period - index) for index in source])
    return c.b.constant(HostArray("int32", (len(source),), source))


@imports("Tile")
def tile(c: Call, x: Operand, repeats: Operand) -> Operand:
    """Copies of a tensor along its axes."""
    amounts = c.require_integers(repeats, "repeats")
    if not all(amounts):
        return c.empty(x.dtype, [n * m for n, m in zip(x.shape, amounts, strict=True)])
    return c.b.tile(x, repetitions=amounts)


@imports("Expand")
def expand(c: Call, x: Operand, shape: Operand) -> Operand:
    """Dimensions of size 1 broadcast, in both directions."""
    return broadcast_to(c, x, broadcast_shapes(c, x.shape, c.require_integers(shape, "shape")))


@imports("DepthToSpace")
def depth_to_space(c: Call, x: Operand) -> Operand:
    """Channels rearranged into blocks of a larger image."""
    n, depth, height, width = x.shape
    block = c.integer("blocksize")
    rest = depth // block**2
    if c.string("mode", "DCR") == "DCR":
        shape, order = (n, block, block, rest, height, width), (0, 3, 4, 1, 5, 2)
    else:
        shape, order = (n, rest, block, block, height, width), (0, 1, 4, 2, 5, 3)
    split = c.b.transpose(c.b.reshape(x, new_shape=shape), permutation=order)
    return c.b.reshape(split, new_shape=(n, rest, height * block, width * block))


@imports("SpaceToDepth")
def space_to_depth(c: Call, x: Operand) -> Operand:
    """Blocks of an image rearranged into channels."""
    n, depth, height, width = x.shape
    block = c.integer("blocksize")
    shape = (n, depth, height // block, block, width // block, block)
    order = (0, 1, 3, 5, 2, 4) if c.string("mode", "DCR") == "CRD" else (0, 3, 5, 1, 2, 4)
    split = c.b.transpose(c.b.reshape(x, new_shape=shape), permutation=order)
    return c.b.reshape(split, new_shape=(n, depth * block**2, height // block, width // block))


@imports("Trilu")
def trilu(c: Call, x: Operand, k: Operand | None = None) -> Operand:
    """The upper or lower triangle of matrices."""
    if not count(x.shape):
        return x
    diagonal = 0 if k is None else c.require_scalar(k, "k")
    limit = max(x.shape[-2:])
    return c.b.triangular(x, upper=c.flag("upper", 1), diagonal=max(-limit, min(limit, diagonal)))


@imports("ReverseSequence")
def reverse_sequence(c: Call, x: Operand, lengths: Operand) -> Operand:
    """The first elements of each sequence reversed."""
    time, batch = c.integer("time_axis", 0), c.integer("batch_axis", 1)
    size, b = x.shape[time], c.b
    array = b.evaluate(lengths)
    if array is not None and not all(0 <= length <= size for length in array.values()):
        raise c.invalid(f"lengths {[*array.values()]} of sequences of {size}")
    position = reshape_to(c, arange(c, size), [size if k == time else 1 for k in (0, 1)])
    ends = as_type(c, lengths, "int32")
    ends = reshape_to(c, ends, [ends.shape[0] if k == batch else 1 for k in (0, 1)])
    source = b.where(b.lesser(position, ends), ends - 1 - position, position)
    source = reshape_to(c, source, (*x.shape[:2], *(1,) * (x.rank - 2)))
    return b.gather_elements(x, b.expand(source, new_shape=x.shape), axis=time)


@imports("CenterCropPad")
def center_crop_pad(c: Call, x: Operand, shape: Operand) -> Operand:
    """A tensor cropped to its middle, or padded with zeros around it."""
    sizes = c.require_integers(shape, "shape")
    axes = c.axes(c.integers("axes", [*range(x.rank)]), x.rank)
    starts, kept = [0] * x.rank, list(x.shape)
    before, after = [0] * x.rank, [0] * x.rank
    for axis, size in zip(axes, sizes, strict=True):
        surplus = x.shape[axis] - size
        if surplus > 0:
            starts[axis], kept[axis] = surplus // 2, size
        else:
            before[axis] = -surplus // 2
            after[axis] = -surplus - before[axis]
    return pad_sides(c, cut(c, x, starts, kept), before, after)
