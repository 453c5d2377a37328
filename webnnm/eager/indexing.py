"""Indexing: which elements of an array a key selects, to read or to replace them.

Array API standard, "Indexing": integers, slices, `...`, `newaxis`, and arrays of integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.core.shapes import Shape, broadcast, count, show, strides_of
from webnnm.eager.errors import ArrayIndexError, ArrayKeyError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand


@dataclass(frozen=True, slots=True)
class IndexArray:
    """An array of integers in a key: its shape, and its least and largest integer if known."""

    shape: Shape
    bounds: tuple[int, int] | None = None

    def check(self, size: int, axis: int) -> None:
        """Raise `ArrayIndexError` for a known integer that is no index of a dimension."""
        if not size and count(self.shape):
            raise ArrayIndexError(f"indices of dimension {axis}, which has no elements")
        if self.bounds is not None and count(self.shape):
            low, high = self.bounds
            if low < -size or high >= size:
                raise _out_of_bounds_error(low if low < -size else high, size, axis)


@dataclass(frozen=True, slots=True)
class Mask:
    """An array of booleans in a key, by its shape."""

    shape: Shape

    def fits(self, shape: Shape) -> bool:
        """Return whether it selects from dimensions of these sizes; a size of 0 selects nothing."""
        return all(
            size in (0, dimension) for size, dimension in zip(self.shape, shape, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Span:
    """A slice of one dimension: `size` elements from `start` on, every `step`-th."""

    start: int
    size: int
    step: int

    @property
    def low(self) -> int:
        """The lowest index that it selects."""
        return self.start if self.step > 0 else self.start + (self.size - 1) * self.step

    @property
    def extent(self) -> int:
        """The number of elements from the lowest index that it selects to the highest."""
        return (self.size - 1) * abs(self.step) + 1


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of an array: `size` elements along one dimension, from `start` on."""

    axis: int
    start: int
    size: int

    def take(self, b: GraphBuilder, x: Operand, start: Operand) -> Operand:
        """Return the part that begins at an index which is an operand of the graph."""
        return b.gather(x, b.constant([*range(self.size)], "int32") + start, axis=self.axis)

    def put(self, b: GraphBuilder, x: Operand, part: Operand, start: Operand) -> Operand:
        """Return an operand with another part from that index on."""
        n = x.shape[self.axis]
        index = b.constant([*range(n)], "int32") - start
        inside = b.logical_and(b.greater_or_equal(index, 0), b.lesser(index, self.size))
        part = b.gather(part, b.min(b.max(index, 0), self.size - 1), axis=self.axis)
        mask_shape = [n if axis == self.axis else 1 for axis in range(x.rank)]
        return b.where(b.reshape(inside, new_shape=mask_shape), part, x)


Item = int | Span | IndexArray | None


