"""Convolution of images, in every layout, with groups, strides and dilations."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count
from webnnm.ops.declare.conv_layer import layer_rules
from webnnm.ops.declare.convolution import (
    OPERANDS,
    bias_gradient,
    check_bias,
    check_channels,
    earlier,
    filter_gradient,
    lower_bias,
    options,
    slide,
    split_filter,
    with_bias,
)
from webnnm.ops.declare.letters import FILTER_LAYOUTS, TRANSPOSED_FILTER_LAYOUTS, order
from webnnm.ops.declare.operator import Operator, sample
from webnnm.ops.declare.spatial import (
    Pair,
    Sides,
    height_width,
    permute,
    sizes_by_letter,
    swap_letters,
)
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType
from webnnm.ops.declare.windows import unfold_array


def _infer(
    x: TensorType,
    kernel: TensorType,
    bias: TensorType | None,
    *,
    padding: Sides,
    strides: Pair,
    dilations: Pair,
    groups: int,
    input_layout: str,
    filter_layout: str,
) -> TensorType:
    image, cells = (
        sizes_by_letter(input_layout, x.shape),
        sizes_by_letter(filter_layout, kernel.shape),
    )
    filters = check_channels(image, cells, groups, transposed=False)
    check_bias(bias, filters)
    rows, columns = slide(height_width(image), height_width(cells), padding, strides, dilations)
    image |= {"c": filters, "h": rows.count, "w": columns.count}
    return TensorType(x.dtype, tuple(image[letter] for letter in input_layout))


def _gradient(
    b: Builder,
    g: Tensor,
    _y: Tensor,
    x: Tensor,
    kernel: Tensor,
    bias: Tensor | None,
    **options: Any,
) -> list[Tensor | None]:
    layout, letters = options["input_layout"], options["filter_layout"]
    size = height_width(sizes_by_letter(letters, kernel.shape))
    dw = filter_gradient(b, x, g, size, letters, **options)
    db = bias_gradient(b, g, bias, layout)
    if (
        size == options["strides"] == (1, 1)
        and options["groups"] == 1
        and not any(options["padding"])
    ):
        # A product of the channels; as a transposed convolution it takes up to three times as long.
        back = permute(b, kernel, swap_letters(letters, "i", "o"), "oihw")
        return [b.conv2d(g, back, input_layout=layout), dw, db]
    # The same numbers are the filter of the transposed convolution, in and out exchanged.
    target = swap_letters(letters, "i", "o")
    if target in TRANSPOSED_FILTER_LAYOUTS:
        back = kernel
    else:
        back, target = permute(b, kernel, target, "iohw"), "iohw"
    dx = b.conv_transpose2d(
        g,
        back,
        **{**options, "filter_layout": target},
        output_sizes=height_width(sizes_by_letter(layout, x.shape)),
    )
    return [dx, dw, db]


def _reference(
    np: Any,
    x: Any,
    kernel: Any,
    bias: Any,
    *,
    padding: Sides,
    strides: Pair,
    dilations: Pair,
    groups: int,
    input_layout: str,
    filter_layout: str,
) -> Any:
    wide = np.float32 if x.dtype == np.float16 else x.dtype
    image = np.astype(np.permute_dims(x, order(input_layout, "nchw")), wide)
    cells = np.astype(np.permute_dims(kernel, order(filter_layout, "oihw")), wide)
    windows = slide(image.shape[2:], cells.shape[2:], padding, strides, dilations)
    places = windows[0].count, windows[1].count
    # [n, c, rows, kh, columns, kw] → [n, groups, c · kh · kw / groups, rows · columns]
    patches = np.permute_dims(unfold_array(np, image, *windows), (0, 1, 3, 5, 2, 4))
    columns = np.reshape(patches, (len(image), groups, -1, count(places)))
    product = np.matmul(split_filter(np, cells, groups), columns)
    result = with_bias(np, np.reshape(product, (len(image), -1, *places)), bias)
    return np.astype(np.permute_dims(result, order("nchw", input_layout)), x.dtype)


def _stablehlo(h: Any, x: Any, kernel: Any, bias: Any, **options: Any) -> Any:
    padding, layout = options["padding"], options["input_layout"]
    result = h.convolution(
        x,
        kernel,
        layouts=(layout, options["filter_layout"]),
        shape=h.shape,
        padding=(padding[:2], padding[2:]),
        strides=options["strides"],
        dilations=options["dilations"],
        groups=options["groups"],
    )
    return lower_bias(h, result, bias, layout)


conv2d = Operator(
    name="conv2d",
    traits=frozenset({"product", "convolution", "windowed"}),
    summary="convolution of images",
    aliases=("conv2D",),
    operands=OPERANDS,
    options=options(FILTER_LAYOUTS),
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    earlier=earlier,
    batch="convolution",
    layer=layer_rules(FILTER_LAYOUTS),
    samples=(
        sample((1, 2, 4, 5), (3, 2, 2, 3)),
        sample((2, 1, 4, 3), (2, 1, 3, 2), (2,), padding=(1, 1, 0, 2)),
        sample((1, 3, 5, 7), (2, 3, 3, 2), strides=(2, 3), padding=(1, 0, 1, 0)),
        sample((1, 2, 6, 5), (2, 2, 3, 2), dilations=(2, 3)),
        sample((1, 1, 8, 7), (1, 1, 2, 3), strides=(3, 2), dilations=(2, 2), padding=(0, 1, 2, 1)),
        sample((2, 4, 3, 4), (6, 2, 2, 2), (6,), groups=2),
        sample((1, 3, 4, 3), (3, 1, 2, 2), groups=3, strides=(2, 1)),
        sample((1, 5, 4, 4), (3, 2, 2, 4), groups=2, input_layout="nhwc", filter_layout="hwio"),
        sample((1, 4, 5, 2), (3, 3, 2, 2), (3,), input_layout="nhwc", filter_layout="ohwi"),
        sample((1, 4, 3, 4), (1, 2, 2, 4), groups=4, input_layout="nhwc", filter_layout="ihwo"),
        sample((2, 2, 5, 4), (3, 2, 3, 2), (3,), filter_layout="ohwi", strides=(2, 2)),
        sample((1, 2, 3, 4), (3, 2, 1, 1), (3,)),
        sample((1, 3, 2, 4), (1, 1, 4, 2), input_layout="nhwc", filter_layout="hwio"),
    ),
)
