"""The activations and gradients of a model on some rows, as arrays to inspect and chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.runtime.state import HasState
from webnnm.trainer.sampled_rows import get_types, read_first_rows, run_on_rows, sample_rows
from webnnm.training.inspection_step import ACTIVATION, GRADIENT, LOSS, build_inspection_step

Arrays = Mapping[str, HostArray]


@dataclass(frozen=True)
class Inspection:
    """The result of `inspect_model`: weights, and activations and gradients for some rows.

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


@require_await
async def inspect_model(
    model: HasState, subset: str = "training", *, rows: int = 64, seed: int = 0
) -> Inspection:
    """Return the activations and gradients of the model for some rows of the dataset.

    >>> found = await inspect_model(model)  # doctest: +SKIP
    >>> charts.histograms(found.activations)  # doctest: +SKIP

    During training, an asynchronous `on_epoch` may inspect each epoch:

    >>> course = {}  # doctest: +SKIP
    >>> async def look(epoch):  # doctest: +SKIP
    ...     course[epoch.epoch] = (await inspect_model(model)).gradients
    >>> await model.train(epochs=20, on_epoch=look)  # doctest: +SKIP
    >>> charts.histograms(course)  # doctest: +SKIP

    - `rows`: the maximum number of rows, stratified by class; of a stream, the first ones.
    - `seed`: the seed for the choice of rows.

    Dropout is off, and running statistics do not change. Raises `DataError` NNM704 for an
    invalid number of rows, NNM705 if the subset is empty or unknown, NNM712 while the model is
    being trained, NNM714 without a dataset.
    """
    state = model.state
    state.binding()
    state.occupancy.check_parameters()
    if not is_integer(rows) or rows < 1:
        raise DataError("NNM704", f"rows is {rows!r}", hint="1 or more")
    losses = state.losses()
    if state.binding().streams:
        sample = await read_first_rows(state, losses, subset, rows)
    else:
        sample = sample_rows(state, losses, subset, seed, rows)
    graph = build_inspection_step(
        state.trained_network,
        losses,
        rows=sample.count,
        sequence=state.sequence,
        masks=get_types(sample.masks),
        targets=get_types(sample.targets),
    )
    (results,) = await run_on_rows(state, await state.backend.compile(graph), [sample])

    weights = state.parameters.tensors
    values = await state.backend.read(*weights.values())

    def select(prefix: str) -> dict[str, HostArray]:
        return {n.removeprefix(prefix): v for n, v in results.items() if n.startswith(prefix)}

    return Inspection(
        rows=sample.count,
        loss=float(results[LOSS].values()[0]),
        weights=dict(zip(weights, values, strict=True)),
        activations=select(ACTIVATION),
        gradients=select(GRADIENT),
    )
