"""How another program's file stores a parameter: transposed, as part of a larger one, reshaped."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.core.arrays import has_numpy
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count, show, strides_of

ITEMS = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Formats of items by their size: items are moved as bits, whatever they mean."""


@dataclass(frozen=True, slots=True)
class Form(ABC):
    """A tensor derived from one in the file: `source` is its name there, or another form."""

    source: Form | str

    @property
    def name(self) -> str:
        """The name of the tensor in the file."""
        return self.source if isinstance(self.source, str) else self.source.name

    def __str__(self) -> str:
        inner = json.dumps(self.source) if isinstance(self.source, str) else str(self.source)
        return f"{type(self).__name__}({', '.join([inner, *self._details()])})"

    def shape(self, stored: Shape) -> Shape:
        """Return the shape that results from a tensor of the file.

        Raises `ValueError` with the reason if the form does not apply to such a tensor.
        """
        return self._shape(_inner_shape(self.source, stored))

    def data(self, stored: Shape, data: memoryview[int], size: int) -> memoryview[int]:
        """Return the bytes that result from a tensor of the file whose items have `size` bytes."""
        if isinstance(self.source, Form):
            data = self.source.data(stored, data, size)
        return self._data(_inner_shape(self.source, stored), data, size)

    def _details(self) -> list[str]:
        return []

    @abstractmethod
    def _shape(self, shape: Shape) -> Shape: ...

    @abstractmethod
    def _data(self, shape: Shape, data: memoryview[int], size: int) -> memoryview[int]: ...


@dataclass(frozen=True, slots=True)
class Transposed(Form):
    """A matrix with rows and columns exchanged.

    >>> Transposed("fc1.weight").shape((64, 784))
    (784, 64)

    Linear layers of PyTorch are `[out, in]`, those of the notation `[in, out]`.
    """

    def _shape(self, shape: Shape) -> Shape:
        if len(shape) != 2:
            raise ValueError(f"only a matrix can be transposed, not {show(shape)}")
        return shape[::-1]

    def _data(self, shape: Shape, data: memoryview[int], size: int) -> memoryview[int]:
        return permute(shape, data, size, (1, 0))


@dataclass(frozen=True, slots=True)
class Permuted(Form):
    """A tensor with its axes in another order, each named by a letter.

    >>> Permuted("conv1.weight", "oihw -> hwio").shape((16, 3, 5, 7))
    (5, 7, 3, 16)

    Filters of PyTorch are oihw, which `conv2d` takes unless its `filterLayout` says otherwise;
    those of TensorFlow and Flax are hwio. Raises `DataError` NNM704 for letters that are not a
    permutation.
    """

    axes: str

    def __post_init__(self) -> None:
        if not isinstance(self.axes, str):
            raise _wrong(f"axes={self.axes!r}", 'a permutation is written as "oihw -> hwio"')
        before, arrow, after = self.axes.partition("->")
        before, after = before.strip(), after.strip()
        if not arrow or len(set(before)) < len(before) or sorted(before) != sorted(after):
            raise _wrong(f'axes="{self.axes}"', 'a permutation is written as "oihw -> hwio"')

    @property
    def order(self) -> tuple[int, ...]:
        """For every axis of the result, the axis of the source."""
        before, _, after = self.axes.partition("->")
        return tuple(before.strip().index(letter) for letter in after.strip())

    def _details(self) -> list[str]:
        return [json.dumps(self.axes)]

    def _shape(self, shape: Shape) -> Shape:
        if len(shape) != len(self.order):
            raise ValueError(f'"{self.axes}" has {len(self.order)} axes, {show(shape)} does not')
        return tuple(shape[axis] for axis in self.order)

    def _data(self, shape: Shape, data: memoryview[int], size: int) -> memoryview[int]:
        return permute(shape, data, size, self.order)


@dataclass(frozen=True, slots=True)
class Part(Form):
    """One of several tensors that are stored as one, concatenated along an axis.

    >>> Part("attn.qkv.weight", 0, 3).shape((2304, 768))
    (768, 768)
    >>> Part("qkv_proj.weight", 1, (4096, 1024, 1024)).shape((6144, 4096))
    (1024, 4096)

    - `index`: which of them, from 0.
    - `of`: the number of equal parts, or the sizes of all of them.
    - `axis`: the axis along which they are concatenated; negative ones count from the end.
    - `heads`: the number of heads, if the parts are interleaved by head (GPT-NeoX, BLOOM).

    Raises `DataError` NNM704 for invalid numbers.
    """

    index: int
    of: int | Sequence[int]
    axis: int = 0
    heads: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.of, int):
            object.__setattr__(self, "of", tuple(self.of))
        sizes = (self.of,) if isinstance(self.of, int) else self.of
        if not all(map(_is_integer, (self.index, self.axis, self.heads, *sizes))):
            raise _wrong(
                f"index={self.index!r}, of={self.of!r}, axis={self.axis!r}, heads={self.heads!r}",
                "all of them must be integers",
            )
        parts = self.of if isinstance(self.of, int) else len(self.of)
        if not 0 <= self.index < parts:
            raise _wrong(
                f"index={self.index}", f"the last of {parts} parts has the index {parts - 1}"
            )
        if self.heads < 1 or not (isinstance(self.of, int) or min(self.of) > 0):
            raise _wrong(f"of={self.of}, heads={self.heads}", "sizes and heads count from 1")

    def _details(self) -> list[str]:
        axis = [f"axis={self.axis}"] if self.axis else []
        return [str(self.index), str(self.of), *axis] + (
            [f"heads={self.heads}"] if self.heads > 1 else []
        )

    def _find_range(self, shape: Shape) -> tuple[int, int, int]:
        """Return the axis, the start of this part along it, and its size."""
        if not -len(shape) <= self.axis < len(shape):
            raise ValueError(f"there is no axis {self.axis} in {show(shape)}")
        axis = self.axis % len(shape)
        total, parts = shape[axis], self.of
        if isinstance(parts, int):
            size, rest = divmod(total, parts)
            first, sizes = size * self.index, (size,)
        else:
            size, rest = parts[self.index], total - sum(parts)
            first, sizes = sum(parts[: self.index]), parts
        if rest or any(size % self.heads for size in sizes):
            heads = f" of {self.heads} heads" if self.heads > 1 else ""
            raise ValueError(f"axis {axis} of {show(shape)} does not split into {parts}{heads}")
        return axis, first, size

    def _shape(self, shape: Shape) -> Shape:
        axis, _, size = self._find_range(shape)
        return (*shape[:axis], size, *shape[axis + 1 :])

    def _data(self, shape: Shape, data: memoryview[int], size: int) -> memoryview[int]:
        axis, start, length_of_part = self._find_range(shape)
        inner = count(shape[axis + 1 :]) * size
        step, first, length = (
            along * inner // self.heads for along in (shape[axis], start, length_of_part)
        )
        if step == len(data):
            return data[first : first + length]
        pieces = [data[k : k + length] for k in range(first, len(data), step)] if step else []
        return memoryview(b"".join(pieces))


