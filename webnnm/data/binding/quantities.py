"""Class numbers for an output that is a single number: they are quantities, or do not fit it."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.data.protocol import AnyDataset


def read_as_quantities(dataset: AnyDataset, names: Mapping[str, str]) -> AnyDataset:
    """Return a dataset whose detected classes are quantities.

    >>> stars = Dataset([[1.0], [2.0], [3.0]], [0, 1, 2], split=(1, 0, 0))
    >>> read_as_quantities(stars, {"m": "model"}).outputs["model"].kind
    'continuous'

    - `names`: output block → field of the dataset.

    Raises `DataError` NNM706 for classes that were declared as such, or have names.
    """
    for block, name in names.items():
        field = dataset.outputs[name]
        if field.declared or dataset.labels(name) or not isinstance(dataset, Dataset):
            raise DataError(
                "NNM706",
                f'output "{block}": {field.classes} classes, and the model has one score',
                hint=f"write shape=[{field.classes}] at the output and end in softmax(); numbers "
                f'that are quantities have kinds={{"{name}": "continuous"}}',
            )
        dataset = dataset.as_quantities([name])
    return dataset
