"""Rows that commands read for a trained model: one or several, whole or with empty cells."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.desktop
pytest.importorskip("numpy")
main = pytest.importorskip("webnnm.cli").main

Printed = pytest.CaptureFixture[str]
NUMBERS = [(number % 10, number % 7 / 4) for number in range(60)]


def write_table(path: Path, *, empty: tuple[int, ...] = (), holes: tuple[int, ...] = ()) -> str:
    """Write rows of a, b with a quantity and a class; those numbered lack their targets, or b."""
    lines = ["a,b,sum,size"]
    for row, (a, b) in enumerate(NUMBERS):
        targets = "," if row in empty else f"{3 * a + b},{'large' if a > 4 else 'small'}"
        lines.append(f"{a},{'' if row in holes else b},{targets}")
    path.write_text("\n".join(lines))
    return str(path)


@pytest.fixture(params=["sum", "size"])
def snapshot(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Printed,
) -> tuple[str, str]:
    """A snapshot of a model that was trained from a table with two empty targets, and its target.

    The table is data.csv in the current folder.
    """
    monkeypatch.chdir(tmp_path)
    table, target = write_table(tmp_path / "data.csv", empty=(4, 16)), request.param
    out = str(tmp_path / f"{target}.safetensors")
    options = ("--features", "a,b", "--target", target, "--out", out, "--seeds", "0")
    assert main(["train", table, *options, "--epochs", "20"]) == 0
    capsys.readouterr()
    return out, target


def predict(
    model: str, rows: Any, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> list[list[str]]:
    """Return the predictions for rows of JSON on the standard input."""
    stream = io.TextIOWrapper(io.BytesIO(json.dumps(rows).encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert main(["predict", model]) == 0
    return [*csv.reader(io.StringIO(capsys.readouterr().out))][1:]


def test_one_object_is_a_row(
    snapshot: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    model, _ = snapshot
    rows = predict(model, [{"a": 5, "b": 0.5}, {"b": 1.0, "a": 2}], monkeypatch, capsys)
    assert len(rows) == 2
    assert predict(model, {"a": 5, "b": 0.5}, monkeypatch, capsys) == rows[:1]
    assert predict(model, {"a": [5, 2], "b": [0.5, 1]}, monkeypatch, capsys) == rows
    assert predict(model, {"data": [[5, 0.5]]}, monkeypatch, capsys) == rows[:1]


def test_rows_without_a_label_are_left_out_of_a_test(
    snapshot: tuple[str, str], tmp_path: Path, capsys: Printed
) -> None:
    model, target = snapshot
    assert main(["test", model, "--data", str(tmp_path / "data.csv"), "--label", target]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("testing: 58 samples")
    assert printed.err == f"2 rows without {target} are left out\n"


def test_rows_with_an_empty_cell_are_left_out_on_request(
    snapshot: tuple[str, str], tmp_path: Path, capsys: Printed
) -> None:
    model, target = snapshot
    table = write_table(tmp_path / "new.csv", empty=(4,), holes=(4, 7))
    arguments = ["test", model, "--data", table, "--label", target]
    assert main(arguments) == 1
    assert "column b is empty\nhint: give a value, or leave the row out" in capsys.readouterr().err
    assert main([*arguments, "--missing", "drop"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("testing: 58 samples")
    assert "1 row without a value in each column is left out" in printed.err


def test_a_table_without_any_label_cannot_be_tested(
    snapshot: tuple[str, str], tmp_path: Path, capsys: Printed
) -> None:
    model, target = snapshot
    table = write_table(tmp_path / "new.csv", empty=tuple(range(len(NUMBERS))))
    assert main(["test", model, "--data", table, "--label", target]) == 1
    assert "NNM705: no rows are left: all 60 have an empty cell" in capsys.readouterr().err
