"""Records of a running training: its epochs, and checkpoints of its state."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from webnnm.core.arrays import HostArray
from webnnm.evaluation.epoch import EpochRecord
from webnnm.evaluation.history import History
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.trainer.training_run import TrainingRun
from webnnm.training.forward import OutputLoss
from webnnm.training.settings import FinalSettings
from webnnm.training.totals import Totals

Losses = Mapping[str, OutputLoss]
Numbers = dict[str, float]


@dataclass
class EpochRecorder:
    """Makes the records of the epochs of one device call, which share its time equally.

    `first` is the number of the first of these `epochs`. `totals` are their sums so far, `phases`
    the seconds by phase.
    """

    run: TrainingRun
    settings: FinalSettings
    outputs: Losses
    first: int
    epochs: int
    totals: list[Totals]
    val_losses: Numbers = field(default_factory=Numbers)
    val_metrics: Numbers = field(default_factory=Numbers)
    phases: Numbers = field(default_factory=Numbers)
    start: float = field(default_factory=time.perf_counter)

    def record(self, index: int) -> EpochRecord:
        """Return the record of one of the epochs, from 0."""
        run, settings = self.run, self.settings
        totals, epoch = self.totals[index], self.first + index
        v, steps = totals.values, run.feed.steps
        updates: int = -(-steps // settings.accumulate)
        overflows = int(v.get("overflows", 0))
        clipped = v.get("clipped")
        losses = totals.losses(self.outputs)
        if overflows >= updates:  # no valid batch
            losses = dict.fromkeys(losses, math.nan)
        return EpochRecord(
            epoch,
            settings.epochs,
            math.fsum(losses.values()),
            losses,
            run.schedule.at(epoch * steps),
            (time.perf_counter() - self.start) / self.epochs,
            math.fsum(self.val_losses.values()) if self.val_losses else None,
            val_losses=self.val_losses,
            val_metrics=self.val_metrics,
            scale=v.get("scale"),
            clip_rate=None if clipped is None else clipped / max(1, updates - overflows),
            clip_threshold=v.get("threshold"),
            grad_norm=v["norm"] / max(1, steps - overflows),
            overflows=overflows,
            penalty=v.get("penalty"),
            phases={name: seconds / self.epochs for name, seconds in self.phases.items()},
        )


def compute_monitored_loss(
    record: EpochRecord, settings: FinalSettings, outputs: Losses, *, validates: bool
) -> float | None:
    """Return the loss that decides on the best epoch: validation if there is one, else training.

    Several outputs are weighted by their weights, or by their reference losses (spec E.8).
    """
    losses = record.val_losses if validates else record.losses
    if not losses:
        return None
    weights = settings.loss_weights
    if isinstance(weights, Mapping):
        return math.fsum(weights.get(name, 1.0) * loss for name, loss in losses.items())
    if weights == "uncertainty":
        return math.fsum(loss / outputs[name].reference for name, loss in losses.items())
    return math.fsum(losses.values())


async def capture_checkpoint(
    run: TrainingRun,
    history: History,
    settings: FinalSettings,
    applied: int,
    *,
    restored: bool = False,
) -> Checkpoint:
    """Return the checkpoint of a training at the point that its history has reached.

    `applied` is the number of steps of its model.
    """
    state, best, totals = await run.capture_state(history.finished)
    return _make_checkpoint(
        run, history, settings, state, best, totals, run.steps_done, applied, restored=restored
    )


def make_initial_checkpoint(
    run: TrainingRun, history: History, settings: FinalSettings, applied: int
) -> Checkpoint:
    """Return the checkpoint before the first step, from the data on the host."""
    empty = History(history.settings, history.backend, loss_settings=history.loss_settings)
    applied -= run.steps_done
    return _make_checkpoint(run, empty, settings, run.initial_state(), {}, {}, 0, applied)


def _make_checkpoint(
    run: TrainingRun,
    history: History,
    settings: FinalSettings,
    state: Mapping[str, HostArray],
    best: Mapping[str, HostArray],
    totals: Mapping[str, float],
    step: int,
    applied: int,
    *,
    restored: bool = False,
) -> Checkpoint:
    batch = step - history.finished * run.feed.steps
    return Checkpoint(
        settings=settings.without_objects(),
        schedule=run.schedule.to_dict(),
        losses=history.loss_settings,
        state=state,
        best=best,
        best_epoch=history.best_epoch,
        best_loss=history.best_loss,
        restored=restored and bool(best),
        epoch=history.finished,
        batch=batch,
        step=step,
        applied=applied,
        totals=totals if batch else {},
    )
