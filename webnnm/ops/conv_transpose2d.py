"""Transposed convolution: spreads each cell over a window of a larger image."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count
from webnnm.ops.declare.along import pad_axis
from webnnm.ops.declare.conv_layer import layer_rules
from webnnm.ops.declare.convolution import (
    OPERANDS,
    bias_gradient,
    check_bias,
    check_channels,
    earlier,
    filter_gradient,
    grow,
    lower_bias,
    options,
    with_bias,
)
from webnnm.ops.declare.letters import TRANSPOSED_FILTER_LAYOUTS, order
from webnnm.ops.declare.operator import Operator, Option, sample
from webnnm.ops.declare.spatial import (
    height_width,
    numbers,
    pair_or_none,
    permute,
    sizes_by_letter,
    swap_letters,
)
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType
from webnnm.ops.declare.windows import reach


def _infer(
    x: TensorType, kernel: TensorType, bias: TensorType | None, **options: Any
) -> TensorType:
    image = sizes_by_letter(options["input_layout"], x.shape)
    cells = sizes_by_letter(options["filter_layout"], kernel.shape)
    filters = check_channels(image, cells, options["groups"], transposed=True)
    check_bias(bias, filters)
    height, width = grow(height_width(image), height_width(cells), **options)
    image |= {"c": filters, "h": height, "w": width}
    return TensorType(x.dtype, tuple(image[letter] for letter in options["input_layout"]))


def _gradient(
    b: Builder,
    g: Tensor,
    _y: Tensor,
    x: Tensor,
    kernel: Tensor,
    bias: Tensor | None,
    **options: Any,
) -> list[Tensor | None]:
    rules = {k: v for k, v in options.items() if k not in ("output_padding", "output_sizes")}
    letters = options["filter_layout"]
    # The convolution whose gradient this operator is has the same filter, in and out exchanged.
    target = swap_letters(letters, "i", "o")
    dx = b.conv2d(g, kernel, **{**rules, "filter_layout": target})
    size = height_width(sizes_by_letter(letters, kernel.shape))
    dw = filter_gradient(b, g, x, size, target, **rules)
    return [dx, dw, bias_gradient(b, g, bias, options["input_layout"])]


def _reference(np: Any, x: Any, kernel: Any, bias: Any, **options: Any) -> Any:
    groups, strides, dilations = options["groups"], options["strides"], options["dilations"]
    wide = np.float32 if x.dtype == np.float16 else x.dtype
    image = np.astype(np.permute_dims(x, order(options["input_layout"], "nchw")), wide)
    cells = np.astype(np.permute_dims(kernel, order(options["filter_layout"], "iohw")), wide)
    batch, channels, *sizes = image.shape
    window = cells.shape[2:]
    matrices = np.reshape(cells, (groups, channels // groups, -1))
    columns = np.reshape(image, (batch, groups, channels // groups, count(sizes)))
    product = np.matmul(np.permute_dims(matrices, (0, 2, 1)), columns)
    spread = np.reshape(product, (batch, -1, *window, *sizes))
    out = grow(tuple(sizes), window, **options)
    top, _, left, _ = options["padding"]
    ends = [(n - 1) * s + 1 for n, s in zip(sizes, strides, strict=True)]
    canvas = np.zeros(
        (
            batch,
            spread.shape[1],
            max(ends[0] + (window[0] - 1) * dilations[0], top + out[0]),
            max(ends[1] + (window[1] - 1) * dilations[1], left + out[1]),
        ),
        dtype=wide,
    )
    for row in range(window[0]):
        for column in range(window[1]):
            y, x0 = row * dilations[0], column * dilations[1]
            indices = (
                slice(None),
                slice(None),
                slice(y, y + ends[0], strides[0]),
                slice(x0, x0 + ends[1], strides[1]),
            )
            canvas = np.add_at(canvas, indices, spread[:, :, row, column])
    result = with_bias(np, canvas[:, :, top : top + out[0], left : left + out[1]], bias)
    return np.astype(np.permute_dims(result, order("nchw", options["input_layout"])), x.dtype)


def _decompose(
    b: Builder, x: Tensor, kernel: Tensor, bias: Tensor | None, **options: Any
) -> Tensor:
    """Convolve the image, spread with zeros by the strides, with the flipped filter."""
    layout: str = options["input_layout"]
    letters, groups = options["filter_layout"], options["groups"]
    sizes, window = sizes_by_letter(layout, x.shape), sizes_by_letter(letters, kernel.shape)
    out = grow(height_width(sizes), height_width(window), **options)
    padding: list[int] = []
    starts = [0] * 4
    for k, letter in enumerate("hw"):
        axis, span = layout.index(letter), reach(window[letter], options["dilations"][k])
        x = spread(b, x, axis, options["strides"][k])
        before: int = span - 1 - options["padding"][2 * k]
        after = out[k] + span - 1 - before - x.shape[axis]
        starts[axis] = max(-before, 0)  # what the padding cuts off
        padding += [max(before, 0), max(after, 0)]
    image = b.conv2d(
        x,
        _flip_filter(b, kernel, letters, groups),
        bias=bias,
        padding=padding,
        dilations=options["dilations"],
        groups=groups,
        input_layout=layout,
    )
    result = {**sizes, "c": groups * window["o"], "h": out[0], "w": out[1]}
    target_shape = tuple(result[letter] for letter in layout)
    return (
        image if image.shape == target_shape else b.slice(image, starts=starts, sizes=target_shape)
    )


def _flip_filter(b: Builder, kernel: Tensor, letters: str, groups: int) -> Tensor:
    """Return the filter, flipped along both spatial dimensions, as `oihw` of a convolution."""
    flipped = b.reverse(kernel, axes=[letters.index("h"), letters.index("w")])
    if groups == 1:
        return permute(b, flipped, letters, "oihw")
    sizes = sizes_by_letter(letters, kernel.shape)
    split = {**sizes, "g": groups, "i": sizes["i"] // groups}
    parts = letters.replace("i", "gi")
    flipped = b.reshape(flipped, new_shape=[split[letter] for letter in parts])
    merged = {**split, "o": groups * sizes["o"]}
    return b.reshape(
        permute(b, flipped, parts, "goihw"), new_shape=[merged[letter] for letter in "oihw"]
    )


def spread(b: Builder, x: Tensor, axis: int, stride: int) -> Tensor:
    """Put `stride − 1` zeros after each element along an axis."""
    if stride == 1:
        return x
    lead, tail = x.shape[:axis], x.shape[axis + 1 :]
    column = b.reshape(x, new_shape=(count(lead), x.shape[axis], 1, count(tail)))
    return b.reshape(
        pad_axis(b, column, 2, 0, stride - 1), new_shape=(*lead, x.shape[axis] * stride, *tail)
    )


def _stablehlo(h: Any, x: Any, kernel: Any, bias: Any, **options: Any) -> Any:
    layout, letters, groups = options["input_layout"], options["filter_layout"], options["groups"]
    sizes = sizes_by_letter(letters, kernel.shape)
    window: list[Any] = []
    for k, letter in enumerate("hw"):
        axis, span = layout.index(letter), reach(sizes[letter], options["dilations"][k])
        extent = (x.shape[axis] - 1) * options["strides"][k] + 1
        before = span - 1 - options["padding"][2 * k]
        window.append((before, h.shape[axis] - extent - before + span - 1))
    if groups > 1:  # the filters of all groups one after the other, as a convolution has them
        parts = {**sizes, "g": groups, "i": sizes["i"] // groups}
        kernel = h.reshape(kernel, [parts[letter] for letter in letters.replace("i", "gi")])
        kernel = h.transpose(kernel, order(letters.replace("i", "gi"), "goihw"))
        letters, merged = "oihw", {**parts, "o": groups * parts["o"]}
        kernel = h.reshape(kernel, [merged[letter] for letter in letters])
    result = h.convolution(
        x,
        kernel,
        layouts=(layout, letters),
        shape=h.shape,
        padding=window,
        spread=options["strides"],
        dilations=options["dilations"],
        groups=groups,
        reverse=True,
    )
    return lower_bias(h, result, bias, layout)


conv_transpose2d = Operator(
    name="convTranspose2d",
    traits=frozenset({"product", "convolution", "windowed"}),
    summary="transposed convolution of images",
    aliases=("convTranspose2D",),
    operands=OPERANDS,
    options={
        **options(TRANSPOSED_FILTER_LAYOUTS),
        "output_padding": Option((0, 0), numbers(2, 0)),
        "output_sizes": Option(None, pair_or_none),
    },
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    decompose=_decompose,
    earlier=earlier,
    batch="convolution",
    layer=layer_rules(TRANSPOSED_FILTER_LAYOUTS, transposed=True),
    samples=(
        sample((1, 2, 3, 4), (2, 3, 2, 3)),
        sample((2, 2, 3, 2), (2, 1, 3, 2), (1,), padding=(1, 1, 0, 1)),
        sample((1, 1, 3, 2), (1, 2, 2, 3), strides=(2, 3), padding=(2, 1, 1, 1)),
        sample((1, 2, 3, 2), (2, 2, 3, 2), strides=(3, 2), output_padding=(2, 1)),
        sample(
            (1, 1, 2, 3), (1, 1, 2, 2), strides=(4, 3), output_sizes=(8, 9), padding=(0, 0, 1, 0)
        ),
        sample((1, 2, 3, 3), (2, 1, 2, 3), dilations=(2, 3), padding=(1, 2, 1, 0)),
        sample((2, 4, 2, 3), (4, 3, 2, 2), (6,), groups=2, strides=(2, 1)),
        sample((1, 3, 2, 3), (2, 2, 3, 3), (2,), input_layout="nhwc", filter_layout="ohwi"),
        sample(
            (1, 2, 3, 4),
            (3, 2, 1, 4),
            groups=2,
            strides=(2, 2),
            dilations=(1, 2),
            padding=(1, 0, 0, 2),
            input_layout="nhwc",
            filter_layout="hwoi",
        ),
    ),
)
