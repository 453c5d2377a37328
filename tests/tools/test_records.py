"""Records of Chromium say what they lack, and their counts keep every column."""

from __future__ import annotations

import pytest

from tests import records
from tools import chromium, conformance

PROCESS = records.read(chromium.DEFAULT)["process"]


@pytest.fixture(autouse=True)
def not_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare also where tests record."""
    monkeypatch.delenv(records.RECORD, raising=False)


@pytest.mark.parametrize("facts", [{"unheard-of": 1}, {"process": f"not {PROCESS}"}])
def test_a_fact_that_is_missing_or_differs_names_what_records_it(facts: dict[str, object]) -> None:
    with pytest.raises(AssertionError, match=f"{next(iter(facts))} of Chromium .*make operators"):
        records.compare(chromium.DEFAULT, **facts)


def test_a_recorded_fact_is_compared() -> None:
    records.compare(chromium.DEFAULT, process=PROCESS)


def test_a_column_without_any_pass_is_summed_up() -> None:
    counts = {"add": {"Cases": 2, "Chromium 153": 0}, "relu": {"Cases": 1, "Chromium 153": 0}}
    assert conformance.sum_up(counts) == {"Cases": 3, "Chromium 153": 0}
