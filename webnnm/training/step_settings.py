"""The settings of a step graph, and the names of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webnnm.ops.declare.tensors import TensorType
from webnnm.training.forward import OutputLoss
from webnnm.training.optimizers import Optimizer
from webnnm.training.update import TASK_WEIGHT, UpdateSettings

INPUT, TARGET, MASK = "data/", "target/", "mask/"
ORDER, TABLE = "order", "table"
RATE, COUNT, DUE, EPOCH = "rate", "count", "due", "epoch"
CURSOR, TOTALS, WATCH = "cursor", "totals", "watch"
LOSS, ROWS = "loss/", "rows/"
TASK = TASK_WEIGHT


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """The settings of a step graph: everything that is compiled in.

    - `batch`: rows per step; `rows`: rows of the data on the device; `steps`: steps of the tables.
    - `epochs`: how many epochs have separate totals.
    - `short`: whether some batch has fewer valid rows than `batch`.
    - `batch_loss`: whether the host needs the loss of the latest batch.
    - `weights`: output → weight of its loss; None weighs by uncertainty (spec E.8).
    - `scaling`: whether the gradient is that of S·L (spec E.5).
    - `watch`: whether the graph reports what it computed, layer by layer, to find what diverges.
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
    batch_loss: bool = True
    watch: bool = False

    @property
    def tasks(self) -> list[str]:
        """The outputs that are weighted by uncertainty."""
        return list(self.losses) if self.weights is None else []

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table of steps that the graph reads."""
        is_read = {
            RATE: True,
            COUNT: self.short,
            DUE: self.update.accumulate > 1,
            EPOCH: self.epochs > 1,
        }
        return tuple(name for name, is_used in is_read.items() if is_used)
