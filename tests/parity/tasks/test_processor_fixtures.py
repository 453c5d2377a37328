"""Pictures become the numbers that the processors of `transformers` made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.parity.tasks.processors import LIMIT, WITHOUT_PILLOW, prepare, read_fixtures, sample
from webnnm.transformers.processors.picture_kinds import KINDS, find_kind

pytest.importorskip("PIL.Image")
FIXTURES = read_fixtures()


def name_fixture(fixture: Mapping[str, Any]) -> str:
    return f"{fixture['file']['image_processor_type']}-{fixture['size']}"


@pytest.mark.parametrize("fixture", FIXTURES, ids=name_fixture)
async def test_pictures_are_prepared_as_by_transformers(fixture: Mapping[str, Any]) -> None:
    values = (await prepare(fixture["file"], fixture["size"]))["pixel_values"]
    assert [*values.shape] == fixture["shape"]
    largest = max(map(abs, fixture["numbers"]))
    limit = LIMIT * max(1.0, largest)
    assert sample(values) == pytest.approx(fixture["numbers"], abs=limit, rel=0)


def test_every_class_has_a_fixture() -> None:
    names = {find_kind(fixture["file"]["image_processor_type"]) for fixture in FIXTURES}
    assert names == KINDS.keys() - WITHOUT_PILLOW
