"""Smaller programs with the same fault: results left out, statements replaced by their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.program_case import NUMPY, Given, Program
from tests.fuzz.smallest import smallest


def shrink(case: Program, fails: Callable[[Program], bool]) -> Program:
    """Return a smaller program that fails as well, the smallest that single changes lead to."""
    return smallest(case.prune(), fails, _smaller)


def _smaller(case: Program) -> Iterator[Program]:
    """Yield programs with one thing less, those first that lose most."""
    if len(case.results) > 1:
        for name in case.results:
            yield replace(case, results=(name,)).prune()
    values = _values(case)
    for each in reversed(case.statements):
        if each.name in case.results:
            # What it reads as the result instead.
            for name in sorted(each.reads & {other.name for other in case.statements}):
                yield replace(case, results=(name,)).prune()
    for each in reversed(case.statements):
        if len(case.statements) > 1 and each.name in values:
            statements = tuple(other for other in case.statements if other is not each)
            number = values[each.name]
            leaf = Given(each.name, number.shape, tuple(number.reshape(-1).tolist()))
            results = tuple(name for name in case.results if name != each.name)
            if results:
                yield replace(
                    case, given=(*case.given, leaf), statements=statements, results=results
                ).prune()


def _values(case: Program) -> dict[str, Any]:
    """Return what every statement gives on NumPy."""
    names = tuple(each.name for each in case.statements)
    found = replace(case, results=names).function(NUMPY)(*(g.array() for g in case.given))
    return dict(zip(names, map(np.asarray, found), strict=True))
