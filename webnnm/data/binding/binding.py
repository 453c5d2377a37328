"""Binds a dataset to a network: which field feeds which block, and in which form (spec G.2)."""

from __future__ import annotations

from array import array
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count
from webnnm.data.binding.matching import Binding, Slot, find_field
from webnnm.data.binding.matching import bind as bind_fields
from webnnm.data.field import Field
from webnnm.data.preparation.standardize import Standardization
from webnnm.data.protocol import (
    AnyDataset,
    StreamedDataset,
    check_dataset,
    compute_orders,
    load_outputs,
    load_subset,
)
from webnnm.data.series.sequences import describe_position, make_masks
from webnnm.graph.elaboration.vertices import (
    InputVertex,
    LayerVertex,
    Network,
    Output,
    ParameterVertex,
)

if TYPE_CHECKING:
    from webnnm.training.losses import Labels

Arrays = dict[str, HostArray]


@dataclass(frozen=True)
class DataBinding:
    """A dataset with the binding of each block's field.

    Attributes: `dataset`; `inputs` and `outputs`, block → `Binding`; `sequence`, name → length;
    `sequence_of`, (block of the inputs, block of the outputs) → name of the sequence; `tables`,
    those of a stream's embeddings, whose rows are checked as they come.
    """

    dataset: AnyDataset
    inputs: Mapping[str, Binding]
    outputs: Mapping[str, Binding]
    sequence: Mapping[str, int]
    sequence_of: tuple[Mapping[str, str], Mapping[str, str]] = field(
        default=(dict[str, str](), dict[str, str]())
    )
    tables: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])

    @property
    def streams(self) -> bool:
        """Whether the rows are streamed with `blocks`, instead of being in memory."""
        return hasattr(self.dataset, "blocks")

    @property
    def standardization(self) -> Mapping[str, Standardization]:
        """What the inputs were standardised with, by name of the field."""
        return getattr(self.dataset, "standardization", {})

    @property
    def target_standardization(self) -> Mapping[str, Standardization]:
        """What the outputs were standardised with, by name of the field."""
        return getattr(self.dataset, "target_standardization", {})

    def arrays(
        self, subset: str, labels: Mapping[str, Labels] | None = None
    ) -> tuple[Arrays, Arrays]:
        """Return the inputs and targets of a subset by block, as the graphs take them.

        Targets are float32 and class numbers are one-hot, unless `labels` says otherwise (output
        block → what its loss takes). Raises `DataError` NNM705 for a subset without rows,
        `ModelError` NNM604 for class numbers if there are no classes.
        """
        inputs, outputs, _ = load_subset(self.dataset, subset)
        return self.convert_rows(inputs, outputs, labels)

    def masks(self, subset: str) -> Arrays:
        """Return sequence name → float32 `[rows, length]`, 1 where a position counts.

        Only for sequences whose rows have different lengths. If rows have weights, these are also
        here, under `WEIGHT` and the output's name. Raises `DataError` NNM702 if two blocks of one
        sequence differ in the lengths of their rows, NNM704 if all weights are 0.
        """
        outputs, masks = load_outputs(self.dataset, subset)
        sequence_masks = self._merge_masks(masks)
        dataset: Any = self.dataset
        if getattr(dataset, "sample_weight", None) is not None:
            from webnnm.data.preparation.row_weights import compute_weights

            weights = dataset.sample_weight.rows(dataset.rows(subset)).values()
            of_blocks = {b: (bound.kind, outputs[bound.field]) for b, bound in self.outputs.items()}
            padding = {
                b: sequence_masks[name]
                for b, name in self.sequence_of[1].items()
                if name in sequence_masks
            }
            sequence_masks |= compute_weights(subset, weights, of_blocks, padding)
        return sequence_masks

    def orders(
        self, subset: str, epochs: Sequence[int], shuffle: bool | None = None, seed: int = 0
    ) -> list[array[int]]:
        """Return the order in which each of these epochs visits the rows of `arrays(subset)`."""
        return compute_orders(self.dataset, subset, epochs, shuffle, seed)

    async def blocks(
        self, subset: str, epoch: int, rows: int, labels: Mapping[str, Labels] | None = None
    ) -> AsyncGenerator[tuple[Arrays, Arrays, Arrays]]:
        """Yield inputs, targets and masks of a stream, a number of rows at a time, as in `arrays`.

        The last block may have fewer rows.
        """
        source = cast(StreamedDataset, self.dataset)
        blocks = source.blocks(subset, epoch, rows)
        try:
            async for inputs, outputs, *more in blocks:
                masks = self._merge_masks(make_masks((inputs, outputs)))
                if more:
                    from webnnm.data.preparation.row_weights import read_stream_weights

                    masks |= read_stream_weights(more[0], self.outputs)
                for block, (name, count_of_rows) in self.tables.items():
                    values = inputs[self.inputs[block].field]
                    check_ids(f'input "{block}"', values, name, count_of_rows)
                yield *self.convert_rows(inputs, outputs, labels), masks
        finally:
            if isinstance(blocks, AsyncGenerator):
                await blocks.aclose()

    async def whole(
        self, subset: str, labels: Mapping[str, Labels] | None = None
    ) -> tuple[Arrays, Arrays, Arrays]:
        """Return inputs, targets and masks of a whole subset, also of a stream.

        Raises `DataError` NNM705 for a subset without rows.
        """
        if not self.streams:
            return *self.arrays(subset, labels), self.masks(subset)
        size = self.dataset.size(subset)
        if not size:
            raise DataError("NNM705", f'subset "{subset}" of {self.dataset.name} has no rows')
        (block,) = [block async for block in self.blocks(subset, 0, size, labels)]
        return block

    def convert_rows(
        self,
        inputs: Mapping[str, HostArray],
        outputs: Mapping[str, HostArray],
        labels: Mapping[str, Labels] | None = None,
    ) -> tuple[Arrays, Arrays]:
        """Return rows of the dataset's fields as rows of the blocks."""
        form = labels or {}
        return (
            {block: bound.apply(inputs[bound.field]) for block, bound in self.inputs.items()},
            {
                block: bound.targets(outputs[bound.field], form.get(block, "same"))
                for block, bound in self.outputs.items()
            },
        )

    def _merge_masks(self, masks: Mapping[str, HostArray]) -> Arrays:
        """Return the masks of fields by sequence; blocks of one sequence have to agree."""
        merged: Arrays = {}
        for block, name in self.sequence_of[0].items():
            mask = masks.get(self.inputs[block].field)
            if mask is not None:
                _require_same_mask(f'input "{block}"', name, merged.setdefault(name, mask), mask)
        for block, name in self.sequence_of[1].items():
            mask = masks.get(self.outputs[block].field)
            # A position without a class does not count, whatever its mask.
            if mask is not None and self.outputs[block].kind != "classes":
                _require_same_mask(f'output "{block}"', name, merged.get(name), mask)
        return merged


