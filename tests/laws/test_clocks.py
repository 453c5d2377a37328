"""Tests pass whatever the clock says: they read none, and wait for what happens, not for a time."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent

CLOCK = re.compile(
    r"\bperf_counter\(|\bmonotonic\(|\btime\.time\(|\bperformance\.now\(|\bDate\.now\(|\bnew Date\("
)
REST = re.compile(
    r"\b(?:time|asyncio)\.sleep\((?!0\))|\bwait_for_timeout\(|\bsetInterval\("
    r"|\bsetTimeout\((?!\w+, 0\))"
)
"""What waits for a time; a time of 0 is a turn for others."""
LOOP = re.compile(r"\bwhile\b")
"""Between two looks at what is awaited, a rest is as good as a turn."""

ALLOWED = {
    "fuzz/frame.py": "a long run of the fuzzer draws cases for so many minutes",
    "unit/core/test_atomic.py": "files are made that look old",
    "unit/snapshots/test_killed_saves.py": "files are made that look old",
}
"""Files that look at the clock, and what for; none of it decides whether a test passes."""

FILES = sorted(path for path in TESTS.rglob("*") if path.suffix in (".py", ".js", ".html"))


def looks_at_the_clock(path: Path) -> list[str]:
    """Return the lines that read a clock, or wait for a time."""
    return [
        f"{path.relative_to(TESTS).as_posix()}:{number}: {line.strip()}"
        for number, (before, line) in enumerate(
            pairwise(["", *path.read_text("utf-8").splitlines()]), 1
        )
        if CLOCK.search(line) or (REST.search(line) and not LOOP.search(before + line))
    ]


def test_no_test_looks_at_the_clock() -> None:
    assert len(FILES) > 400
    looks = {path.relative_to(TESTS).as_posix(): looks_at_the_clock(path) for path in FILES}
    assert [line for name, lines in looks.items() if name not in ALLOWED for line in lines] == []
    assert {name for name, lines in looks.items() if lines} >= ALLOWED.keys()
