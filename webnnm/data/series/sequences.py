"""Rows of different lengths: padded at the end, with their lengths stored (spec G.6)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FORMATS, DataType, byte_length, highest
from webnnm.core.errors import DataError
from webnnm.core.shapes import MAX_DIMENSION, Shape, count, is_integer, show
from webnnm.data.field import Field

Length = int | Literal["max", "bucket"]
"""Positions of a padded row: as many as the longest has, the next power of two, or a number."""


class Sequences(HostArray):
    """An array `[rows, length, …]` with the number of valid positions of every row.

    >>> words = Sequences("int32", (2, 2), bytes(16), [2, 1])
    >>> words.mask().tolist(), words.rows([1]).lengths
    ([[1.0, 1.0], [1.0, 0.0]], (1,))

    Attributes: those of `HostArray`, and `lengths`, one per row; by default all rows are full.
    """

    __slots__ = ("lengths",)

    def __init__(
        self, dtype: DataType, shape: Iterable[int], data: Any, lengths: Sequence[int] = ()
    ) -> None:
        super().__init__(dtype, shape, data)
        self.lengths: tuple[int, ...] = tuple(lengths) or (self.shape[1],) * self.shape[0]

    def rows(self, indices: Iterable[int]) -> Sequences:
        """Return the rows at these indices, in this order, with their lengths."""
        indices = list(indices)
        selected = super().rows(indices)
        lengths = [self.lengths[index] for index in indices]
        return Sequences(selected.dtype, selected.shape, selected.data, lengths)

    def copy(self) -> Sequences:
        """Return a read-only copy of the array, with its lengths, in its own memory."""
        return Sequences(self.dtype, self.shape, bytes(self.data), self.lengths)

    def mask(self) -> HostArray:
        """Return float32 `[rows, length]`: 1 for valid positions, 0 for padding."""
        return make_mask(self.lengths, self.shape[1])


def make_mask(lengths: Iterable[int], length: int) -> HostArray:
    """Return float32 `[rows, length]` with as many ones in each row as its length.

    >>> make_mask([1, 0], 2).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    ones = bytes(HostArray.of([1.0] * length).data) if length else b""
    rows = [ones[: 4 * n] + bytes(4 * (length - n)) for n in lengths]
    return HostArray("float32", (len(rows), length), b"".join(rows))


def make_masks(arrays: Iterable[Mapping[str, HostArray]]) -> dict[str, HostArray]:
    """Return block → mask of the arrays whose rows have different lengths."""
    return {
        block: values.mask()
        for some in arrays
        for block, values in some.items()
        if isinstance(values, Sequences)
    }


def get_lengths(arrays: Iterable[Mapping[str, HostArray]]) -> dict[str, list[int]]:
    """Return block → lengths of the arrays whose rows have different lengths.

    >>> get_lengths([{"x": Sequences("int32", (2, 2), bytes(16), [2, 1])}, {}])
    {'x': [2, 1]}
    """
    return {
        block: list(values.lengths)
        for some in arrays
        for block, values in some.items()
        if isinstance(values, Sequences)
    }


def check_shared(inputs: Mapping[str, HostArray], outputs: Mapping[str, HostArray]) -> None:
    """Refuse an output whose lengths differ from those of the input of its name: they share a mask.

    Raises `DataError` NNM702.
    """
    lengths, own = get_lengths([inputs]), get_lengths([outputs])
    for block in own:
        if block in inputs and own[block] != lengths.get(block):
            raise DataError(
                "NNM702",
                f'the rows of input "{block}" and output "{block}" have different lengths',
                hint="give the two sequences different names",
            )


def is_ragged(value: Any) -> bool:
    """Return whether something is a list of rows that differ in length.

    >>> is_ragged([[1, 2], [3]]), is_ragged([[1], [2]]), is_ragged([1, 2])
    (True, False, False)
    """
    rows = _to_list(value)
    return rows is not None and len({_get_size(row) for row in rows} - {None}) > 1


def resolve_length(where: str, length: Length, lengths: Sequence[int], *, first: int = 0) -> int:
    """Return how many positions the padded rows have.

    >>> resolve_length("x", "bucket", [3, 5]), resolve_length("x", "max", [3, 5])
    (8, 5)

    `first` is the number of the first row. Raises `DataError` NNM711 for a row longer than a given
    length or without positions, NNM704 for another word.
    """
    longest = max(lengths, default=0)
    if len(lengths) and not min(lengths):
        row = first + list(lengths).index(0)
        raise DataError("NNM711", f"{where}: row {row} has no positions", hint="drop the row")
    if length == "max":
        return longest
    if length == "bucket":
        return 1 << max(0, longest - 1).bit_length()
    if not is_integer(length) or not 1 <= length <= MAX_DIMENSION:
        raise DataError(
            "NNM704",
            f"{where}: length is {length!r:.60}",
            hint='"max", "bucket" or an integer from 1 to below 2**31',
        )
    if longest > length:
        row = first + list(lengths).index(longest)
        raise DataError(
            "NNM711",
            f"{where}: row {row} has {longest} positions, length is {length}",
            hint='cut it, or length="max"',
        )
    return int(length)


