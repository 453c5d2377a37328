"""Words that are spelled nearly alike, found without comparing all pairs.

`difflib.get_close_matches` finds as many typing errors, but takes "pencil" for "ceil", finds no
match for words in another case, and gives no distance, which the notation's warnings need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

LONGEST = 64
"""The most letters of a word that can be near another one: no name that people type is longer, and
the time grows with the length."""

MOST = 10_000
"""The most words among which neighbours are searched: each takes memory for all its letters."""


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that a word most likely stands for, None if none is near.

    A candidate that differs only in case and underscores is nearest; otherwise one that differs by
    one edit, or by two if it has five letters or more.

    >>> nearest("sofmax", ["relu", "softmax"]), nearest("leaky_relu", ["relu", "leakyRelu"])
    ('softmax', 'leakyRelu')
    """
    key = folded(word)
    near: list[tuple[int, int, str]] = []
    for candidate in candidates:
        distance = edit_distance(key, folded(candidate), 2)
        if candidate != word and distance <= (2 if len(candidate) >= 5 else 1):
            near.append((distance, edit_distance(word, candidate, 2), candidate))
    return min(near)[2] if near else None


def folded(word: str) -> str:
    """Return a word without the differences in spelling between languages and libraries.

    >>> folded("max_pool2d") == folded("MaxPool2D")
    True
    """
    return word.replace("_", "").lower()


def edit_distance(a: str, b: str, limit: int) -> int:
    """Return the number of edits that turn one word into the other, at most `limit + 1`.

    An edit inserts, deletes or changes a letter, or swaps two neighbours (Damerau 1964).

    >>> edit_distance("rleu", "relu", 2), edit_distance("kitten", "sitting", 2)
    (1, 3)
    """
    if a == b:
        return 0
    if abs(len(a) - len(b)) > limit or max(len(a), len(b)) > LONGEST:
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
    """An index of words by what remains without one letter, which finds similar words quickly.

    >>> Neighbours(["kernel", "bias"]).of("kernal")
    ['kernel']
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._by_rest: dict[str, list[str]] = {}
        self._by_folded: dict[str, list[str]] = {}
        for word in islice(words, MOST):
            self._by_folded.setdefault(folded(word), []).append(word)
            for rest in _rests(word):
                self._by_rest.setdefault(rest, []).append(word)

    def of(self, word: str) -> list[str]:
        """Return the words at an edit distance of 1 or with only other case and underscores."""
        found = [w for rest in _rests(word) for w in self._by_rest.get(rest, ())]
        found = [other for other in found if edit_distance(word, other, 1) == 1]
        found += self._by_folded.get(folded(word), ())
        return [other for other in dict.fromkeys(found) if other != word]


def _rests(word: str) -> Iterator[str]:
    """Yield a word, and what remains of it without each of its letters."""
    if len(word) <= LONGEST:
        yield from dict.fromkeys((word, *(word[:i] + word[i + 1 :] for i in range(len(word)))))
