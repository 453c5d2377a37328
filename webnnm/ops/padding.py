"""Padded positions of sequences: what computes along a sequence leaves them out (spec G.6, E.9).

A mask `[batch, length]`, float32, is 1 at the valid positions of each row, which stand before the
padded ones. The result of a padded row is that of the row alone. Where something has to be valid,
such as under a mean, a row that is padded altogether counts its first position: results stay
finite, and the row mask leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webnnm.dtypes import FLOAT16_MAX, DataType, integer_range, is_float
from webnnm.ops.along import padded
from webnnm.ops.layout import Laid
from webnnm.ops.operator import Builder, Tensor
from webnnm.shapes import count

FLOAT32_MAX = 3.4028234663852886e38


def extremes(dtype: DataType) -> tuple[float, float]:
    """Return the lowest and the highest finite number of a type.

    >>> extremes("float16"), extremes("uint8")
    ((-65504.0, 65504.0), (0, 255))
    """
    if is_float(dtype):
        largest = FLOAT32_MAX if dtype == "float32" else FLOAT16_MAX
        return -largest, largest
    return integer_range(dtype)


# Masks `[batch, length]`.


def lengths(b: Builder, mask: Tensor, dtype: DataType = "float32") -> Any:
    """Return how many positions of each row are valid, `[batch]`, at least one."""
    found = b.max(b.reduce_sum(mask, axes=[1]), b.constant(1, "float32"))
    return found if dtype == "float32" else b.cast(found, type=dtype)


def valid(b: Builder, mask: Tensor) -> Any:
    """Return which positions are valid as conditions `[batch, length]`, in no row none."""
    return below(b, lengths(b, mask), mask.shape[1])


def below(b: Builder, numbers: Tensor, length: int) -> Any:
    """Return for each of `[batch]` numbers which of the positions from 0 on are below it."""
    positions = b.constant(range(length), numbers.dtype, (1, length))
    return b.lesser(positions, column(b, numbers))


def column(b: Builder, numbers: Tensor) -> Any:
    """Return `[batch]` numbers as `[batch, 1]`."""
    return b.reshape(numbers, new_shape=(-1, 1))


def looked_up(
    b: Builder, mask: Tensor, rule: Callable[[int], int], dtype: DataType = "float32"
) -> Any:
    """Return what a rule says of the number of valid positions of each row, `[batch]`."""
    table = b.constant([rule(n) for n in range(mask.shape[1] + 1)], dtype)
    return b.gather(table, b.cast(b.reduce_sum(mask, axes=[1]), type="int32"), axis=0)


def remasked(b: Builder, mask: Tensor, rule: Callable[[int], int], length: int) -> Any:
    """Return the mask of a sequence of another length, of which `rule(n)` positions are valid.

    `n` is the number of valid positions from 1 on; of none none are made.
    """
    old = mask.shape[1]
    if length == old and all(rule(n) == n for n in range(1, old + 1)):
        return mask
    numbers = looked_up(b, mask, lambda n: min(max(rule(n), 0), length) if n else 0)
    return b.cast(below(b, numbers, length), type="float32")


def every(b: Builder, batch: int, length: int) -> Any:
    """Return a mask of valid positions alone."""
    return b.expand(b.constant(1, "float32"), new_shape=(batch, length))


def one_step(b: Builder, mask: Tensor) -> Any:
    """Return the mask of a sequence of one step that is made of all valid ones."""
    return b.reduce_max(mask, axes=[1], keep_dimensions=True)


# Values that have a mask.


def placed(b: Builder, numbers: Tensor, laid: Laid) -> Any:
    """Return `[batch]` or `[batch, length]` numbers in a shape that broadcasts to a value's."""
    roles = [laid.position("batch"), *([laid.position("sequence")] if numbers.rank > 1 else [])]
    if roles != sorted(roles):
        numbers = b.transpose(numbers, permutation=(1, 0))
    shape = [1] * len(laid.layout)
    for place, size in zip(sorted(roles), numbers.shape, strict=True):
        shape[place] = size
    return b.reshape(numbers, new_shape=shape)


def filled(b: Builder, laid: Laid, value: float, tensor: Tensor | None = None) -> Any:
    """Return a value, or a tensor laid out like it, with a number at all padded positions."""
    x = laid.tensor if tensor is None else tensor
    return b.where(placed(b, valid(b, laid.mask), laid), x, b.constant(value, x.dtype))


