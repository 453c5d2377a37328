"""Seed search: tries many initialisations on the device, keeps the most promising (spec E.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from webnnm.backends.base import DeviceTensor, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.random import Purpose, Stream
from webnnm.data.binding.binding import DataBinding
from webnnm.data.classes import get_row_classes
from webnnm.data.dataset import Dataset
from webnnm.data.split import split_rows
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.state import ModelState
from webnnm.training.forward import OutputLoss, get_label_forms
from webnnm.training.initialisation import build_initial_graph, draw_initial_bytes
from webnnm.training.probe_step import FIGURES, ProbeStep, build_probe_step
from webnnm.training.step_settings import MASK, TARGET

PILOT_ROWS = 64
TRIAL_STEPS = 3
NORM_BATCHES = 8
"""Into how many batches the pilot rows are divided, to compare their gradients."""
SEARCH_BUDGET = 2 * 10**7
"""The maximum of seeds times parameters."""
TRIAL_PARAMETERS = 10**6
"""Larger models are evaluated without trial steps."""
MAX_PER_READ, PARAMETERS_PER_READ = 16, 10**5
"""The maximum number of candidates, and of their parameters, measured before the host reads."""

Arrays = Mapping[str, HostArray]


@dataclass(frozen=True)
class Candidate:
    """Initial parameters and their measurements.

    `number` 0 is where training starts without a seed search. `loss` before and `delta` after the
    trial steps are sums over outputs, each divided by the loss of an uninformed prediction;
    `spread` is the standard deviation of log10 of the weights' gradient norms, `ratio` the largest
    divided by the smallest; `dead` is the largest share of dead units, or of saturated rows.
    """

    number: int
    loss: float
    delta: float
    spread: float
    ratio: float
    dead: float
    norm: float
    outputs: int
    silent: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def score(self) -> float:
        """−10·delta − 2·spread − 10·dead − |loss − number of outputs|; higher is better."""
        value = -10 * self.delta - 2 * self.spread - 10 * self.dead
        return value - abs(self.loss - self.outputs)


@dataclass(frozen=True)
class Scouting:
    """The table of a seed search: all candidates, the best of them, and how it was measured.

    `initial_losses` are those of the best candidate, by output; `batch_norms` the norms of its
    gradients in small batches of the pilot rows, where a loss has squared errors.
    """

    candidates: Sequence[Candidate]
    best: Candidate
    initial_losses: Mapping[str, float]
    batch_norms: Sequence[float] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values."""
        rows = [{**asdict(c), "score": c.score} for c in self.candidates]
        return {
            "best": self.best.number,
            "initial_losses": dict(self.initial_losses),
            "batch_norms": list(self.batch_norms),
            "candidates": rows,
        }

    def __str__(self) -> str:
        best, initial = self.best, sum(self.initial_losses.values())
        start = f"initial loss {initial:.4f}, dead units {best.dead:.0%}"
        if len(self.candidates) == 1:
            return start
        return (
            f"{start}; seed search: best of {len(self.candidates)} is {best.number}, whose loss is "
            f"{best.loss:.3f} times that of a constant prediction, after {TRIAL_STEPS} steps "
            f"{best.delta:.3f}"
        )