@dataclass(frozen=True, slots=True)
class Selection:
    """What a key selects from an array of shape `source`: `items` by dimension, `shape` of all.

    `before` dimensions of the source that stay precede those of the index arrays in the result.
    """

    source: Shape
    items: tuple[Item, ...]
    shape: Shape
    before: int

    @property
    def _dimensions(self) -> list[int | Span | IndexArray]:
        return [item for item in self.items if item is not None]

    @property
    def _indexed_axes(self) -> list[int]:
        """The dimensions that are indexed by arrays, or by integers alongside arrays."""
        has_arrays = any(isinstance(item, IndexArray) for item in self._dimensions)
        kinds = (int, IndexArray) if has_arrays else ()
        return [axis for axis, item in enumerate(self._dimensions) if isinstance(item, kinds)]

    @property
    def _spans(self) -> list[Span]:
        """What is cut out of each dimension: all of it if arrays index it."""
        chosen = self._indexed_axes
        return [
            Span(0, size, 1)
            if axis in chosen or isinstance(item, IndexArray)
            else Span(item, 1, 1)
            if isinstance(item, int)
            else item
            for axis, (item, size) in enumerate(zip(self._dimensions, self.source, strict=True))
        ]

    def check_indices(self) -> None:
        """Raise `ArrayIndexError` for known indices out of range, if they select anything."""
        arrays = [item.shape for item in self.items if isinstance(item, IndexArray)]
        if not arrays or not count(broadcast(*arrays) or ()):
            return
        for axis, item in enumerate(self._dimensions):
            if isinstance(item, IndexArray):
                item.check(self.source[axis], axis)

    def cuts(self) -> list[Cut]:
        """Return what is cut out of single dimensions, without gaps."""
        cuts: list[Cut] = []
        for axis, (item, size) in enumerate(zip(self._dimensions, self.source, strict=True)):
            if isinstance(item, int):
                cuts.append(Cut(axis, item, 1))
            elif isinstance(item, Span) and item.step == 1 and item.size < size:
                cuts.append(Cut(axis, item.start, item.size))
        return cuts

    def after(self, cut: Cut) -> Selection:
        """Return what the key selects from the part that a cut leaves."""
        source = (*self.source[: cut.axis], cut.size, *self.source[cut.axis + 1 :])
        items = [*self.items]
        position = [at for at, item in enumerate(items) if item is not None][cut.axis]
        items[position] = 0 if isinstance(items[position], int) else Span(0, cut.size, 1)
        return Selection(source, tuple(items), self.shape, self.before)

    def take(self, b: GraphBuilder, x: Operand, *arrays: Operand) -> Operand:
        """Return what the key selects from an operand; `arrays` are the integer arrays in it."""
        x = self._cut(b, x)
        indexed = self._indexed_axes
        if not indexed:
            return b.reshape(x, new_shape=self.shape)
        others = [axis for axis in range(x.rank) if axis not in indexed]
        rows = self._rows(b, x, indexed, others)
        gathered = b.gather(rows, self._flat(b, indexed, arrays), axis=0)
        shape = (*self._common(), *(x.shape[axis] for axis in others))
        gathered = b.reshape(gathered, new_shape=shape)
        back, front = self._order(others)
        gathered = b.transpose(gathered, permutation=back) if back != front else gathered
        return b.reshape(gathered, new_shape=self.shape)

    def put(self, b: GraphBuilder, x: Operand, value: Operand, *arrays: Operand) -> Operand:
        """Return an operand with a value in place of what the key selects."""
        value = b.expand(value, new_shape=self.shape)
        chosen = self._indexed_axes
        if not chosen:
            inner = b.reshape(value, new_shape=[span.size for span in self._spans])
            return self._over(b, inner, x)
        cut = self._cut(b, x)
        others = [axis for axis in range(cut.rank) if axis not in chosen]
        rows = self._rows(b, cut, chosen, others)
        common = self._common()
        back, front = self._order(others)
        sizes = [*common, *(cut.shape[axis] for axis in others)]
        value = b.reshape(value, new_shape=[sizes[axis] for axis in back])
        if back != front:
            value = b.transpose(value, permutation=[back.index(axis) for axis in front])
        updates = b.reshape(value, new_shape=(count(common), *rows.shape[1:]))
        places = b.reshape(self._flat(b, chosen, arrays), new_shape=(count(common), 1))
        rows = b.scatter_nd(rows, places, updates)
        order = [*chosen, *others]
        inner = b.reshape(rows, new_shape=[cut.shape[axis] for axis in order])
        if order != [*range(cut.rank)]:
            inner = b.transpose(inner, permutation=[order.index(axis) for axis in range(cut.rank)])
        return self._over(b, inner, x)

    def _over(self, b: GraphBuilder, inner: Operand, x: Operand) -> Operand:
        """Return x with `inner` in place of what the slices select."""
        spans = self._spans
        if all(span == Span(0, size, 1) for span, size in zip(spans, self.source, strict=True)):
            return inner
        one = b.expand(b.constant(1, "uint8"), new_shape=inner.shape)
        return b.where(self._spread(b, one, spans), self._spread(b, inner, spans), x)

    def _cut(self, b: GraphBuilder, x: Operand) -> Operand:
        """Return what slices select; dimensions that arrays index stay as they are."""
        spans = self._spans
        back = [axis for axis, span in enumerate(spans) if span.step < 0]
        if any(span.size != size for span, size in zip(spans, self.source, strict=True)):
            x = b.slice(
                x,
                starts=[span.low for span in spans],
                sizes=[span.extent for span in spans],
                strides=[abs(span.step) for span in spans],
            )
        return b.reverse(x, axes=back) if back else x

    def _spread(self, b: GraphBuilder, x: Operand, spans: Sequence[Span]) -> Operand:
        """Return an operand as large as the source, with x at the spans and zero elsewhere."""
        back = [axis for axis, span in enumerate(spans) if span.step < 0]
        x = b.reverse(x, axes=back) if back else x
        for axis, span in enumerate(spans):
            gap = abs(span.step) - 1
            if gap and span.size > 1:
                x = _insert_zeros(b, x, axis, gap)
        low = [span.low for span in spans]
        high = [n - s.low - s.extent for s, n in zip(spans, self.source, strict=True)]
        if not any((*low, *high)):
            return x
        return b.pad(x, beginning_padding=low, ending_padding=high)

    def _common(self) -> Shape:
        shape = broadcast(*(item.shape for item in self.items if isinstance(item, IndexArray)))
        assert shape is not None
        return shape

    def _rows(
        self, b: GraphBuilder, x: Operand, indexed: Sequence[int], others: Sequence[int]
    ) -> Operand:
        """Return x with the dimensions that arrays index in front, merged into one."""
        order = [*indexed, *others]
        if order != [*range(x.rank)]:
            x = b.transpose(x, permutation=order)
        sizes = [self.source[axis] for axis in indexed]
        return b.reshape(x, new_shape=(count(sizes), *x.shape[len(indexed) :]))

    def _flat(self, b: GraphBuilder, indexed: Sequence[int], arrays: Sequence[Operand]) -> Operand:
        """Return the indices of rows, as one operand of the arrays' common shape."""
        indices = iter(self._indices(b, indexed, arrays))
        sizes = [self.source[axis] for axis in indexed]
        total: Operand | None = None
        fixed = 0
        for axis, stride in zip(indexed, strides_of(sizes), strict=True):
            item = self._dimensions[axis]
            if isinstance(item, int):
                fixed += item * stride
                continue
            index = next(indices)
            part = index * stride if stride != 1 else index
            total = part if total is None else total + part
        assert total is not None
        total = total + fixed if fixed else total
        return b.expand(total, new_shape=self._common())

    def _indices(
        self, b: GraphBuilder, indexed: Sequence[int], arrays: Sequence[Operand]
    ) -> list[Operand]:
        """Return the index arrays, counted from the start of their dimensions, in one type."""
        axes = [axis for axis in indexed if isinstance(self._dimensions[axis], IndexArray)]
        indices: list[Operand] = []
        for axis, array in zip(axes, arrays, strict=True):
            item = self._dimensions[axis]
            assert isinstance(item, IndexArray)
            indices.append(index_from_start(b, array, self.source[axis], item.bounds))
        wide = any(index.dtype == "int64" for index in indices)
        return [b.cast(x, type="int64") if wide and x.dtype != "int64" else x for x in indices]

    def _order(self, others: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the order of the result's dimensions, of index arrays and others, and these."""
        common, before = len(self._common()), self.before
        end = common + len(others)
        back = [*range(common, common + before), *range(common), *range(common + before, end)]
        return back, [*range(end)]


def _insert_zeros(b: GraphBuilder, x: Operand, axis: int, gap: int) -> Operand:
    """Return x with zeros between its elements along an axis."""
    shape, size = x.shape, x.shape[axis]
    x = b.reshape(x, new_shape=(*shape[: axis + 1], 1, *shape[axis + 1 :]))
    ends = [gap if at == axis + 1 else 0 for at in range(x.rank)]
    x = b.pad(x, beginning_padding=[0] * x.rank, ending_padding=ends)
    x = b.reshape(x, new_shape=(*shape[:axis], size * (gap + 1), *shape[axis + 1 :]))
    sizes = [*x.shape]
    sizes[axis] -= gap
    return b.slice(x, starts=[0] * x.rank, sizes=sizes)


def index_from_start(
    b: GraphBuilder, index: Operand, size: int, bounds: tuple[int, int] | None
) -> Operand:
    """Return indices counted from the start of a dimension; unknown ones are clamped to it."""
    if index.dtype not in ("int32", "int64"):
        index = b.cast(index, type="int64" if index.dtype in ("uint32", "uint64") else "int32")
    if bounds is None or bounds[0] < 0:
        below = b.lesser(index, b.constant(0, index.dtype))
        index = b.where(below, index + size, index)
    return index if bounds is not None else b.min(b.max(index, 0), size - 1)


def parse_key(key: tuple[Any, ...], shape: Shape) -> Selection:
    """Return what a key selects from an array of a shape; its arrays are `IndexArray`.

    >>> parse_key((slice(None, None, -1), 0, None), (3, 4)).shape
    (3, 1)

    Raises `ArrayIndexError` for indices that the array does not have.
    """
    check_dimensions(key, shape)
    index_count = sum(item is not None and item is not Ellipsis for item in key)
    items: list[Item] = []
    axis = before = ahead = 0
    advanced = [at for at, item in enumerate(key) if _is_advanced(item, key)]
    # Their dimensions stand in front if something separates them, even an empty ellipsis.
    together = advanced == [*range(advanced[0], advanced[-1] + 1)] if advanced else False
    is_open = not any(item is Ellipsis for item in key)
    for at, item in enumerate((*key, Ellipsis) if is_open else key):
        if together and at == advanced[0]:
            before = sum(isinstance(item, Span) for item in items)
            ahead = before + items.count(None)
        if item is None:
            items.append(None)
            continue
        number = len(shape) - index_count if item is Ellipsis else 1
        for size in shape[axis : axis + number]:
            items.append(_item(slice(None) if item is Ellipsis else item, size, axis))
            axis += 1
    selection = Selection(shape, tuple(items), _shape(items, ahead), before)
    selection.check_indices()
    return selection


def _is_advanced(item: Any, key: tuple[Any, ...]) -> bool:
    """Return whether an item is an index array, or an integer beside one."""
    if isinstance(item, IndexArray):
        return True
    beside = any(isinstance(other, IndexArray) for other in key)
    return beside and hasattr(item, "__index__")


def check_dimensions(key: tuple[Any, ...], shape: Shape) -> None:
    """Raise `ArrayIndexError` for more indices than dimensions, and masks of other sizes.

    >>> check_dimensions((slice(None), Mask((2,))), (3, 4))
    Traceback (most recent call last):
    webnnm.eager.errors.ArrayIndexError: NNM720: a mask [2] for an array [3, 4]
    hint: the sizes of a mask are those of the dimensions that it selects from, here [4]
    """
    if sum(item is Ellipsis for item in key) > 1:
        raise ArrayIndexError("an index can have only one ellipsis")
    sizes = [
        0 if item is None or item is Ellipsis else len(item.shape) if isinstance(item, Mask) else 1
        for item in key
    ]
    if sum(sizes) > len(shape):
        raise ArrayIndexError(f"{sum(sizes)} indices for an array {show(shape)}")
    axis = 0
    for item, size in zip(key, sizes, strict=True):
        if isinstance(item, Mask) and not item.fits(shape[axis : axis + size]):
            raise ArrayIndexError(
                f"a mask {show(item.shape)} for an array {show(shape)}",
                "the sizes of a mask are those of the dimensions that it selects from, here "
                f"{show(shape[axis : axis + size])}",
            )
        axis += len(shape) - sum(sizes) if item is Ellipsis else size


def _item(item: Any, size: int, axis: int) -> Item:
    if isinstance(item, IndexArray):
        return item
    if isinstance(item, slice):
        start, stop, step = item.indices(size)
        return Span(start, len(range(start, stop, step)), step)
    if isinstance(item, bool) or not hasattr(item, "__index__"):
        kind = type(item).__name__
        raise ArrayKeyError(
            f"a {kind} is not an index", "integers, slices, `...`, `newaxis` and arrays are"
        )
    index = item.__index__()
    if not -size <= index < size:
        raise _out_of_bounds_error(index, size, axis)
    return index % size


def _out_of_bounds_error(index: int, size: int, axis: int) -> ArrayIndexError:
    return ArrayIndexError(f"index {index} of dimension {axis}, which has {size} elements")


def _shape(items: Sequence[Item], ahead: int) -> Shape:
    arrays = [item.shape for item in items if isinstance(item, IndexArray)]
    others = tuple(
        item.size if isinstance(item, Span) else 1
        for item in items
        if isinstance(item, Span) or item is None
    )
    if not arrays:
        return others
    common = broadcast(*arrays)
    if common is None:
        listed = " and ".join(map(show, arrays))
        raise ArrayIndexError(f"indices of shapes {listed} do not broadcast")
    return (*others[:ahead], *common, *others[ahead:])
