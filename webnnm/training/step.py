"""The step graph: batch, forward, loss, gradients and update as one graph (spec E.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.autodiff import backward
from webnnm.errors import DataError, WebNNMError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.lowering import PARAMETER_PREFIX, Lowered, lower_network
from webnnm.graph.node import Graph, Operand
from webnnm.graph.vertices import Network
from webnnm.ops.operator import TensorType
from webnnm.training.losses import Loss, head_of
from webnnm.training.optimizers import Optimizer

INPUT, TARGET = "data/", "target/"
ORDER, RATES, COUNTS = "order", "rates", "counts"
CURSOR, LOSS = "cursor", "loss/"
SLOT = "opt/"


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """What a step graph is made for: everything that is compiled in."""

    batch: int
    rows: int
    steps: int
    sequence: Mapping[str, int]
    losses: Mapping[str, Loss]
    optimizer: Optimizer
    weight_decay: float
    numbers: Mapping[str, float]
    multipliers: Mapping[str, float]
    decays: Mapping[str, bool]


@dataclass(frozen=True)
class StepGraph:
    """A training step as a graph.

    `resident` inputs stay (the whole training subset, the tables of an epoch); `state` tensors
    (parameters, moments, cursor, loss sums) are inputs and outputs of the same name, and swap
    banks every step. `generators` are the layers that draw random numbers, each with the names of
    its states.
    """

    graph: Graph
    resident: Mapping[str, TensorType]
    state: Mapping[str, TensorType]
    generators: Mapping[str, tuple[str, ...]]


def training_step(
    network: Network, targets: Mapping[str, TensorType], settings: StepSettings
) -> StepGraph:
    """Return the graph of one training step over a dataset that stays on the device.

    The batch is row `cursor` of the table `order`: indices into the resident data. The learning
    rate and the number of valid rows come from tables in the same way, so that nothing is written
    between steps; short batches are filled with any rows and masked. `targets` gives the type of
    each output's target for the whole subset. Loss sums Σ m·ℓ accumulate over the epoch.

    Raises `DataError` NNM605 if nothing is trainable.
    """
    b = GraphBuilder()
    s = settings
    cursor = b.input(CURSOR, "int32", [])
    order = b.input(ORDER, "int32", [s.steps, s.batch])
    rate = b.gather(b.input(RATES, "float32", [s.steps]), cursor)
    valid = b.gather(b.input(COUNTS, "float32", [s.steps]), cursor)
    rows = b.gather(order, cursor)
    inputs = {
        vertex.block: _batch(b, INPUT + vertex.block, _whole(network, vertex.block, s), rows)
        for vertex in network.inputs
    }
    mask = b.cast(b.lesser(b.constant(range(s.batch), "float32"), valid), type="float32")
    lowered = lower_network(
        network,
        batch=s.batch,
        sequence=s.sequence,
        builder=b,
        inputs=inputs,
        training=True,
        # Only a short last batch has rows that do not count.
        rows=mask if s.rows % s.batch else None,
    )
    sums = {
        name: b.reduce_sum(
            s.losses[name].rows(b, head_of(output), _batch(b, TARGET + name, targets[name], rows))
            * mask
        )
        for name, output in lowered.outputs.items()
    }
    total = _sum(list(sums.values())) / valid
    outputs = {CURSOR: cursor + 1} | _updated(network, lowered, total, rate, s) | lowered.updates
    for name, value in sums.items():
        outputs[LOSS + name] = b.input(LOSS + name, "float32", []) + value
    graph = b.build(outputs)
    state = {name: graph.inputs[name].type for name in outputs}
    resident = {name: o.type for name, o in graph.inputs.items() if name not in state}
    return StepGraph(graph, resident, state, lowered.generators)


def evaluation_step(
    network: Network, losses: Mapping[str, Loss], *, batch: int, sequence: Mapping[str, int]
) -> Graph:
    """Return the graph that evaluates one batch: outputs, and Σ m·ℓ per output over valid rows."""
    lowered = lower_network(network, batch=batch, sequence=sequence)
    b = lowered.builder
    valid = b.input(COUNTS, "float32", [])
    mask = b.cast(b.lesser(b.constant(range(batch), "float32"), valid), type="float32")
    outputs = dict(lowered.outputs)
    for name, output in lowered.outputs.items():
        target = b.input(TARGET + name, *target_type(losses[name], output.type))
        rows = losses[name].rows(b, head_of(output), target)
        outputs[LOSS + name] = b.reduce_sum(rows * mask)
    return b.build(outputs)


def target_type(_loss: Loss, output: TensorType) -> TensorType:
    """Return the type of the targets of one batch; all losses so far take the output's shape."""
    return TensorType("float32", output.shape)


def _whole(network: Network, block: str, settings: StepSettings) -> TensorType:
    """Return the type of the resident data of an input: all rows."""
    vertex = next(vertex for vertex in network.inputs if vertex.block == block)
    features = vertex.features[0]
    lead: tuple[int, ...] = (settings.rows,)
    if features.sequence is not None:
        lead += (vertex.length or settings.sequence[features.sequence],)
    return TensorType(vertex.dtype, (*lead, *features.sizes()))


def _batch(b: GraphBuilder, name: str, whole: TensorType, rows: Operand) -> Operand:
    return b.gather(b.input(name, whole.dtype, whole.shape), rows)


def _sum(values: list[Operand]) -> Operand:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _updated(
    network: Network, lowered: Lowered, loss: Operand, rate: Operand, settings: StepSettings
) -> dict[str, Operand]:
    """Return the new parameters and optimizer state of every parameter that learns."""
    b, s = lowered.builder, settings
    learning = [name for name, multiplier in s.multipliers.items() if multiplier > 0]
    if not learning:
        raise DataError(
            "NNM605",
            "the model has no trainable parameters",
            hint="name one, as in matmul(w), or train with a smaller freeze",
        )
    found = backward(loss, [lowered.parameters[name] for name in learning])
    outputs: dict[str, Operand] = {}
    for name, g in zip(learning, found, strict=True):
        if g is None:
            raise _unreached(network, name)
        w = lowered.parameters[name]
        with b.place(f"update of {name}"):
            state = [
                b.input(f"{SLOT}{slot}/{name}", "float32", w.shape) for slot in s.optimizer.slots
            ]
            multiplier = s.multipliers[name]
            own_rate = rate if multiplier == 1 else rate * multiplier
            decay = s.weight_decay if s.decays[name] else 0.0
            new, moved = s.optimizer.update(b, w, g, state, own_rate, decay, s.numbers)
            outputs[PARAMETER_PREFIX + name] = new
            for slot, value in zip(s.optimizer.slots, moved, strict=True):
                outputs[f"{SLOT}{slot}/{name}"] = value
    return outputs


def _unreached(network: Network, name: str) -> WebNNMError:
    parameter = next(p for p in network.parameters if p.name == name)
    return network.outline.error(
        "NNM606",
        f'no loss reaches "{name}" by a differentiable path',
        parameter.span,
        "set trainable=false, or take the operator without gradient out of its way",
    )