def seeds_within_budget(seeds: int, parameters: int) -> int:
    """Return how many initialisations of so many parameters are tried.

    >>> seeds_within_budget(50, 1_000), seeds_within_budget(50, 4_000_000)
    (50, 5)
    """
    return min(seeds, max(1, SEARCH_BUDGET // parameters))


async def scout(
    state: ModelState, losses: Mapping[str, OutputLoss], seeds: int, seed: int
) -> Scouting:
    """Try several initialisations, and set the model's parameters to the best one.

    Candidate 0 is the current parameters; others are drawn from stream (seed, 4, i, name). The
    result depends only on `seed`. Raises `DataError` NNM708 if no candidate has a finite loss.
    """
    binding = state.binding()
    pilots = sample_pilot_rows(binding, seed)
    inputs, targets = binding.arrays("training", get_label_forms(losses))
    rows = {name: array.rows(pilots) for name, array in inputs.items()}
    rows |= {TARGET + name: array.rows(pilots) for name, array in targets.items()}
    masks = {MASK + n: array.rows(pilots) for n, array in binding.masks("training").items()}
    # A single candidate is measured, not compared.
    trials = TRIAL_STEPS if seeds > 1 and state.parameters.count <= TRIAL_PARAMETERS else 0
    trial = await _SeedTrial.open(state, losses, rows | masks, len(pilots), trials)
    try:
        numbers = range(max(1, seeds))
        measured: list[tuple[Candidate, dict[str, float]]] = []
        for first in range(0, len(numbers), trial.per_read):
            measured += await trial.measure(numbers[first : first + trial.per_read], seed)
        finite = [candidate for candidate, _ in measured if math.isfinite(candidate.score)]
        if not finite:
            raise DataError(
                "NNM708",
                f"none of {len(measured)} seeds has a finite loss",
                hint="standardise the data; look for log, exp or pow of out-of-range values",
            )
        best = max(finite, key=lambda candidate: candidate.score)
        if best.number:
            await trial.apply(best.number, seed)
        has_squared_errors = any(loss.loss.name == "MSE" for loss in losses.values())
        norms = (
            await trial.measure_batch_norms(rows | masks, len(pilots), seed)
            if has_squared_errors
            else []
        )
    finally:
        trial.close()
    figures = measured[best.number][1]
    return Scouting(
        [candidate for candidate, _ in measured],
        best,
        {name: figures[f"loss/{name}"] for name in losses},
        norms,
    )


def sample_pilot_rows(
    binding: DataBinding, seed: int, max_rows: int = PILOT_ROWS, subset: str = "training"
) -> list[int]:
    """Return up to a number of rows of a subset, stratified by class if there are classes."""
    size = binding.dataset.size(subset)
    if size <= max_rows:
        return list(range(size))
    dataset = binding.dataset
    classes = None
    if isinstance(dataset, Dataset):
        classes = get_row_classes(dataset.outputs, dataset.output_arrays(subset))
    split_seed = Stream(seed, Purpose.SCOUTING).below(2**31)
    return split_rows(size, (max_rows, 0, 0), classes=classes, seed=split_seed)[0]


class _SeedTrial:
    """The device side of the seed search; `close` frees it."""

    def __init__(
        self, state: ModelState, step: ProbeStep, outputs: int, probe: Executable, draw: Executable
    ) -> None:
        self._state = state
        self._step = step
        self._outputs = outputs
        self._probe, self._initialiser = probe, draw
        self._owned: list[DeviceTensor | Executable] = [probe, draw]
        self._drawn: dict[str, DeviceTensor] = {}
        self._data: dict[str, DeviceTensor] = {}
        self._random_bytes: dict[str, DeviceTensor] = {}
        self._end_parameters: dict[str, DeviceTensor] = {}
        self._fixed: dict[str, DeviceTensor] = {}
        self._figures: list[DeviceTensor] = []

    @property
    def per_read(self) -> int:
        """How many candidates to measure at a time; one if dispatches do not queue."""
        if not self._state.backend.dispatch_seconds:
            return 1
        limit = PARAMETERS_PER_READ // max(1, self._state.parameters.count)
        return max(1, min(MAX_PER_READ, limit))

    @classmethod
    async def open(
        cls,
        state: ModelState,
        losses: Mapping[str, OutputLoss],
        rows: Arrays,
        pilots: int,
        trials: int,
    ) -> _SeedTrial:
        """Compile the trial step and the initialisation, and upload the pilot rows."""
        types = {name: TensorType(array.dtype, array.shape) for name, array in rows.items()}

        def select(prefix: str) -> dict[str, TensorType]:
            return {n.removeprefix(prefix): t for n, t in types.items() if n.startswith(prefix)}

        parameters = state.parameters
        step = build_probe_step(
            state.trained_network,
            losses,
            rows=pilots,
            sequence=state.sequence,
            masks=select(MASK),
            targets=select(TARGET),
        )
        backend = state.backend
        probe = await backend.compile(step.repeat(trials + 1))
        initial = build_initial_graph(parameters.drawn, parameters.initialisers)
        try:
            draw = await backend.compile(initial)
        except BaseException:
            backend.release(probe)
            raise
        self = cls(state, step, len(losses), probe, draw)

        async def tensors(types: Mapping[str, TensorType]) -> dict[str, DeviceTensor]:
            new_tensors = await backend.tensors(types)
            self._owned.extend(new_tensors.values())
            return new_tensors

        try:
            inputs, outputs = self._probe.inputs, dict(self._probe.outputs)
            figures = outputs.pop(FIGURES)
            self._data = await tensors({n: t for n, t in inputs.items() if n in rows})
            for name, tensor in self._data.items():
                backend.write(tensor, rows[name])
            self._random_bytes = await tensors(self._initialiser.inputs)
            current = {PARAMETER_PREFIX + name: t for name, t in parameters.tensors.items()}
            self._end_parameters = await tensors(outputs)
            tables = await tensors({str(k): figures for k in range(self.per_read)})
            self._figures = list(tables.values())
            self._fixed = {n: t for n, t in current.items() if n not in self._end_parameters}
            self._drawn = await tensors(parameters.drawn)
        except BaseException:
            self.close()
            raise
        return self

    async def measure(
        self, numbers: Sequence[int], seed: int
    ) -> list[tuple[Candidate, dict[str, float]]]:
        """Measure up to `per_read` candidates; return them with their figures."""
        tables = self._figures[: len(numbers)]
        for number, table in zip(numbers, tables, strict=True):
            initial = self._state.parameters.tensors
            if number:
                self._draw(number, seed)
                initial = {**initial, **self._drawn}
            parameters = {PARAMETER_PREFIX + name: tensor for name, tensor in initial.items()}
            inputs = {**self._data, **self._fixed, **parameters}
            self._state.backend.dispatch(
                self._probe, inputs, {**self._end_parameters, FIGURES: table}
            )
        values = await self._state.backend.read(*tables)
        return [
            self._make_candidate(number, table.tolist())
            for number, table in zip(numbers, values, strict=True)
        ]

    def _make_candidate(
        self, number: int, table: Sequence[Sequence[float]]
    ) -> tuple[Candidate, dict[str, float]]:
        """Return a candidate from its figures, a row for each trial step."""
        figures, last_figures = (
            dict(zip(self._step.names, table[k], strict=True)) for k in (0, -1)
        )
        delta = last_figures["loss"]
        norms = [value for name, value in figures.items() if name.startswith("norm/")]
        silent = {n.removeprefix("dead/"): v for n, v in figures.items() if n.startswith("dead/")}
        certain_shares = [value for name, value in figures.items() if name.startswith("sure/")]
        logs = [math.log10(norm + 1e-12) for norm in norms if math.isfinite(norm)]
        mean = math.fsum(logs) / len(logs) if logs else 0.0
        candidate = Candidate(
            number=number,
            loss=figures["loss"],
            delta=delta,
            spread=math.sqrt(math.fsum((x - mean) ** 2 for x in logs) / max(1, len(logs))),
            ratio=max(norms) / min(norms) if norms and min(norms) > 0 else math.inf,
            dead=max([*silent.values(), *certain_shares], default=0.0),
            norm=math.sqrt(math.fsum(n * n for n in norms)) if logs else math.nan,
            outputs=self._outputs,
            silent={layer: share for layer, share in silent.items() if share},
        )
        return candidate, figures

    async def measure_batch_norms(self, rows: Arrays, pilots: int, seed: int) -> list[float]:
        """Return the norms of the gradients in batches of the pilot rows, every eighth row each.

        The graph takes all pilot rows: a batch is repeated until they are as many, which leaves the
        mean gradient as it is.
        """
        if pilots < 2 * NORM_BATCHES:
            return []
        norms: list[float] = []
        for first in range(NORM_BATCHES):
            batch = range(first, pilots, NORM_BATCHES)[: pilots // NORM_BATCHES]
            padded = [batch[k % len(batch)] for k in range(pilots)]
            for name, tensor in self._data.items():
                self._state.backend.write(tensor, rows[name].rows(padded))
            ((candidate, _),) = await self.measure([0], seed)
            norms.append(candidate.norm)
        return [norm for norm in norms if math.isfinite(norm)]

    async def apply(self, number: int, seed: int) -> None:
        """Set the model's parameters to those of a candidate."""
        parameters = self._state.parameters
        await parameters.initialise(seed, Purpose.SCOUTING, number)

    def _draw(self, number: int, seed: int) -> None:
        parameters, backend = self._state.parameters, self._state.backend
        data = draw_initial_bytes(
            seed, parameters.drawn, parameters.initialisers, Purpose.SCOUTING, number
        )
        for name, tensor in self._random_bytes.items():
            backend.write(tensor, data[name])
        backend.dispatch(self._initialiser, self._random_bytes, self._drawn)

    def close(self) -> None:
        """Free what the seed search allocated on the device."""
        self._state.backend.release(*self._owned)
