"""Class numbers for an output that is a single number: they are quantities, or do not fit it."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.core.errors import DataError
from webnnm.data.binding.matching import Slot, find_field
from webnnm.data.dataset import Dataset
from webnnm.data.protocol import AnyDataset


def read_as_quantities(dataset: AnyDataset, slots: Mapping[str, Slot]) -> AnyDataset:
    """Return a dataset in which three and more classes that were detected are quantities, where
    the output for them is one number.

    >>> stars = Dataset([[1.0], [2.0], [3.0]], [0, 1, 2], split=(1, 0, 0))
    >>> read_as_quantities(stars, {"m": Slot((1,))}).outputs["model"].kind
    'continuous'

    - `slots`: output block → what the model gives for a row.

    Raises `DataError` NNM706 for classes that were declared as such, or have names.
    """
    for block, slot in slots.items():
        name = find_field(block, dataset.outputs, alone=len(slots) == 1)
        field = dataset.outputs.get(name)
        if field is None or field.kind != "classes" or field.classes < 3:
            continue
        if slot.shape[-1:] not in ((), (1,)):
            continue
        if field.declared or dataset.labels(name) or not isinstance(dataset, Dataset):
            raise DataError(
                "NNM706",
                f'output "{block}": {field.classes} classes, and the model has one score',
                hint=f"write shape=[{field.classes}] at the output and end in softmax(); numbers "
                f'that are quantities have kinds={{"{name}": "continuous"}}',
            )
        dataset = dataset.as_quantities([name])
    return dataset
