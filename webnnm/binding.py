"""Binds the fields of a dataset to the inputs and outputs of a network (spec G.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.arrays import HostArray
from webnnm.data.dataset import Dataset
from webnnm.data.field import Field
from webnnm.dtypes import DataType
from webnnm.errors import DataError
from webnnm.graph.vertices import Network
from webnnm.shapes import Shape, show


@dataclass(frozen=True)
class DataBinding:
    """Which dataset field feeds which block."""

    dataset: Dataset
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    sequences: Mapping[str, str]

    def sequence_lengths(self) -> dict[str, int]:
        """Return the length of each sequence by name, as the dataset has it."""
        return {
            name: self.dataset.inputs[self.inputs[block]].shape[0]
            for block, name in self.sequences.items()
        }

    def arrays(
        self, subset: str, types: Mapping[str, DataType], depths: Mapping[str, int]
    ) -> tuple[dict[str, HostArray], dict[str, HostArray]]:
        """Return the inputs and targets of a subset by block, in the types the graphs take.

        Class numbers become one-hot rows of the output's size (`depths`).
        """
        inputs, outputs = self.dataset.arrays(subset)
        given = {
            block: HostArray.of(inputs[field], types[block]) for block, field in self.inputs.items()
        }
        targets: dict[str, HostArray] = {}
        for block, field in self.outputs.items():
            values = outputs[field]
            if self.dataset.outputs[field].kind == "classes":
                values = one_hot(values, depths[block])
            targets[block] = HostArray.of(values, "float32")
        return given, targets


def bind(
    network: Network, dataset: Dataset, mapping: Mapping[str, str] | None = None
) -> DataBinding:
    """Bind a dataset to a network: by `mapping`, by name, or the only field to the only block.

    Raises `DataError` NNM701 where a block has no field, NNM702 where sizes differ.
    """
    if mapping:
        dataset = dataset.map(to_model=mapping)
    shapes = {vertex.block: vertex.features[0].sizes() for vertex in network.inputs}
    inputs = _match("input", list(shapes), dataset.inputs)
    outputs = _match("output", [output.name for output in network.outputs], dataset.outputs)
    sequences = {v.block: v.features[0].sequence for v in network.inputs}
    for block, field in inputs.items():
        found = dataset.inputs[field].shape
        own = found[1:] if sequences[block] else found
        _check_size(block, "input", own, shapes[block])
    for output in network.outputs:
        field = dataset.outputs[outputs[output.name]]
        sizes = tuple(output.source.features.sizes()[k] for k in output.order)
        if field.kind == "classes" and len(field.shape) == len(sizes) - 1:
            if field.classes > sizes[-1]:
                raise DataError(
                    "NNM706",
                    f'{field.classes} classes for {sizes[-1]} values of output "{output.name}"',
                    hint=f"give the output shape=[{field.classes}]",
                )
        else:
            _check_size(output.name, "output", field.shape[-len(sizes) or None :], sizes)
    named = {block: name for block, name in sequences.items() if name is not None}
    return DataBinding(dataset, inputs, outputs, named)


def _match(what: str, blocks: list[str], fields: Mapping[str, Field]) -> dict[str, str]:
    if len(blocks) == 1 and len(fields) == 1:
        return {blocks[0]: next(iter(fields))}
    missing = [block for block in blocks if block not in fields]
    if missing:
        raise DataError(
            "NNM701",
            f'the dataset has no field for {what} "{missing[0]}", only {", ".join(fields)}',
            hint="dataset.map(to_model={field: block})",
        )
    return {block: block for block in blocks}


def _check_size(block: str, what: str, found: Shape, sizes: Shape) -> None:
    if found != sizes:
        raise DataError(
            "NNM702", f'{what} "{block}" is {show(sizes)}, the dataset has {show(found)}'
        )


def one_hot(classes: HostArray, depth: int) -> HostArray:
    """Return float32 rows with a 1 at each class number.

    >>> one_hot(HostArray.of([1, 0], "int32"), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]

    Raises `DataError` NNM706 for numbers outside 0 … depth−1.
    """
    rows: list[float] = []
    for number in classes.values():
        if not 0 <= number < depth:
            raise DataError("NNM706", f"class {number} of {depth} classes")
        rows += [float(k == number) for k in range(depth)]
    return HostArray.of(rows, "float32", (*classes.shape, depth))
