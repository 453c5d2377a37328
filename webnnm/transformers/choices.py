"""Rows of several texts, of which one is to be chosen: each text becomes a row of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import show


class Choices(NamedTuple):
    """Inputs of a model whose rows are texts, and how its scores are put back into rows.

    Attributes: `inputs`; `shape`, the number of rows and of texts in each.
    """

    inputs: dict[str, HostArray]
    shape: tuple[int, ...]

    def results(self, outputs: Mapping[str, HostArray]) -> dict[str, HostArray]:
        """Return the scores, `[batch, choices]`."""
        return {n: HostArray(a.dtype, self.shape, a.data) for n, a in outputs.items()}


def split_choices(values: Mapping[str, Any]) -> Choices:
    """Return the inputs of a model for inputs `[batch, choices, tokens]`.

    Raises `DataError` NNM702 for inputs of other dimensions, or with different numbers of choices.
    """
    shape, inputs = (0, 0), dict[str, HostArray]()
    for name, value in values.items():
        array = HostArray.of(value, "int32")
        if len(array.shape) != 3:
            message = f"{name} is [batch, choices, tokens], but {show(array.shape)} was given"
            raise DataError("NNM702", message)
        batch, choices, tokens = array.shape
        if inputs and shape != (batch, choices):
            message = (
                f"{name} has {choices} choices in {batch} rows, others {shape[1]} in {shape[0]}"
            )
            raise DataError("NNM702", message, hint="give all inputs the same shape")
        shape = batch, choices
        inputs[name] = HostArray(array.dtype, [batch * choices, tokens], array.data)
    return Choices(inputs, shape)
