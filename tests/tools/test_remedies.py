"""Remedies are right: without the mistake its finding goes, and the score rises."""

from __future__ import annotations

import json

import pytest

from tests.teach import CASES
from tools import teach

QUICK = (
    "crawls_to_the_end",
    "ended_by_noise",
    "full_batch_few_epochs",
    "layer_hardly_moves",
    "loss_leaps",
    "model_underfits",
    "one_epoch",
    "patience_of_one",
    "schedule_ends_too_soon",
    "targets_beyond_sigmoid",
    "timestamps_in_float32",
    "yes_or_no_under_mae",
)
"""Programs of a second or two, whose scores differ by more than chance does."""


@pytest.mark.parametrize("name", QUICK)
async def test_without_the_mistake_its_finding_goes_and_the_score_rises(name: str) -> None:
    found = await teach.judge(CASES[name], 1)
    codes = set(CASES[name].named_by)
    told, mended = (
        {each["id"] for when in ("before", "after") for each in found[run][when]}
        for run in ("first", "mended")
    )
    assert codes & told and not codes & mended
    assert found["mended_score"] > found["score"]


def test_what_was_recorded_is_of_the_cases_there_are() -> None:
    recorded = json.loads(teach.RESULTS.read_text())
    assert {each["name"] for each in recorded} == CASES.keys()
    assert sum(each["named"] != "" for each in recorded) > 140
    for each in recorded:
        assert set(each["by"]) <= set(CASES[each["name"]].named_by)
