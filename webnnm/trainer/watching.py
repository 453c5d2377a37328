"""Runs and watches steps one by one, to find the first value that is not finite."""

from __future__ import annotations

import math

from webnnm.trainer.double_buffer import DoubleBuffer
from webnnm.training.step import StepGraph
from webnnm.training.step_settings import WATCH


async def find_nonfinite(
    device: DoubleBuffer, step: StepGraph, last: int
) -> tuple[int, str, float]:
    """Run watched steps from the current state up to step `last`, at least one.

    The state is then the one before the bad step. Returns how many steps came before it, what was
    not finite in it ("" if everything is finite now), and the largest finite value.
    """
    executable = await device.compile(step.graph)
    report = await device.tensors({WATCH: executable.outputs[WATCH]})
    while True:
        device.dispatch(executable, report)
        values = (await device.read(report))[WATCH].values()
        bad = next((k for k, value in enumerate(values) if not math.isfinite(value)), None)
        if bad is not None:
            largest = max((values[k] for k in range(bad)), default=0.0)
            return device.step, step.watch[bad], largest
        if device.step >= last:
            return device.step, "", 0.0
        device.advance()
