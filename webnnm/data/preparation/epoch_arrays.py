"""Augmented rows as training gets them: all rows of an epoch, or some to inspect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webnnm.core.arrays import HostArray, concatenate
from webnnm.data.batch import Batch, cut
from webnnm.data.dataset import Dataset
from webnnm.data.series.sequences import Sequences

Arrays = dict[str, HostArray]


def epoch_arrays(
    dataset: Dataset, epoch: int = 0, shuffle: bool | None = None, seed: int = 0
) -> tuple[Arrays, Arrays]:
    """Return all training rows as the batches of an epoch deliver them, in the order of `arrays`.

    >>> from webnnm.data.dataset import Dataset
    >>> data = Dataset([[1.0], [2.0]], [[0.5], [1.5]], split=(1, 0, 0))
    >>> halved = data.augment(lambda x, y, stream, epoch: (
    ...     {"model": [[value / 2] for value in x["model"].values()]}, y))
    >>> epoch_arrays(halved)[0]["model"].tolist()
    [[0.5], [1.0]]

    For training with the rows of an epoch on the device: in the order of `Dataset.order` for the
    same epoch, shuffle and seed, they are the batches of `Dataset.batches`.
    """
    if dataset.augmentation is None:
        return dataset.arrays("training")
    order = dataset.order("training", epoch, shuffle, seed)
    places = sorted(range(len(order)), key=order.__getitem__)
    inputs, outputs = _concatenate_batches(dataset.batches("training", epoch, shuffle, seed))
    return (
        {block: values.rows(places) for block, values in inputs.items()},
        {block: values.rows(places) for block, values in outputs.items()},
    )


def augment_rows(dataset: Dataset, numbers: Sequence[int]) -> tuple[Arrays, Arrays]:
    """Return the inputs and outputs of these rows, as a first epoch might deliver them.

    >>> from webnnm.data.dataset import Dataset
    >>> data = Dataset([[1.0], [2.0]], [[0.5], [1.5]], split=(1, 0, 0), batch_size=1)
    >>> halved = data.augment(lambda x, y, stream, epoch: (
    ...     {"model": [[value / 2] for value in x["model"].values()]}, y))
    >>> augment_rows(halved, [1, 0])[0]["model"].tolist()
    [[1.0], [0.5]]
    """
    batches = cut(*dataset.arrays("full"), numbers, dataset.batch_size)
    if dataset.augmentation is not None:
        from webnnm.data.preparation.augment import augment_batches

        fields = dataset.inputs, dataset.outputs
        batches = augment_batches(batches, dataset.augmentation, fields, epoch=0, seed=0)
    return _concatenate_batches(batches)


def _concatenate_batches(batches: Iterable[Batch]) -> tuple[Arrays, Arrays]:
    """Return the rows of batches as whole arrays, without padding rows."""
    every = list(batches)

    def concatenate_sides(sides: list[Arrays]) -> Arrays:
        result: Arrays = {}
        for block in sides[0]:
            parts = [
                side[block].rows(range(batch.valid_count))
                for side, batch in zip(sides, every, strict=True)
            ]
            values = concatenate(parts)
            lengths = [n for part in parts if isinstance(part, Sequences) for n in part.lengths]
            if lengths:
                values = Sequences(values.dtype, values.shape, values.data, lengths)
            result[block] = values
        return result

    return concatenate_sides([batch.inputs for batch in every]), concatenate_sides(
        [batch.outputs for batch in every]
    )
