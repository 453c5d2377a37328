"""Binds a dataset to a network: which field feeds which block, in which form (spec G.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.arrays import HostArray
from webnnm.data.binding import Binding, Slot, field_name
from webnnm.data.binding import bind as bind_fields
from webnnm.data.dataset import Dataset
from webnnm.data.field import Field
from webnnm.graph.vertices import InputVertex, Network, Output
from webnnm.shapes import Shape

Arrays = dict[str, HostArray]


@dataclass(frozen=True)
class DataBinding:
    """A dataset with the binding of each block's field; `sequence` are lengths by name."""

    dataset: Dataset
    inputs: Mapping[str, Binding]
    outputs: Mapping[str, Binding]
    sequence: Mapping[str, int]

    def arrays(self, subset: str) -> tuple[Arrays, Arrays]:
        """Return the inputs and targets of a subset by block, as the graphs take them.

        Targets are float32 and class numbers one-hot. Raises `DataError` NNM705 for a subset
        without rows.
        """
        inputs, outputs = self.dataset.arrays(subset)
        return (
            {block: bound.apply(inputs[bound.field]) for block, bound in self.inputs.items()},
            {block: bound.apply(outputs[bound.field]) for block, bound in self.outputs.items()},
        )


def bind(
    network: Network, dataset: Dataset, mapping: Mapping[str, str] | None = None
) -> DataBinding:
    """Bind a dataset to a network: by `mapping`, by name, or the only field to the only block.

    Raises `DataError` NNM701 where a block has no field, NNM702 where sizes differ, NNM706 for
    more classes than scores.
    """
    if mapping:
        dataset = dataset.map(to_model=mapping)
    lengths = {
        vertex.block: _length(vertex, dataset.inputs, alone=len(network.inputs) == 1)
        for vertex in network.inputs
    }
    slots = {vertex.block: _input_slot(vertex, lengths[vertex.block]) for vertex in network.inputs}
    sequence = {
        name: length
        for vertex in network.inputs
        if (name := vertex.features[0].sequence) and (length := lengths[vertex.block])
    }
    by_output = {
        output.name: _output_slot(output, dataset.outputs, alone=len(network.outputs) == 1)
        for output in network.outputs
    }
    return DataBinding(
        dataset,
        bind_fields(dataset.inputs, slots, "input"),
        bind_fields(dataset.outputs, by_output, "output"),
        sequence,
    )


def _length(vertex: InputVertex, fields: Mapping[str, Field], *, alone: bool) -> int | None:
    """Return the sequence length that the data of an input have, if it has a sequence."""
    if vertex.features[0].sequence is None:
        return None
    return vertex.length or _first_size(vertex.block, fields, alone=alone)


def _input_slot(vertex: InputVertex, length: int | None) -> Slot:
    features = vertex.features[0]
    lead: Shape = () if length is None else (length,)
    return Slot((*lead, *features.sizes()), vertex.dtype, _all_names(features.names, length))


def _output_slot(output: Output, fields: Mapping[str, Field], *, alone: bool) -> Slot:
    features = output.source.features
    sizes = features.sizes()
    shape = tuple(sizes[k] for k in output.order)
    if features.sequence is None:
        return Slot(shape, "float32", _all_names(output.names, None))
    return Slot((_first_size(output.name, fields, alone=alone), *shape), "float32")


def _first_size(block: str, fields: Mapping[str, Field], *, alone: bool) -> int:
    """Return the first size of a block's rows; binding refuses a block without a field later."""
    field = fields.get(field_name(block, fields, alone=alone))
    return field.shape[0] if field is not None and field.shape else 1


def _all_names(names: tuple[str | None, ...], length: int | None) -> tuple[str, ...]:
    """Return the names of the dimensions if every one has a name, else none."""
    given = tuple(name for name in names if name is not None)
    return given if len(given) == len(names) and length is None else ()
