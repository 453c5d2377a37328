"""The calls of an exported graph that its results depend on, which are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar


class Call(Protocol):
    """A call as it was collected; values are compared by identity."""

    @property
    def operands(self) -> Sequence[Any]:
        """The values that it takes."""
        ...

    @property
    def results(self) -> Sequence[Any]:
        """The values that it returns."""
        ...


C = TypeVar("C", bound=Call)


def find_needed_calls(calls: Sequence[C], results: Iterable[Any]) -> list[C]:
    """Return the calls that the results depend on, in their order."""
    used = set(map(id, results))
    needed_calls: list[C] = []
    for call in reversed(calls):
        if any(id(result) in used for result in call.results):
            used.update(map(id, call.operands))
            needed_calls.append(call)
    return needed_calls[::-1]
