"""The step graph: batch, forward, loss, gradients and update as one graph (spec E.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webnnm.core.shapes import Shape
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, Lowered, lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph, Operand
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.fetching import SliceSource, Source, TableSource
from webnnm.training.forward import Losses, OutputLoss, compute_losses, row_mask
from webnnm.training.scaling import SCALE
from webnnm.training.step_metrics import METRICS, StepMetrics, collect_metrics
from webnnm.training.step_settings import (
    COUNT,
    CURSOR,
    DUE,
    EPOCH,
    INPUT,
    LOSS,
    MASK,
    RATE,
    ROWS,
    TARGET,
    TASK,
    TOTALS,
    WATCH,
    StepSettings,
)
from webnnm.training.update import VECTOR, UpdateResults, apply_update, name_vector_states
from webnnm.training.vectors import Vector, make_vector

if TYPE_CHECKING:
    from webnnm.training.watch import Watch


@dataclass(frozen=True)
class StepGraph:
    """A training step as a graph.

    `resident` inputs do not change (the whole training subset, the tables of an epoch); `state`
    tensors (parameters, moments, cursor, totals) are inputs and outputs of the same name; those in
    `initial_values` start with a number other than 0. `generators` are the layers that draw random
    numbers, each with the names of its states. `totals` names the elements of the vector of that
    name: sums over the epoch, then the latest values. `watch` names the elements of the output of
    that name.
    """

    graph: Graph
    resident: Mapping[str, TensorType]
    state: Mapping[str, TensorType]
    initial_values: Mapping[str, float]
    generators: Mapping[str, tuple[str, ...]]
    totals: tuple[str, ...]
    watch: tuple[str, ...] = ()

    @property
    def checkpointed(self) -> list[str]:
        """The states that a checkpoint holds: all persistent ones except random generators."""
        generator_states = {name for names in self.generators.values() for name in names}
        return [name for name in self.state if name not in generator_states | {CURSOR, TOTALS}]


@dataclass(frozen=True)
class StepResults:
    """The results of a step: outputs, their losses, L, and the next values of all states."""

    lowered: Lowered
    losses: Losses
    loss: Operand
    applied: UpdateResults
    state: dict[str, Operand]

    def metrics(self, b: GraphBuilder, *, batch_loss: bool) -> StepMetrics:
        """Return what the step reports; with `batch_loss`, also L of the latest batch."""
        return collect_metrics(b, self.losses, self.loss if batch_loss else None, self.applied)


def build_step(
    b: GraphBuilder,
    network: Network,
    targets: Mapping[str, TensorType],
    settings: StepSettings,
    source: Source,
    unscale: Operand | None = None,
    vector: Vector | None = None,
) -> StepResults:
    """Build one step: forward, losses, gradients, update, over the rows of a source.

    `unscale` is 1/S, by which gradients are multiplied; None leaves that to the state. The
    parameters in `vector` are one input, and updated together.
    """
    s = settings
    vector_parts = (
        {} if vector is None else vector.split(b, b.input(VECTOR, "float32", [vector.size]))
    )
    rate = source.number(RATE)
    # Only a short batch has padding rows.
    valid = source.number(COUNT) if s.short else b.constant(s.batch, "float32")
    rows = source.row_mask() if s.short else None
    data = {
        vertex.block: source.rows(INPUT + vertex.block, _resident_type(network, vertex.block, s))
        for vertex in network.inputs
    }
    masks = {name: source.rows(MASK + name, type) for name, type in s.masks.items()}
    lowered = lower_network(
        network,
        batch=s.batch,
        sequence=s.sequence,
        builder=b,
        inputs=data,
        parameters=vector_parts,
        training=True,
        rows=rows,
        masks=masks,
    )
    target_inputs = {name: source.rows(TARGET + name, type) for name, type in targets.items()}
    losses = compute_losses(lowered, s.losses, target_inputs, rows, valid, masks)
    task_weights = {
        name: vector_parts.get(TASK + name) or b.input(TASK + name, "float32", [])
        for name in s.tasks
    }
    loss = _sum_losses(b, losses, s.weights, task_weights)
    is_due = source.number(DUE) if s.update.accumulate > 1 else None
    applied = apply_update(
        network,
        lowered,
        loss,
        task_weights,
        rate,
        valid,
        is_due,
        s.optimizer,
        s.update,
        unscale,
        vector,
    )
    state = dict(applied.state)
    for name, value in lowered.updates.items():
        is_unconditional = applied.clean is None or not name.startswith(PARAMETER_PREFIX)
        state[name] = value if is_unconditional else b.where(applied.clean, value, b.inputs[name])
    return StepResults(lowered, losses, loss, applied, state)


def build_training_step(
    network: Network, targets: Mapping[str, TensorType], settings: StepSettings
) -> StepGraph:
    """Return the graph of one training step over a dataset that is resident on the device.

    The batch is row `cursor` of `order`: indices into the resident data. The learning rate and the
    other `columns` come from `table` in the same way, so that nothing is written between steps;
    short batches are padded with arbitrary rows and masked. `targets` gives the type of each
    output's target for all resident rows. Loss sums Σ m·ℓ accumulate over an epoch, in the row of
    the totals given by the column `epoch`.

    Raises `DataError` NNM605 if nothing is trainable, `ModelError` NNM606 for a parameter that no
    loss reaches.
    """
    b = GraphBuilder()
    s = settings
    source = TableSource(b, s)
    step = build_step(b, network, targets, s, source)
    metrics = step.metrics(b, batch_loss=s.batch_loss)
    epoch = source.numbers(EPOCH) if s.epochs > 1 else None
    outputs = {
        CURSOR: source.cursor,
        **step.state,
        TOTALS: metrics.accumulate(b, s.epochs, metrics.row(b), epoch),
    }
    state_names = list(outputs)
    watches: list[Watch] = []
    if s.watch:
        # Only after a divergence.
        from webnnm.training.watch import list_watches

        watches = list_watches(step.lowered, step.losses, step.applied.gradients)
        outputs[WATCH] = b.concat([b.reshape(w.value, new_shape=[1]) for w in watches], 0)
    graph = b.build(outputs)
    state = {name: graph.inputs[name].type for name in state_names}
    return StepGraph(
        graph,
        {name: o.type for name, o in graph.inputs.items() if name not in state},
        state,
        {SCALE: s.update.scale} if SCALE in state else {},
        step.lowered.generators,
        metrics.names,
        tuple(w.name for w in watches),
    )


def build_training_steps(
    network: Network, targets: Mapping[str, TensorType], settings: StepSettings, steps: int
) -> Scan:
    """Return several steps of `build_training_step` as one scan, with the same inputs and outputs.

    Whatever depends on no state is done for all of them together: each gather costs as much as ten
    operators of a small model. Within the scan, small parameters are parts of a vector.
    """
    s = settings
    vector = _choose_vector(network, s)
    b = GraphBuilder()
    source = SliceSource(b, s)
    step = build_step(b, network, targets, s, source, vector=vector)
    metrics = step.metrics(b, batch_loss=s.batch_loss)
    body = b.build({**step.state, METRICS: metrics.row(b)})
    before, after = GraphBuilder(), GraphBuilder()
    first = source.fetch(before, steps)
    last = {TOTALS: metrics.accumulate_scan(after, s.epochs, steps)}
    if vector is not None:
        for name, states in name_vector_states(vector, s.optimizer).items():
            small_parameters = {
                n: before.input(states[n], "float32", z) for n, z in vector.shapes.items()
            }
            first[name] = vector.concatenate(before, small_parameters)
            parts = vector.split(after, after.input(name, "float32", [vector.size]))
            last |= {states[n]: part for n, part in parts.items()}
    return Scan(before.build(first), body, after.build(last), steps)


def _choose_vector(network: Network, settings: StepSettings) -> Vector | None:
    """Return the vector of the small trainable parameters, None if there are fewer than two, or if
    the optimizer needs to know what belongs to the same parameter.
    """
    if not settings.optimizer.elementwise:
        return None
    multipliers = settings.update.multipliers
    shapes: dict[str, Shape] = {
        p.name: tuple(p.features[0].sizes())
        for p in network.parameters
        if multipliers.get(p.name, 0) > 0 and p.dtype == "float32"
    }
    shapes |= {TASK + name: () for name in settings.tasks}
    return make_vector(shapes)


def build_evaluation_step(
    network: Network,
    losses: Mapping[str, OutputLoss],
    *,
    batch: int,
    sequence: Mapping[str, int],
    masks: Mapping[str, TensorType] | None = None,
) -> Graph:
    """Return the graph that evaluates a batch: outputs, and Σ m·ℓ and Σ m per output."""
    b = GraphBuilder()
    valid = b.input(COUNT, "float32", [])
    mask_inputs = {name: b.input(MASK + name, *type) for name, type in (masks or {}).items()}
    lowered = lower_network(network, batch=batch, sequence=sequence, builder=b, masks=mask_inputs)
    targets = {
        name: b.input(TARGET + name, *get_target_type(losses[name], output.type))
        for name, output in lowered.outputs.items()
    }
    output_losses = compute_losses(
        lowered, losses, targets, row_mask(b, valid, batch), valid, mask_inputs
    )
    outputs = dict(lowered.outputs)
    outputs |= {LOSS + name: value for name, value in output_losses.sums.items()}
    outputs |= {ROWS + name: value for name, value in output_losses.counts.items()}
    return b.build(outputs)


def get_target_type(loss: OutputLoss, output: TensorType) -> TensorType:
    """Return the type of the targets of an output: class numbers lack its last dimension."""
    if loss.labels == "classes":
        return TensorType("int32", output.shape[:-1])
    return TensorType("float32", output.shape)


def _resident_type(network: Network, block: str, settings: StepSettings) -> TensorType:
    """Return the type of the resident data of an input: all rows."""
    vertex = next(vertex for vertex in network.inputs if vertex.block == block)
    features = vertex.features[0]
    lead: tuple[int, ...] = (settings.rows,)
    if features.sequence is not None:
        lead += (vertex.length or settings.sequence[features.sequence],)
    return TensorType(vertex.dtype, (*lead, *features.sizes()))


def _sum_losses(
    b: GraphBuilder,
    losses: Losses,
    weights: Mapping[str, float] | None,
    task_weights: Mapping[str, Operand],
) -> Operand:
    """Return L: Σ w·L_i, or Σ ½(L_i·e^(−s_i) + s_i) with learned s_i (Kendall et al. 2018)."""
    parts: list[Operand] = []
    for name in losses.sums:
        mean = losses.mean(name)
        if name in task_weights:
            s = task_weights[name]
            parts.append((mean * b.exp(-s) + s) * 0.5)
        else:
            weight = (weights or {}).get(name, 1.0)
            parts.append(mean if weight == 1 else mean * weight)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
