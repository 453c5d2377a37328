"""Sounds become the numbers that the feature extractors of `transformers` made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.parity.tasks.processors import sample
from tests.parity.tasks.sounds import LIMIT, prepare, read_fixtures
from webnnm.transformers.processors.sound_settings import CLASS, KINDS

FIXTURES = read_fixtures()


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: str(fixture["shape"]))
async def test_sounds_are_prepared_as_by_transformers(fixture: Mapping[str, Any]) -> None:
    values = await prepare(fixture["file"], fixture["length"])
    assert [*values.shape] == fixture["shape"]
    limit = LIMIT * max(1.0, *map(abs, fixture["numbers"]))
    assert sample(values) == pytest.approx(fixture["numbers"], abs=limit, rel=0)


def test_every_class_has_a_fixture() -> None:
    assert {fixture["file"][CLASS] for fixture in FIXTURES} == {*KINDS}