def flatten_rows(
    where: str, value: Any, dtype: DataType | None = None, *, first: int = 0
) -> tuple[HostArray, list[int]]:
    """Return the concatenated positions of all rows, and how many each row has.

    >>> flat, lengths = flatten_rows("x", [[1, 2], [3]])
    >>> flat.tolist(), lengths
    ([1.0, 2.0, 3.0], [2, 1])

    `first` is the number of the first row. Raises `DataError` NNM702 for rows that are not arrays,
    or whose positions differ in shape.
    """
    items = _to_list(value)
    if items is None or not is_ragged(items):
        values = _to_array(where, value, dtype, copy=True)
        if len(values.shape) < 2:
            raise DataError(
                "NNM702",
                f"{where} has a length, but its rows {show(values.shape[1:])} have no positions",
                hint="a sequence is [rows, length, …], or a list of arrays",
            )
        rows, size = values.shape[:2]
        return HostArray(values.dtype, (rows * size, *values.shape[2:]), values.data), [size] * rows
    arrays = [
        _to_array(f"{where}, row {index}", row, dtype) for index, row in enumerate(items, first)
    ]
    shapes = [values.shape for values in arrays]
    # A row without positions has no shape of its own.
    rest = next((shape[1:] for shape in shapes if shape and shape[0]), ())
    for index, shape in enumerate(shapes, first):
        if not shape or (shape[0] and shape[1:] != rest):
            what = f"positions of {show(shape[1:])}" if shape else "a single number"
            raise DataError("NNM702", f"{where}: row {index} has {what}, others {show(rest)}")
    types = {values.dtype for values in arrays}
    dtype_of_all = "float64" if "float64" in types else highest(types)
    if dtype_of_all not in FORMATS:  # 4-bit rows may share a byte
        dtype_of_all = "int8" if dtype_of_all == "int4" else "uint8"
    lengths = [shape[0] for shape in shapes]
    data = b"".join(HostArray.of(values, dtype_of_all).data for values in arrays)
    return HostArray(dtype_of_all, (sum(lengths), *rest), data), lengths


def pad(flat: HostArray, lengths: Sequence[int], size: int, *, fill: bytes = b"\0") -> HostArray:
    """Return concatenated positions as `[rows, size, …]`.

    >>> pad(HostArray.of([1, 2, 3], "int32"), [2, 1], 2, fill=b"\\xff").tolist()
    [[1, 2], [3, -1]]

    `fill` is the byte after the end of a row. If no padding is needed, a plain array is returned.
    """
    shape = (len(lengths), size, *flat.shape[1:])
    if all(n == size for n in lengths):
        return HostArray(flat.dtype, shape, flat.data)
    width = byte_length(flat.dtype, count(flat.shape[1:]))
    parts: list[bytes | memoryview] = []
    for end, n in zip(accumulate(lengths), lengths, strict=True):
        parts += (flat.data[(end - n) * width : end * width], fill * ((size - n) * width))
    return Sequences(flat.dtype, shape, b"".join(parts), lengths)


def flatten_positions(values: HostArray, field: Field) -> tuple[HostArray, Field]:
    """Return the values that statistics are computed from: valid positions, not rows (spec G.4).

    >>> words = Field((2,), "int32", sequence="words")
    >>> flatten_positions(Sequences("int32", (2, 2), bytes(16), [2, 1]), words)[0].shape
    (3,)
    """
    if not field.sequence:
        return values, field
    shape: Shape = (count(values.shape[:2]), *values.shape[2:])
    flat = HostArray(values.dtype, shape, values.data)
    if isinstance(values, Sequences):
        size = values.shape[1]
        flat = flat.rows(row * size + k for row, n in enumerate(values.lengths) for k in range(n))
    return flat, field.of_position()


def restore_sequences(values: HostArray, before: HostArray) -> HostArray:
    """Return values as sequences again, with zeros after their ends, if they were sequences before.

    >>> before = Sequences("int32", (1, 2), bytes(8), [1])
    >>> restore_sequences(HostArray.of([[5, 5]]), before).tolist()
    [[5.0, 0.0]]
    """
    if not isinstance(before, Sequences):
        return values
    rows, size = values.shape[:2]
    width = len(values.data) // (rows * size)
    parts: list[bytes | memoryview] = []
    for row, n in enumerate(before.lengths):
        start = row * size * width
        parts += (values.data[start : start + n * width], bytes((size - n) * width))
    return Sequences(values.dtype, values.shape, b"".join(parts), before.lengths)


def describe_position(index: int, width: int, lengths: Sequence[int] = (), first: int = 0) -> str:
    """Return where an element is: its row, position (given `lengths`) and number.

    >>> describe_position(7, 3), describe_position(2, 1, [2, 1])
    ('row 2, element 1', 'row 1, position 0')

    `width` is the elements of a row or position, `first` the number of the first row.
    """
    number, element = divmod(index, width)
    if not lengths:
        return f"row {first + number}, element {element}"
    ends = list(accumulate(lengths))
    row = bisect_right(ends, number)
    position = number - (ends[row] - lengths[row])
    position_text = f"row {first + row}, position {position}"
    return position_text if width == 1 else f"{position_text}, element {element}"


def _to_list(value: Any) -> list[Any] | None:
    """Return the rows of a list, or of a NumPy array of objects, None for anything else."""
    if str(getattr(value, "dtype", "")) == "object":
        value = value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else None


def _get_size(row: Any) -> int | None:
    if isinstance(row, str):
        return None
    try:
        return len(row)
    except (TypeError, IndexError):  # a number, or an array without dimensions
        return None


def _to_array(where: str, value: Any, dtype: DataType | None, *, copy: bool = False) -> HostArray:
    try:
        return HostArray.of(value, dtype, copy=copy)
    except DataError as error:
        raise DataError(error.code, f"{where}: {error.message}", hint=error.hint) from error
