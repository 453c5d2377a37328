"""The time to compile a graph for inference, and its run time after that."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from webnnm.backends.base import Backend, Binding, Executable

RUNS = 10
"""Runs whose median is the steady time."""


@dataclass(frozen=True, kw_only=True)
class Compilation:
    """What `NNModel.compile` measured: times in seconds; a run includes reading its outputs.

    >>> print(Compilation(batch_size=1, constants=940_000, build=0.012, first=0.004, steady=0.0009))
    built in 12.0 ms, first run 4.00 ms, steady 0.900 ms (batch of 1, 940,000 bytes built in)

    `constants` is the number of bytes of parameters that became constants of the graph.
    """

    batch_size: int
    constants: int
    build: float
    first: float
    steady: float

    def __str__(self) -> str:
        return (
            f"built in {_ms(self.build)}, first run {_ms(self.first)}, steady {_ms(self.steady)} "
            f"(batch of {self.batch_size}, {self.constants:,} bytes built in)"
        )


async def run_times(
    backend: Backend, executable: Executable, inputs: Binding, outputs: Binding
) -> tuple[float, float]:
    """Return the seconds of the first run, and the median of the later ones."""
    seconds: list[float] = []
    for _ in range(1 + RUNS):
        began = time.perf_counter()
        backend.dispatch(executable, inputs, outputs)
        await backend.read(*outputs.values())
        seconds.append(time.perf_counter() - began)
    return seconds[0], statistics.median(seconds[1:])


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:#.3g} ms"
