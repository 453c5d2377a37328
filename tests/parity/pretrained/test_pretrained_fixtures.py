"""Models of Hugging Face give what `transformers` gave, as the committed fixtures have it."""

from __future__ import annotations

from functools import cache

import pytest

from tests.parity.pretrained import fixtures
from tests.parity.pretrained.cases import CASES, Case
from tests.parity.pretrained.outcome import LIMIT, difference, outputs

recorded = cache(fixtures.read)


def test_fixtures_are_those_of_the_cases() -> None:
    assert list(recorded()) == [str(case) for case in CASES], "`make parity-fixtures` writes them"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_outputs_are_those_of_transformers(case: Case) -> None:
    fixture = recorded()[str(case)]
    assert difference(outputs(fixture, fixtures.SEED), fixture) <= LIMIT
