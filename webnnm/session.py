"""The running of a training: review, scouting, epochs in chunks of steps (spec E.10)."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from webnnm.checkpoint import Checkpoint, lasting
from webnnm.divergence import divergence
from webnnm.errors import ContextLost, DataError
from webnnm.history import BatchRecord, EpochRecord, History
from webnnm.preparation import finished_weights, prepare
from webnnm.progress import Reporter, display
from webnnm.resident import ResidentTraining, Totals

if TYPE_CHECKING:
    from webnnm.autosave import Autosave
    from webnnm.model import NNModel

IMPROVEMENT = 1e-9
"""A new best loss is smaller by more than this share (spec E.10)."""


class Training:
    """A training under way; awaiting it gives the `History`.

    Made by `NNModel.train`. `pause`, `resume` and `stop` take effect after the present chunk of
    steps. A stopped training keeps its best parameters. `async for record in training` yields the
    record of every epoch as it ends.
    """

    def __init__(
        self,
        model: NNModel,
        given: Mapping[str, Any],
        settings: dict[str, Any],
        checkpoint: Checkpoint | None = None,
        saved: Callable[[], Autosave] | None = None,
    ) -> None:
        self._model = model
        self._saved = saved
        self._given = given
        self._settings = settings
        self._begun = checkpoint
        self._held = False
        self._asked: list[asyncio.Future[Checkpoint]] = []
        self._wake = asyncio.Event()
        self._stop = ""
        self._news = asyncio.Event()
        self._reporter = Reporter(display(settings["progress"]), model.log)
        self.history = History(settings, model.backend.name)
        if checkpoint is not None:
            self.history.resumed_after = checkpoint.epoch
            self.history.best_epoch = checkpoint.best_epoch
            self.history.best_loss = checkpoint.best_loss
        self._task = asyncio.ensure_future(self._run())

    def __await__(self) -> Generator[Any, None, History]:
        return self._task.__await__()

    async def __aiter__(self) -> AsyncIterator[EpochRecord]:
        seen = 0
        while True:
            while seen < len(self.history.epochs):
                seen += 1
                yield self.history.epochs[seen - 1]
            if self._task.done():
                break
            self._news.clear()
            waiting = asyncio.ensure_future(self._news.wait())
            await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        await self

    def pause(self) -> None:
        """Hold the training after the present chunk."""
        self._held = True

    def resume(self) -> None:
        """Go on after `pause`."""
        self._held = False
        self._wake.set()

    async def stop(self) -> History:
        """End the training after the present chunk and return its history."""
        self._stop = self._stop or "stop"
        self.resume()
        return await self

    async def checkpoint(self) -> Checkpoint:
        """Return where the training stands after the present chunk; it goes on meanwhile.

        Raises `DataError` NNM808 if it ends with an error before.
        """
        asked: asyncio.Future[Checkpoint] = asyncio.get_running_loop().create_future()
        self._asked.append(asked)
        self._wake.set()
        if self._task.done():
            self._refuse()
        return await asked

    def _refuse(self) -> None:
        """Tell those who asked for a checkpoint that there is none."""
        for asked in self._asked:
            if not asked.done():
                asked.set_exception(DataError("NNM808", "the training has ended"))
        self._asked.clear()

    async def _rest(self, run: ResidentTraining) -> None:
        """Between two crossings: tell where the training stands, and wait while it is paused."""
        while True:
            while self._asked:
                standing = await self._standing(run)
                asked = self._asked.pop(0)
                if not asked.done():  # who asked may have gone
                    asked.set_result(standing)
            if not self._held or self._stop:
                return
            self._wake.clear()
            await self._wake.wait()

    async def _standing(self, run: ResidentTraining, *, restored: bool = False) -> Checkpoint:
        history = self.history
        state, best, totals = await run.stand()
        batch = run.steps_done - history.finished * run.data.steps
        return Checkpoint(
            given=lasting(self._given),
            settings=lasting(self._settings),
            schedule={
                "kind": run.schedule.kind,
                "T": run.schedule.total,
                "W": run.schedule.warmup,
                "lr": run.schedule.rate,
            },
            losses=history.loss_settings,
            state=state,
            best=best,
            best_epoch=history.best_epoch,
            best_loss=history.best_loss,
            restored=restored and bool(best),
            epoch=history.finished,
            batch=batch,
            step=run.steps_done,
            applied=self._model.step,
            totals=totals if batch else {},
        )

    @contextmanager
    def _timed(self, phases: dict[str, float], name: str) -> Generator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            phases[name] = phases.get(name, 0.0) + time.perf_counter() - began

    async def _run(self) -> History:
        model, history = self._model, self.history
        began = time.perf_counter()
        saving: Autosave | None = None
        with model.busy():
            model.training = self
            model.keep(None)
            saving = self._saved() if self._saved else None
            self._reporter.begin(
                self._settings["epochs"], f"training on {model.backend.description}"
            )
            try:
                await self._train()
            except BaseException:
                history.stopped = "error"
                raise
            finally:
                model.training = None
                self._refuse()
                if saving is not None:
                    await saving.stop()
                history.seconds = time.perf_counter() - began
                self._reporter.end(history)
            model.log(f"training ended: {history}")
        if saving is not None:
            await saving.save()
        return history

    async def _train(self) -> None:
        model, history = self._model, self.history
        self._losses, made, rows = await prepare(
            model, self._given, self._settings, history, self._reporter.note, self._begun
        )
        with self._timed(history.phases, "build"):
            run = await ResidentTraining.open(model, self._settings, made, rows, self._begun)
        model.trained = True
        self._reporter.note(
            f"training {rows.count} rows in {rows.steps} batches of {rows.batch} with "
            f"{self._settings['optimizer']}, lr {self._settings['lr']:g}, "
            f"on {model.backend.description}"
        )
        try:
            with self._timed(history.phases, "training"):
                await self._epochs(run)
                self._held = False
                await self._rest(run)  # for those who asked in the last moment
                model.training = None
            task = await run.task_weights()
        except ContextLost:  # nothing is left to hand back or to free
            raise
        except BaseException:
            # The parameters are those of the last step (spec E.10).
            await run.finish(restore=False)
            raise
        for name, value in task.items():
            history.loss_settings[name]["s"] = value
        with self._timed(history.phases, "restore"):
            best = self._settings["restore_best"]
            standing = await self._standing(run, restored=best)
            await run.finish(restore=best)
        if history.stopped in ("epochs", "patience"):
            changed = finished_weights(model, self._settings, run, self._reporter.note)
            standing = standing.holding(changed)
        model.keep(standing)

    async def _epochs(self, run: ResidentTraining) -> None:
        total = self._settings["epochs"]
        while (done := self.history.finished) < total and not self._stop:
            await self._rest(run)
            records = await self._train_epochs(run, done + 1, run.together(total - done))
            for place, record in enumerate(records, 1):
                self._ended(run, record, place, len(records))
                if self._stop and place < len(records):
                    await run.rewind(place)
                    break
        self.history.stopped = self._stop or "epochs"

    def _ended(self, run: ResidentTraining, record: EpochRecord, place: int, together: int) -> None:
        """Take in the record of an epoch, one of those that were trained together."""
        history, settings, epoch = self.history, self._settings, record.epoch
        history.epochs.append(record)
        criterion = self._criterion(record)
        # Without a number, as where every batch overflowed, an epoch cannot be the best one.
        if criterion is not None and math.isfinite(criterion) and self._improves(criterion):
            history.best_loss, history.best_epoch = criterion, epoch
            run.keep_best(place, together)
        self._reporter.update(record)
        self._news.set()
        on_epoch = settings["on_epoch"]
        if on_epoch is not None and on_epoch(record) is False:
            self._stop = "callback"
        if epoch - history.best_epoch >= settings["patience"]:
            self._stop = self._stop or "patience"

    def _improves(self, criterion: float) -> bool:
        best = self.history.best_loss
        return not self.history.best_epoch or criterion < best - IMPROVEMENT * abs(best)

    def _criterion(self, record: EpochRecord) -> float | None:
        """Return what decides on the best epoch: validation loss if there is one, else training.

        Several outputs count by their weights, or by the losses of knowing nothing (spec E.8).
        """
        validates = self._model.binding().dataset.size("validation") > 0
        losses = record.val_losses if validates else record.losses
        if not losses:
            return None
        weights = self._settings["loss_weights"]
        if isinstance(weights, Mapping):
            weights = cast("Mapping[str, float]", weights)
            return math.fsum(weights.get(name, 1.0) * loss for name, loss in losses.items())
        if weights == "uncertainty":
            return math.fsum(loss / self._losses[n].reference for n, loss in losses.items())
        return math.fsum(losses.values())

    async def _train_epochs(
        self, run: ResidentTraining, epoch: int, together: int
    ) -> list[EpochRecord]:
        """Train epochs between two looks of the host; none if stopped before their end."""
        began = time.perf_counter()
        phases: dict[str, float] = {}
        totals: list[Totals] = []
        val_losses: dict[str, float] = {}
        metrics: dict[str, float] = {}

        def record(k: int) -> EpochRecord:
            seconds = (time.perf_counter() - began) / together
            shares = {name: seconds / together for name, seconds in phases.items()}
            return self._record(run, epoch + k, totals[k], seconds, val_losses, metrics, shares)

        blocks = run.blocks(epoch, together)
        try:
            while True:
                with self._timed(phases, "data"):
                    steps = await anext(blocks, 0)
                left = steps
                while left:
                    await self._rest(run)
                    if self._stop:
                        return []
                    count = run.ahead(left, together)
                    with self._timed(phases, "steps"):
                        totals = await run.chunk(count)
                    left -= count
                    await self._check(run, totals[:together], record)
                    self._tell_batch(run, totals[0])
                if not steps:
                    break
        finally:
            await blocks.aclose()
        due = epoch % self._settings["validate_every"] == 0
        if due and self._model.binding().dataset.size("validation"):
            with self._timed(phases, "validation"):
                val_losses, metrics = await run.validate()
        return [record(k) for k in range(together)]

    def _record(
        self,
        run: ResidentTraining,
        epoch: int,
        totals: Totals,
        seconds: float,
        val_losses: dict[str, float],
        metrics: dict[str, float],
        phases: dict[str, float],
    ) -> EpochRecord:
        losses = totals.losses(self._losses)
        v, steps = totals.values, run.data.steps
        updates = -(-steps // self._settings["accumulate"])
        overflows = int(v.get("overflows", 0))
        clipped = v.get("clipped")
        if overflows >= updates:  # no batch counted
            losses = dict.fromkeys(losses, math.nan)
        return EpochRecord(
            epoch,
            self._settings["epochs"],
            math.fsum(losses.values()),
            losses,
            run.schedule.at(epoch * steps),
            seconds,
            math.fsum(val_losses.values()) if val_losses else None,
            val_losses=val_losses,
            val_metrics=metrics,
            scale=v.get("scale"),
            clip_rate=None if clipped is None else clipped / max(1, updates - overflows),
            clip_threshold=v.get("threshold"),
            grad_norm=v["norm"] / max(1, steps - overflows),
            overflows=overflows,
            penalty=v.get("penalty"),
            phases=phases,
        )

    def _tell_batch(self, run: ResidentTraining, totals: Totals) -> None:
        on_batch = self._settings["on_batch"]
        if on_batch is None:
            return
        epochs, batch = divmod(run.steps_done - 1, run.data.steps)
        rate = run.schedule.at(run.steps_done)
        if on_batch(BatchRecord(epochs + 1, batch + 1, totals.values["loss"], rate)) is False:
            self._stop = "callback"

    async def _check(
        self,
        run: ResidentTraining,
        totals: Sequence[Totals],
        record: Callable[[int], EpochRecord],
    ) -> None:
        """Stop a training that diverged, naming the first value that is not finite (NNM708)."""
        found = await divergence(run, totals, self._settings["accumulate"])
        if found is None:
            return
        for k in range(found.epoch - 1 - self.history.finished):  # these went well
            self._ended(run, record(k), k + 1, len(totals))
        self.history.findings.append(found.finding)
        raise found.error
