"""Calls of array functions as plain data: what the fuzzer draws, keeps as text, and runs anywhere.

Statements are Python with the functions of the array API standard. Right and wrong arguments are
drawn alike: NumPy says which is which.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from webnnm import xp


@dataclass(frozen=True)
class Leaf:
    """An array with its values in row-major order."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    values: tuple[float, ...]

    def numpy(self) -> Any:
        """Return it as NumPy's array."""
        return np.asarray(self.values, self.dtype).reshape(self.shape)

    def array(self) -> Any:
        """Return it as an array of ours."""
        return xp.reshape(xp.asarray([*self.values], dtype=getattr(xp, self.dtype)), self.shape)


@dataclass(frozen=True)
class ArrayCase:
    """Arrays, named Python numbers, and the expressions that are computed one after the other.

    The result of the first is called r0, that of the second r1, and so on.
    """

    leaves: tuple[Leaf, ...]
    numbers: tuple[tuple[str, float], ...]
    expressions: tuple[str, ...]

    def function(self, library: Any) -> Callable[..., Any]:
        """Return the program as a function of the arrays and numbers, of the last result."""
        names = ", ".join([*(each.name for each in self.leaves), *(n for n, _ in self.numbers)])
        lines = [f"def program({names}):"]
        lines += [f"    r{at} = {text}" for at, text in enumerate(self.expressions)]
        lines.append(f"    return r{len(self.expressions) - 1}")
        scope: dict[str, Any] = {"xp": library, "put": put, "inf": np.inf, "nan": np.nan}
        exec(compile("\n".join(lines), "<calls>", "exec"), scope)
        return scope["program"]

    def steps(self, library: Any) -> Iterator[Any]:
        """Compute one expression after the other; yield results, and then perhaps an error."""
        mine = library is xp
        scope: dict[str, Any] = {"xp": library, "put": put, "inf": np.inf, "nan": np.nan}
        scope |= {each.name: each.array() if mine else each.numpy() for each in self.leaves}
        scope |= dict(self.numbers)
        for at, text in enumerate(self.expressions):
            found = scope[f"r{at}"] = eval(text, scope)
            yield found

    def __str__(self) -> str:
        entries = [
            *(
                {"array": e.name, "dtype": e.dtype, "shape": e.shape, "values": e.values}
                for e in self.leaves
            ),
            *({"number": name, "is": value} for name, value in self.numbers),
            *({"expression": text} for text in self.expressions),
        ]
        return "[" + ",\n ".join(map(json.dumps, entries)) + "]\n"


def put(x: Any, key: Any, value: Any) -> Any:
    """Return a copy of an array with a value at a key."""
    found = x.copy() if isinstance(x, np.ndarray) else xp.asarray(x, copy=True)
    found[key] = value
    return found


def read_case(text: str) -> ArrayCase:
    """Read what `str` of a case writes."""
    entries = json.loads(text)
    return ArrayCase(
        tuple(
            Leaf(e["array"], e["dtype"], tuple(e["shape"]), tuple(e["values"]))
            for e in entries
            if "array" in e
        ),
        tuple((e["number"], e["is"]) for e in entries if "number" in e),
        tuple(e["expression"] for e in entries if "expression" in e),
    )
