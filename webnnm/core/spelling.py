"""Names that are spelled nearly alike, found without comparing all pairs.

`difflib.get_close_matches` finds as many typing errors, but takes "pencil" for "ceil", finds no
match for words in another case, and gives no distance, which the notation's warnings need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

MAX_LETTERS = 64
"""The most letters of a name that can be near another one: none that people type is longer, and
the time grows with the length."""

MAX_NAMES = 10_000
"""The most names among which neighbours are searched: each takes memory for all its letters."""


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that a name is most likely a misspelling of, None if none is near.

    A candidate that differs only in case and underscores is nearest; otherwise one that differs by
    one edit, or by two if it has five letters or more. Names of one letter are no misspellings.

    >>> nearest("sofmax", ["relu", "softmax"]), nearest("leaky_relu", ["relu", "leakyRelu"])
    ('softmax', 'leakyRelu')
    """
    key = normalize_name(name)
    near: list[tuple[int, int, str]] = []
    for candidate in candidates:
        distance = edit_distance(key, normalize_name(candidate), 2)
        shorter = min(len(key), len(candidate))
        if candidate != name and distance <= min(2 if len(candidate) >= 5 else 1, shorter - 1):
            near.append((distance, edit_distance(name, candidate, 2), candidate))
    return min(near)[2] if near else None


def normalize_name(name: str) -> str:
    """Return a name in lower case without underscores, as libraries differ in both.

    >>> normalize_name("max_pool2d") == normalize_name("MaxPool2D")
    True
    """
    return name.replace("_", "").lower()


def edit_distance(a: str, b: str, limit: int) -> int:
    """Return the edit distance of two names, at most `limit + 1`.

    An edit inserts, deletes or changes a letter, or swaps two neighbours (Damerau 1964).

    >>> edit_distance("rleu", "relu", 2), edit_distance("kitten", "sitting", 2)
    (1, 3)
    """
    if a == b:
        return 0
    if abs(len(a) - len(b)) > limit or max(len(a), len(b)) > MAX_LETTERS:
        return limit + 1
    shorter, start, end = min(len(a), len(b)), 0, 0
    while start < shorter and a[start] == b[start]:
        start += 1
    while end < shorter - start and a[-1 - end] == b[-1 - end]:
        end += 1
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        current = [i]
        for j, other in enumerate(b, 1):
            changed = previous[j - 1] + (letter != other)
            cost = min(previous[j] + 1, current[j - 1] + 1, changed)
            if i > 1 < j and letter == b[j - 2] and other == a[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, previous = previous, current
    return min(previous[-1], limit + 1)


class Neighbours:
    """An index of names by what remains without one letter, which finds similar names quickly.

    >>> Neighbours(["kernel", "bias"]).of("kernal")
    ['kernel']
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_rest: dict[str, list[str]] = {}
        self._by_folded: dict[str, list[str]] = {}
        for name in islice(names, MAX_NAMES):
            self._by_folded.setdefault(normalize_name(name), []).append(name)
            for shorter in _delete_letters(name):
                self._by_rest.setdefault(shorter, []).append(name)

    def of(self, name: str) -> list[str]:
        """Return the names at an edit distance of 1, or with other case and underscores."""
        neighbours = [w for rest in _delete_letters(name) for w in self._by_rest.get(rest, ())]
        neighbours = [other for other in neighbours if edit_distance(name, other, 1) == 1]
        neighbours += self._by_folded.get(normalize_name(name), ())
        return [other for other in dict.fromkeys(neighbours) if other != name]


def _delete_letters(name: str) -> Iterator[str]:
    """Yield a name, and what remains of it without each of its letters."""
    if len(name) <= MAX_LETTERS:
        yield from dict.fromkeys((name, *(name[:i] + name[i + 1 :] for i in range(len(name)))))
