"""Compares training on JAX and NumPy: `python -m bench.jax_throughput [--rounds 5] [MODEL …]`.

Every contestant is a process of its own, which waits while another one trains; they take turns, so
that the machine's other load affects all of them. Prints a table for docs/cloud.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.ours import Ours
from bench.workloads import BLOCK, CNN, LARGE, WORKLOADS, Workload, numbers
from webnnm.core.arrays import HostArray

ROOT = Path(__file__).resolve().parent.parent
CONTESTANTS = {
    "NumPy": ("numpy", 1),
    "JAX, 1 device": ("jax", 1),
    "JAX, 8 devices": ("jax", 8),
}
MODELS = (LARGE.name, CNN.name, BLOCK.name)
EPOCHS = 2
"""Epochs of a training, the second half of which is measured."""


class Contestant:
    """A process that trains on request."""

    def __init__(self, backend: str, devices: int) -> None:
        flags = f"--xla_force_host_platform_device_count={devices}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.jax_throughput", "--worker", backend],
            cwd=ROOT,
            env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def rate(self, workload: Workload) -> float:
        """Return steps per second."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(workload.name, file=self._process.stdin, flush=True)
        return 1e3 / json.loads(self._process.stdout.readline())["step"]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


async def work(backend: str) -> None:
    """Train the workloads whose names are read, line by line."""
    opened: dict[str, Ours] = {}
    for line in sys.stdin:
        workload = WORKLOADS[line.strip()]
        if workload.name not in opened:
            arrays = {name: HostArray.of(array) for name, array in numbers(workload).items()}
            opened[workload.name] = Ours(workload.described, arrays, backend)
            await opened[workload.name].open()
        print(await opened[workload.name].train(EPOCHS), flush=True)


def table(models: Sequence[str], rounds: int) -> str:
    """Measure, and return a table in Markdown: medians of steps per second."""
    contestants = {name: Contestant(*how) for name, how in CONTESTANTS.items()}
    try:
        lines = [
            f"| steps per second | {' | '.join(contestants)} |",
            f"|---|{'--:|' * len(contestants)}",
        ]
        for workload in map(WORKLOADS.__getitem__, models):
            rates: dict[str, list[float]] = {name: [] for name in contestants}
            for _ in range(rounds):
                for name, contestant in contestants.items():
                    rates[name].append(contestant.rate(workload))
            cells = (f"{statistics.median(measurements):,.0f}" for measurements in rates.values())
            lines.append(f"| {workload.title} | {' | '.join(cells)} |")
    finally:
        for contestant in contestants.values():
            contestant.close()
    return "\n".join(lines)


def main() -> None:
    """Print the table, or be one of the contestants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--rounds", type=int, default=5, help="trainings of each contestant")
    parser.add_argument("--worker", metavar="BACKEND", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        asyncio.run(work(options.worker))
    else:
        print(f"{os.cpu_count()} cores, medians of {options.rounds} trainings\n")
        print(table(options.models or MODELS, options.rounds))


if __name__ == "__main__":
    main()
