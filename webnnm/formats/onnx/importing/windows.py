"""Convolution and pooling, of one, two or three dimensions.

WebNN has two-dimensional windows. One dimension becomes an image of one row; of three dimensions,
the first is decomposed: a sum, or an extremum, over the layers of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from webnnm.core.dtypes import FLOAT_INFO, integer_range, is_float
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.movement import pad_sides
from webnnm.formats.onnx.importing.shaping import (
    arange,
    as_type,
    cut,
    part,
    reshape_to,
    scalar_like,
)
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


@dataclass(frozen=True)
class Window:
    """A window over the spatial dimensions: each field has one entry per dimension."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    after: list[int]

    def of(self, *axes: int) -> Window:
        """Return the window along some of the dimensions."""
        return Window(*([field[k] for k in axes] for field in self.fields()))

    def fields(self) -> tuple[list[int], ...]:
        """Return the fields in order."""
        return self.kernel, self.strides, self.dilations, self.before, self.after

    def flat(self) -> Window:
        """Return a one-dimensional window as one over an image of one row."""
        return Window(
            *([k, *field] for k, field in zip((1, 1, 1, 0, 0), self.fields(), strict=True))
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options that WebNN's two-dimensional windows share."""
        return {
            "strides": self.strides,
            "dilations": self.dilations,
            "padding": [self.before[0], self.after[0], self.before[1], self.after[1]],
        }

    def outputs(self, sizes: Sequence[int]) -> list[int]:
        """Return the number of positions of the window along each dimension."""
        return [
            max(0, (n + a + z - (k - 1) * d - 1) // s + 1)
            for n, k, s, d, a, z in zip(sizes, *self.fields(), strict=True)
        ]


def _window(c: Call, sizes: Sequence[int], kernel: Sequence[int]) -> Window:
    """Return the window that a node's attributes describe, with its padding resolved."""
    rank = len(sizes)
    strides = c.integers("strides", [1] * rank)
    dilations = c.integers("dilations", [1] * rank)
    pads = c.integers("pads", [0] * 2 * rank)
    if (
        len(kernel) != rank
        or len(strides) != rank
        or len(dilations) != rank
        or len(pads) != 2 * rank
    ):
        raise c.invalid(f"its window does not fit {rank} dimensions")
    if min([*kernel, *strides, *dilations]) < 1:
        raise c.invalid("sizes, strides and dilations of its window must be at least 1")
    before, after = pads[:rank], pads[rank:]
    mode = c.string("auto_pad", "NOTSET")
    if mode == "VALID":
        before, after = [0] * rank, [0] * rank
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        for k in range(rank):
            reach = (kernel[k] - 1) * dilations[k] + 1
            amount = max(0, (-(-sizes[k] // strides[k]) - 1) * strides[k] + reach - sizes[k])
            small, large = amount // 2, amount - amount // 2
            before[k], after[k] = (small, large) if mode == "SAME_UPPER" else (large, small)
    return Window(list(kernel), strides, dilations, before, after)


def _with_negative_padding(c: Call, x: Operand, w: Window) -> tuple[Operand, Window]:
    """Return operand and window with negative padding cut off."""
    if min([*w.before, *w.after]) >= 0:
        return x, w
    starts = [0, 0, *(max(0, -a) for a in w.before)]
    ends = [0, 0, *(max(0, -z) for z in w.after)]
    sizes = [n - a - z for n, a, z in zip(x.shape, starts, ends, strict=True)]
    positive = [[max(0, k) for k in field] for field in (w.before, w.after)]
    return cut(c, x, starts, sizes), Window(w.kernel, w.strides, w.dilations, *positive)


def window_of(c: Call, sizes: Sequence[int], kernel: Sequence[int]) -> Window:
    """Return the window of a convolution over an input of these sizes."""
    return _window(c, sizes, c.integers("kernel_shape", kernel))


# Convolution.


@imports("Conv")
def conv(c: Call, x: Operand, filter: Operand, bias: Operand | None = None) -> Operand:
    """Convolution."""
    w = window_of(c, x.shape[2:], filter.shape[2:])
    return convolution(c, x, filter, bias, w, c.integer("group", 1))


def convolution(
    c: Call, x: Operand, filter: Operand, bias: Operand | None, w: Window, groups: int
) -> Operand:
    """Return a convolution of up to three dimensions."""
    x, w = _with_negative_padding(c, x, w)
    if len(w.kernel) == 1:
        flat = convolution(c, _row(c, x), _row(c, filter), bias, w.flat(), groups)
        return reshape_to(c, flat, (*flat.shape[:2], flat.shape[3]))
    if len(w.kernel) == 2:
        return c.b.conv2d(x, filter, bias, groups=groups, **w.options)
    if len(w.kernel) != 3:
        raise c.not_supported(f"windows of {len(w.kernel)} dimensions")
    layers = (
        _unstack(c, c.b.conv2d(image, part_, groups=groups, **w.of(1, 2).options), x.shape[0])
        for image, part_ in zip(_layers(c, x, w), _slices(c, filter), strict=True)
    )
    result = reduce(c.b.add, layers)
    return result if bias is None else result + reshape_to(c, bias, (-1, 1, 1, 1))


def _row(c: Call, x: Operand) -> Operand:
    """Return a tensor [n, c, l] as images of one row."""
    return reshape_to(c, x, (*x.shape[:2], 1, *x.shape[2:]))


def _slices(c: Call, filter: Operand) -> list[Operand]:
    shape = (*filter.shape[:2], *filter.shape[3:])
    return [
        reshape_to(c, part(c, filter, 2, k, 1), shape)
        for k in range(c.check_size(filter.shape[2], "its filter"))
    ]


def _layers(c: Call, x: Operand, w: Window, value: float = 0) -> list[Operand]:
    """Return, for each layer of a window, the images at all its positions: [n·places, c, h, w]."""
    x = pad_sides(c, x, [0, 0, w.before[0], 0, 0], [0, 0, w.after[0], 0, 0], value=value)
    places = (x.shape[2] - (w.kernel[0] - 1) * w.dilations[0] - 1) // w.strides[0] + 1
    layers: list[Operand] = []
    for k in range(c.check_size(w.kernel[0], "its window")):
        starts = [0, 0, k * w.dilations[0], 0, 0]
        sizes = [*x.shape[:2], (places - 1) * w.strides[0] + 1, *x.shape[3:]]
        layer = cut(c, x, starts, sizes, [1, 1, w.strides[0], 1, 1])
        stacked = c.b.transpose(layer, permutation=(0, 2, 1, 3, 4))
        layers.append(reshape_to(c, stacked, (-1, x.shape[1], *x.shape[3:])))
    return layers


def _unstack(c: Call, x: Operand, batch: int) -> Operand:
    """Return images [n·places, c, h, w] as [n, c, places, h, w]."""
    apart = reshape_to(c, x, (batch, x.shape[0] // batch, *x.shape[1:]))
    return c.b.transpose(apart, permutation=(0, 2, 1, 3, 4))


@imports("ConvTranspose")
def conv_transpose(c: Call, x: Operand, filter: Operand, bias: Operand | None = None) -> Operand:
    """Transposed convolution."""
    rank = x.rank - 2
    kernel = c.integers("kernel_shape", filter.shape[2:])
    strides, dilations = c.integers("strides", [1] * rank), c.integers("dilations", [1] * rank)
    extra = c.integers("output_padding", [0] * rank)
    pads, mode = c.integers("pads", [0] * 2 * rank), c.string("auto_pad", "NOTSET")
    full_sizes = [
        s * (n - 1) + o + (k - 1) * d + 1
        for n, k, s, d, o in zip(x.shape[2:], kernel, strides, dilations, extra, strict=True)
    ]
    output_sizes = c.integers("output_shape", ())[-rank:]
    if not output_sizes and mode.startswith("SAME"):
        output_sizes = [n * s for n, s in zip(x.shape[2:], strides, strict=True)]
    before, after = pads[:rank], pads[rank:]
    if output_sizes:
        for k in range(rank):
            surplus = full_sizes[k] - output_sizes[k]
            half = surplus // 2 if mode == "SAME_UPPER" else surplus - surplus // 2
            before[k], after[k] = half, surplus - half
    elif mode == "VALID":
        before, after = [0] * rank, [0] * rank
    groups = c.integer("group", 1)
    w = Window(kernel, strides, dilations, [0] * rank, [0] * rank)
    full = _spread(c, x, filter, w, groups)
    return _crop_or_pad(
        c, full, bias, before, [n - z for n, z in zip(full_sizes, after, strict=True)]
    )


def _spread(c: Call, x: Operand, filter: Operand, w: Window, groups: int) -> Operand:
    """Return a transposed convolution without padding."""
    if len(w.kernel) == 1:
        flat = _spread(c, _row(c, x), _row(c, filter), w.flat(), groups)
        return reshape_to(c, flat, (*flat.shape[:2], flat.shape[3]))
    if len(w.kernel) == 2:
        return c.b.conv_transpose2d(x, filter, groups=groups, **w.options)
    if len(w.kernel) != 3:
        raise c.not_supported(f"windows of {len(w.kernel)} dimensions")
    batch, channels, depth = x.shape[:3]
    images = reshape_to(
        c, c.b.transpose(x, permutation=(0, 2, 1, 3, 4)), (-1, channels, *x.shape[3:])
    )
    reach = (w.kernel[0] - 1) * w.dilations[0]
    size = (depth - 1) * w.strides[0] + reach + 1
    images_of_layers: list[Operand] = []
    for k, layer in enumerate(_slices(c, filter)):
        image = _unstack(
            c, c.b.conv_transpose2d(images, layer, groups=groups, **w.of(1, 2).options), batch
        )
        apart = _apart(c, image, w.strides[0])
        first = k * w.dilations[0]
        images_of_layers.append(
            pad_sides(c, apart, [0, 0, first, 0, 0], [0, 0, size - first - apart.shape[2], 0, 0])
        )
    return reduce(c.b.add, images_of_layers)


def _apart(c: Call, x: Operand, stride: int) -> Operand:
    """Return the layers along axis 2 with stride − 1 empty ones between them."""
    depth = x.shape[2]
    one = reshape_to(c, x, (*x.shape[:3], 1, *x.shape[3:]))
    wide = pad_sides(c, one, [0] * 6, [0, 0, 0, stride - 1, 0, 0])
    flat = reshape_to(c, wide, (*x.shape[:2], depth * stride, *x.shape[3:]))
    return part(c, flat, 2, 0, (depth - 1) * stride + 1)


def _crop_or_pad(
    c: Call, x: Operand, bias: Operand | None, starts: Sequence[int], ends: Sequence[int]
) -> Operand:
    """Return the slice from starts to before ends, padded with zeros, plus a bias."""
    sizes = x.shape[2:]
    inner = [0, 0, *(max(0, a) for a in starts)]
    last = [min(n, z) for n, z in zip(sizes, ends, strict=True)]
    shape = [*x.shape[:2], *(z - a for a, z in zip(inner[2:], last, strict=True))]
    window = pad_sides(
        c,
        cut(c, x, inner, shape),
        [0, 0, *(max(0, -a) for a in starts)],
        [0, 0, *(max(0, z - n) for n, z in zip(sizes, ends, strict=True))],
    )
    return window if bias is None else window + reshape_to(c, bias, (-1, *(1,) * len(sizes)))


# Pooling.


def _pooling(c: Call, x: Operand) -> Window:
    """Return the window of a pooling, with its end padded as far as its last position reaches."""
    kernel = c.integers("kernel_shape")
    w = _window(c, x.shape[2:], kernel)
    after: list[int] = []
    for n, k, s, d, a, z in zip(x.shape[2:], *w.fields(), strict=True):
        reach = (k - 1) * d + 1
        free = n + a + z - reach
        last: int = -(-free // s) if c.flag("ceil_mode") else free // s
        if c.flag("ceil_mode") and last * s >= n + a:  # it would start in the padding
            last -= 1
        after.append(last * s + reach - n - a)
    return Window(kernel, w.strides, w.dilations, w.before, after)


def _pool(
    c: Call, x: Operand, w: Window, method: str, combine: Callable[[Operand, Operand], Operand]
) -> Operand:
    """Return a pooling whose parts along one dimension can be combined."""
    if len(w.kernel) == 1:
        flat = _pool(c, _row(c, x), w.flat(), method, combine)
        return reshape_to(c, flat, (*flat.shape[:2], flat.shape[3]))
    if len(w.kernel) == 2:
        x, w = _with_negative_padding(c, x, w)
        pool = getattr(c.b, method)
        return pool(x, window_dimensions=w.kernel, **w.options)
    if len(w.kernel) != 3:
        raise c.not_supported(f"windows of {len(w.kernel)} dimensions")
    low = _lowest(x)
    w = replace(w, after=[max(0, z) for z in w.after])
    layers = _layers(c, x, w, low if method == "max_pool2d" else 0)
    images = [_pool(c, layer, w.of(1, 2), method, combine) for layer in layers]
    return _unstack(c, reduce(combine, images), x.shape[0])


def _lowest(x: Operand) -> float:
    if not is_float(x.dtype):
        return integer_range(x.dtype)[0]
    return -FLOAT_INFO["float16" if x.dtype == "float16" else "float32"].max


@imports("MaxPool")
def max_pool(c: Call, x: Operand) -> Operand | tuple[Operand, Operand]:
    """The largest element of each window, and its index."""
    w = _pooling(c, x)
    narrow = x.dtype in ("int8", "uint8")
    largest = _pool(c, as_type(c, x, "float32") if narrow else x, w, "max_pool2d", c.b.max)
    largest = as_type(c, largest, x.dtype)
    if len(c.node.output) < 2 or not c.node.output[1]:
        return largest
    return largest, _where_largest(c, x, w)


def _where_largest(c: Call, x: Operand, w: Window) -> Operand:
    """Return the index of the largest element of each window in the whole tensor."""
    if len(w.kernel) > 2:
        raise c.not_supported("indices of the largest elements in three dimensions")
    sizes = x.shape[2:]
    cells = count(sizes)
    image, view = (_row(c, x), w.flat()) if len(sizes) == 1 else (x, w)
    indices = reshape_to(c, arange(c, cells, "float32"), (1, 1, *image.shape[2:]))
    if c.flag("storage_order"):
        height, width = image.shape[2:]
        order = [column * height + row for row in range(height) for column in range(width)]
        indices = c.b.constant([float(k) for k in order], "float32", (1, 1, height, width))
    patches = _patches(c, image, view, _lowest(x))
    numbers = _patches(c, indices, view, 0)
    best = c.b.arg_max(patches, axis=2, keep_dimensions=True)
    index = c.b.gather_elements(c.b.expand(numbers, new_shape=patches.shape), best, axis=2)
    shape = (*x.shape[:2], *w.outputs(sizes))
    first = reshape_to(
        c, arange(c, count(x.shape[:2]), "int64"), (*x.shape[:2], *(1,) * len(sizes))
    )
    return as_type(c, reshape_to(c, index, shape), "int64") + first * cells


def _patches(c: Call, x: Operand, w: Window, value: float) -> Operand:
    """Return the elements of each window of images: [n, c, elements, places]."""
    x = pad_sides(c, x, [0, 0, *w.before], [0, 0, *(max(0, z) for z in w.after)], value=value)
    rows, columns = w.outputs(
        [
            n - a - z
            for n, a, z in zip(x.shape[2:], w.before, (max(0, z) for z in w.after), strict=True)
        ]
    )
    patches: list[Operand] = []
    for k in range(c.check_size(w.kernel[0] * w.kernel[1], "its window")):
        row, column = divmod(k, w.kernel[1])
        starts = [0, 0, row * w.dilations[0], column * w.dilations[1]]
        sizes = [*x.shape[:2], (rows - 1) * w.strides[0] + 1, (columns - 1) * w.strides[1] + 1]
        cell = cut(c, x, starts, sizes, [1, 1, *w.strides])
        patches.append(reshape_to(c, cell, (*x.shape[:2], 1, rows * columns)))
    return patches[0] if len(patches) == 1 else c.b.concat(patches, axis=2)


@imports("AveragePool")
def average_pool(c: Call, x: Operand) -> Operand:
    """The mean of each window, over its real cells, or including its padding."""
    w = _pooling(c, x)
    window = _window(c, x.shape[2:], w.kernel)
    if c.flag("count_include_pad"):
        rest = [max(0, z - p) for z, p in zip(w.after, window.after, strict=True)]
        x = pad_sides(c, x, [0, 0, *w.before], [0, 0, *window.after])
        w = Window(w.kernel, w.strides, w.dilations, [0] * len(rest), rest)
    if len(w.kernel) < 3:
        return _pool(c, x, w, "average_pool2d", c.b.add)
    ones = c.b.constant(1, x.dtype)
    ones = c.b.expand(ones, new_shape=(1, 1, *x.shape[2:]))
    return _sums(c, x, w) / _sums(c, ones, w)


def _sums(c: Call, x: Operand, w: Window) -> Operand:
    """Return the sum of each window, by a convolution with ones."""
    channels = x.shape[1]
    ones = c.b.expand(c.b.constant(1, x.dtype), new_shape=(channels, 1, *w.kernel))
    w = replace(w, after=[max(0, z) for z in w.after])
    return convolution(c, x, ones, None, w, channels)


@imports("LpPool")
def lp_pool(c: Call, x: Operand) -> Operand:
    """The p-norm of each window."""
    w, p = _pooling(c, x), c.integer("p", 2)
    powers = c.b.abs(x) if p == 1 else c.b.pow(c.b.abs(x), scalar_like(c, p, x))
    total = _sums(c, powers, w)
    return total if p == 1 else c.b.pow(total, scalar_like(c, 1 / p, x))


def _global(name: str, method: str) -> None:
    def entry(c: Call, x: Operand) -> Operand:
        return getattr(c.b, method)(x, axes=[*range(2, x.rank)], keep_dimensions=True)

    entry.__doc__ = f"The builder's `{method}` over all positions of each channel."
    imports(name)(entry)


_global("GlobalAveragePool", "reduce_mean")
_global("GlobalMaxPool", "reduce_max")


@imports("GlobalLpPool")
def global_lp_pool(c: Call, x: Operand) -> Operand:
    """The p-norm of each channel."""
    p, axes = c.integer("p", 2), [*range(2, x.rank)]
    if p == 1:
        return c.b.reduce_l1(x, axes=axes, keep_dimensions=True)
    powers = c.b.pow(c.b.abs(x), scalar_like(c, p, x))
    return c.b.pow(
        c.b.reduce_sum(powers, axes=axes, keep_dimensions=True), scalar_like(c, 1 / p, x)
    )


@imports("MaxUnpool")
def max_unpool(c: Call, x: Operand, indices: Operand, shape: Operand | None = None) -> Operand:
    """Elements put back where a pooling took them from, and zeros elsewhere."""
    w = _window(c, x.shape[2:], c.integers("kernel_shape"))
    sizes = [
        (n - 1) * s + k - a - z for n, k, s, _, a, z in zip(x.shape[2:], *w.fields(), strict=True)
    ]
    target = [*x.shape[:2], *sizes]
    flat_indices = reshape_to(c, indices, (-1,))
    if shape is not None:
        # The indices are those of the smallest possible tensor, which is part of a larger one.
        output_shape = c.require_integers(shape, "output_shape")
        flat_indices = _map_indices(c, flat_indices, target, output_shape)
        target = output_shape
    nothing = c.b.expand(c.b.constant(0, x.dtype), new_shape=(count(target),))
    filled = c.b.scatter_elements(nothing, flat_indices, reshape_to(c, x, (-1,)), axis=0)
    return reshape_to(c, filled, target)


def _map_indices(
    c: Call, indices: Operand, source: Sequence[int], target: Sequence[int]
) -> Operand:
    """Return flat indices in one shape as flat indices of the same elements in another shape."""
    result, rest = scalar_like(c, 0, indices), indices
    for axis in range(len(source)):
        step = scalar_like(c, count(source[axis + 1 :]), indices)
        index = c.b.div(rest, step)
        rest = rest - index * step
        result = result + index * count(target[axis + 1 :])
    return result


@imports("Col2Im")
def col2im(c: Call, x: Operand, image: Operand, block: Operand) -> Operand:
    """Windows summed into the images that they were taken from.

    It is a transposed convolution whose filter puts each element at its place in the window.
    """
    sizes, kernel = (
        c.require_integers(image, "image_shape"),
        c.require_integers(block, "block_shape"),
    )
    w = _window(c, sizes, kernel)
    cells = count(kernel)
    channels = x.shape[1] // cells
    c.check_size(cells * cells, "its window")
    ones = [float(k == j) for k in range(cells) for j in range(cells)]
    filter = c.b.constant(ones, x.dtype, (cells, 1, *kernel))
    columns = reshape_to(c, x, (x.shape[0] * channels, cells, *w.outputs(sizes)))
    free = Window(w.kernel, w.strides, w.dilations, [0] * len(sizes), [0] * len(sizes))
    full = _spread(c, columns, filter, free, 1)
    ends = [a + n for a, n in zip(w.before, sizes, strict=True)]
    images = _crop_or_pad(c, full, None, w.before, ends)
    return reshape_to(c, images, (x.shape[0], channels, *sizes))
