"""Modules of networks: for inference, for the losses of a batch, for a training step (spec J)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, ModelError, WebNNMError, suggestion
from webnnm.formats.stablehlo.lowering import graph_text
from webnnm.graph.lowering import PARAMETER_PREFIX, lower_network
from webnnm.graph.node import Graph
from webnnm.graph.vertices import Network
from webnnm.training.batch_step import batch_loss, batch_step, called
from webnnm.training.forward import OutputLoss
from webnnm.training.step_settings import StepSettings

KINDS = ("inference", "loss", "train")

T = TypeVar("T")
Make = Callable[[int, Mapping[str, int]], T]
"""Makes something for a batch size and lengths by sequence name."""

BATCHES = (211, 216, 223)
"""The batch sizes of trial graphs: numbers that models seldom have. No stride goes through both
differences, here and below, so that the rest of a division is not taken for a number."""

LENGTHS = ((37, 43, 54), (59, 67, 74), (83, 93, 106), (107, 119, 126), (139, 153, 158))
"""The lengths of trial graphs, a row for each sequence name."""

LARGER = (1, 8, 64)
"""By so much trial sizes are multiplied where windows do not fit."""


def check_kind(kind: str) -> None:
    """Refuse a kind of graph that there is not (NNM903)."""
    if kind not in KINDS:
        hint = suggestion(kind, KINDS) or f"one of {', '.join(KINDS)}"
        raise ModelError("NNM903", f'there is no graph "{kind}"', hint=hint)


def inference_text(
    network: Network,
    batch: int | None = None,
    sequence: Mapping[str, int | None] | None = None,
    *,
    constants: Mapping[str, HostArray] | None = None,
    chlo: bool = True,
    loops: bool = False,
) -> str:
    """Return the module that computes the outputs of a network.

    Arguments are the inputs and the parameters; those that `constants` has become constants.
    `batch` and the lengths in `sequence` that are None are left open. With `loops` what runs over
    steps is a loop, in place of a copy for each step.

    Raises `ModelError` NNM901, NNM902.
    """

    def graph(batch: int, lengths: Mapping[str, int]) -> Graph:
        lowered = lower_network(network, batch=batch, sequence=lengths)
        return lowered.graph()

    fixed = {PARAMETER_PREFIX + name: array for name, array in (constants or {}).items()}
    return network_text(
        network, graph, batch, sequence or {}, constants=fixed, chlo=chlo, loops=loops
    )


def loss_text(
    network: Network,
    losses: Mapping[str, OutputLoss],
    batch: int | None = None,
    sequence: Mapping[str, int | None] | None = None,
    *,
    constants: Mapping[str, HostArray] | None = None,
    chlo: bool = True,
    loops: bool = False,
) -> str:
    """Return the module that computes the mean loss of every output over the rows that count.

    Arguments are inputs, labels (`target/…`), `valid_count`, parameters; results are `loss/…`.
    """

    def graph(batch: int, lengths: Mapping[str, int]) -> Graph:
        return batch_loss(network, losses, batch=batch, sequence=lengths)

    fixed = {PARAMETER_PREFIX + name: array for name, array in (constants or {}).items()}
    return network_text(
        network, graph, batch, sequence or {}, constants=fixed, chlo=chlo, loops=loops
    )


def train_text(
    network: Network,
    settings: StepSettings,
    batch: int | None = None,
    sequence: Mapping[str, int | None] | None = None,
    *,
    chlo: bool = True,
    loops: bool = False,
) -> str:
    """Return the module of one training step; its batch size and lengths replace the settings'.

    Arguments are inputs, labels, `valid_count`, parameters, the states of the optimizer and of
    layers, `lr`, `1/S`; results are the new parameters and states, `loss/…` and `overflow`.
    """

    def graph(batch: int, lengths: Mapping[str, int]) -> Graph:
        made = replace(settings, batch=batch, rows=batch, steps=1, sequence=lengths)
        return batch_step(network, made)

    return network_text(network, graph, batch, sequence or {}, chlo=chlo, loops=loops)


def network_text(
    network: Network,
    graph: Make[Graph],
    batch: int | None,
    sequence: Mapping[str, int | None],
    *,
    constants: Mapping[str, HostArray] | None = None,
    chlo: bool = True,
    loops: bool = False,
) -> str:
    """Return the module of a graph that is built for a network, open sizes found by trial."""
    graphs = trials(network, graph, batch, sequence)
    return graph_text(
        graphs,
        network.name or "model",
        names={name: called(name) for name in (*graphs[0].inputs, *graphs[0].outputs)},
        constants=constants,
        chlo=chlo,
        loops=loops,
        source=network.outline.document.source,
    )


def trials(
    network: Network, make: Make[T], batch: int | None, sequence: Mapping[str, int | None]
) -> list[T]:
    """Return what is made for several values of the open sizes, one of it if there is none."""
    lengths = lengths_of(network, sequence)
    failed: WebNNMError | None = None
    for factor in LARGER:
        try:
            return [make(size, chosen) for size, chosen in _sizes(batch, lengths, factor)]
        except WebNNMError as error:
            if batch is not None and None not in lengths.values():
                raise
            failed = failed or error
    assert failed is not None
    raise failed


def lengths_of(network: Network, sequence: Mapping[str, int | None]) -> dict[str, int | None]:
    """Return the length of every sequence, None where it is left open.

    Raises `DataError` NNM711 for a name that there is not and for another length than the fixed.
    """
    found: dict[str, int | None] = {}
    for vertex in network.inputs:
        name = vertex.features[0].sequence
        if name is not None:
            found[name] = vertex.length or sequence.get(name)
            given = sequence.get(name)
            if vertex.length and given not in (None, vertex.length):
                message = f'sequence "{name}" has {vertex.length} steps, not {given}'
                raise DataError("NNM711", message)
    for name in sequence:
        if name not in found:
            hint = suggestion(name, found)
            raise DataError("NNM711", f'there is no sequence "{name}"', hint=hint)
    return found


def _sizes(
    batch: int | None, lengths: Mapping[str, int | None], factor: int
) -> Iterator[tuple[int, dict[str, int]]]:
    open_names = [name for name, length in lengths.items() if length is None]
    count = 3 if batch is None or open_names else 1
    for trial in range(count):
        rows = dict(zip(open_names, (row[trial] * factor for row in LENGTHS), strict=False))
        fixed = {name: length for name, length in lengths.items() if length is not None}
        yield batch or BATCHES[trial] * factor, fixed | rows
