"""Records of Chromium say what they lack, and their counts keep every column."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import records
from tools import conformance


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of records for this test only."""
    monkeypatch.setattr(records, "CHROMIUM", tmp_path)
    monkeypatch.delenv(records.RECORD, raising=False)
    return tmp_path


@pytest.mark.parametrize("recorded", ["{}", '{"process": "gpu"}'])
def test_a_fact_that_is_missing_or_differs_names_what_records_it(
    folder: Path, recorded: str
) -> None:
    (folder / "153.json").write_text(recorded)
    with pytest.raises(AssertionError, match="process of Chromium 153: `make"):
        records.compare("153", process="renderer")


def test_a_recorded_fact_is_compared(folder: Path) -> None:
    (folder / "153.json").write_text('{"process": "gpu"}')
    records.compare("153", process="gpu")


def test_a_column_without_any_pass_is_summed_up() -> None:
    counts = {"add": {"Cases": 2, "Chromium 153": 0}, "relu": {"Cases": 1, "Chromium 153": 0}}
    assert conformance.sum_up(counts) == {"Cases": 3, "Chromium 153": 0}
