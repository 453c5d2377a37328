"""Measures scores over learning rates, from which `docs/defaults.md` takes the defaults.

Run `python3 -m tools.quality learning_rates`; it takes about half an hour. Everything but optimizer
and rate is left at its default.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics

from bench.datasets import PROBLEMS
from bench.quality import ours
from webnnm.training.optimizers import OPTIMIZERS

GRID = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


async def main() -> None:
    """Print a table of mean scores in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--optimizers", nargs="*", default=[o.name for o in OPTIMIZERS.values()])
    parser.add_argument("--rates", nargs="*", type=float, default=GRID)
    options = parser.parse_args()
    print("| Optimizer | dataset |", " | ".join(f"{rate:g}" for rate in options.rates), "|")
    print("|---|---|" + "--:|" * len(options.rates))
    for optimizer in dict.fromkeys(options.optimizers):
        for problem in PROBLEMS:
            means = [
                statistics.mean(
                    [
                        (await ours(problem, seed, optimizer=optimizer, lr=rate))[problem.scores[0]]
                        for seed in range(options.seeds)
                    ]
                )
                for rate in options.rates
            ]
            row = " | ".join(f"{mean:.3f}" for mean in means)
            print(f"| {optimizer} | {problem.name} | {row} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
