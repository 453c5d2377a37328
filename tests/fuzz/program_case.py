"""A program over arrays as plain data: what the fuzzer draws, keeps as text, and runs anywhere.

Its statements are Python, written with the functions of the array API standard, so that the same
text runs on `webnnm.xp`, on NumPy and on JAX.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from webnnm import cond, custom_gradient, recompute, scan, xp

NAME = re.compile(r"\bv(\d+)\b")
"""What programs call their arrays."""


@dataclass(frozen=True)
class Given:
    """An argument of a program, with its values in row-major order."""

    name: str
    shape: tuple[int, ...]
    values: tuple[float, ...]

    def array(self, dtype: Any = np.float64) -> Any:
        """Return the values as NumPy's array."""
        return np.asarray(self.values, dtype).reshape(self.shape)


@dataclass(frozen=True)
class Statement:
    """A name, and the expression that gives it its value."""

    name: str
    expression: str

    @property
    def reads(self) -> set[str]:
        """The names in the expression."""
        return {f"v{number}" for number in NAME.findall(self.expression)}


@dataclass(frozen=True)
class Program:
    """Arguments, statements in order, and the names of what is returned."""

    given: tuple[Given, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]

    def source(self) -> str:
        """Return the text of a Python function of the arguments that returns a list."""
        lines = [f"def program({', '.join(each.name for each in self.given)}):"]
        lines += [f"    {each.name} = {each.expression}" for each in self.statements]
        return "\n".join([*lines, f"    return [{', '.join(self.results)}]"])

    def function(self, library: Library) -> Callable[..., list[Any]]:
        """Return the program as a function of a library's arrays."""
        names = vars(library).copy()
        exec(compile(self.source(), "<program>", "exec"), names)
        return names["program"]

    def prune(self) -> Program:
        """Return the program without what no result needs."""
        needed, kept = {*self.results}, list[Statement]()
        for each in reversed(self.statements):
            if each.name in needed:
                needed |= each.reads
                kept.append(each)
        given = tuple(each for each in self.given if each.name in needed)
        return replace(self, given=given, statements=tuple(reversed(kept)))

    def __str__(self) -> str:
        """Write it as JSON, an argument or statement a line."""
        entries = [
            *({"given": e.name, "shape": e.shape, "values": e.values} for e in self.given),
            *({"name": e.name, "is": e.expression} for e in self.statements),
        ]
        listed = ",\n  ".join(map(json.dumps, entries))
        return f'{{"program": [\n  {listed}],\n "results": {json.dumps(self.results)}}}\n'


def read_program(text: str) -> Program:
    """Read what `str` of a program writes."""
    found = json.loads(text)
    entries = found["program"]
    return Program(
        tuple(
            Given(e["given"], tuple(e["shape"]), tuple(e["values"]))
            for e in entries
            if "given" in e
        ),
        tuple(Statement(e["name"], e["is"]) for e in entries if "is" in e),
        tuple(found["results"]),
    )


def weigh(case: Program, library: Library) -> Callable[..., Any]:
    """Return Σ w·y over the results y of a program, with w drawn from U(−1, 1)."""
    function = case.function(library)

    def loss(*arrays: Any) -> Any:
        rng = np.random.default_rng(0)
        total: Any = 0.0
        for y in function(*arrays):
            total = total + library.xp.sum(y * library.array(rng.uniform(-1, 1, y.shape)))
        return total

    return loss


@dataclass(frozen=True, kw_only=True)
class Library:
    """A namespace of the array API, and the functions that libraries have beside it."""

    xp: Any
    array: Callable[[Any], Any]
    """Returns an array of float64 with the values of NumPy's."""
    put: Callable[[Any, Any, Any], Any]
    """Returns an array with other values at a key."""
    scan: Callable[..., Any]
    cond: Callable[..., Any]
    recompute: Callable[..., Any]
    custom_gradient: Callable[..., Any]


def _assign(x: Any, key: Any, value: Any) -> Any:
    found = x + 0
    found[key] = value
    return found


class _Numpy:
    """NumPy, whose linear algebra takes extended precision, too, and computes it in float64."""

    class linalg:
        """Functions of matrices."""

        def __getattr__(self, name: str) -> Any:
            function = getattr(np.linalg, name)

            def in_float64(*arrays: Any, **options: Any) -> Any:
                return function(*(np.asarray(each, np.float64) for each in arrays), **options)

            return in_float64 if name in ("inv", "solve", "det", "cholesky") else function

    def __init__(self) -> None:
        self.linalg = _Numpy.linalg()

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _scan(function: Callable[[Any, Any], Any], carry: Any, xs: Any) -> Any:
    collected: list[Any] = []
    for x in xs:
        carry, y = function(carry, x)
        collected.append(y)
    return carry, np.stack(collected)


def _choose(predicate: Any, yes: Callable[..., Any], no: Callable[..., Any], *args: Any) -> Any:
    return (yes if predicate else no)(*args)


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*args)[0]


NUMPY = Library(
    xp=_Numpy(),
    array=np.asarray,
    put=_assign,
    scan=_scan,
    cond=_choose,
    recompute=lambda function: function,
    custom_gradient=_alone,
)
ARRAYS = Library(
    xp=xp,
    array=lambda values: xp.asarray(values, dtype=xp.float64),
    put=_assign,
    scan=scan,
    cond=cond,
    recompute=recompute,
    custom_gradient=custom_gradient,
)
