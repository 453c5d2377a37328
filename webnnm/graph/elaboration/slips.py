"""Distinguish new parameters whose words are typing errors from intended ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from webnnm.core.spelling import Neighbours, normalize_name
from webnnm.graph.elaboration.scope import Scope

_NO_DIGITS = str.maketrans("", "", "0123456789")


class Slips:
    """The names in a document, for comparison with those that become parameters."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = Neighbours(known)
        self._local: dict[int, Neighbours] = {}

    def meant(self, word: str, scope: Scope) -> Iterator[str]:
        """Yield the names in this scope that a word is probably a misspelling of."""
        near = self._known.of(word)
        while scope.parent is not None:
            if id(scope) not in self._local:
                self._local[id(scope)] = Neighbours(scope.names)
            near += self._local[id(scope)].of(word)
            scope = scope.parent
        yield from (name for name in dict.fromkeys(near) if is_slip(word, name))


def is_slip(word: str, name: str) -> bool:
    """Return whether a word that is one edit away from a name is a misspelling of it.

    Words such as `w1` and `w2`, or `w` and `b`, stand for different things.

    >>> is_slip("hh", "h"), is_slip("kernal", "kernel"), is_slip("w2", "w1"), is_slip("b", "h")
    (True, True, False, False)
    """
    if normalize_name(word) == normalize_name(name):
        return True
    if word.translate(_NO_DIGITS) == name.translate(_NO_DIGITS):
        return False
    if len(word) == len(name):
        return len(word) >= (3 if sorted(word) == sorted(name) else 4)
    shorter, longer = sorted((word, name), key=len)
    doubled = any(a == b for a, b in pairwise(longer))
    return len(shorter) >= 3 or (doubled and set(longer) == set(shorter))
