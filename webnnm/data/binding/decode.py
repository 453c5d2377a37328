"""Predictions as names: what a model's numbers mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError
from webnnm.core.shapes import count, show
from webnnm.data.classes import argmax
from webnnm.data.field import Field


def decode(values: Any, field: Field, labels: Sequence[str] | None, threshold: float = 0.5) -> Any:
    """Return the class of every row, or of a single row; continuous values as nested lists.

    >>> iris = Field((3,), "float32", kind="onehot", classes=3)
    >>> decode([[0.1, 0.7, 0.2]], iris, ["setosa", "versicolor", "virginica"])
    ['versicolor']
    >>> decode([0.1, 0.7, 0.2], iris, None)
    1

    `values` are scores `[rows, classes]`, or integers that already are classes; a class is returned
    as its name, or its number if the classes have no names. A yes/no field of one element gives one
    class per row (1 from `threshold` up), a field of several the list of those that are 1. Raises
    `DataError` NNM702 if the values do not have the field's shape, NNM706 for an unknown class.
    """
    predictions = _to_array(values)
    if field.kind == "continuous":
        return predictions.tolist()
    names: Sequence[Any] = range(max(2, field.classes)) if labels is None else labels
    if field.kind == "multilabel":
        return _decode_multilabel(predictions, field, names, threshold)
    if field.kind == "classes" and not is_float(predictions.dtype):
        numbers, shape = [int(value) for value in predictions.values()], predictions.shape
    else:
        if not predictions.shape or predictions.shape[-1] != field.classes:
            raise DataError(
                "NNM702", f"{show(predictions.shape)} is not scores of {field.classes} classes"
            )
        numbers, shape = argmax(predictions), predictions.shape[:-1]
    for number in numbers:
        if not 0 <= number < len(names):
            raise DataError("NNM706", f"class {number} of 0 … {len(names) - 1}")
    return _nest([names[number] for number in numbers], shape)


def _to_array(values: Any) -> HostArray:
    if isinstance(values, int) and not isinstance(values, bool):
        return HostArray.of(values, "int32")
    if isinstance(values, (list, tuple)) and all(isinstance(v, int) for v in values):  # pyrefly: ignore[unknown-variable-type]
        return HostArray.of(values, "int32")
    return HostArray.of(values)


def _decode_multilabel(
    predictions: HostArray, field: Field, names: Sequence[Any], threshold: float
) -> Any:
    width = field.classes
    on: list[bool] = [value >= threshold for value in predictions.values()]
    if width == 1:
        shape = predictions.shape if field.shape == () else predictions.shape[:-1]
        if len(on) != count(shape):
            raise DataError("NNM702", f"{show(predictions.shape)} does not have one value per row")
        return _nest([names[int(value)] for value in on], shape)
    if not predictions.shape or predictions.shape[-1] != width:
        raise DataError("NNM702", f"{show(predictions.shape)} is not rows of {width} yes/no values")
    rows = [[names[i] for i in range(width) if on[first + i]] for first in range(0, len(on), width)]
    return _nest(rows, predictions.shape[:-1])


def _nest(flat: list[Any], shape: Sequence[int]) -> Any:
    for size in reversed(shape[1:]):
        flat = [flat[first : first + size] for first in range(0, len(flat), size)]
    return flat if shape else flat[0]
