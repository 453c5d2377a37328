"""Runs and watches steps one by one, to find the first value that is not finite."""

from __future__ import annotations

import math

from webnnm.trainer.double_buffer import DeviceState
from webnnm.trainer.stepper import Stepper
from webnnm.training.step import StepGraph
from webnnm.training.step_settings import WATCH


async def first_nonfinite(
    device: DeviceState, stepper: Stepper, step: StepGraph, last: int
) -> tuple[int, str, float]:
    """Run watched steps from the current state up to step `last`, at least one.

    The state is then the one before the bad step. Returns how many steps came before it, what was
    not finite in it ("" if everything is finite now), and the largest finite value.
    """
    backend = device.backend
    executable = await backend.compile(step.graph, constants=device.frozen)
    device.more.append(executable)
    report = await backend.tensor(executable.outputs[WATCH])
    device.more.append(report)
    while True:
        stepper.watch(executable, {WATCH: report})
        (found,) = await backend.read(report)
        seen = found.values()
        bad = next((k for k, value in enumerate(seen) if not math.isfinite(value)), None)
        if bad is not None:
            largest = max((seen[k] for k in range(bad)), default=0.0)
            return stepper.step, step.watch[bad], largest
        if stepper.step >= last:
            return stepper.step, "", 0.0
        stepper.count()
