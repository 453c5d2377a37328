"""The metrics of a step: sums over the epoch, and values of the latest step (spec E.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.training.fetching import BATCH
from webnnm.training.forward import Losses
from webnnm.training.step_settings import EPOCH, LOSS, ROWS, TOTALS
from webnnm.training.update import UpdateResults

METRICS = "metrics"


@dataclass(frozen=True)
class StepMetrics:
    """The scalars that a step reports to the host, by name."""

    sums: Mapping[str, Operand]
    latest: Mapping[str, Operand]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the table of totals."""
        return (*self.sums, *self.latest)

    def row(self, b: GraphBuilder) -> Operand:
        """Return the numbers as a row, float32 `[1, columns]`."""
        values = (*self.sums.values(), *self.latest.values())
        return b.concat([b.reshape(value, new_shape=[1, 1]) for value in values], 1)

    def accumulate(
        self, b: GraphBuilder, epochs: int, rows: Operand, epoch: Operand | None = None
    ) -> Operand:
        """Return the next table of totals, a row per epoch, after the rows of some steps.

        `epoch` is the row of the table that each step belongs to; None if the table has one row.
        """
        steps, width = rows.shape
        table = b.input(TOTALS, "float32", [epochs, width])
        is_epoch_row: Operand | None = None
        if epoch is not None:
            numbers = b.constant([[float(k)] for k in range(epochs)], "float32")
            is_epoch_row = b.equal(b.reshape(epoch, new_shape=[steps, 1, 1]), numbers)
        rows = b.reshape(rows, new_shape=[steps, 1, width])
        zero = b.constant(0, "float32")
        if is_epoch_row is not None and not self.latest:
            # For all steps together: conditions interrupt what otherwise runs fast.
            rows, is_epoch_row = b.where(is_epoch_row, rows, zero), None
        is_sum = b.constant([[int(name in self.sums) for name in self.names]], "uint8")
        for step in range(steps):
            running = b.where(is_sum, table, zero) if self.latest else table
            next_table = running + _slice_step(b, rows, step)
            table = (
                next_table
                if is_epoch_row is None
                else b.where(_slice_step(b, is_epoch_row, step), next_table, table)
            )
        return table

    def accumulate_scan(self, b: GraphBuilder, epochs: int, steps: int) -> Operand:
        """Return the next table, in a graph whose input is the rows of `steps` steps."""
        rows = b.input(METRICS, "float32", [steps, len(self.names)])
        epoch = b.input(BATCH + EPOCH, "float32", [steps]) if epochs > 1 else None
        return self.accumulate(b, epochs, rows, epoch)


def collect_metrics(
    b: GraphBuilder, losses: Losses, loss: Operand | None, updated: UpdateResults
) -> StepMetrics:
    """Return what a step reports about its losses and its update; `loss` is L, or None."""
    sums = {LOSS + name: value for name, value in losses.sums.items()}
    sums |= {ROWS + name: value for name, value in losses.counts.items()}
    sums["norm"] = updated.norm
    if updated.is_finite is not None:
        zero = b.constant(0, "float32")
        sums = {name: b.where(updated.is_finite, value, zero) for name, value in sums.items()}
    sums |= updated.sums
    latest = updated.latest if loss is None else {"loss": loss, **updated.latest}
    return StepMetrics(sums, latest)


def _slice_step(b: GraphBuilder, rows: Operand, step: int) -> Operand:
    """Return the part of a step, without the dimension of the steps."""
    shape = rows.shape[1:]
    part = b.slice(rows, starts=[step, 0, 0], sizes=[1, *shape])
    return b.reshape(part, new_shape=shape)
