"""How much work: the calls of a function, counted; the examples and repetitions of a test.

A desktop runs every case; of those that random numbers make, it draws half, and repeats a case with
two seeds. Pyodide, where each takes ten times as long, runs those again that can meet what is
different there: Python and its word size, NumPy and the functions of C below it, the stack, files,
the event loop, and the package without docstrings and annotations. Which of these it meets depends
on the code that it goes through and on its types. More random numbers on the same way show nothing
new: of a test that draws some, only the first draws run there. Nor do a training to its end, a text
of a megabyte, or all combinations of options, where shorter tests go through the same code, nor a
look at declarations: such a test is marked `alike` and stays on the desktop. What asks for the
depth of the stack, the width of a number, bits of random numbers, files or the event loop is not
marked so. Tests of whole models, of programs, passes and advice, in the folders `WHOLE`, choose by
their parameters among options of the package's Python, whose functions of C other folders call with
all types: of each such test one set of parameters runs there.

A desktop leaves out sets of parameters where a test is marked `usual` with those that run: its
parameters are independent of each other, and each value is among the usual sets or in another test.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

EVERYTHING = "WEBNNM_TESTS"
"""A variable of the environment: where it is "all", nothing is left out anywhere."""
WHOLE = (
    *("compiler", "eager", "evaluation", "expert", "model", "runtime", "trainer", "training"),
    "transformers",
)
"""Folders of tests/unit of which Pyodide runs one set of parameters of each test."""


def everything() -> bool:
    """Return whether nothing is left out."""
    return os.environ.get(EVERYTHING) == "all"


def is_shortened() -> bool:
    """Return whether the first draws are enough here."""
    return sys.platform == "emscripten" and not everything()


def examples(count: int) -> int:
    """Return how many of the examples that a test can draw it draws here."""
    return count if everything() else max(count // (10 if is_shortened() else 2), 10)


def seeds(values: Sequence[int]) -> Sequence[int]:
    """Return which of the seeds run here with which a test repeats each of its cases."""
    if everything():
        return values
    return values[: 1 if is_shortened() else 2]


def draws(values: Sequence[int]) -> Sequence[int]:
    """Return which of the seeds run here each of which draws a case of its own."""
    return values[: examples(len(values))]


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