def bind(
    network: Network, dataset: AnyDataset, mapping: Mapping[str, str] | None = None
) -> DataBinding:
    """Bind a dataset to a network: by `mapping`, by name, or the only field to the only block.

    `mapping` is a dict from block to field.
    Outputs in the dataset's `without_targets` are left out.

    Raises `DataError` NNM701 if a block has no field, NNM702 if sizes differ, NNM706 for more
    classes than scores, NNM711 for sequences longer than the network's, NNM714 for anything that
    is not a dataset.
    """
    dataset = check_dataset(dataset)
    if mapping:
        dataset = dataset.map(to_model={field: block for block, field in mapping.items()})
    network = with_targets(network, dataset)
    alone = len(network.inputs) == 1
    lengths = {v.block: _find_length(v, dataset.inputs, alone=alone) for v in network.inputs}
    slots = {
        vertex.block: _make_input_slot(vertex, lengths[vertex.block]) for vertex in network.inputs
    }
    sequences = _names((v.block, v.features[0].sequence) for v in network.inputs)
    sequence: dict[str, int] = {}
    for block, name in sequences.items():
        length = lengths[block] or 1
        if sequence.setdefault(name, length) != length:
            raise DataError(
                "NNM702",
                f'input "{block}": sequence "{name}" has {length} positions, in another input '
                f"{sequence[name]}",
                hint="length= pads both to one length, or the inputs name different sequences",
            )
    by_output = {
        output.name: _make_output_slot(output, dataset.outputs, alone=len(network.outputs) == 1)
        for output in network.outputs
    }
    single = any(slot.shape[-1:] in ((), (1,)) for slot in by_output.values())
    if single and any(field.classes > 2 for field in dataset.outputs.values()):
        from webnnm.data.binding.quantities import read_as_quantities

        dataset = read_as_quantities(dataset, by_output)
    inputs = bind_fields(dataset.inputs, slots, "input")
    along = _names((o.name, o.source.features.sequence) for o in network.outputs)
    try:
        outputs = bind_fields(dataset.outputs, by_output, "output")
        _check_positions(outputs, dataset.outputs, along, sequence)
    except DataError as error:
        if error.code == "NNM701":
            raise
        from webnnm.data.binding.mismatch import explain_mismatch, explain_positions

        explanation = explain_positions(dataset.outputs, by_output, along, sequence)
        if explanation is not None:
            raise explanation from error
        if hasattr(dataset, "blocks"):
            raise
        values = load_subset(dataset, "full")[1]
        raise explain_mismatch(error, dataset.outputs, by_output, values) from error
    _check_embedding_ids(network, dataset, inputs)
    return DataBinding(
        dataset,
        inputs,
        outputs,
        sequence,
        (sequences, along),
        find_embedding_tables(network) if hasattr(dataset, "blocks") else {},
    )


