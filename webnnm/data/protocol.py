"""The dataset protocol: the members that a model uses, of any class (spec G.1)."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.awaiting import check_awaited
from webnnm.core.errors import DataError
from webnnm.data.batch import Batch, row_orders
from webnnm.data.field import Field
from webnnm.data.preparation.statistics import Statistics

Arrays = dict[str, HostArray]

REQUIRED_MEMBERS = ("name", "inputs", "outputs", "batch_size", "labels", "size")


@runtime_checkable
class AnyDataset(Protocol):
    """What every dataset provides, whether in memory or a stream.

    >>> from webnnm.data.dataset import Dataset
    >>> isinstance(Dataset([1.0], [0.5]), AnyDataset)
    True

    `inputs` and `outputs` are block → `Field`. A class needs no common base: it needs these
    members, and those of `BatchedDataset` or `StreamedDataset`.
    """

    @property
    def name(self) -> str:
        """The name in logs."""
        ...

    @property
    def inputs(self) -> Mapping[str, Field]:
        """The descriptions of the inputs, by block."""
        ...

    @property
    def outputs(self) -> Mapping[str, Field]:
        """The descriptions of the outputs, by block."""
        ...

    @property
    def batch_size(self) -> int:
        """The number of rows per batch."""
        ...

    def set_batch_size(self, batch_size: int) -> None:
        """Set the number of rows per batch, at least 1."""
        ...

    def labels(self, block: str | None = None) -> list[str] | None:
        """Return the class names of an output, None without names."""
        ...

    def size(self, subset: str = "full") -> int:
        """Return the number of rows of a subset: training, validation, testing or full."""
        ...

    def num_batches(self, subset: str) -> int:
        """Return ⌈size/batch_size⌉."""
        ...

    def map(self, to_model: Mapping[str, str]) -> AnyDataset:
        """Return the same data under other names: field → block of a model."""
        ...

    def decode(self, block: str | None, values: Any) -> Any:
        """Return the class names, or values, that predictions stand for."""
        ...


@runtime_checkable
class BatchedDataset(AnyDataset, Protocol):
    """A dataset with random access to its batches; `Dataset` is one."""

    def batches(
        self, subset: str, epoch: int = 0, shuffle: bool | None = None, seed: int = 0
    ) -> Iterator[Batch]:
        """Return the batches of an epoch; every call returns an independent iterator."""
        ...

    def sample(self, index: int) -> tuple[Arrays, Arrays]:
        """Return the inputs and outputs of one row."""
        ...

    def statistics(self, subset: str = "training") -> Statistics:
        """Return statistics of a subset."""
        ...


@runtime_checkable
class StreamedDataset(AnyDataset, Protocol):
    """A dataset that is larger than memory and is streamed; `StreamDataset` is one."""

    def blocks(
        self, subset: str, epoch: int = 0, rows: int | None = None
    ) -> AsyncIterator[tuple[Arrays, ...]]:
        """Return inputs and outputs of this many rows at a time, fewer in the last block.

        If rows have weights, the third item is {"sample_weight": float32 `[rows]`}.
        """
        ...


def check_dataset(value: Any) -> AnyDataset:
    """Return the argument if a model can use it as a dataset.

    >>> from webnnm.data.dataset import Dataset
    >>> check_dataset(Dataset([1.0], [0.5], name="two")).name
    'two'

    Raises `DataError` NNM714 with the members that it lacks, NNM712 if it is to be awaited first.
    """
    check_awaited(value, "dataset", "dataset=…")
    lacking = [member for member in REQUIRED_MEMBERS if not hasattr(value, member)]
    if not hasattr(value, "batches") and not hasattr(value, "blocks"):
        lacking.append("batches or blocks")
    if lacking:
        raise DataError(
            "NNM714",
            f"a {type(value).__name__} is not a dataset: it lacks {', '.join(lacking)}",
            hint="Dataset(inputs, outputs) makes one from arrays",
        )
    return value


def load_subset(dataset: AnyDataset, subset: str) -> tuple[Arrays, Arrays, Arrays]:
    """Return inputs, outputs and masks of all rows of a subset, in order.

    >>> from webnnm.data.dataset import Dataset
    >>> load_subset(Dataset([1.5, 2.5], [0.5, 1.5], split=(1, 0, 0)), "training")[0]["model"]
    HostArray(float32[2], [1.5, 2.5])

    The batches are used if a dataset has no `arrays` and `masks`. Raises `DataError` NNM705 for a
    subset without rows, NNM702 for a stream.
    """
    source = cast(Any, dataset)
    if hasattr(source, "arrays") and hasattr(source, "masks"):
        inputs, outputs = source.arrays(subset)
        return inputs, outputs, source.masks(subset)
    if not hasattr(source, "batches"):
        raise DataError(
            "NNM702",
            f"{dataset.name} is a stream: its rows are not in memory",
            hint='await stream.collect("testing") loads a subset into memory',
        )
    batches: list[Batch] = list(source.batches(subset, shuffle=False))
    if not batches:
        raise DataError("NNM705", f'subset "{subset}" of {dataset.name} has no rows')

    def concatenate_batches(sides: list[Arrays]) -> Arrays:
        parts = list(zip(sides, batches, strict=True))
        return {
            block: concatenate(
                [side[block].rows(range(batch.valid_count)) for side, batch in parts]
            )
            for block in sides[0]
        }

    return (
        concatenate_batches([batch.inputs for batch in batches]),
        concatenate_batches([batch.outputs for batch in batches]),
        concatenate_batches([batch.masks for batch in batches]),
    )


def load_outputs(dataset: AnyDataset, subset: str) -> tuple[Arrays, Arrays]:
    """Return outputs and masks of all rows of a subset, as `load_subset` does.

    A dataset may have a method `output_arrays`, which copies no inputs.
    """
    source = cast(Any, dataset)
    if hasattr(source, "output_arrays") and hasattr(source, "masks"):
        return source.output_arrays(subset), source.masks(subset)
    return load_subset(dataset, subset)[1:]


def compute_orders(
    dataset: AnyDataset,
    subset: str,
    epochs: Sequence[int],
    shuffle: bool | None = None,
    seed: int = 0,
) -> list[array[int]]:
    """Return the order in which each of these epochs visits the rows of `load_subset` (spec G.3).

    A dataset may have its own method `order` for one epoch.

    >>> from webnnm.data.dataset import Dataset
    >>> compute_orders(Dataset([1.5, 2.5], [0.5, 1.5], split=(0, 0, 1)), "testing", [1, 2])
    [array('i', [0, 1]), array('i', [0, 1])]
    """
    from webnnm.data.dataset import Dataset

    if getattr(type(dataset), "order", Dataset.order) is Dataset.order:  # drawn all at once
        return row_orders(subset, dataset.size(subset), epochs, shuffle, seed)
    own: Any = dataset
    return [array("i", own.order(subset, epoch, shuffle, seed)) for epoch in epochs]
