"""Options and layouts of operators on images: pairs of sizes, four paddings, dimension letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webnnm.ops.declare import checks
from webnnm.ops.declare.letters import order
from webnnm.ops.declare.operator import Option
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.declare.windows import halves, reach, same_padding

INPUT_LAYOUTS = ("nchw", "nhwc")

Pair = tuple[int, int]
Sides = tuple[int, int, int, int]


def numbers(amount: int, low: int) -> Callable[..., tuple[int, ...]]:
    """Return a check that accepts that many integers from `low`."""
    check_items = checks.integers(low)

    def check(value: Any, *_: TensorType) -> tuple[int, ...]:
        result = check_items(value)
        if len(result) != amount:
            raise OperatorError("NNM303", f"{len(result)} numbers, {amount} expected")
        return result

    return check


def pair_or_none(value: Any, *_: TensorType) -> Pair | None:
    """Accept height and width, or None."""
    if value is None:
        return None
    height, width = numbers(2, 1)(value)
    return height, width


PADDING = Option((0, 0, 0, 0), numbers(4, 0))
STEPS = {
    "strides": Option((1, 1), numbers(2, 1)),
    "dilations": Option((1, 1), numbers(2, 1)),
}


def sizes_by_letter(layout: str, shape: Sequence[int]) -> dict[str, int]:
    """Return the size of each dimension by its letter.

    >>> sizes_by_letter("nhwc", [1, 5, 4, 3])["c"]
    3
    """
    return dict(zip(layout, shape, strict=True))


def height_width(sizes: Mapping[str, int]) -> Pair:
    """Return height and width of lettered sizes."""
    return sizes["h"], sizes["w"]


def permute(b: Builder, x: Tensor, source: str, target: str) -> Tensor:
    """Return a tensor with its dimensions reordered to another layout."""
    return x if source == target else b.transpose(x, permutation=order(source, target))


def swap_letters(layout: str, one: str, other: str) -> str:
    """Return a layout with two letters swapped.

    >>> swap_letters("nhwc", "n", "c")
    'chwn'
    """
    return layout.translate(str.maketrans(one + other, other + one))


def automatic_padding(
    mode: str, sizes: Pair, kernel: Pair, strides: Pair, dilations: Pair, transposed: bool = False
) -> Sides:
    """Return the padding that `same-upper` (the odd cell at the end) or `same-lower` stands for.

    An image keeps its size, divided by the strides, or multiplied for transposed convolutions.
    """
    padding: list[int] = []
    for size, length, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        span = reach(length, dilation)
        pair = halves(max(span - stride, 0)) if transposed else same_padding(size, span, stride)
        padding += pair if mode == "same-upper" else reversed(pair)
    top, bottom, left, right = padding
    return top, bottom, left, right


check_automatic_padding = checks.choice("explicit", "same-upper", "same-lower")


def is_image(value: Any) -> bool:
    """Return whether an operand is a tensor of four dimensions, so that its layout can be read."""
    return getattr(value, "rank", None) == 4