def with_targets(network: Network, dataset: AnyDataset) -> Network:
    """Return a network restricted to the outputs that a dataset has targets for.

    Raises `DataError` NNM701 if none is left.
    """
    if not getattr(dataset, "without_targets", ()):
        return network
    from webnnm.data.binding.without_targets import drop_untrained_outputs

    return drop_untrained_outputs(network, dataset)


def _check_positions(
    outputs: Mapping[str, Binding],
    fields: Mapping[str, Field],
    along: Mapping[str, str],
    sequence: Mapping[str, int],
) -> None:
    """Refuse labels for another number of positions than the sequence of their output has (NNM702).

    A single label for a row would otherwise be broadcast to all positions.
    """
    for block, name in along.items():
        shape = fields[outputs[block].field].shape
        length = shape[0] if shape else 1
        if length != sequence.get(name, length):
            raise DataError(
                "NNM702",
                f'output "{block}": {length} positions, sequence "{name}" has {sequence[name]}',
                hint="give labels for as many positions as the rows of the input have",
            )


def _check_embedding_ids(
    network: Network, dataset: AnyDataset, inputs: Mapping[str, Binding]
) -> None:
    """Refuse rows with a number that the table of an embedding has no row for (NNM702)."""
    for vertex in network.inputs:
        name = inputs[vertex.block].field
        if not vertex.dtype.startswith("float") and name in getattr(dataset, "standardization", ()):
            raise DataError(
                "NNM702",
                f'input "{vertex.block}" takes {vertex.dtype}, and its numbers are standardised',
                hint="leave standardize out: token ids are looked up, they are not measurements",
            )
    if hasattr(dataset, "blocks") or not dataset.size("full"):
        return
    for block, (name, rows) in find_embedding_tables(network).items():
        field = inputs[block].field
        values = load_subset(dataset, "full")[0][field]
        check_ids(f'input "{block}"', values, name, rows)


def find_embedding_tables(network: Network) -> dict[str, tuple[str, int]]:
    """Return input → name and row count of the table in which an embedding looks up its numbers."""
    table_by_input: dict[str, tuple[str, int]] = {}
    inputs = {vertex: vertex.block for vertex in network.inputs}
    for layer in network.layers:
        if layer.operator.name == "embedding":
            numbers, table = (source.vertex for source in layer.operands[:2])
            while isinstance(numbers, LayerVertex) and numbers.has("passing"):
                numbers = numbers.operands[0].vertex
            if isinstance(numbers, InputVertex) and isinstance(table, ParameterVertex):
                table_by_input[inputs[numbers]] = table.name, table.features[0].sizes()[0]
    return table_by_input


