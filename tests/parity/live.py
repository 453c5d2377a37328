"""Compares operators and trainings with PyTorch on numbers drawn anew: `make parity`.

A seed as argument repeats a run: `make parity ARGS=12345`.
"""

from __future__ import annotations

import secrets
import sys

import torch

from tests.parity import fixtures
from tests.parity.cases import CASES, Case
from tests.parity.outcome import LIMIT, Outcome, compute, difference
from tests.parity.pretrained.live import report as report_pretrained
from tests.parity.tasks.in_pipelines import report as report_pictures
from tests.parity.tasks.in_processors import report as report_processors
from tests.parity.tasks.in_segments import report as report_segments
from tests.parity.tasks.in_sounds import report as report_sounds
from tests.parity.tasks.in_speech import report as report_speech
from tests.parity.tasks.live import report as report_tasks
from tests.parity.torch_reference import expected
from tests.parity.training.live import report
from tests.parity.tuning.live import report as report_tuning

ROUNDS = 5


def differences(case: Case, seed: int) -> tuple[float, float]:
    """Return how far results and gradients are from PyTorch's, for operands of a seed."""
    operands, weights, wanted = expected(case, seed)
    return _apart(compute(case, operands, weights), wanted)


def age(case: Case, recorded: dict[str, fixtures.Fixture]) -> float:
    """Return how far a committed fixture is from what PyTorch gives now."""
    fixture = recorded.get(str(case))
    if fixture is None:
        return float("inf")
    operands, weights, wanted = expected(case, fixtures.SEED)
    try:
        return max(
            difference(fixture.operands, operands),
            difference(fixture.weights, weights),
            *_apart(fixture.outcome, wanted),
        )
    except AssertionError:  # of other shapes
        return float("inf")


def _apart(found: Outcome, wanted: Outcome) -> tuple[float, float]:
    return (
        difference(found.results, wanted.results),
        difference(found.gradients, wanted.gradients),
    )


def main() -> None:
    """Print a table of the largest differences; fail if one is above the limit."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else secrets.randbelow(10**6)
    print(f"PyTorch {torch.__version__}, {ROUNDS} rounds from seed {seed}, limit {LIMIT:g}\n")
    recorded = fixtures.read() if fixtures.FILE.exists() else {}
    width = max(len(str(case)) for case in CASES)
    print(f"{'case':{width}}  results  gradients  fixture")
    wrong: list[str] = []
    for case in CASES:
        rounds = [differences(case, seed + k) for k in range(ROUNDS)]
        found = [max(column) for column in zip(*rounds, strict=True)] + [age(case, recorded)]
        good = all(value <= LIMIT for value in found)
        wrong += [] if good else [str(case)]
        results, grads, old = (f"{value:.1e}" for value in found)
        print(f"{case!s:{width}}  {results}    {grads}  {old}{'' if good else '  <- above'}")
    stale = sorted(set(recorded) - {str(case) for case in CASES})
    print(f"\n{len(CASES) - len(wrong)} of {len(CASES)} cases agree with PyTorch.")
    if stale:
        print(f"Fixtures of no case: {', '.join(stale)}; `make parity-fixtures` writes them anew.")
    agreed = [
        *(report(seed), report_pretrained(seed), report_tasks(seed), report_tuning()),
        *(report_processors(), report_sounds(), report_pictures(seed)),
        report_segments(seed),
        report_speech(seed),
    ]
    if not all(agreed) or wrong or stale:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
