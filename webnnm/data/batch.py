"""A batch: the rows of one training step or one dispatch."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FORMATS, byte_length
from webnnm.core.random import Purpose, Stream, permutations
from webnnm.core.shapes import count
from webnnm.data.series.sequences import Sequences, get_lengths, make_masks


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of a dataset, always `batch_size` of them, padded with zeros (spec G.1, E.9).

    >>> x = HostArray.of([[1, 2], [0, 0]])
    >>> Batch(2, 1, {"x": x}, {}, indices=[7]).valid_mask()
    HostArray(float32[2], [1, 0])

    Attributes: `batch_size`; `valid_count`, the number of valid rows, which come first; `inputs`
    and `outputs`, block → array `[batch, …]`; `masks`, block → `[batch, sequence]`, and `lengths`,
    block → one length per row, 0 for padding rows, both only for sequences of different lengths;
    `indices`, the number in the dataset of every valid row.
    """

    batch_size: int
    valid_count: int
    inputs: dict[str, HostArray]
    outputs: dict[str, HostArray]
    masks: dict[str, HostArray] = field(default_factory=dict[str, HostArray])
    lengths: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    indices: Sequence[int] = ()

    def valid_mask(self) -> HostArray:
        """Return float32 `[batch]`: 1 for valid rows, 0 for padding rows."""
        empty = self.batch_size - self.valid_count
        return HostArray.of([1.0] * self.valid_count + [0.0] * empty)


def take(array: HostArray, indices: Sequence[int], batch_size: int) -> HostArray:
    """Return these rows of an array, followed by rows of zeros up to `batch_size`.

    >>> take(HostArray.of([1, 2, 3]), [2], 2).tolist()
    [3.0, 0.0]
    """
    rows = array.rows(indices)
    empty = batch_size - len(indices)
    if not empty:
        return rows
    shape = (batch_size, *array.shape[1:])
    if array.dtype not in FORMATS:  # 4-bit rows may share a byte
        values = list(rows.values())
        return HostArray.of(values + [0] * (count(shape) - len(values)), array.dtype, shape)
    missing = byte_length(array.dtype, count(shape)) - rows.data.nbytes
    data = bytes(rows.data) + bytes(missing)
    if isinstance(rows, Sequences):
        return Sequences(array.dtype, shape, data, (*rows.lengths, *(0,) * empty))
    return HostArray(array.dtype, shape, data)


def cut(
    inputs: Mapping[str, HostArray],
    outputs: Mapping[str, HostArray],
    indices: Sequence[int],
    batch_size: int,
) -> Iterator[Batch]:
    """Yield batches of these rows in this order, the last one padded with zeros.

    >>> x = HostArray.of([[1], [2], [3]])
    >>> [batch.inputs["x"].tolist() for batch in cut({"x": x}, {}, [2, 1, 0], 2)]
    [[[3.0], [2.0]], [[1.0], [0.0]]]
    """
    for first in range(0, len(indices), batch_size):
        some = indices[first : first + batch_size]
        sides = [
            {block: take(values, some, batch_size) for block, values in side.items()}
            for side in (inputs, outputs)
        ]
        yield Batch(
            batch_size, len(some), sides[0], sides[1], make_masks(sides), get_lengths(sides), some
        )


def row_order(
    subset: str, size: int, epoch: int = 0, shuffle: bool | None = None, seed: int = 0
) -> list[int]:
    """Return the order in which an epoch visits the rows of a subset (spec G.3).

    >>> row_order("testing", 3), row_order("training", 3, shuffle=False)
    ([0, 1, 2], [0, 1, 2])

    Training rows are shuffled unless `shuffle` is False, those of `full` only if it is True,
    validation and testing rows never. The order depends only on seed and epoch.
    """
    return row_orders(subset, size, [epoch], shuffle, seed)[0].tolist()


def row_orders(
    subset: str, size: int, epochs: Sequence[int], shuffle: bool | None = None, seed: int = 0
) -> list[array[int]]:
    """Return the `row_order` of several epochs, as int32."""
    if shuffle is None:
        shuffle = subset == "training"
    if shuffle and subset not in ("validation", "testing"):
        return permutations([Stream(seed, Purpose.SHUFFLING, epoch) for epoch in epochs], size)
    return [array("i", range(size)) for _ in epochs]
