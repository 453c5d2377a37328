"""Draws random cases for every target of tests/fuzz, and keeps those that fail, shrunk."""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.frame import CASES, Target, search, survey, targets
from tools.common import ROOT, say

MINUTES = 5.0
ROUND = 500
"""Cases per seed: after a failure, the next round continues with the next seed."""

UNLIMITED = 10**9


def main() -> None:
    """Run the targets in turn; the exit code is 1 if there was a failure."""
    options = _arguments(sys.argv[1:])
    chosen = [targets()[name] for name in options.names or targets()]
    share = options.minutes * 60 / max(1, len(chosen))
    faults = 0
    run = _survey if options.survey else _search
    say(f"seed {options.seed}")
    for target in chosen:
        until = float("inf") if options.examples else time.monotonic() + share
        try:
            faults += run(target, options, until)
        finally:
            target.close()
    raise SystemExit(1 if faults else 0)


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz ARGS=…", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TARGET", help=", ".join(targets()))
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all targets together")
    parser.add_argument("--examples", type=int, help="cases per target, instead of a time")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31), help="as printed")
    parser.add_argument(
        "--into", type=Path, default=CASES, metavar="FOLDER", help="where cases are written"
    )
    parser.add_argument(
        "--survey", action="store_true", help="count failures and keep them as drawn, unshrunk"
    )
    options = parser.parse_args(words)
    for name in options.names:
        if name not in targets():
            parser.error(f'there is no target "{name}", only {", ".join(targets())}')
    return options


def _search(target: Target, options: argparse.Namespace, until: float) -> int:
    """Search in rounds, one per seed; write the failures that are found, shrunk."""
    seed, examples = options.seed, options.examples or UNLIMITED
    counts: Counter[str] = Counter()
    started = time.monotonic()
    while (rest := examples - counts.total()) > 0 and time.monotonic() < until:
        outcome = search(target, min(rest, ROUND), seed, until)
        if not outcome.counts:
            break  # every case has been drawn, or the time is up
        counts += outcome.counts
        if outcome.error is not None:
            path = target.keep(outcome.case, options.into)
            say(f'{target.name}: {_short(path)}, found again by ARGS="{target.name} --seed {seed}"')
            say("".join(traceback.format_exception(outcome.error)))
        seed += 1
    _tell(target, counts, started)
    return counts["faults"]


def _survey(target: Target, options: argparse.Namespace, until: float) -> int:
    """Count the outcomes of cases; write those that fail as they are."""
    counts: Counter[str] = Counter()
    started = time.monotonic()
    for outcome in survey(target, options.examples or UNLIMITED, options.seed, until):
        counts += outcome.counts
        if outcome.error is not None:
            path = target.keep(outcome.case, options.into)
            text = " ".join(str(outcome.error).split())
            say(f"{target.name}: {_short(path)}: {type(outcome.error).__name__}: {text[:300]}")
    _tell(target, counts, started)
    return counts["faults"]


def _short(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def _tell(target: Target, counts: Counter[str], started: float) -> None:
    seconds = time.monotonic() - started
    parts = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.most_common())
    say(f"{target.name}: {counts.total():,} cases in {seconds:.0f} s: {parts or 'none'}")


if __name__ == "__main__":
    main()
