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
    numbers, each with the names of its states. `totals` are the names of the columns of the state
    of that name, a table with a row for each epoch: sums over the epoch, then the latest values.
    `watch` are the names of the elements of the output of that name.
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
        """The states in a checkpoint: all except random generators, the cursor and the totals."""
        generator_states = {name for names in self.generators.values() for name in names}
        return [name for name in self.state if name not in generator_states | {CURSOR, TOTALS}]


@dataclass(frozen=True)
class StepResults:
    """The results of a step: outputs and their losses, the total loss, the next states."""

    lowered: Lowered
    losses: Losses
    loss: Operand
    updated: UpdateResults
    state: dict[str, Operand]

    def metrics(self, b: GraphBuilder, *, batch_loss: bool) -> StepMetrics:
        """Return what the step reports; with `batch_loss`, also the loss of the latest batch."""
        return collect_metrics(b, self.losses, self.loss if batch_loss else None, self.updated)


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

    Gradients are multiplied by `unscale`, the reciprocal of the loss scale; for None, the scale is
    a state of the step. The parameters in `vector` are one input, and updated together.
    """
    vector_parts = (
        {} if vector is None else vector.split(b, b.input(VECTOR, "float32", [vector.size]))
    )
    rate = source.number(RATE)
    # Only a short batch has padding rows.
    valid_rows = source.number(COUNT) if settings.short else b.constant(settings.batch, "float32")
    valid_mask = source.row_mask() if settings.short else None
    data = {
        vertex.block: source.rows(
            INPUT + vertex.block, _resident_type(network, vertex.block, settings)
        )
        for vertex in network.inputs
    }
    masks = {name: source.rows(MASK + name, type) for name, type in settings.masks.items()}
    lowered = lower_network(
        network,
        batch=settings.batch,
        sequence=settings.sequence,
        builder=b,
        inputs=data,
        parameters=vector_parts,
        training=True,
        rows=valid_mask,
        masks=masks,
    )
    target_inputs = {name: source.rows(TARGET + name, type) for name, type in targets.items()}
    losses = compute_losses(lowered, settings.losses, target_inputs, valid_mask, valid_rows, masks)
    task_weights = {
        name: vector_parts.get(TASK + name) or b.input(TASK + name, "float32", [])
        for name in settings.tasks
    }
    loss = _sum_losses(b, losses, settings.weights, task_weights)
    updates_now = source.number(DUE) if settings.update.accumulate > 1 else None
    updated = apply_update(
        network,
        lowered,
        loss,
        task_weights,
        rate,
        valid_rows,
        updates_now,
        settings.optimizer,
        settings.update,
        unscale,
        vector,
    )
    state = dict(updated.state)
    for name, value in lowered.updates.items():
        is_unconditional = updated.is_finite is None or not name.startswith(PARAMETER_PREFIX)
        state[name] = (
            value if is_unconditional else b.where(updated.is_finite, value, b.inputs[name])
        )
    return StepResults(lowered, losses, loss, updated, state)


def build_training_step(
    network: Network, targets: Mapping[str, TensorType], settings: StepSettings
) -> StepGraph:
    """Return the graph of one training step over a dataset that is resident on the device.

    The batch is row `cursor` of `order`: indices into the resident data. The learning rate and the
    other `columns` come from `table` in the same way, so that nothing is written between steps;
    short batches are padded with arbitrary rows and masked. `targets` gives the type of each
    output's target for all resident rows. Sums of the losses of valid rows accumulate over an
    epoch, in the row of the totals given by the column `epoch`.

    Raises `DataError` NNM605 if nothing is trainable, `ModelError` NNM606 for a parameter that no
    loss reaches.
    """
    b = GraphBuilder()
    source = TableSource(b, settings)
    step = build_step(b, network, targets, settings, source)
    metrics = step.metrics(b, batch_loss=settings.batch_loss)
    epoch = source.numbers(EPOCH) if settings.epochs > 1 else None
    outputs = {
        CURSOR: source.cursor,
        **step.state,
        TOTALS: metrics.accumulate(b, settings.epochs, metrics.row(b), epoch),
    }
    state_names = list(outputs)
    watches: list[Watch] = []
    if settings.watch:
        # Imported when needed: only after a divergence.
        from webnnm.training.watch import list_watches

        watches = list_watches(step.lowered, step.losses, step.updated.gradients)
        outputs[WATCH] = b.concat([b.reshape(w.value, new_shape=[1]) for w in watches], 0)
    graph = b.build(outputs)
    state = {name: graph.inputs[name].type for name in state_names}
    return StepGraph(
        graph,
        {name: o.type for name, o in graph.inputs.items() if name not in state},
        state,
        {SCALE: settings.update.scale} if SCALE in state else {},
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
    vector = _choose_vector(network, settings)
    b = GraphBuilder()
    source = SliceSource(b, settings)
    step = build_step(b, network, targets, settings, source, vector=vector)
    metrics = step.metrics(b, batch_loss=settings.batch_loss)
    body = b.build({**step.state, METRICS: metrics.row(b)})
    before, after = GraphBuilder(), GraphBuilder()
    before_outputs = source.fetch(before, steps)
    after_outputs = {TOTALS: metrics.accumulate_scan(after, settings.epochs, steps)}
    if vector is not None:
        for name, states in name_vector_states(vector, settings.optimizer).items():
            small_parameters = {
                part: before.input(states[part], "float32", shape)
                for part, shape in vector.shapes.items()
            }
            before_outputs[name] = vector.concatenate(before, small_parameters)
            parts = vector.split(after, after.input(name, "float32", [vector.size]))
            after_outputs |= {states[n]: part for n, part in parts.items()}
    return Scan(before.build(before_outputs), body, after.build(after_outputs), steps)


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
    """Return the graph that evaluates a batch: outputs, sums of their losses, numbers of rows."""
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
    """Return the total loss Σ w·L, or Σ ½(L·e^(−s) + s) with learned s (Kendall et al. 2018)."""
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
