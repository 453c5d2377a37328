"""What convolutions share: options, type rule, gradients, and calls of the 2022 draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import count, show
from webnnm.ops.declare import checks
from webnnm.ops.declare.activation import pop_activation
from webnnm.ops.declare.operator import AnyOperator, Option, Slot
from webnnm.ops.declare.spatial import (
    INPUT_LAYOUTS,
    PADDING,
    STEPS,
    Pair,
    Sides,
    automatic_padding,
    check_automatic_padding,
    height_width,
    is_image,
    permute,
    sizes_by_letter,
    swap_letters,
)
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.declare.windows import Windows, reach

OPERANDS = (
    Slot(name="input", dtypes=FLOAT, ranks=(4, 4)),
    Slot(name="filter", dtypes=FLOAT, ranks=(4, 4), like=0),
    Slot(name="bias", dtypes=FLOAT, ranks=(1, 1), like=0, optional=True, keyword=True),
)


def options(filter_layouts: Sequence[str]) -> dict[str, Option]:
    """Return the options that both convolutions have."""
    return {
        "padding": PADDING,
        **STEPS,
        "groups": Option(1, checks.integer(1)),
        "input_layout": Option("nchw", checks.choice(*INPUT_LAYOUTS)),
        "filter_layout": Option(filter_layouts[0], checks.choice(*filter_layouts)),
    }


def check_channels(
    image: Mapping[str, int], kernel: Mapping[str, int], groups: int, *, transposed: bool
) -> int:
    """Return the number of output channels. Raises NNM404, NNM406."""
    inner = image["c"]
    outer = kernel["o"] * groups if transposed else kernel["o"]
    expected = kernel["i"] if transposed else kernel["i"] * groups
    for number, what in ((inner, "channels"), (outer, "filters")):
        if number % groups:
            raise OperatorError("NNM406", f"{number} {what} in {groups} groups")
    if inner != expected:
        grouped = f" in {groups} groups" if groups > 1 else ""
        raise OperatorError(
            "NNM404",
            f"{inner} channels, but the filter takes {expected}{grouped}",
            "the layouts of input and filter say which dimensions are the channels",
        )
    return outer


def check_bias(bias: TensorType | None, filters: int) -> None:
    """Raise NNM404 if there is not one number per filter."""
    if bias is not None and bias.shape != (filters,):
        raise OperatorError("NNM404", f"bias {show(bias.shape)}, {filters} filters")


def slide(
    sizes: Pair, kernel: Pair, padding: Sides, strides: Pair, dilations: Pair
) -> tuple[Windows, Windows]:
    """Return the windows that a kernel visits. Raises NNM408 if it does not fit once."""
    windows: list[Windows] = []
    for axis, (size, length) in enumerate(zip(sizes, kernel, strict=True)):
        before, after = padding[2 * axis : 2 * axis + 2]
        span = reach(length, dilations[axis])
        room = size + before + after - span
        if room < 0:
            raise OperatorError(
                "NNM408", f"a window of {span} over {size} cells and {before + after} of padding"
            )
        times = room // strides[axis] + 1
        windows.append(Windows(size, length, times, strides[axis], dilations[axis], before))
    return windows[0], windows[1]


def grow(
    sizes: Pair,
    kernel: Pair,
    *,
    padding: Sides,
    strides: Pair,
    dilations: Pair,
    output_padding: Pair,
    output_sizes: Pair | None,
    **_: Any,
) -> Pair:
    """Return the height and width of a transposed convolution. Raises NNM303, NNM408."""
    result: list[int] = []
    for axis, (size, length) in enumerate(zip(sizes, kernel, strict=True)):
        stride, extra = strides[axis], output_padding[axis]
        base = (size - 1) * stride + reach(length, dilations[axis])
        base -= padding[2 * axis] + padding[2 * axis + 1]
        if extra >= stride:
            raise OperatorError(
                "NNM303", f"output padding {extra} is not less than stride {stride}"
            )
        out = base + extra if output_sizes is None else output_sizes[axis]
        if not base <= out < base + stride:
            raise OperatorError(
                "NNM303",
                f"output sizes {show(output_sizes or ())}: {out} is not within {base} … "
                f"{base + stride - 1}",
            )
        if out < 1:
            raise OperatorError(
                "NNM408", f"{size} cells with stride {stride} leave {out} cells after padding"
            )
        result.append(out)
    return result[0], result[1]


def filter_gradient(
    b: Builder,
    image: Tensor,
    cells: Tensor,
    kernel: Pair,
    target: str,
    *,
    padding: Sides,
    strides: Pair,
    dilations: Pair,
    groups: int,
    input_layout: str,
    **_: Any,
) -> Tensor:
    """Return the gradient for the filter of a convolution from `image` to `cells`.

    It is a convolution as well: batch and channels swap places, so do strides and dilations, and
    the cells are the filter. `target` gives the letters of the result.
    """
    swapped = swap_letters(input_layout, "n", "c")
    if groups > 1:
        parts = input_layout.replace("c", "gc")
        channels = sizes_by_letter(input_layout, image.shape)["c"]
        sizes = {**sizes_by_letter(input_layout, image.shape), "g": groups, "c": channels // groups}
        split = b.reshape(image, new_shape=[sizes[letter] for letter in parts])
        transposed = permute(b, split, parts, swapped.replace("n", "gn"))
        sizes["n"] *= groups
        transposed = b.reshape(transposed, new_shape=[sizes[letter] for letter in swapped])
    else:
        transposed = permute(b, image, input_layout, swapped)
    gradient = b.conv2d(
        transposed,
        permute(b, cells, input_layout, swapped),
        padding=padding,
        strides=dilations,
        dilations=strides,
        groups=groups,
        input_layout=input_layout,
        filter_layout=swapped.translate(str.maketrans("cn", "oi")),
    )
    letters = input_layout.translate(str.maketrans("nc", "io"))
    # Rows and columns that no window covers make it larger than the filter.
    sizes = {**sizes_by_letter(letters, gradient.shape), "h": kernel[0], "w": kernel[1]}
    cut = tuple(sizes[letter] for letter in letters)
    if cut != gradient.shape:
        gradient = b.slice(gradient, starts=(0,) * 4, sizes=cut)
    return permute(b, gradient, letters, target)


def bias_gradient(b: Builder, g: Tensor, bias: Tensor | None, input_layout: str) -> Tensor | None:
    """Return the gradient for the bias: the sum over everything but the channels."""
    if bias is None:
        return None
    return b.reduce_sum(g, axes=[k for k, letter in enumerate(input_layout) if letter != "c"])


def with_bias(np: Any, image: Any, bias: Any) -> Any:
    """Add a bias to the channels of an image `[n, c, h, w]`."""
    return image if bias is None else image + np.reshape(bias, (-1, 1, 1))


def lower_bias(h: Any, image: Any, bias: Any, layout: str) -> Any:
    """Add a bias to the channels of an image in StableHLO."""
    if bias is None:
        return image
    return h.add(image, h.broadcast(bias, image.shape, [layout.index("c")]))


def split_filter(np: Any, kernel: Any, groups: int) -> Any:
    """Return a filter `[o, i, h, w]` as one matrix per group."""
    outer = kernel.shape[0] // groups
    return np.reshape(kernel, (groups, outer, count(kernel.shape[1:])))


def earlier(
    b: Builder, operator: AnyOperator, operands: Sequence[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """Turn `auto_pad` and `activation` of the 2022 draft into today's calls."""
    finish = pop_activation(b, options)
    mode = check_automatic_padding(options.pop("auto_pad", "explicit"))
    if mode != "explicit" and len(operands) > 1 and all(map(is_image, operands[:2])):
        call_options = {
            name: option.check(options.get(name, option.default))
            for name, option in operator.options.items()
        }
        image = sizes_by_letter(call_options["input_layout"], operands[0].shape)
        kernel = sizes_by_letter(call_options["filter_layout"], operands[1].shape)
        steps = height_width(kernel), call_options["strides"], call_options["dilations"]
        transposed = "output_sizes" in call_options
        options["padding"] = automatic_padding(mode, height_width(image), *steps, transposed)
        if transposed:
            heights = zip(height_width(image), call_options["strides"], strict=True)
            options["output_sizes"] = tuple(size * stride for size, stride in heights)
    return operands, options, finish
