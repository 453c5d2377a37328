"""Distinguish misspelled names from new parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from webnnm.core.spelling import Neighbours, normalize_name
from webnnm.graph.elaboration.scope import Scope

_NO_DIGITS = str.maketrans("", "", "0123456789")


class Slips:
    """The names in a document, for comparison with those that become parameters."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = Neighbours(names)
        self._local: dict[int, Neighbours] = {}

    def find_intended(self, new_name: str, scope: Scope) -> Iterator[str]:
        """Yield the names in scope that a new name is probably a misspelling of."""
        near = self._names.of(new_name)
        while scope.parent is not None:
            if id(scope) not in self._local:
                self._local[id(scope)] = Neighbours(scope.names)
            near += self._local[id(scope)].of(new_name)
            scope = scope.parent
        yield from (name for name in dict.fromkeys(near) if is_slip(new_name, name))


def is_slip(new_name: str, name: str) -> bool:
    """Return whether a new name that is one edit away from another one is a misspelling.

    Words such as `w1` and `w2`, or `w` and `b`, stand for different things.

    >>> is_slip("hh", "h"), is_slip("kernal", "kernel"), is_slip("w2", "w1"), is_slip("b", "h")
    (True, True, False, False)
    """
    if normalize_name(new_name) == normalize_name(name):
        return True
    if new_name.translate(_NO_DIGITS) == name.translate(_NO_DIGITS):
        return False
    if len(new_name) == len(name):
        return len(new_name) >= (3 if sorted(new_name) == sorted(name) else 4)
    shorter, longer = sorted((new_name, name), key=len)
    doubled = any(a == b for a, b in pairwise(longer))
    return len(shorter) >= 3 or (doubled and set(longer) == set(shorter))
