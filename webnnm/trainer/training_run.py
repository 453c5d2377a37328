"""The epochs of a training on the device, each of which can be repeated (spec E.9)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray, zeros
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.elaboration.vertices import Network
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.runtime.state import ModelState
from webnnm.trainer.double_buffer import DoubleBuffer, Tensors
from webnnm.trainer.feed import Feed, iterate_blocks, make_step_tables
from webnnm.trainer.tuner import DispatchTuner
from webnnm.training.settings import FinalSettings
from webnnm.training.step import build_training_step, build_training_steps
from webnnm.training.step_settings import CURSOR, TASK, TOTALS, StepSettings
from webnnm.training.totals import Totals

if TYPE_CHECKING:
    from webnnm.runtime.testing.validation import Validation


@dataclass(frozen=True)
class ReplayPoint:
    """A point from which steps can be repeated: a `state`, and the `steps` from there.

    `step` is the step of that state, -1 while it is not copied; `tables` are those of the block.
    """

    tables: Mapping[str, HostArray]
    state: Tensors
    steps: int
    step: int


class TrainingRun:
    """Runs the epochs of one training on the device, from `open` to `finish` or `abandon`.

    It remembers from which copy of the state the last call and the best epoch can be repeated.
    """

    def __init__(
        self,
        state: ModelState,
        network: Network,
        settings: FinalSettings,
        step_settings: StepSettings,
        feed: Feed,
        buffers: DoubleBuffer,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._state = state
        self._network = network
        self._settings = settings
        self._step_settings = step_settings
        self._buffers = buffers
        self.feed = feed
        saved_schedule = None if checkpoint is None else checkpoint.schedule
        self.schedule = settings.make_schedule(feed.steps, saved_schedule)
        is_fixed: bool = settings.micro_steps != "auto"
        call_steps = 1 if settings.on_batch is not None else 0
        self._tuner = DispatchTuner(
            state.backend.budget, callback_steps=call_steps, settled=is_fixed
        )
        self._resumed_from = checkpoint
        self._first_epoch = 1
        self._last_replay: ReplayPoint | None = None
        self._best_replay: ReplayPoint | None = None
        self._has_best = bool(checkpoint and checkpoint.best)
        self._validation: Validation | None = None

    @classmethod
    async def open(
        cls,
        state: ModelState,
        network: Network,
        settings: FinalSettings,
        step_settings: StepSettings,
        feed: Feed,
        checkpoint: Checkpoint | None = None,
    ) -> TrainingRun:
        """Build the step graph, upload the data, and allocate the state of the checkpoint.

        `network` is the model's, or the same with float16 inputs.
        """
        step = build_training_step(network, feed.targets, step_settings)
        if checkpoint is not None:
            checkpoint.check({n: step.state[n] for n in step.checkpointed}, feed.steps, step.totals)
        buffers = DoubleBuffer(
            state.backend,
            state.parameters.tensors,
            step,
            partial(build_training_steps, network, feed.targets, step_settings),
            recompute=settings.recompute,
        )
        await buffers.open(feed, settings.seed, checkpoint)
        try:
            if settings.micro_steps != "auto":
                # A call has at most as many steps as its table.
                await buffers.unroll(min(settings.micro_steps, step_settings.steps))
            return cls(state, network, settings, step_settings, feed, buffers, checkpoint)
        except BaseException:
            await buffers.close(buffers.parameters)
            raise

    @property
    def steps_done(self) -> int:
        """The number of steps run in this training."""
        return self._buffers.step

    @property
    def decay_parameters(self) -> list[str]:
        """The trainable parameters that are regularised."""
        update = self._step_settings.update
        return [name for name, m in update.multipliers.items() if m > 0 and update.decays[name]]

    def epochs_per_call(self, remaining: int) -> int:
        """Return how many of the remaining epochs to train before the host looks at them."""
        return self._tuner.epochs_per_call(self.feed.steps, min(remaining, self.feed.epochs))

    def steps_per_call(self, remaining: int, epochs: int) -> int:
        """Return how many of the remaining steps of a block to run before the host looks."""
        if epochs > 1:  # any of them can be repeated from the state before the call
            return remaining
        count = self._tuner.steps_per_call(remaining)
        return count - count % self._buffers.micro_steps or count

    async def upload_blocks(self, epoch: int, epochs: int = 1) -> AsyncGenerator[int]:
        """Upload the rows of epochs, block by block; yield the number of steps of each.

        A dataset in memory is one block, which stays resident. For a stream, the next block is
        fetched and uploaded while the current one is trained. The first epoch after a checkpoint
        begins with the batch of the checkpoint.
        """
        buffers, checkpoint = self._buffers, self._resumed_from
        self._first_epoch = epoch
        skipped_steps = checkpoint.batch if checkpoint else 0
        totals = zeros("float32", buffers.graph.state[TOTALS].shape)
        if checkpoint and skipped_steps:
            totals = self._fill_totals(totals, checkpoint.totals)
        has_started = False
        steps_before = 0
        sources = iterate_blocks(self.feed, epoch, self._settings, epochs)
        next_block = asyncio.ensure_future(_next(sources))
        try:
            while (block := await next_block) is not None:
                steps = sum(-(-len(order) // self._step_settings.batch) for order in block.orders)
                if skipped_steps >= steps:
                    next_block = asyncio.ensure_future(_next(sources))
                    skipped_steps -= steps
                    steps_before += steps
                    continue
                first = (epoch - 1) * self.feed.steps + steps_before + 1
                tables = make_step_tables(self._step_settings, self.schedule, block.orders, first)
                buffers.next_block()
                buffers.upload({**block.data, **tables})
                buffers.write({CURSOR: HostArray.of(skipped_steps, "int32")})
                if not has_started:
                    buffers.write({TOTALS: totals})
                    self._resumed_from = None
                    has_started = True
                next_block = asyncio.ensure_future(_next(sources))
                steps_before += steps
                # No step of this block has run yet: its first call copies the state.
                self._last_replay = ReplayPoint(tables, buffers.spares[0], 0, -1)
                yield steps - skipped_steps
                skipped_steps = 0
            if not has_started:  # all its steps were done before the checkpoint
                buffers.write({TOTALS: totals})
                self._resumed_from = None
        finally:
            # The fetch in progress has to end before its source can be closed.
            next_block.cancel()
            await asyncio.gather(next_block, return_exceptions=True)
            await sources.aclose()

    def _fill_totals(self, table: HostArray, totals: Mapping[str, float]) -> HostArray:
        """Return the table of totals with an epoch's in its first row."""
        row = [totals.get(name, 0.0) for name in self._buffers.graph.totals]
        return HostArray.of([*row, *table.values()[len(row) :]], "float32", table.shape)

    def get_resumed_totals(self) -> list[Totals]:
        """Return the totals of the epoch of a checkpoint, before the rest of it is run."""
        checkpoint = self._resumed_from
        return [Totals(checkpoint.totals)] if checkpoint and checkpoint.batch else []

    async def run_steps(self, count: int) -> list[Totals]:
        """Run some steps in one call and return the totals of the epochs so far."""
        buffers = self._buffers
        self._last_replay = self._replay_point(count)
        start = time.perf_counter()
        with self._count_steps():
            totals = await buffers.run(count)
        self._tuner.record(count, buffers.backend.agree_on(time.perf_counter() - start))
        await self._tune()
        names, values = buffers.graph.totals, totals.values()
        rows = range(0, len(values), len(names))
        return [Totals(dict(zip(names, values[k : k + len(names)], strict=True))) for k in rows]

    async def _tune(self) -> None:
        """Put as many steps into a dispatch as the measured times suggest."""
        buffers = self._buffers
        micro_steps = self._tuner.next_micro_steps(
            current=buffers.micro_steps,
            epoch=self.feed.steps,
            remaining=self.schedule.total - buffers.step,
            **buffers.unroll_costs(),
        )
        if micro_steps != buffers.micro_steps:
            await buffers.unroll(micro_steps)

    def _replay_point(self, count: int) -> ReplayPoint:
        """Return the point from which to repeat the next steps: the existing copy, or a new one.

        Copying a large state takes a considerable part of the time of a step. A single step needs
        no copy: it does not change what it reads.
        """
        assert self._last_replay is not None
        buffers, last, step = self._buffers, self._last_replay, self._buffers.step
        steps = step - last.step
        has_copy = last.step >= 0 and last.state in buffers.spares
        seconds = steps * self._tuner.step_seconds
        if has_copy and seconds <= buffers.backend.budget.replay_seconds:
            return replace(last, steps=steps)
        if count == 1 < self.feed.steps:  # calls of several epochs have more
            return ReplayPoint(last.tables, buffers.state, 0, step)
        state_of_best = None if self._best_replay is None else self._best_replay.state
        spare = next(state for state in buffers.spares if state is not state_of_best)
        buffers.snapshot(spare)
        return ReplayPoint(last.tables, spare, 0, step)

    async def _run(self, count: int) -> None:
        if count:
            with self._count_steps():
                await self._buffers.run(count)

    @contextmanager
    def _count_steps(self) -> Generator[None]:
        """Change the step of the model by as much as the step of the device changes."""
        before = self._buffers.step
        try:
            yield
        finally:
            self._state.step += self._buffers.step - before

    async def find_nonfinite(self, *, replay: bool) -> tuple[int, str, float]:
        """Find the step that diverged, and its first value that is not finite.

        With `replay`, the last call is repeated and watched step by step, and the state is then the
        one before the bad step; otherwise the next step is watched.
        """
        settings = replace(self._step_settings, watch=True)
        step = build_training_step(self._network, self.feed.targets, settings)
        last = self._buffers.step
        if replay:
            await self._undo_last_call()
        from webnnm.trainer.watching import find_nonfinite

        with self._count_steps():
            return await find_nonfinite(self._buffers, step, last - 1 if replay else last)

    def initial_state(self) -> dict[str, HostArray]:
        """Return the state before the first step, from the data on the host."""
        graph, parameters = self._buffers.graph, self._state.parameters.values()
        arrays = {PARAMETER_PREFIX + name: array for name, array in parameters.items()}
        arrays |= {name: HostArray.of(n, "float32") for name, n in graph.initial_values.items()}
        return {
            name: arrays[name] if name in arrays else zeros(*graph.state[name])
            for name in graph.checkpointed
        }

    def _restore(self, point: ReplayPoint) -> None:
        """Go back to the state before some steps."""
        with self._count_steps():
            self._buffers.restore(point.state, point.step)

    async def _undo_last_call(self) -> None:
        """Go back to the state before the last call."""
        assert self._last_replay is not None
        self._restore(self._last_replay)
        await self._run(self._last_replay.steps)

    async def rewind(self, index: int) -> None:
        """Go back to the end of epoch `index` of the last call, by repeating the steps up to it."""
        assert self._last_replay is not None
        self._restore(self._last_replay)
        await self._run(self._steps_to_epoch(index, self._last_replay))

    def _steps_to_epoch(self, index: int, point: ReplayPoint) -> int:
        """Return how many steps lead from a state to the end of epoch `index` of the last call."""
        return (self._first_epoch - 1 + index) * self.feed.steps - point.step

    async def settle(self, finished: int) -> None:
        """Go to a known step, whatever interrupted the training after `finished` epochs:

        - the last step;
        - if a call was interrupted, the step before it, since the device may have done any number
          of its steps;
        - if the host has looked at some epochs of a call of several, the end of the last of these.
        """
        if self._last_replay is None:
            return
        if self._buffers.in_flight:
            await self._undo_last_call()
        if self._buffers.step > (finished + 1) * self.feed.steps:
            epochs_seen = finished - (self._first_epoch - 1)
            if epochs_seen > 0:
                await self.rewind(epochs_seen)
            else:
                await self._undo_last_call()

    async def task_weights(self) -> dict[str, float]:
        """Return the log variance of every output whose loss is weighted by uncertainty."""
        state = self._buffers.state
        tensors = {name: state[TASK + name] for name in self._step_settings.tasks}
        arrays = await self._buffers.read(tensors)
        return {name: array.values()[0] for name, array in arrays.items()}

    async def validate(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the losses and metrics over the validation subset."""
        if not self._validation:
            from webnnm.runtime.testing.validation import Validation

            settings = self._step_settings
            self._validation = Validation(self._state, settings.losses, settings.batch)
        return await self._validation.run(self._parameters(self._buffers.state))

    def keep_best(self, index: int, epochs: int) -> None:
        """Keep the parameters after `index` of the `epochs` of the last call as the best.

        Those of the last epoch are copied on the device; those of an earlier one are recomputed
        from the state before the call, when they are needed.
        """
        if index == epochs:
            self._best_replay = None
            self._buffers.snapshot(self._buffers.best)
        else:
            assert self._last_replay is not None
            self._best_replay = replace(
                self._last_replay, steps=self._steps_to_epoch(index, self._last_replay)
            )
        self._has_best = True

    async def capture_state(
        self, finished: int
    ) -> tuple[dict[str, HostArray], dict[str, HostArray], dict[str, float]]:
        """Return state, best parameters and totals of the epoch, in the form of a checkpoint.

        Call it only between two calls of the device, after `finished` epochs.
        """
        buffers = self._buffers
        if self._best_replay is not None:
            # The best parameters are known only as steps to repeat: repeat them now.
            step, best = buffers.step, self._best_replay
            spare = next(state for state in buffers.spares if state is not best.state)
            buffers.snapshot(spare)
            buffers.restore(best.state, best.step)
            buffers.upload(best.tables)
            await buffers.run(best.steps)
            buffers.snapshot(buffers.best)
            buffers.restore(spare, step)
            self._best_replay = None
            if self._last_replay is not None:
                buffers.upload(self._last_replay.tables)
                # The copy of its state may have been overwritten above.
                self._last_replay = replace(self._last_replay, step=-1)
        graph = buffers.graph
        state = await buffers.read({name: buffers.state[name] for name in graph.checkpointed})
        parameters = await buffers.read(buffers.best) if self._has_best else {}
        rows = (await buffers.read({TOTALS: buffers.state[TOTALS]}))[TOTALS].values()
        row = (finished - (self._first_epoch - 1)) * len(graph.totals)
        totals = dict(zip(graph.totals, rows[max(0, row) :], strict=False))
        if self._resumed_from is not None:  # nothing has run yet
            totals = dict(self._resumed_from.totals)
        return (
            state,
            {name.removeprefix(PARAMETER_PREFIX): array for name, array in parameters.items()},
            totals,
        )

    async def finish(self, *, restore: bool) -> None:
        """Give the latest parameters, or the best ones, to the model, and free everything else.

        The best ones are those that `capture_state` computed before.
        """
        buffers = self._buffers
        if restore and self._has_best:
            buffers.restore(buffers.best, buffers.step)
        kept = {name: buffers.state[name] for name in buffers.best}
        self._state.parameters.replace(self._parameters(kept))
        await self._free(kept)
        names = [name.removeprefix(PARAMETER_PREFIX) for name in kept]
        await self._state.parameters.read_back(names)

    async def abandon(self) -> None:
        """Free everything except the tensors that the model had before: the training failed."""
        await self._free(self._buffers.parameters)

    async def _free(self, kept: Tensors) -> None:
        await self._buffers.close(kept)
        if self._validation:
            self._validation.close()

    @contextmanager
    def lend_parameters(self) -> Generator[None]:
        """Let the model use the latest parameters temporarily, while no step is run."""
        parameters = self._state.parameters
        before = parameters.tensors
        parameters.show(self._parameters(self._buffers.state))
        try:
            with self._state.occupancy.resting():
                yield
        finally:
            parameters.show(before)

    def _parameters(self, state: Tensors) -> Tensors:
        """Return the parameters of a state by name, and the frozen ones."""
        parameters = {
            name.removeprefix(PARAMETER_PREFIX): tensor
            for name, tensor in state.items()
            if name.startswith(PARAMETER_PREFIX)
        }
        return {**self._state.parameters.tensors, **parameters}


async def _next(source: AsyncIterator[Any]) -> Any:
    """Return the next element of a source, None at its end."""
    async for element in source:
        return element
    return None
