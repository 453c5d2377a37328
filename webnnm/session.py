"""The running of a training: epochs in chunks of steps, with pause and stop (spec E.10)."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from webnnm.errors import ContextLost, DataError
from webnnm.history import EpochRecord, History
from webnnm.resident import ResidentTraining

if TYPE_CHECKING:
    from webnnm.model import NNModel

CHUNK = 256
"""Steps per crossing at most; `pause` and `stop` wait for the end of a chunk."""
IMPROVEMENT = 1e-9
"""A new best loss is smaller by more than this share (spec E.10)."""


class Training:
    """A training under way; awaiting it gives the `History`.

    Made by `NNModel.train`. `pause`, `resume` and `stop` take effect after the present chunk of
    steps. A stopped training keeps its best parameters.
    """

    def __init__(self, model: NNModel, settings: dict[str, Any]) -> None:
        self._model = model
        self._settings = settings
        self._may_run = asyncio.Event()
        self._may_run.set()
        self._stop = ""
        self.history = History(settings, model.backend.name)
        self._task = asyncio.ensure_future(self._run())

    def __await__(self) -> Generator[Any, None, History]:
        return self._task.__await__()

    def pause(self) -> None:
        """Hold the training after the present chunk."""
        self._may_run.clear()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._may_run.set()

    async def stop(self) -> History:
        """End the training after the present chunk and return its history."""
        self._stop = self._stop or "stop"
        self._may_run.set()
        return await self

    async def _run(self) -> History:
        model = self._model
        with model.busy():
            run = await ResidentTraining.open(model, self._settings)
            began = time.perf_counter()
            try:
                await self._epochs(run)
            except ContextLost:  # nothing is left to hand back or to free
                self.history.stopped = "error"
                raise
            except BaseException:
                self.history.stopped = "error"
                # The parameters are those of the last step (spec E.10).
                await run.finish(restore=False)
                raise
            await run.finish(restore=self._settings["restore_best"])
            self.history.seconds = time.perf_counter() - began
            model.log(f"training ended: {self.history}")
        return self.history

    async def _epochs(self, run: ResidentTraining) -> None:
        history, settings = self.history, self._settings
        model = self._model
        model.log(
            f"training {run.rows} rows in {run.steps} batches of {run.batch} with "
            f"{settings['optimizer']}, lr {settings['lr']:g}, on {model.backend.description}"
        )
        waited = 0
        for epoch in range(1, settings["epochs"] + 1):
            record = await self._epoch(run, epoch)
            if record is None:
                break
            history.epochs.append(record)
            waited += 1
            criterion = record.val_loss if run.validates else record.loss
            if criterion is not None and (
                criterion < history.best_loss * (1 - IMPROVEMENT) or history.best_epoch == 0
            ):
                history.best_loss, history.best_epoch, waited = criterion, epoch, 0
                run.keep_best()
            self._report(record)
            if waited >= settings["patience"]:
                self._stop = "patience"
            if self._stop:
                break
        history.stopped = self._stop or "epochs"

    async def _epoch(self, run: ResidentTraining, epoch: int) -> EpochRecord | None:
        """Train one epoch; None if it was stopped before its end."""
        began = time.perf_counter()
        run.begin_epoch(epoch)
        sums: dict[str, float] = {}
        for start in range(0, run.steps, CHUNK):
            await self._may_run.wait()
            if self._stop:
                return None
            sums = await run.chunk(min(CHUNK, run.steps - start))
        losses = {name: total / run.rows for name, total in sums.items()}
        loss = math.fsum(losses.values())
        rate = run.schedule.at(epoch * run.steps)
        if not math.isfinite(loss):
            raise DataError(
                "NNM708",
                f"the loss of epoch {epoch} is {loss} at learning rate {rate:g}",
                hint="a smaller lr, or standardised data",
            )
        due = epoch % self._settings["validate_every"] == 0
        val_loss = await run.validate() if due else None
        seconds = time.perf_counter() - began
        epochs = self._settings["epochs"]
        return EpochRecord(epoch, epochs, loss, losses, rate, seconds, val_loss)

    def _report(self, record: EpochRecord) -> None:
        epochs = record.epochs
        if epochs < 100 or record.epoch in (1, epochs) or record.epoch % 50 == 0:
            val = "" if record.val_loss is None else f", validation {record.val_loss:.4f}"
            text = f"epoch {record.epoch}/{epochs}: loss {record.loss:.4f}{val}, lr {record.lr:.2e}"
            self._model.log(text)
        on_epoch = self._settings["on_epoch"]
        if on_epoch is not None and on_epoch(record) is False:
            self._stop = "callback"
