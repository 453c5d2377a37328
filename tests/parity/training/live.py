"""Trains in webnnm and in PyTorch from numbers drawn anew; a part of `make parity`."""

from __future__ import annotations

import asyncio

from tests.parity.training import fixtures
from tests.parity.training.formulas import NARROW
from tests.parity.training.runs import RUNS, Outcome, Run, difference, train
from tests.parity.training.torch_training import expected

ROUNDS = 3


def draw(run: Run, seed: int) -> tuple[int, Outcome]:
    """Return the first seed from here that leaves nothing to rounding, and PyTorch's outcome."""
    while True:
        wanted, margin = expected(run, seed)
        if margin >= NARROW or run.settings["optimizer"] != "lion":
            return seed, wanted
        seed += 1000


def apart(run: Run, seed: int) -> float:
    """Return how far webnnm is from PyTorch."""
    seed, wanted = draw(run, seed)
    return difference(asyncio.run(train(run, "numpy", seed)), wanted)


def age(run: Run, recorded: dict[str, Outcome]) -> float:
    """Return how far a committed fixture is from what PyTorch gives now."""
    fixture = recorded.get(str(run))
    return float("inf") if fixture is None else difference(fixture, expected(run, fixtures.SEED)[0])


def report(seed: int) -> bool:
    """Print a table of the largest differences; return whether all are within their limits."""
    recorded = fixtures.read() if fixtures.FILE.exists() else {}
    width = max(len(str(run)) for run in RUNS)
    print(f"\n{'training':{width}}  limit    losses and parameters  fixture")
    wrong = 0
    for run in RUNS:
        found = max(apart(run, seed + k) for k in range(ROUNDS)), age(run, recorded)
        good = all(value <= run.limit for value in found)
        wrong += not good
        now, old = (f"{value:.1e}" for value in found)
        mark = "" if good else "  <- above"
        print(f"{run!s:{width}}  {run.limit:.0e}    {now}                {old}{mark}")
    print(f"\n{len(RUNS) - wrong} of {len(RUNS)} trainings agree with PyTorch.")
    return not wrong


def record() -> None:
    """Write the fixtures anew. Raises `ValueError` where Lion's signs are those of rounding."""
    outcomes: dict[str, Outcome] = {}
    for run in RUNS:
        seed, outcomes[str(run)] = draw(run, fixtures.SEED)
        if seed != fixtures.SEED:
            raise ValueError(f"{run} hangs on rounding errors: take another fixtures.SEED")
    fixtures.write(outcomes)
    size = fixtures.FILE.stat().st_size / 1000
    print(f"training/{fixtures.FILE.name}: {len(RUNS)} trainings, {size:.0f} kB")
