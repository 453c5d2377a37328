"""Losses and training steps for a batch that is passed in, for programs that run elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph, Operand
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.forward import OutputLoss, compute_losses, row_mask
from webnnm.training.scaling import all_finite
from webnnm.training.step import build_step, get_target_type
from webnnm.training.step_settings import (
    COUNT,
    DUE,
    INPUT,
    LOSS,
    RATE,
    TARGET,
    StepSettings,
)

UNSCALE, OVERFLOW = "1/S", "overflow"

EXTERNAL_NAMES = {COUNT: "valid_count", RATE: "lr", DUE: "due"}
"""The external names of the numbers of a step; inputs and parameters have their own names."""


class _InputSource:
    """Numbers and rows that are inputs of the graph."""

    def __init__(self, b: GraphBuilder, batch: int) -> None:
        self._b, self._batch = b, batch

    def number(self, name: str) -> Operand:
        return self._b.input(name, "float32", [])

    def row_mask(self) -> Operand:
        return row_mask(self._b, self._b.inputs[COUNT], self._batch)

    def rows(self, name: str, type: TensorType) -> Operand:
        return self._b.input(name, *type)


def external_name(name: str) -> str:
    """Return the external name of an input or output of these graphs.

    >>> [external_name(name) for name in ("param/w1", "data/image", "target/digit", "rate")]
    ['w1', 'image', 'target/digit', 'lr']
    """
    return EXTERNAL_NAMES.get(name) or name.removeprefix(PARAMETER_PREFIX).removeprefix(INPUT)


def build_batch_loss(
    network: Network,
    losses: Mapping[str, OutputLoss],
    *,
    batch: int,
    sequence: Mapping[str, int],
) -> Graph:
    """Return the graph of the mean loss of every output over the valid rows.

    Inputs are the data, the targets, the number of valid rows, which come first, and the
    parameters.
    """
    b = GraphBuilder()
    lowered = lower_network(network, batch=batch, sequence=sequence, builder=b)
    valid = b.input(COUNT, "float32", [])
    targets = {
        name: b.input(TARGET + name, *get_target_type(losses[name], output.type))
        for name, output in lowered.outputs.items()
    }
    output_losses = compute_losses(lowered, losses, targets, row_mask(b, valid, batch), valid, {})
    graph = b.build({LOSS + name: output_losses.mean(name) for name in output_losses.sums})
    return _order_inputs(graph, [*lowered.inputs, *(TARGET + name for name in targets), COUNT])


def build_batch_step(network: Network, settings: StepSettings) -> Graph:
    """Return the graph of one training step; `settings.rows` is the size of the batch.

    Inputs are the data, the targets, the number of valid rows, the parameters, the states, the
    learning rate and 1/S, by which gradients are multiplied (1 without gradient scaling). Outputs
    are new parameters and states under the names of the inputs, the mean losses, and whether a
    gradient was not finite, as uint8.

    Raises `DataError` NNM605, `ModelError` NNM606.
    """
    b = GraphBuilder()
    shapes = lower_network(network, batch=settings.batch, sequence=settings.sequence).outputs
    targets = {name: get_target_type(settings.losses[name], o.type) for name, o in shapes.items()}
    unscale = b.input(UNSCALE, "float32", [])
    step = build_step(b, network, targets, settings, _InputSource(b, settings.batch), unscale)
    is_finite = step.updated.is_finite
    if is_finite is None:
        is_finite = all_finite(b, list(step.updated.gradients.values()))
    outputs = {LOSS + name: step.losses.mean(name) for name in step.losses.sums}
    outputs[OVERFLOW] = b.logical_not(is_finite)
    first = [INPUT + vertex.block for vertex in network.inputs]
    first += [*(TARGET + name for name in targets), COUNT]
    last = [RATE, *([DUE] if DUE in b.inputs else []), UNSCALE]
    graph = _order_inputs(b.build({}), first, last)
    state = {name: step.state[name] for name in graph.inputs if name in step.state}
    return Graph(state | outputs, graph.inputs)


def _order_inputs(graph: Graph, first: list[str], last: list[str] | None = None) -> Graph:
    """Return a graph whose inputs are ordered; parameters come before other states."""
    placed = {*first, *(last or [])}
    rest = [name for name in graph.inputs if name not in placed]
    rest.sort(key=lambda name: not name.startswith(PARAMETER_PREFIX))
    return Graph(graph.outputs, {n: graph.inputs[n] for n in (*first, *rest, *(last or []))})
