"""How much work: the calls of a function, counted; the examples that a test draws."""

from __future__ import annotations

import sys
from collections.abc import Callable


def examples(count: int) -> int:
    """Return how many of the examples that a test draws on a desktop it draws here.

    In a page, where each takes ten times as long, the first tenth of the same ones.
    """
    return max(count // 10, 10) if sys.platform == "emscripten" else count


def calls(function: Callable[[], object]) -> int:
    """Return how many functions, Python's and C's, are called while `function` runs."""
    found = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found
