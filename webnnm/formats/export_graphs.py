"""Graphs of networks for other programs: inference, the losses of a batch, a training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, ModelError, WebNNMError, suggestion
from webnnm.formats.graph_files import ExportedGraph
from webnnm.formats.sizes import Size, size_of
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph
from webnnm.training.batch_step import build_batch_loss, build_batch_step, external_name
from webnnm.training.forward import OutputLoss
from webnnm.training.step_settings import StepSettings

KINDS = ("inference", "loss", "train")

T = TypeVar("T")
Make = Callable[[int, Mapping[str, int]], T]
"""Makes something for a batch size and lengths by sequence name."""

BATCHES = (211, 216, 223)
"""The batch sizes of trial graphs: numbers that models rarely have. No stride divides both
differences, here and below, so that the remainder of a division is not taken for a number."""

LENGTHS = ((37, 43, 54), (59, 67, 74), (83, 93, 106), (107, 119, 126), (139, 153, 158))
"""The lengths of trial graphs, a row for each sequence name."""

LARGER = (1, 8, 64)
"""The factor by which trial sizes grow if windows do not fit."""


Lengths = Mapping[str, int | None]


def check_kind(kind: str) -> None:
    """Refuse an unknown kind of graph (NNM903)."""
    if kind not in KINDS:
        hint = suggestion(kind, KINDS) or f"one of {', '.join(KINDS)}"
        raise ModelError("NNM903", f'there is no graph "{kind}"', hint=hint)


def inference_graph(
    network: Network,
    batch: int | None,
    sequence: Lengths,
    constants: Mapping[str, HostArray] | None = None,
) -> ExportedGraph:
    """Return the graph of the outputs; parameters in `constants` become constants.

    `batch` and the lengths in `sequence` that are None are left open.
    """

    def graph(batch: int, lengths: Mapping[str, int]) -> Graph:
        return lower_network(network, batch=batch, sequence=lengths).graph()

    return _export(network, graph, batch, sequence, constants)


def loss_graph(
    network: Network,
    losses: Mapping[str, OutputLoss],
    batch: int | None,
    sequence: Lengths,
    constants: Mapping[str, HostArray] | None = None,
) -> ExportedGraph:
    """Return the graph of the mean loss of every output over the rows that count."""

    def graph(batch: int, lengths: Mapping[str, int]) -> Graph:
        return build_batch_loss(network, losses, batch=batch, sequence=lengths)

    return _export(network, graph, batch, sequence, constants)


def train_graph(
    network: Network, settings: StepSettings, batch: int | None, sequence: Lengths
) -> ExportedGraph:
    """Return the graph of a training step; sizes replace those of the settings."""

    def graph(batch: int, lengths: Mapping[str, int]) -> Graph:
        trial = replace(settings, batch=batch, rows=batch, steps=1, sequence=lengths)
        return build_batch_step(network, trial)

    return _export(network, graph, batch, sequence)


def _export(
    network: Network,
    graph: Make[Graph],
    batch: int | None,
    sequence: Lengths,
    constants: Mapping[str, HostArray] | None = None,
) -> ExportedGraph:
    values = {PARAMETER_PREFIX + name: array for name, array in (constants or {}).items()}
    tried: list[tuple[int, Mapping[str, int]]] = []

    def make(size: int, lengths: Mapping[str, int]) -> Graph:
        tried.append((size, lengths))
        return graph(size, lengths)

    graphs = trials(network, make, batch, sequence)
    return ExportedGraph(
        graphs=graphs,
        name=network.name or "model",
        names={name: external_name(name) for name in (*graphs[0].inputs, *graphs[0].outputs)},
        constants=values,
        dimensions=_name_sizes(tried[-len(graphs) :]),
        source=network.outline.document.source,
    )


def _name_sizes(tried: list[tuple[int, Mapping[str, int]]]) -> dict[Size, str]:
    """Return the names of the sizes that differ between trials."""
    columns = {name: size_of(row[name] for _, row in tried) for name in tried[0][1]}
    columns["batch"] = size_of(size for size, _ in tried)
    return {size: name for name, size in columns.items() if isinstance(size, Size)}


def trials(
    network: Network, make: Make[T], batch: int | None, sequence: Mapping[str, int | None]
) -> list[T]:
    """Return what is made for several values of the open sizes, or one if no size is open."""
    lengths = lengths_of(network, sequence)
    failed: WebNNMError | None = None
    for factor in LARGER:
        try:
            return [
                make(size, lengths_of_trial)
                for size, lengths_of_trial in _sizes(batch, lengths, factor)
            ]
        except WebNNMError as error:
            if batch is not None and None not in lengths.values():
                raise
            failed = failed or error
    assert failed is not None
    raise failed


def lengths_of(network: Network, sequence: Mapping[str, int | None]) -> dict[str, int | None]:
    """Return the length of every sequence, None where it is left open.

    Raises `DataError` NNM711 for an unknown name and for a length other than the fixed one.
    """
    lengths: dict[str, int | None] = {}
    for vertex in network.inputs:
        name = vertex.features[0].sequence
        if name is not None:
            lengths[name] = vertex.length or sequence.get(name)
            length = sequence.get(name)
            if vertex.length and length not in (None, vertex.length):
                message = f'sequence "{name}" has {vertex.length} steps, not {length}'
                raise DataError("NNM711", message)
    for name in sequence:
        if name not in lengths:
            hint = suggestion(name, lengths) or f"the model has {', '.join(lengths) or 'none'}"
            raise DataError("NNM711", f'there is no sequence "{name}"', hint=hint)
    return lengths


def _sizes(
    batch: int | None, lengths: Mapping[str, int | None], factor: int
) -> Iterator[tuple[int, dict[str, int]]]:
    open_names = [name for name, length in lengths.items() if length is None]
    count = 3 if batch is None or open_names else 1
    for trial in range(count):
        rows = dict(zip(open_names, (row[trial] * factor for row in LENGTHS), strict=False))
        fixed = {name: length for name, length in lengths.items() if length is not None}
        yield batch or BATCHES[trial] * factor, fixed | rows
