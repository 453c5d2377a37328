"""Runs exported StableHLO modules on XLA's CPU client, beside the reference: `make parity`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import jax

from tests.parity.xla.agreement import (
    LIMIT,
    STEPS_LIMIT,
    examples,
    open_layers,
    operators,
    trainings,
)
from tests.places import VALID

REFUSED = "NNM902"
"""What the texts say that need a size when their module is written."""


def report(found: Iterable[tuple[str, str, float | str]], what: str) -> bool:
    """Print how many cases agree, and each that does not."""
    worst: dict[str, float] = {}
    count = 0
    wrong: list[str] = []
    refused: list[str] = []
    for name, kind, apart in found:
        if isinstance(apart, str):
            (refused if apart == REFUSED and name.endswith("open") else wrong).append(name)
            continue
        count += 1
        worst[kind] = max(worst.get(kind, 0.0), apart)
        if not apart <= LIMIT[kind]:
            wrong.append(f"{name}: {apart:.1e}")
    largest = ", ".join(f"{kind} {apart:.1e}" for kind, apart in worst.items())
    print(f"{what}: {count} modules on XLA, largest difference {largest}")
    if refused:
        print(f"  need their sizes ({REFUSED}): {', '.join(refused)}")
    for line in wrong:
        print(f"  {line}  <- wrong")
    return not wrong


def main() -> None:
    """Compare everything; fail where a difference is above its limit."""
    print(f"JAX {jax.__version__}, limits {LIMIT}, {STEPS_LIMIT:g} after ten steps")
    good = [
        report(operators(), "operators"),
        report(open_layers(), "layers with open sizes"),
        report(examples(VALID), "examples"),
    ]
    for name, apart in asyncio.run(trainings()):
        print(f"{name}: {apart:.1e}{'' if apart <= STEPS_LIMIT else '  <- wrong'}")
        good.append(apart <= STEPS_LIMIT)
    if not all(good):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
