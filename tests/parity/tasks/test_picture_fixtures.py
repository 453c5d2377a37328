"""Pipelines of pictures give what those of `transformers` gave, as the committed file has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import webnnm
from tests.parity.tasks.pictures import (
    LIMIT,
    draw,
    find_difference,
    list_picture_cases,
    make_files,
    read_fixtures,
    summarize,
)

pytest.importorskip("PIL.Image")
pytest.importorskip("tokenizers")
FIXTURES = read_fixtures()


def name_fixture(fixture: Mapping[str, Any]) -> str:
    return f"{fixture['task']}-{fixture['files']['config.json']['architectures'][0]}"


def test_fixtures_are_those_of_the_cases() -> None:
    tasks = [case.task for case in list_picture_cases()]
    assert [fixture["task"] for fixture in FIXTURES] == tasks, "`make parity-fixtures` writes them"


@pytest.mark.parametrize("fixture", FIXTURES, ids=name_fixture)
async def test_results_are_those_of_transformers(fixture: Mapping[str, Any]) -> None:
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None, **fixture["opening"]}
    async with await webnnm.pipeline(fixture["task"], make_files(fixture), **settings) as run:
        for sizes, keywords, expected in fixture["calls"]:
            actual = summarize(await run(draw(sizes), **keywords))
            assert not find_difference(expected, actual, LIMIT), (sizes, keywords)
