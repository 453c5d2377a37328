"""Segments are those that processors of `transformers` made, as the committed file has them."""

from __future__ import annotations

import pytest

from tests.parity.pretrained.fixtures import SEED
from tests.parity.tasks.pictures import find_difference
from tests.parity.tasks.segments import (
    LIMIT,
    SegmentCase,
    compute,
    list_segment_cases,
    read_fixtures,
    summarize_segments,
)

CASES = [*list_segment_cases()]
FIXTURES = read_fixtures()


def test_fixtures_are_those_of_the_cases() -> None:
    assert len(FIXTURES) == len(CASES), "`make parity-fixtures` writes them"
    counts = [len(result) for result in FIXTURES]
    assert 0 in counts and max(counts) > 3


@pytest.mark.parametrize("number", range(len(CASES)))
async def test_segments_are_those_of_transformers(number: int) -> None:
    case: SegmentCase = CASES[number]
    actual = summarize_segments(await compute(case, SEED))
    assert not find_difference(FIXTURES[number], actual, LIMIT), case
