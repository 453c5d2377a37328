"""Splits: sizes, classes, order, seeds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.core.random import Stream
from webnnm.data.split import split_rows

FIFTY_EACH = [0] * 50 + [1] * 50 + [2] * 50


def per_class(rows: list[int], classes: list[int]) -> list[int]:
    found = Counter(classes[row] for row in rows)
    return [found[number] for number in sorted(set(classes))]


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ((0.7, 0, 0.3), (35, 0, 15)),
        ((0.7, 0.15, 0.15), (35, 8, 7)),
        ((0.6, 0.2, 0.2), (30, 10, 10)),
        ((0.8, 0.1, 0.1), (40, 5, 5)),
        ((1, 0, 0), (50, 0, 0)),
        ((0, 0, 1.0), (0, 0, 50)),
        ((1 / 3, 1 / 3, 1 / 3), (17, 17, 16)),
        ((0.55, 0.15, 0.3), (28, 7, 15)),
    ],
)
def test_every_class_is_cut_by_the_largest_remainder(
    split: tuple[float, ...], expected: tuple[int, ...]
) -> None:
    parts = split_rows(150, split, classes=FIFTY_EACH)
    for part, size in zip(parts, expected, strict=True):
        assert per_class(part, FIFTY_EACH) == [size] * 3


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, (1, 0, 0)),
        (2, (2, 0, 0)),
        (3, (2, 1, 0)),
        (4, (3, 1, 0)),
        (5, (3, 1, 1)),
        (6, (4, 1, 1)),
        (7, (5, 1, 1)),
        (10, (7, 2, 1)),
        (20, (14, 3, 3)),
    ],
)
def test_small_classes(size: int, expected: tuple[int, ...]) -> None:
    parts = split_rows(size, (0.7, 0.15, 0.15), classes=[0] * size)
    assert tuple(map(len, parts)) == expected


def test_the_rows_of_a_seed_never_change() -> None:
    # Computed apart from this package: random.Random("0:5"), Fisher-Yates class by class.
    training, validation, testing = split_rows(150, (0.7, 0, 0.3), classes=FIFTY_EACH)
    assert training[:8] == [2, 7, 8, 9, 10, 11, 12, 13]
    assert validation == []
    assert testing[:15] == [0, 1, 3, 4, 5, 6, 16, 22, 24, 25, 26, 32, 34, 35, 41]
    assert testing[15:30] == [53, 55, 56, 67, 69, 72, 73, 80, 81, 86, 87, 88, 89, 90, 99]
    assert testing[30:] == [
        *(100, 106, 110, 113, 114, 117, 120, 121, 123, 127, 130, 138, 142, 147, 149)
    ]


@pytest.mark.parametrize("method", ["stratified", "random", "sequential"])
@pytest.mark.parametrize("split", [(0.7, 0.15, 0.15), (0.5, 0.5, 0), (0.9, 0.05, 0.05), (7, 3, 1)])
@pytest.mark.parametrize("seed", range(5))
def test_parts_share_no_row_and_stand_in_file_order(
    method: Any, split: tuple[float, ...], seed: int
) -> None:
    classes = [(row * row + seed) % 4 for row in range(83)]
    parts = split_rows(83, split, method=method, classes=classes, seed=seed)
    rows = [row for part in parts for row in part]
    assert len(set(rows)) == len(rows) == (11 if split == (7, 3, 1) else 83)
    assert set(rows) <= set(range(83))
    assert all(part == sorted(part) for part in parts)


def test_another_seed_gives_other_rows() -> None:
    splits = [split_rows(150, (0.7, 0, 0.3), classes=FIFTY_EACH, seed=seed) for seed in range(10)]
    assert len({tuple(testing) for _, _, testing in splits}) == 10
    assert splits[3] == split_rows(150, (0.7, 0, 0.3), classes=FIFTY_EACH, seed=3)


def test_random_is_one_permutation_cut() -> None:
    order = Stream(4, 5).permutation(10)
    assert split_rows(10, (0.5, 0.2, 0.3), method="random", seed=4) == (
        sorted(order[:5]),
        sorted(order[5:7]),
        sorted(order[7:]),
    )


def test_stratified_without_classes_is_random() -> None:
    assert split_rows(10, (0.5, 0.2, 0.3)) == split_rows(10, (0.5, 0.2, 0.3), method="random")


def test_sequential_keeps_the_order() -> None:
    assert split_rows(5, (0.4, 0.2, 0.4), method="sequential") == ([0, 1], [2], [3, 4])


def test_counts_are_exact_and_classes_in_proportion() -> None:
    parts = split_rows(150, (100, 25, 20), classes=FIFTY_EACH)
    assert tuple(map(len, parts)) == (100, 25, 20)
    for part, count in zip(parts, (100, 25, 20), strict=True):
        assert all(abs(found - count / 3) < 1 for found in per_class(part, FIFTY_EACH))
    assert split_rows(5, (2, 0, 1), method="sequential") == ([0, 1], [], [2])


def test_lists_are_taken_as_they_are() -> None:
    assert split_rows(5, ([4, 0], (), range(1, 3))) == ([4, 0], [], [1, 2])
    assert split_rows(5, ([4, 0], 0, [1])) == ([4, 0], [], [1])


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ((0.7, 0.3), "split has 2 parts"),
        ((0.7, 0, 0.2), "add up to 0.9"),
        ((0, 0, 0), "add up to 0"),
        ((-0.5, 0.5, 1), "negative"),
        ((float("nan"), 0, 1), "negative"),
        ((8, 2, 1), "does not fit 10 rows"),
        ((0.7, 0.3, 0.3), "does not fit 10 rows"),
        (([0], [1], [10]), "testing: row 10 of 0 … 9"),
        (([-1], [], []), "training: row -1"),
        (([0], [], [1, 0]), "row 0 is in both training and testing"),
        (([0], 0.3, [1]), "mixes the number 0.3 with lists"),
    ],
)
def test_impossible_splits_are_refused(split: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        split_rows(10, split)
    assert caught.value.code == "NNM704"


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        split_rows(10, (1, 0, 0), method="sequentail")  # type: ignore[arg-type]
    assert caught.value.code == "NNM704"
    assert caught.value.hint == 'did you mean "sequential"?'
