"""Runs a training: review, seed search, epochs in calls of several steps (spec E.10)."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import Unfinished, require_await_of_methods
from webnnm.core.errors import ContextLost, DataError, WebNNMError
from webnnm.core.finding import Finding, Findings
from webnnm.core.waiting import check_event_loop, meanwhile, to_the_end
from webnnm.evaluation.epoch import BatchRecord, EpochRecord
from webnnm.evaluation.history import History, plain
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.runtime.state import ModelState
from webnnm.trainer.decisions import (
    TrainingPlan,
    make_step_settings,
    plan_training,
    prepare_feed,
    try_seeds,
    zero_small_weights,
)
from webnnm.trainer.progress import Reporter, display
from webnnm.trainer.records import (
    EpochRecorder,
    capture_checkpoint,
    compute_monitored_loss,
    make_initial_checkpoint,
)
from webnnm.trainer.review import summarize_findings
from webnnm.trainer.training_run import TrainingRun
from webnnm.training.settings import FinalSettings, Settings
from webnnm.training.totals import Totals, has_diverged

if TYPE_CHECKING:
    from webnnm.trainer.autosave import Autosave
    from webnnm.trainer.reviewer import Reviewer

    StartAutosave = Callable[[Callable[[str], None], Callable[[], bool]], Autosave]
    """Starts saving a training, given the function for warnings and whether it is running."""

MAX_COMPARED = 10**6
"""The weights of larger models are not compared with those before the training."""
IMPROVEMENT = 1e-9
"""A new best loss is smaller by more than this share (spec E.10)."""


@require_await_of_methods("training")
class Training(Unfinished):
    """A training in progress; await it to get its `History`.

    Created by `NNModel.train`. `pause`, `resume` and `stop` take effect once the steps that are
    already queued on the device have finished. A stopped training keeps its best parameters. `async
    for record in training` yields an `EpochRecord` after each epoch.

    If a training is cancelled or fails, the model is left with the parameters of a known step,
    which is `NNModel.step`: the last one, or the one before the interrupted steps; if the device
    was lost, that of the last checkpoint. `train(resume=True)` continues from there.

    `is_running` is whether a checkpoint can still be requested.
    """

    def __init__(
        self,
        state: ModelState,
        reviewer: Reviewer | None,
        settings: Settings,
        checkpoint: Checkpoint | None = None,
        autosave: StartAutosave | None = None,
        *,
        reviews_after: bool = False,
    ) -> None:
        check_event_loop("a training")
        self._state = state
        self._reviewer = reviewer
        self._reviewer_before = None if reviews_after else reviewer
        self._autosave = autosave
        self.is_running = True
        self._requested = settings
        self._was_trained = state.trained
        self._resumed_from = checkpoint
        self._is_paused = False
        self._reported: set[str] = set()
        self._requests: list[asyncio.Future[Checkpoint]] = []
        self._wake = asyncio.Event()
        self._stop = ""
        self._was_awaited = False
        self._last_checkpoint: Checkpoint | None = checkpoint
        self._callback_task: asyncio.Future[Any] | None = None
        self._epoch_event = asyncio.Event()
        epochs = str(settings.progress).lower() != "off"
        self._reporter = Reporter(display(settings.progress), state.log, epochs=epochs)
        self.history = History(settings.to_dict(), state.backend.name)
        if checkpoint is not None:
            self.history.resumed_after = checkpoint.epoch
            self.history.best_epoch = checkpoint.best_epoch
            self.history.best_loss = checkpoint.best_loss
        # From now, not from when the task first runs: an unawaited training keeps its turn.
        state.occupancy.take(self, "a training", changes=True)
        self._task = asyncio.ensure_future(self._run())
        self._task.add_done_callback(lambda _: self._release())

    def _describe_call(self) -> tuple[str, tuple[type, ...]]:
        return "model.train(…)", (History,)

    def __await__(self) -> Generator[Any, None, History]:
        self._was_awaited = True
        return self._task.__await__()

    async def __aiter__(self) -> AsyncIterator[EpochRecord]:
        self._was_awaited = True
        yielded = 0
        while True:
            while yielded < len(self.history.epochs):
                yielded += 1
                yield self.history.epochs[yielded - 1]
            if self._task.done():
                break
            self._epoch_event.clear()
            event_task = asyncio.ensure_future(self._epoch_event.wait())
            await asyncio.wait({self._task, event_task}, return_when=asyncio.FIRST_COMPLETED)
            event_task.cancel()
        await self

    def pause(self) -> None:
        """Pause the training once the queued steps have finished."""
        self._is_paused = True

    def resume(self) -> None:
        """Continue after `pause`."""
        self._is_paused = False
        self._wake.set()

    async def stop(self) -> History:
        """Stop the training once the queued steps have finished; return its history."""
        self._stop = self._stop or "stop"
        self.resume()
        if asyncio.current_task() in (self._task, self._callback_task):
            return self.history  # called from a callback, which the training waits for
        return await self

    async def checkpoint(self) -> Checkpoint:
        """Return a checkpoint once the queued steps have finished; the training continues.

        Raises `DataError` NNM808 if the training fails first.
        """
        request: asyncio.Future[Checkpoint] = asyncio.get_running_loop().create_future()
        self._requests.append(request)
        self._wake.set()
        if self._task.done():
            self._fail_requests()
        return await request

    def _fail_requests(self) -> None:
        """Fail all pending requests for a checkpoint."""
        for request in self._requests:
            if not request.done():
                request.set_exception(DataError("NNM808", "the training has ended"))
        self._requests.clear()

    async def _serve_requests(self, run: TrainingRun) -> None:
        """Between two device calls: deliver checkpoints, and wait while the training is paused."""
        while True:
            await self._deliver_checkpoints(run)
            if not self._is_paused or self._stop:
                return
            self._wake.clear()
            await self._wake.wait()

    async def _deliver_checkpoints(self, run: TrainingRun) -> None:
        while self._requests:
            checkpoint = await to_the_end(self._capture(run))
            request = self._requests.pop(0)
            if not request.done():  # the requester may have gone
                request.set_result(checkpoint)

    async def _handle_answer(self, run: TrainingRun, answer: Any) -> None:
        """Handle what a callback, or its coroutine, returned; False stops the training.

        While an asynchronous callback runs, it may save the model and predict with it.
        """
        if inspect.isawaitable(answer):
            self._callback_task = asyncio.ensure_future(answer)
            try:
                with run.lend_parameters():
                    serve = partial(self._deliver_checkpoints, run)
                    answer = await meanwhile(self._callback_task, self._wake, serve)
            finally:
                self._callback_task = None
        if answer is False:
            self._stop = "callback"

    async def _capture(self, run: TrainingRun, *, restored: bool = False) -> Checkpoint:
        applied = self._state.step
        self._last_checkpoint = await capture_checkpoint(
            run, self.history, self._settings, applied, restored=restored
        )
        return self._last_checkpoint

    @contextmanager
    def _measure_phase(self, phases: dict[str, float], name: str) -> Generator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            phases[name] = phases.get(name, 0.0) + time.perf_counter() - start

    async def _run(self) -> History:
        state, history = self._state, self.history
        start = time.perf_counter()
        autosave: Autosave | None = None
        state.keep(None)
        try:
            if self._autosave is not None:
                autosave = self._autosave(self._warn, lambda: self.is_running)
            self._reporter.begin(
                self._requested.epochs or 0, f"training on {state.backend.description}"
            )
            with self._hold_out_rows():
                await self._train()
        except BaseException as error:
            history.stopped = "error"
            if not self._was_awaited:
                state.log(f"the training, which was never awaited, failed: {error!r}")
            raise
        finally:
            self.is_running = False
            self._fail_requests()
            if autosave is not None:
                await autosave.stop()
            history.seconds = time.perf_counter() - start
            self._reporter.end(history)
            self._release()
        state.log(f"training ended: {history}")
        if autosave is not None:
            await autosave.save()
        return history

    @contextmanager
    def _hold_out_rows(self) -> Generator[None]:
        """Use some of the training rows for validation during the training."""
        share = self._requested.validation_split
        dataset: Any = self._state.binding().dataset
        if not share:
            yield
            return
        forget = self._reviewer.forget if self._reviewer is not None else lambda: None
        forget()
        try:
            with self._state.replace_dataset(dataset.held_back(share, self._requested.seed)):
                yield
        finally:
            forget()

    def _release(self) -> None:
        """Release the model; a training may be cancelled before it first runs."""
        self.is_running = False
        self._state.occupancy.free(self)

    def _warn(self, text: str) -> None:
        """Report failures that do not stop training: once in the history, each time in the log."""
        if text not in self.history.warnings:
            self.history.warnings.append(text)
        self._reporter.note(f"warning: {text}")

    async def _plan(self) -> TrainingPlan:
        """Decide the settings of the training, and report them."""
        state, history, note = self._state, self.history, self._reporter.note
        with self._measure_phase(history.phases, "review"):
            plan = plan_training(state, self._reviewer_before, self._requested)
        self._apply_plan(plan)
        for line in plan.review.summary():
            note(line)
        if plan.settings.seeds > 0 and state.parameters.count:
            with self._measure_phase(history.phases, "scouting"):
                plan = await try_seeds(state, self._reviewer_before, plan)
            assert plan.scouting is not None
            history.scouting = plain(plan.scouting.to_dict())
            note(str(plan.scouting))
            for finding in plan.findings[len(history.findings) :]:
                if finding.severity != "info":
                    note(str(finding))
        if self._resumed_from is not None:
            # Settings from before a checkpoint do not change.
            from webnnm.trainer.resumed_losses import restore_losses

            plan = replace(plan, losses=restore_losses(state, self._resumed_from, plan.losses))
        self._apply_plan(plan)
        return plan

    def _apply_plan(self, plan: TrainingPlan) -> None:
        self._settings: FinalSettings = plan.settings
        self.history.settings = plan.settings.to_dict()
        self._losses = plan.losses
        self.history.findings = Findings(plan.findings)
        self.history.chosen = dict(plan.review.origins)
        self.history.loss_settings = plan.loss_settings

    async def _train(self) -> None:
        state, history = self._state, self.history
        plan = await self._plan()
        feed = await prepare_feed(state, plan)
        step_settings = make_step_settings(state, plan, feed)
        with self._measure_phase(history.phases, "build"):
            run = await TrainingRun.open(
                state, plan.network, self._settings, step_settings, feed, self._resumed_from
            )
        state.forget_intervals()
        compares = state.parameters.count <= MAX_COMPARED and not self._resumed_from
        before = state.parameters.values() if compares else {}
        state.trained = True
        if self._resumed_from and (rate_jump := self._resumed_from.jump(run.schedule)):
            self._warn(rate_jump)
        self._reporter.note(
            f"training {feed.count} rows in {feed.steps} batches of {feed.batch} with "
            f"{self._settings.optimizer}, lr {self._settings.lr:g}, "
            f"on {state.backend.description}"
        )
        try:
            with self._measure_phase(history.phases, "training"):
                await self._train_all_epochs(run)
                self._is_paused = False
                await self._serve_requests(run)  # for requests at the last moment
                self.is_running = False
            task_weights = await run.task_weights()
        except ContextLost as lost:
            await self._restore_checkpoint(run, lost)
            raise
        except BaseException as error:
            # The parameters are those of the last step (spec E.10).
            await to_the_end(self._return_parameters(run, restore=False))
            if isinstance(error, DataError) and error.code == "NNM708":
                state.keep(None)  # it would diverge again
            raise
        for name, value in task_weights.items():
            history.loss_settings[name]["s"] = value
        with self._measure_phase(history.phases, "restore"):
            await to_the_end(self._return_parameters(run, restore=self._settings.restore_best))
        if getattr(getattr(state.binding().dataset, "series", None), "quantiles", ()):
            from webnnm.runtime.testing.interval_calibration import calibrate_intervals

            if reason := await calibrate_intervals(state):
                self._warn(reason)
        if self._reviewer is not None:
            with self._measure_phase(history.phases, "findings"):
                await self._review_outcome(self._reviewer, run, before)

    async def _review_outcome(
        self, reviewer: Reviewer, run: TrainingRun, before: Mapping[str, HostArray]
    ) -> None:
        """Measure the outcome of the training, and report what the expert system finds in it."""
        state, history, settings = self._state, self.history, self._settings
        failures: list[Finding] = []
        if self._reviewer_before is None:
            from webnnm.trainer.late_review import review_afterwards

            trained = self._was_trained
            lines = review_afterwards(reviewer, self._requested, history, trained_before=trained)
            for line in lines:
                self._reporter.note(line)
        try:
            from webnnm.trainer.outcome import measure_outcome

            history.outcome = await measure_outcome(
                state, self._losses, before, seed=settings.seed, batch=run.feed.batch
            )
        # Device memory, unsupported labels or the network may fail: the training itself succeeded.
        except (WebNNMError, ImportError) as error:
            self._warn(f"the results of the training could not be measured: {error}")
        except Exception as error:
            failures = [reviewer.failure(error)]
        findings = [*reviewer.hindsight(history), *failures]
        reported = self._reported | {finding.id for finding in history.findings}
        for line in summarize_findings(findings, reported):
            self._reporter.note(line)
        history.findings = Findings(reviewer.final_findings(history, findings))

    async def _return_parameters(self, run: TrainingRun, *, restore: bool) -> None:
        """Give the model the parameters of a known step, and the state needed to resume from it."""
        state, history = self._state, self.history
        try:
            await run.settle(history.finished)
            checkpoint = await self._capture(run, restored=restore)
            await run.finish(restore=restore)
        except ContextLost as lost:
            await self._restore_checkpoint(run, lost)
            raise
        except BaseException:
            await run.abandon()
            raise
        if history.stopped in ("epochs", "patience"):
            changes = zero_small_weights(state, self._settings, run, self._reporter.note)
            checkpoint = checkpoint.holding(changes)
        state.keep(checkpoint)

    async def _restore_checkpoint(self, run: TrainingRun, lost: ContextLost) -> None:
        """Go back to the state on the host: the last checkpoint, or the one before all steps."""
        state = self._state
        checkpoint = self._last_checkpoint or make_initial_checkpoint(
            run, self.history, self._settings, state.step
        )
        checkpoint = replace(checkpoint, restored=False)
        await run.abandon()
        state.parameters.hold(checkpoint.parameters)
        state.step = checkpoint.applied
        state.keep(checkpoint)
        if state.closed:
            raise ContextLost("the model was closed during its training", step=lost.step)
        lost.hint = (
            f"the model has the parameters of step {checkpoint.step}: resume from there after "
            "`await model.reopen()`, or from what `model.save` writes now"
        )

    async def _train_all_epochs(self, run: TrainingRun) -> None:
        total = self._settings.epochs
        while (finished := self.history.finished) < total and not self._stop:
            await self._serve_requests(run)
            epochs = run.epochs_per_call(total - finished)
            records = await self._train_epochs(run, finished + 1, epochs)
            for index, record in enumerate(records, 1):
                await self._end_epoch(run, record, index, len(records))
                if self._stop and index < len(records):
                    await to_the_end(run.rewind(index))
                    break
        self.history.stopped = self._stop or "epochs"

    async def _end_epoch(
        self, run: TrainingRun, record: EpochRecord, index: int, epochs: int
    ) -> None:
        """Process the record of an epoch, one of the `epochs` of a call."""
        history, settings, epoch = self.history, self._settings, record.epoch
        history.epochs.append(record)
        has_validation = self._state.binding().dataset.size("validation") > 0
        criterion = compute_monitored_loss(record, settings, self._losses, validates=has_validation)
        # Without a number, as when every batch overflowed, an epoch cannot be the best one.
        if criterion is not None and math.isfinite(criterion) and self._improves(criterion):
            history.best_loss, history.best_epoch = criterion, epoch
            run.keep_best(index, epochs)
        run.schedule = run.schedule.after(epoch, history.best_epoch)
        self._reporter.update(record)
        self._epoch_event.set()
        if settings.on_epoch is not None:
            await self._handle_answer(run, settings.on_epoch(record))
        if epochs == 1 and epoch == settings.epochs // 3:
            self._report_early()
        if epoch - history.best_epoch >= settings.patience:
            self._stop = self._stop or "patience"

    def _report_early(self) -> None:
        """Report what can be seen during the training, such as a loss that does not change."""
        if self._reviewer_before is None:
            return
        before = {finding.id for finding in self.history.findings}
        for finding in self._reviewer_before.hindsight(self.history, early=True):
            if finding.id not in before:
                self._reported.add(finding.id)
                self._reporter.note(str(finding))

    def _improves(self, criterion: float) -> bool:
        best = self.history.best_loss
        return not self.history.best_epoch or criterion < best - IMPROVEMENT * abs(best)

    async def _train_epochs(self, run: TrainingRun, epoch: int, epochs: int) -> list[EpochRecord]:
        """Train the epochs of one device call; return none if stopped before their end."""
        settings = self._settings
        recorder = EpochRecorder(
            run, settings, self._losses, epoch, epochs, run.get_resumed_totals()
        )
        phases = recorder.phases
        blocks = run.upload_blocks(epoch, epochs)
        try:
            while True:
                with self._measure_phase(phases, "data"):
                    steps = await anext(blocks, 0)
                if not steps:
                    break
                if not await self._train_block(run, steps, recorder):
                    return []
        finally:
            await blocks.aclose()
        is_due: bool = epoch % settings.validate_every == 0
        if is_due and self._state.binding().dataset.size("validation"):
            with self._measure_phase(phases, "validation"):
                recorder.val_losses, recorder.val_metrics = await run.validate()
        return [recorder.record(k) for k in range(epochs)]

    async def _train_block(self, run: TrainingRun, steps: int, recorder: EpochRecorder) -> bool:
        """Train the steps of a block, in one or more calls; False if stopped before the end."""
        while steps:
            await self._serve_requests(run)
            if self._stop:
                return False
            count = run.steps_per_call(steps, recorder.epochs)
            with self._measure_phase(recorder.phases, "steps"):
                recorder.totals = await run.run_steps(count)
            steps -= count
            await self._check_divergence(run, recorder)
            await self._report_batch(run, recorder.totals[0])
        return True

    async def _report_batch(self, run: TrainingRun, totals: Totals) -> None:
        on_batch = self._settings.on_batch
        if on_batch is None:
            return
        epochs, batch = divmod(run.steps_done - 1, run.feed.steps)
        rate = run.schedule.at(run.steps_done)
        record = BatchRecord(epochs + 1, batch + 1, totals.values["loss"], rate)
        await self._handle_answer(run, on_batch(record))

    async def _check_divergence(self, run: TrainingRun, recorder: EpochRecorder) -> None:
        """Stop a training that diverged, naming the first value that is not finite (NNM708)."""
        totals = recorder.totals[: recorder.epochs]
        if not has_diverged(totals):
            return
        from webnnm.trainer.divergence import locate_divergence

        result = await locate_divergence(run, totals, self._settings.accumulate)
        for k in range(result.epoch - 1 - self.history.finished):  # these went well
            await self._end_epoch(run, recorder.record(k), k + 1, len(totals))
        self.history.findings.append(result.finding)
        raise result.error
