"""The step graph: batch, forward, loss, gradients and update as one graph (spec E.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.lowering import PARAMETER_PREFIX, Lowered, lower_network
from webnnm.graph.node import Graph, Operand
from webnnm.graph.vertices import Network
from webnnm.ops.operator import TensorType
from webnnm.training.forward import Losses, OutputLoss, losses_of, row_mask
from webnnm.training.optimizers import Optimizer
from webnnm.training.scaling import SCALE
from webnnm.training.update import TASK_WEIGHT, Applied, UpdateSettings, apply_update
from webnnm.training.watch import Watch, watched

INPUT, TARGET, MASK = "data/", "target/", "mask/"
ORDER, TABLE = "order", "table"
RATE, COUNT, DUE, EPOCH = "rate", "count", "due", "epoch"
CURSOR, TOTALS, WATCH = "cursor", "totals", "watch"
LOSS, ROWS = "loss/", "rows/"
TASK = TASK_WEIGHT


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """What a step graph is made for: everything that is compiled in.

    - `batch`: rows of a step; `rows`: of the data on the device; `steps`: of the tables.
    - `epochs`: whose totals are kept apart.
    - `short`: whether some batch has fewer valid rows than `batch`.
    - `tell`: whether the host wants the loss of the latest batch.
    - `weights`: output → weight of its loss; None weighs by uncertainty (spec E.8).
    - `scaling`: whether the gradient is that of S·L (spec E.5).
    - `watch`: whether the graph tells what it computed, layer by layer, to find what diverges.
    """

    batch: int
    rows: int
    steps: int
    sequence: Mapping[str, int]
    losses: Mapping[str, OutputLoss]
    optimizer: Optimizer
    update: UpdateSettings
    masks: Mapping[str, TensorType] = field(default_factory=dict[str, TensorType])
    weights: Mapping[str, float] | None = field(default_factory=dict[str, float])
    epochs: int = 1
    short: bool = True
    tell: bool = True
    watch: bool = False

    @property
    def tasks(self) -> list[str]:
        """The outputs that are weighed by uncertainty."""
        return list(self.losses) if self.weights is None else []

    @property
    def columns(self) -> tuple[str, ...]:
        """What the table tells of each step, as far as the graph looks at it."""
        wanted = {
            RATE: True,
            COUNT: self.short,
            DUE: self.update.accumulate > 1,
            EPOCH: self.epochs > 1,
        }
        return tuple(name for name, looked_at in wanted.items() if looked_at)


@dataclass(frozen=True)
class StepGraph:
    """A training step as a graph.

    `resident` inputs stay (the whole training subset, the tables of an epoch); `state` tensors
    (parameters, moments, cursor, totals) are inputs and outputs of the same name, and swap banks
    every step; those of `starts` begin with a number other than 0. `generators` are the layers
    that draw random numbers, each with the names of its states. `totals` names the elements of
    the vector of that name: sums over the epoch, then the latest values. `watch` names what the
    graph tells of in its output of that name.
    """

    graph: Graph
    resident: Mapping[str, TensorType]
    state: Mapping[str, TensorType]
    starts: Mapping[str, float]
    generators: Mapping[str, tuple[str, ...]]
    totals: tuple[str, ...]
    watch: tuple[str, ...] = ()

    @property
    def carried(self) -> list[str]:
        """The states in which a training stands between two epochs, but for random generators."""
        drawn = {name for names in self.generators.values() for name in names}
        return [name for name in self.state if name not in drawn | {CURSOR, TOTALS}]


class Source(Protocol):
    """Where a step finds the numbers and the rows that it works on."""

    def number(self, name: str) -> Operand:
        """Return a number of the step, a float32 scalar."""
        ...

    def rows(self, name: str, type: TensorType) -> Operand:
        """Return the rows of the batch; `type` is that of everything that is held."""
        ...


class _Resident:
    """Numbers from tables, rows from data on the device, both by the place in the epoch."""

    def __init__(self, b: GraphBuilder, settings: StepSettings) -> None:
        self.cursor = b.input(CURSOR, "int32", [])
        self._b, self._settings = b, settings
        table = b.input(TABLE, "float32", [settings.steps, len(settings.columns)])
        self._told = b.gather(table, self.cursor)
        self._picked: Operand | None = None

    def number(self, name: str) -> Operand:
        place = self._settings.columns.index(name)
        return self._b.reshape(self._b.slice(self._told, starts=[place], sizes=[1]), new_shape=[])

    def rows(self, name: str, type: TensorType) -> Operand:
        b, s = self._b, self._settings
        if self._picked is None:
            self._picked = b.gather(b.input(ORDER, "int32", [s.steps, s.batch]), self.cursor)
        return b.gather(b.input(name, *type), self._picked)


@dataclass(frozen=True)
class ComputedStep:
    """What a step computes: outputs, their losses, L, and the next values of all states."""

    lowered: Lowered
    losses: Losses
    loss: Operand
    applied: Applied
    state: dict[str, Operand]


def computed_step(
    b: GraphBuilder,
    network: Network,
    targets: Mapping[str, TensorType],
    settings: StepSettings,
    source: Source,
    unscale: Operand | None = None,
) -> ComputedStep:
    """Write one step: forward, losses, gradients, update, over the rows that a source gives.

    `unscale` is 1/S, by which gradients are multiplied; None leaves that to the state.
    """
    s = settings
    rate = source.number(RATE)
    # Only a short batch has rows that do not count.
    valid = source.number(COUNT) if s.short else b.constant(s.batch, "float32")
    rows = row_mask(b, valid, s.batch) if s.short else None
    data = {
        vertex.block: source.rows(INPUT + vertex.block, _whole(network, vertex.block, s))
        for vertex in network.inputs
    }
    lowered = lower_network(
        network,
        batch=s.batch,
        sequence=s.sequence,
        builder=b,
        inputs=data,
        training=True,
        rows=rows,
        masks={name: source.rows(MASK + name, type) for name, type in s.masks.items()},
    )
    given = {name: source.rows(TARGET + name, type) for name, type in targets.items()}
    losses = losses_of(lowered, s.losses, given, rows, valid)
    task = {name: b.input(TASK + name, "float32", []) for name in s.tasks}
    total = _total(b, losses, s.weights, task)
    due = source.number(DUE) if s.update.accumulate > 1 else None
    applied = apply_update(
        network, lowered, total, task, rate, valid, due, s.optimizer, s.update, unscale
    )
    state = dict(applied.state)
    for name, value in lowered.updates.items():
        same = applied.clean is None or not name.startswith(PARAMETER_PREFIX)
        state[name] = value if same else b.where(applied.clean, value, b.inputs[name])
    return ComputedStep(lowered, losses, total, applied, state)


def training_step(
    network: Network, targets: Mapping[str, TensorType], settings: StepSettings
) -> StepGraph:
    """Return the graph of one training step over a dataset that stays on the device.

    The batch is row `cursor` of `order`: indices into the resident data. The learning rate and the
    other `columns` come from `table` in the same way, so that nothing is written between steps;
    short batches are filled with any rows and masked. `targets` gives the type of each output's
    target for all resident rows. Loss sums Σ m·ℓ accumulate over an epoch, in the row of the totals
    that the column `epoch` tells.

    Raises `DataError` NNM605 if nothing is trainable, `ModelError` NNM606 for a parameter that no
    loss reaches.
    """
    b = GraphBuilder()
    s = settings
    resident = _Resident(b, s)
    step = computed_step(b, network, targets, settings, resident)
    outputs = {CURSOR: resident.cursor + 1, **step.state}
    mine = b.equal(resident.number(EPOCH), _numbers(b, s.epochs)) if s.epochs > 1 else None
    told = step.loss if s.tell else None
    names, outputs[TOTALS] = _totals(b, step.losses, told, step.applied, s.epochs, mine)
    state_names = list(outputs)
    seen: list[Watch] = []
    if s.watch:
        seen = watched(step.lowered, step.losses, step.applied.gradients)
        outputs[WATCH] = b.concat([b.reshape(w.value, new_shape=[1]) for w in seen], 0)
    graph = b.build(outputs)
    state = {name: graph.inputs[name].type for name in state_names}
    return StepGraph(
        graph,
        {name: o.type for name, o in graph.inputs.items() if name not in state},
        state,
        {SCALE: s.update.scale} if SCALE in state else {},
        step.lowered.generators,
        names,
        tuple(w.name for w in seen),
    )


def evaluation_step(
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
    lowered = lower_network(
        network,
        batch=batch,
        sequence=sequence,
        builder=b,
        masks={name: b.input(MASK + name, *type) for name, type in (masks or {}).items()},
    )
    targets = {
        name: b.input(TARGET + name, *target_type(losses[name], output.type))
        for name, output in lowered.outputs.items()
    }
    found = losses_of(lowered, losses, targets, row_mask(b, valid, batch), valid)
    outputs = dict(lowered.outputs)
    outputs |= {LOSS + name: value for name, value in found.sums.items()}
    outputs |= {ROWS + name: value for name, value in found.counts.items()}
    return b.build(outputs)


def target_type(chosen: OutputLoss, output: TensorType) -> TensorType:
    """Return the type of the targets of an output: class numbers lack its last dimension."""
    if chosen.labels == "classes":
        return TensorType("int32", output.shape[:-1])
    return TensorType("float32", output.shape)


def _whole(network: Network, block: str, settings: StepSettings) -> TensorType:
    """Return the type of the resident data of an input: all rows."""
    vertex = next(vertex for vertex in network.inputs if vertex.block == block)
    features = vertex.features[0]
    lead: tuple[int, ...] = (settings.rows,)
    if features.sequence is not None:
        lead += (vertex.length or settings.sequence[features.sequence],)
    return TensorType(vertex.dtype, (*lead, *features.sizes()))


def _total(
    b: GraphBuilder,
    losses: Losses,
    weights: Mapping[str, float] | None,
    task: Mapping[str, Operand],
) -> Operand:
    """Return L: Σ w·L_i, or Σ ½(L_i·e^(−s_i) + s_i) with learned s_i (Kendall et al. 2018)."""
    parts: list[Operand] = []
    for name in losses.sums:
        mean = losses.mean(name)
        if name in task:
            s = task[name]
            parts.append((mean * b.exp(-s) + s) * 0.5)
        else:
            weight = (weights or {}).get(name, 1.0)
            parts.append(mean if weight == 1 else mean * weight)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _totals(
    b: GraphBuilder,
    losses: Losses,
    loss: Operand | None,
    applied: Applied,
    epochs: int,
    mine: Operand | None,
) -> tuple[tuple[str, ...], Operand]:
    """Return the names and the next values of the table that the host reads, a row per epoch.

    `mine` is the condition that is true in the row of the present epoch; None where there is one.
    """
    sums = {LOSS + name: value for name, value in losses.sums.items()}
    sums |= {ROWS + name: value for name, value in losses.counts.items()}
    sums["norm"] = applied.norm
    if applied.clean is not None:
        zero = b.constant(0, "float32")
        sums = {name: b.where(applied.clean, value, zero) for name, value in sums.items()}
    sums |= applied.sums
    latest = applied.latest if loss is None else {"loss": loss, **applied.latest}
    names = (*sums, *latest)

    cells = [b.reshape(value, new_shape=[1, 1]) for value in (*sums.values(), *latest.values())]
    before = b.input(TOTALS, "float32", [epochs, len(names)])
    running = before
    if latest:
        kept = b.constant([[int(name in sums) for name in names]], "uint8")
        running = b.where(kept, before, b.constant(0, "float32"))
    after = running + b.concat(cells, 1)
    return names, after if mine is None else b.where(mine, after, before)


def _numbers(b: GraphBuilder, count: int) -> Operand:
    """Return 0 … count − 1 as a column."""
    return b.constant([[float(k)] for k in range(count)], "float32")
