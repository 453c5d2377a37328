"""What a training came to: layers, gradients, weights and predictions, measured at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.backends.base import DeviceTensor, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.shapes import count
from webnnm.graph.initialise import WEIGHTS
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.objectives import assess_all, has_reports
from webnnm.runtime.state import ModelState
from webnnm.trainer.scout import pilot_rows
from webnnm.training.forward import OutputLoss, label_forms
from webnnm.training.outcome_step import outcome_step
from webnnm.training.probe_step import ROW
from webnnm.training.step_settings import MASK, TARGET

MOST_ROWS = 256
"""Enough that a class of 3 % of the rows has some; a small part of what an epoch computes."""
MOST_NUMBERS = 2**22
"""So many results of layers are computed at most, unless a batch of the training has more."""

Arrays = Mapping[str, HostArray]


async def measure_outcome(
    state: ModelState, losses: Mapping[str, OutputLoss], before: Arrays, *, seed: int, batch: int
) -> dict[str, Any]:
    """Measure a trained model on up to 256 training rows, and return plain values.

    - `rows`: how many there were; `loss`: of them, divided by the loss of knowing nothing.
    - `dead`, `saturated`: layer → share of its units, of its values.
    - `gradients`: weight → root of the mean square of its gradient; `moved`: weight → the length of
      its way since `before`, divided by its length there.
    - `outputs`: name → what a report on its predictions says in short; `held_out`: the same of as
      many rows that were not trained, and `subset`, which those are of, "" if there are none.

    `batch` are the rows of a training step. Streams and outputs of very many classes are not
    measured: {}.
    """
    binding = state.binding()
    if binding.streams or not has_reports(state.objectives()):
        return {}
    most = max(batch, min(MOST_ROWS, MOST_NUMBERS // _numbers_per_row(state)))
    rows = _rows(state, losses, "training", seed, most)
    step = outcome_step(
        state.trained_network,
        losses,
        rows=rows.count,
        sequence=state.sequence,
        masks=_types(rows.masks),
        targets=_types(rows.targets),
    )
    dataset = binding.dataset
    subset = next((part for part in ("validation", "testing") if dataset.size(part)), "")
    parts = [rows]
    if subset:
        parts.append(_rows(state, losses, subset, seed, rows.count))
    trained, *others = await _run(state, await state.backend.compile(step.graph), parts)
    figures = dict(zip(step.names, trained.pop(ROW).values(), strict=True))

    def named(prefix: str) -> dict[str, float]:
        return {n.removeprefix(prefix): v for n, v in figures.items() if n.startswith(prefix)}

    def told(part: _Rows, outputs: Arrays) -> dict[str, Any]:
        found = {name: outputs[name].rows(range(part.count)) for name in part.targets}
        compared = found, part.targets, part.masks
        reports = assess_all(binding, state.objectives(), losses, *compared)
        return {name: _in_short(report) for name, report in reports.items()}

    return {
        "rows": rows.count,
        "loss": figures["loss"],
        "dead": named("dead/"),
        "saturated": named("saturated/"),
        "gradients": named("norm/"),
        "moved": _moved(state, before),
        "outputs": told(rows, trained),
        "held_out": told(parts[1], others[0]) if subset else {},
        "subset": subset,
    }


@dataclass(frozen=True)
class _Rows:
    """Some rows of a subset, as graphs take them."""

    inputs: Arrays
    targets: Arrays
    masks: Arrays

    @property
    def count(self) -> int:
        """How many there are."""
        return len(next(iter(self.targets.values())))

    def given(self, count: int) -> dict[str, HostArray]:
        """Return what goes into a graph of so many rows; the first ones fill up."""
        filled = [row % self.count for row in range(count)]
        every = [*self.inputs.items()]
        every += [(TARGET + name, array) for name, array in self.targets.items()]
        every += [(MASK + name, array) for name, array in self.masks.items()]
        return {name: array.rows(filled) for name, array in every}


def _rows(
    state: ModelState, losses: Mapping[str, OutputLoss], subset: str, seed: int, most: int
) -> _Rows:
    """Return up to so many rows of a subset, stratified by class."""
    binding = state.binding()
    chosen = pilot_rows(binding, seed, most, subset)
    inputs, targets = binding.arrays(subset, label_forms(losses))
    parts = inputs, targets, binding.masks(subset)
    return _Rows(*({name: a.rows(chosen) for name, a in arrays.items()} for arrays in parts))


async def _run(
    state: ModelState, executable: Executable, parts: Sequence[_Rows]
) -> list[dict[str, HostArray]]:
    """Run the graph on these rows, the first of which it was made for; return what it gives."""
    backend, count = state.backend, parts[0].count
    made: list[DeviceTensor | Executable] = [executable]
    found: list[dict[str, HostArray]] = []
    try:
        types = executable.inputs
        known = {PARAMETER_PREFIX + name: t for name, t in state.parameters.tensors.items()}
        known = {name: tensor for name, tensor in known.items() if name in types}
        rows = await backend.tensors({n: type for n, type in types.items() if n not in known})
        made += rows.values()
        results = await backend.tensors(executable.outputs)
        made += results.values()
        for part in parts:
            given = part.given(count)
            for name, tensor in rows.items():
                backend.write(tensor, given[name])
            backend.dispatch(executable, known | rows, results)
            arrays = await backend.read(*results.values())
            found.append(dict(zip(results, arrays, strict=True)))
    finally:
        backend.release(*made)
    return found


def _types(arrays: Arrays) -> dict[str, TensorType]:
    return {name: TensorType(array.dtype, array.shape) for name, array in arrays.items()}


def _numbers_per_row(state: ModelState) -> int:
    """Return how many numbers the layers compute for a row."""
    total = 0
    for layer in state.network.layers:
        for features in layer.features:
            length = state.sequence.get(features.sequence, 1) if features.sequence else 1
            total += length * count(features.sizes())
    return max(1, total)


def _moved(state: ModelState, before: Arrays) -> dict[str, float]:
    """Return ‖after − before‖/‖before‖ of the weights that were trained."""
    parameters = state.parameters
    if not before:
        return {}
    found: dict[str, float] = {}
    for p in state.network.parameters:
        if p.trainable and p.role in WEIGHTS:
            old, new = before[p.name].values(), parameters.value(p.name).values()
            length = math.hypot(*old)
            if length:
                found[p.name] = math.dist(old, new) / length
    return found


def _in_short(report: Any) -> dict[str, Any]:
    """Return of a report what tells whether its output learnt anything."""
    if hasattr(report, "r2"):
        return {"r2": report.r2}
    if hasattr(report, "reports"):  # several labels: how often each one is there, and is predicted
        return {
            "labels": list(report.labels),
            "support": list(report.support),
            "predicted": [no[1] + yes[1] for no, yes in report.counts],
            "hits": [yes[1] for _, yes in report.counts],
            "several": True,
        }
    return {
        "labels": list(report.labels),
        "support": list(report.support),
        "predicted": [sum(column) for column in zip(*report.counts, strict=True)],
        "hits": [row[number] for number, row in enumerate(report.counts)],
    }
