"""The activations and gradients of a model on some rows, as arrays to inspect and chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.runtime.state import ModelState
from webnnm.trainer.sampled_rows import first_rows, run_on, sampled_rows, types_of
from webnnm.training.inspection_step import ACTIVATION, GRADIENT, LOSS, inspection_step

Arrays = Mapping[str, HostArray]


@dataclass(frozen=True)
class Inspection:
    """The result of `NNModel.inspect`: weights, and activations and gradients for some rows.

    - `rows`: the number of rows; `loss`: their mean loss, without regularisation, divided by the
      loss of an uninformed prediction.
    - `weights`: parameter → its values.
    - `activations`: layer, as named by `summary` → its results for all rows.
    - `gradients`: trainable parameter → the gradient of the loss.
    """

    rows: int
    loss: float
    weights: Arrays
    activations: Arrays
    gradients: Arrays

    def __repr__(self) -> str:
        counts = f"{len(self.activations)} layers, {len(self.gradients)} gradients"
        return f"Inspection(rows={self.rows}, loss={self.loss:.4g}, {counts})"


async def inspect(state: ModelState, subset: str, rows: int, seed: int) -> Inspection:
    """Return activations and gradients of a model, see `NNModel.inspect`."""
    if not is_integer(rows) or rows < 1:
        raise DataError("NNM704", f"rows is {rows!r}", hint="1 or more")
    losses = state.losses()
    if state.binding().streams:
        chosen = await first_rows(state, losses, subset, rows)
    else:
        chosen = sampled_rows(state, losses, subset, seed, rows)
    graph = inspection_step(
        state.trained_network,
        losses,
        rows=chosen.count,
        sequence=state.sequence,
        masks=types_of(chosen.masks),
        targets=types_of(chosen.targets),
    )
    (found,) = await run_on(state, await state.backend.compile(graph), [chosen])

    weights = state.parameters.tensors
    values = await state.backend.read(*weights.values())

    def named(prefix: str) -> dict[str, HostArray]:
        return {n.removeprefix(prefix): v for n, v in found.items() if n.startswith(prefix)}

    return Inspection(
        rows=chosen.count,
        loss=float(found[LOSS].values()[0]),
        weights=dict(zip(weights, values, strict=True)),
        activations=named(ACTIVATION),
        gradients=named(GRADIENT),
    )