def mean(b: Builder, laid: Laid, x: Tensor, axes: Sequence[int]) -> Any:
    """Return the mean over axes, among them the sequence; these keep size 1."""
    total = b.reduce_sum(filled(b, laid, 0, x), axes=axes, keep_dimensions=True)
    sequence = laid.position("sequence")
    others = count(x.shape[k] for k in axes if k != sequence)
    size = placed(b, lengths(b, laid.mask), laid) * float(others)
    return total / (size if x.dtype == "float32" else b.cast(size, type=x.dtype))


def picked(b: Builder, laid: Laid, indices: Tensor) -> Any:
    """Return positions of each row, `[batch, k, features…]`, for int32 indices `[batch, k]`."""
    x = laid.canonical().tensor
    _, n, *features = x.shape
    rows, k = indices.shape
    if x.shape[0] != rows:
        x = b.expand(x, new_shape=(rows, n, *features))
    shape = (rows, k, *features)
    if is_float(x.dtype):
        # A product with one-hot rows: its gradient is a product, too, and not a scatter that adds.
        cells = b.reshape(indices, new_shape=(rows, k, 1))
        chosen = b.cast(b.equal(cells, b.constant(range(n), "int32", (1, 1, n))), type=x.dtype)
        found = b.matmul(chosen, b.reshape(x, new_shape=(rows, n, count(features))))
        return b.reshape(found, new_shape=shape)
    starts = b.constant(range(0, rows * n, n), "int32", (rows, 1))
    flat = b.reshape(x, new_shape=(rows * n, *features))
    return b.gather(flat, indices + starts, axis=0)


def reversed_rows(b: Builder, laid: Laid) -> Laid:
    """Return a value with the valid positions of each row in reverse order."""
    n = laid.size("sequence")
    places = b.constant(range(n), "int32", (1, n))
    last = column(b, lengths(b, laid.mask, "int32")) - 1
    indices = b.where(valid(b, laid.mask), last - places, places)
    return _turned(laid, picked(b, laid, indices))


def joined(b: Builder, parts: Sequence[Laid], whole: Laid) -> Laid:
    """Return parts that were joined along the sequence with all padding behind the last of them.

    `whole` is canonical, and has the parts one after the other with their padding.
    """
    rows = whole.size("batch")
    masks = [
        every(b, rows, part.size("sequence")) if part.mask is None else part.mask for part in parts
    ]
    mask = b.concat(masks, axis=1)
    if all(part.mask is None for part in parts[:-1]):
        return Laid(whole.tensor, whole.layout, whole.sequence, mask)
    n = mask.shape[1]
    places = b.constant(range(n), "float32", (1, n))
    end, indices = b.constant([0], "float32", (1, 1)), places
    for part in masks[:-1]:
        # What stands behind a part moves up by the padding of this part.
        valid_ones = b.reduce_sum(part, axes=[1], keep_dimensions=True)
        end = end + valid_ones
        behind = b.cast(b.greater_or_equal(places, end), type="float32")
        indices = indices + behind * (float(part.shape[1]) - valid_ones)
    indices = b.cast(b.min(indices, b.constant(n - 1, "float32")), type="int32")
    total = b.reduce_sum(mask, axes=[1])
    mask = b.cast(below(b, total, n), type="float32")
    return Laid(picked(b, whole, indices), whole.layout, whole.sequence, mask)


def begun(b: Builder, laid: Laid, x: Tensor, axis: int, front: Callable[[int], int]) -> Any:
    """Return `x` with zeros before it along an axis, for each row as many as a rule says.

    The rule is one of the number of valid positions. All rows grow by the most that it says.
    """
    amounts = [front(n) for n in range(1, laid.size("sequence") + 1)]
    most = max(amounts)
    own = placed(b, looked_up(b, laid.mask, lambda n: front(n) if n else most), laid)
    found: Any = None
    for amount in sorted(set(amounts)):
        shifted = padded(b, x, axis, amount, most - amount)
        chosen = b.equal(own, b.constant(amount, "float32"))
        found = shifted if found is None else b.where(chosen, shifted, found)
    return found


def _turned(laid: Laid, tensor: Tensor) -> Laid:
    """Return what was computed on a canonical tensor in the layout of the value."""
    found = laid.canonical()
    return Laid(tensor, found.layout, laid.sequence, laid.mask).arranged(laid.layout)


def combined(b: Builder, sources: Sequence[Laid], sequence: str | None) -> Any:
    """Return the mask of what is made position by position of values, None if all are valid."""
    found: Any = None
    masks = [x.mask for x in sources if x.mask is not None and x.sequence == sequence]
    for mask in dict.fromkeys(masks):
        found = mask if found is None else found * mask
    return found
