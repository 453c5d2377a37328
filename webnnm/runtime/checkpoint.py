"""Checkpoints: what a training needs to resume as if it had not been interrupted (spec I)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.schedules import Schedule
from webnnm.training.settings import HYPERPARAMETERS, FinalSettings, Settings

RESUMABLE = (
    *("epochs", "schedule_epochs", "patience", "silence", "progress", "on_epoch", "on_batch"),
    *("micro_steps", "recompute", "loss"),
)
"""Hyperparameters that may differ in a resumed training, alongside some without an effect on it."""

JUMP = 0.01
"""A learning rate that changes by at most this share does not count as a jump."""

WRITTEN_WITH = "resume with the model and the settings that it was written with"

LATEST = "loss"
"""The metric of only the latest step, which not every step graph has."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A training between two of its steps.

    - `settings`: without what ends with the process; `losses`: output → loss and its numbers;
      `schedule`: kind, T, W and lr of spec E.3.
    - `state`: what steps carry over, by their names for it: parameters, moments, statistics.
    - `best`: the parameters of the best epoch, by name, empty before there is one; `best_epoch`
      and `best_loss` are that epoch. `restored`: the model has taken these.
    - `epoch`: epochs that are finished; `batch`: steps of the next one that are done, whose sums
      so far are `totals`; `step`: steps of the training in all, `applied` those of the model in all
      its trainings.
    """

    settings: FinalSettings
    schedule: Mapping[str, Any]
    losses: Mapping[str, Mapping[str, Any]]
    state: Mapping[str, HostArray]
    best: Mapping[str, HostArray]
    best_epoch: int
    best_loss: float
    restored: bool
    epoch: int
    batch: int
    step: int
    applied: int
    totals: Mapping[str, float]

    @property
    def parameters(self) -> dict[str, HostArray]:
        """The latest values of the parameters that the training changes, by name."""
        return {
            name.removeprefix(PARAMETER_PREFIX): array
            for name, array in self.state.items()
            if name.startswith(PARAMETER_PREFIX)
        }

    def holding(self, changed: Mapping[str, HostArray]) -> Checkpoint:
        """Return the checkpoint with other values for the parameters that the model has."""
        if self.restored:
            return replace(self, best={**self.best, **changed})
        state = {PARAMETER_PREFIX + name: array for name, array in changed.items()}
        return replace(self, state={**self.state, **state})

    @property
    def batches(self) -> int:
        """The number of batches of an epoch."""
        return self.schedule["T"] // (self.settings.schedule_epochs or self.settings.epochs)

    def check(self, types: Mapping[str, TensorType], steps: int, sums: Collection[str]) -> None:
        """Raise `DataError` NNM808 unless the state fits a step with states of these types.

        `steps` is the number of batches of an epoch, `sums` the names of what it sums up.
        """
        if self.batches != steps:
            raise DataError(
                "NNM808",
                f"an epoch had {self.batches} batches; with this dataset an epoch has {steps} "
                "batches",
                hint="resume with the training set that the training was started with",
            )
        types_of_state = {
            name: TensorType(array.dtype, array.shape) for name, array in self.state.items()
        }
        for name in {**types, **types_of_state}:
            if name.startswith(PARAMETER_PREFIX) and name not in types:
                continue  # a parameter that the training leaves as it is
            if types.get(name) != types_of_state.get(name):
                raise DataError(
                    "NNM808",
                    f'the training holds "{name}" as {types.get(name, "nothing")}, '
                    f"but the checkpoint holds it as {types_of_state.get(name, 'nothing')}",
                    hint=WRITTEN_WITH,
                )
        trained_names = {
            n.removeprefix(PARAMETER_PREFIX) for n in types if n.startswith(PARAMETER_PREFIX)
        }
        if self.best and {*self.best} != trained_names:
            differing = ", ".join(sorted(trained_names ^ {*self.best}))
            raise DataError(
                "NNM808",
                f"the best parameters are not those that the training changes: {differing}",
                hint=WRITTEN_WITH,
            )
        if self.batch and (missing := {*sums} - self.totals.keys() - {LATEST}):
            raise DataError(
                "NNM808",
                f"the checkpoint lacks sums of its unfinished epoch: {', '.join(sorted(missing))}",
                hint=WRITTEN_WITH,
            )

    def jump(self, schedule: Schedule) -> str:
        """Return a warning if the learning rate jumps when a training resumes, or "".

        It does if another number of epochs gives the schedule another end.
        """
        step, before = (
            self.step + 1,
            replace(schedule, epochs=self.schedule["T"] // schedule.batches),
        )
        was, now = before.at(step), schedule.at(step)
        if math.isclose(was, now, rel_tol=JUMP):
            return ""
        return (
            f"the schedule now ends after {schedule.epochs} epochs, not {before.epochs}: the "
            f"learning rate of step {step:,} is {now:.3g} instead of {was:.3g}; "
            f"schedule_epochs={before.epochs} keeps the earlier end"
        )

    def resume_settings(self, changes: Settings) -> FinalSettings:
        """Return the settings of a training that resumes from here, all of them explicit.

        They are those of the earlier training, except for what the user changes: more or fewer
        epochs, patience, callbacks. Raises `DataError` NNM808 for anything else, because it would
        not be the same training.
        """
        for name, value in changes.explicit_values().items():
            if name in RESUMABLE:
                continue
            before = getattr(self.settings, name)
            if value != before:
                raise DataError(
                    "NNM808",
                    f"the training had {name} {before!r}, it cannot continue with {value!r}",
                    hint=f"leave {name} out, or train without resume=True from these parameters",
                )
        values: dict[str, Any] = {"seeds": 0, **changes.explicit_values()}
        return replace(self.settings, **values, explicit=frozenset(HYPERPARAMETERS))
