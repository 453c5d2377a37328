"""Class numbers in their several forms."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webnnm.core.arrays import HostArray
from webnnm.data.classes import argmax, detect_kind, one_hot


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, -0.0, 0.5, -2.0]), min_size=3, max_size=3)))
def test_argmax_is_the_first_of_the_largest_scores(rows: list[list[float]]) -> None:
    scores = HostArray.of([*chain.from_iterable(rows)], "float32", (len(rows), 3))
    assert argmax(scores) == [row.index(max(row)) for row in rows]


@given(st.lists(st.integers(0, 4), min_size=1))
def test_one_hot_rows_are_their_numbers(numbers: list[int]) -> None:
    rows = one_hot(numbers, 5)
    assert (detect_kind(rows), argmax(rows)) == ("onehot", numbers)


@pytest.mark.parametrize("rows", [[[0, 0], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [0, 0]]])
def test_rows_with_any_number_of_ones_are_yes_and_no(rows: list[list[int]]) -> None:
    assert detect_kind(HostArray.of(rows)) == "multilabel"


def test_the_last_number_of_many_decides() -> None:
    rows = one_hot([1] * 5000, 2).tolist()
    rows[-1] = [0.0, 0.5]
    assert detect_kind(HostArray.of(rows)) == "continuous"
