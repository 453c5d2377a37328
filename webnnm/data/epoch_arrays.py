"""The training rows as an epoch delivers them, augmented, for trainings that hold them all."""

from __future__ import annotations

from webnnm.core.arrays import HostArray, joined
from webnnm.data.dataset import Dataset
from webnnm.data.sequences import Sequences

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

    For trainings that hold the rows of an epoch on the device: taken by `Dataset.order` of the
    same epoch, shuffle and seed they are the batches of `Dataset.batches`.
    """
    if dataset.augmentation is None:
        return dataset.arrays("training")
    batches = list(dataset.batches("training", epoch, shuffle, seed))
    order = dataset.order("training", epoch, shuffle, seed)
    places = sorted(range(len(order)), key=order.__getitem__)

    def gathered(sides: list[Arrays]) -> Arrays:
        result: Arrays = {}
        for block in sides[0]:
            parts = [
                side[block].rows(range(batch.valid_count))
                for side, batch in zip(sides, batches, strict=True)
            ]
            whole = joined(parts)
            lengths = [n for part in parts if isinstance(part, Sequences) for n in part.lengths]
            if lengths:
                whole = Sequences(whole.dtype, whole.shape, whole.data, lengths)
            result[block] = whole.rows(places)
        return result

    return gathered([batch.inputs for batch in batches]), gathered(
        [batch.outputs for batch in batches]
    )