def check_ids(
    where: str, values: HostArray, table: str, rows: int, lengths: Sequence[int] = ()
) -> None:
    """Raise `DataError` NNM702 for a number that is outside a table of this many rows.

    >>> check_ids('input "m"', HostArray.of([[1, 2], [3, 9]], "int32"), "words", 5)
    Traceback (most recent call last):
    webnnm.core.errors.DataError: NNM702: input "m": row 1, element 1 is 9, table words has 5 rows
    hint: ids are 0 … 4: write size=10 at the embedding, or give all rare words one id

    `lengths` are those of concatenated rows.
    """
    flat = values.values()
    if not len(flat) or (max(flat) < rows and min(flat) >= 0):
        return
    index, number = next((n, v) for n, v in enumerate(flat) if not 0 <= v < rows)
    at = describe_position(index, count(values.shape[1:]), lengths)
    ids, largest = f"ids are 0 … {rows - 1}", max(flat)
    hint = (
        f"{ids}: number the words from 0; where there is none, as in padding, write the id of one"
    )
    if largest >= rows:
        hint = f"{ids}: write size={largest + 1:g} at the embedding, or give all rare words one id"
        hint += "; none is below 0" * (min(flat) < 0)
    raise DataError(
        "NNM702", f"{where}: {at} is {number:g}, table {table} has {rows} rows", hint=hint
    )


def _names(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    return {block: name for block, name in pairs if name}


def _require_same_mask(where: str, name: str, one: HostArray | None, other: HostArray) -> None:
    """Refuse a block whose rows have lengths other than those of its sequence."""
    if one is None:
        raise DataError(
            "NNM702",
            f'{where}: its rows have different lengths, unlike the input of sequence "{name}"',
            hint="give the input as lists of the same lengths",
        )
    if one.shape == other.shape and one.data == other.data:
        return
    if one.shape != other.shape:
        difference = f"{other.shape[1]} positions, {one.shape[1]}"
    else:
        offset = next(
            i for i, (a, b) in enumerate(zip(one.data, other.data, strict=True)) if a != b
        )
        row = offset // (4 * one.shape[1])
        counts = [int(sum(mask.rows([row]).values())) for mask in (other, one)]
        difference = f"{counts[0]} positions in row {row}, {counts[1]}"
    raise DataError(
        "NNM702",
        f'{where}: sequence "{name}" has {difference} in another input',
        hint="in blocks of one sequence, rows have the same lengths",
    )


def _find_length(vertex: InputVertex, fields: Mapping[str, Field], *, alone: bool) -> int | None:
    """Return the sequence length that the data of an input have, if it has a sequence."""
    features = vertex.features[0]
    if features.sequence is None:
        return None
    positions = _get_first_size(vertex.block, fields, alone=alone)
    if vertex.length is None:
        return positions
    rows = fields.get(find_field(vertex.block, fields, alone=alone))
    if rows is not None and rows.shape and count(rows.shape[1:]) == count(features.sizes()):
        where = f'input "{vertex.block}": {positions} positions, sequence "{features.sequence}" has'
        if positions > vertex.length:
            raise DataError(
                "NNM711", f"{where} at most {vertex.length}", hint="cut the rows, or the model's"
            )
        if positions < vertex.length:
            raise DataError(
                "NNM702", f"{where} {vertex.length}", hint=f"length={vertex.length} pads the rows"
            )
    return vertex.length


def _make_input_slot(vertex: InputVertex, length: int | None) -> Slot:
    features = vertex.features[0]
    lead: Shape = () if length is None else (length,)
    return Slot(
        (*lead, *features.sizes()), vertex.dtype, get_complete_names(features.names, length)
    )


def _make_output_slot(output: Output, fields: Mapping[str, Field], *, alone: bool) -> Slot:
    features = output.source.features
    sizes = features.sizes()
    shape = tuple(sizes[k] for k in output.order)
    if features.sequence is None:
        return Slot(shape, "float32", get_complete_names(output.names, None))
    return Slot((_get_first_size(output.name, fields, alone=alone), *shape), "float32")


def _get_first_size(block: str, fields: Mapping[str, Field], *, alone: bool) -> int:
    """Return the first size of a block's rows; binding refuses a block without a field later."""
    field = fields.get(find_field(block, fields, alone=alone))
    return field.shape[0] if field is not None and field.shape else 1


def get_complete_names(names: tuple[str | None, ...], length: int | None) -> tuple[str, ...]:
    """Return the names of the dimensions if all have one, else none."""
    present = tuple(name for name in names if name is not None)
    return present if len(present) == len(names) and length is None else ()
