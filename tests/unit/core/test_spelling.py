"""Words that are spelled nearly alike: distances, the nearest, neighbours."""

from __future__ import annotations

import pytest

from webnnm.core.spelling import MAX_LETTERS, Neighbours, edit_distance, nearest


@pytest.mark.parametrize(
    ("a", "b", "limit", "expected"),
    [
        ("", "", 2, 0),
        ("same", "same", 2, 0),
        ("kitten", "sitting", 3, 3),
        ("kitten", "sitting", 2, 3),
        ("abc", "abcdefgh", 2, 3),
        ("ab", "ba", 2, 1),
        ("rleu", "relu", 2, 1),
        ("xaby", "xbay", 2, 1),
        ("ca", "abc", 3, 3),
        ("", "ab", 2, 2),
        ("banana", "ban", 3, 3),
    ],
)
def test_edit_distance_stops_above_the_limit(a: str, b: str, limit: int, expected: int) -> None:
    assert edit_distance(a, b, limit) == expected
    assert edit_distance(b, a, limit) == expected


def test_words_that_nobody_types_are_near_to_nothing() -> None:
    long = "a" * (MAX_LETTERS + 1)
    assert edit_distance(long, long, 1) == 0
    assert edit_distance(long, long + "b", 1) == 2
    assert Neighbours([long]).of(long + "b") == []


@pytest.mark.parametrize(
    ("word", "candidates", "expected"),
    [
        ("rleu", ["relu", "elu"], "relu"),
        ("leaky_relu", ["relu", "leakyRelu"], "leakyRelu"),
        ("MAX_POOL_2D", ["maxPool2d"], "maxPool2d"),
        ("softmax", ["Softmax", "softmix"], "Softmax"),
        ("x", ["x", "y"], None),
        ("X", ["x", "y"], "x"),
        ("c", ["a", "c1"], None),
        ("w2", ["w1", "v"], "w1"),
        ("first", ["second"], None),
    ],
)
def test_the_nearest_word(word: str, candidates: list[str], expected: str | None) -> None:
    assert nearest(word, candidates) == expected


def test_neighbours_are_those_that_comparing_with_each_finds() -> None:
    letters = ["", *"abB", *(a + b for a in "abc" for b in "abc"), "abc", "acb", "bca", "a_b"]
    neighbours = Neighbours(letters)
    for word in [*letters, "zz", "abcd"]:
        expected = {
            other
            for other in letters
            if other != word
            and (
                edit_distance(word, other, 1) == 1
                or other.replace("_", "").lower() == word.replace("_", "").lower()
            )
        }
        assert set(neighbours.of(word)) == expected, word