@dataclass(frozen=True, slots=True)
class Reshaped(Form):
    """The same numbers in the same order, with axes that are joined or split, or have size 1.

    >>> Reshaped("lstm.weight_ih_l0", (1, 512, 128)).shape((512, 128))
    (1, 512, 128)

    Other shapes with as many numbers are refused: a matrix is not to be mistaken for its transpose.
    """

    sizes: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))
        if not all(_is_integer(size) and size >= 0 for size in self.sizes):
            raise _wrong(f"sizes={list(self.sizes)}", "sizes are non-negative integers")

    def _details(self) -> list[str]:
        return [str(list(self.sizes))]

    def _shape(self, shape: Shape) -> Shape:
        if count(shape) != count(self.sizes):
            raise ValueError(
                f"{show(shape)} has a different number of elements than {show(self.sizes)}"
            )
        if not _are_axes_kept(shape, self.sizes):
            raise ValueError(f"{show(shape)} is not {show(self.sizes)} with axes joined or split")
        return tuple(self.sizes)

    def _data(self, shape: Shape, data: memoryview[int], size: int) -> memoryview[int]:
        return data


def _are_axes_kept(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether each axis of one shape is some axes of the other one, or the reverse.

    >>> _are_axes_kept((2, 3, 4), (6, 2, 2)), _are_axes_kept((3, 4), (4, 3))
    (True, False)
    """
    if 0 in one:
        return True
    ends, other_ends = _find_ends(one), _find_ends(other)
    index = other_index = 0
    for end in sorted({*ends} & {*other_ends}):
        last, other_last = ends.index(end) + 1, other_ends.index(end) + 1
        if last - index > 1 and other_last - other_index > 1:
            return False
        index, other_index = last, other_last
    return True


def _find_ends(shape: Sequence[int]) -> list[int]:
    """Return how many elements the leading axes have, for each axis longer than 1."""
    ends: list[int] = []
    total = 1
    for size in shape:
        if size > 1:
            total *= size
            ends.append(total)
    return ends


def permute(
    shape: Shape, data: memoryview[int], size: int, order: Sequence[int]
) -> memoryview[int]:
    """Return the items of a row-major tensor with its axes in another order.

    >>> bytes(permute((2, 3), memoryview(b"abcdef"), 1, (1, 0)))
    b'adbecf'

    Without NumPy, it moves a whole line of items at a time, along the longest axis.
    """
    if has_numpy():
        numpy: Any = sys.modules["numpy"]
        items = numpy.frombuffer(data, f"u{size}").reshape(shape)
        return memoryview(items.transpose(order).flatten()).cast("B")
    if not data:
        return memoryview(b"")
    item = ITEMS[size]
    # Slices of arrays with a step take a third of the time that those of memoryviews take.
    source, target = array(item), array(item, bytes(len(data)))
    source.frombytes(data)
    sizes = [shape[axis] for axis in order]
    from_strides = [strides_of(shape)[axis] for axis in order]
    to_strides = list(strides_of(sizes))
    line = max(range(len(sizes)), key=sizes.__getitem__, default=None)
    if line is None:
        return memoryview(source).cast("B")
    length, source_step, target_step = sizes.pop(line), from_strides.pop(line), to_strides.pop(line)
    starts = zip(_offsets(sizes, from_strides), _offsets(sizes, to_strides), strict=True)
    from_end, to_end = source_step * (length - 1) + 1, target_step * (length - 1) + 1
    for start, to_start in starts:
        target[to_start : to_start + to_end : target_step] = source[
            start : start + from_end : source_step
        ]
    return memoryview(target).cast("B")


def _offsets(sizes: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Return where the elements of an array with these strides are, in row-major order.

    >>> _offsets([2, 3], [1, 10])
    [0, 10, 20, 1, 11, 21]
    """
    offsets = [0]
    for size, stride in zip(sizes, strides, strict=True):
        steps = range(0, size * stride, stride)
        offsets = [offset + step for offset in offsets for step in steps]
    return offsets


def _inner_shape(source: Form | str, stored: Shape) -> Shape:
    return source.shape(stored) if isinstance(source, Form) else stored


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(what: str, hint: str) -> DataError:
    return DataError("NNM704", f"a name map says {what}", hint=hint)
