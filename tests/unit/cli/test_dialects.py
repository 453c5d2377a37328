"""Tables of any dialect on the command line: told once, or not at all, and remembered."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

# Files and processes of a desktop; in a page nobody types commands.
pytestmark = pytest.mark.desktop

# The wheel of the pages leaves it out.
main = pytest.importorskip("webnnm.cli").main

MODEL = "flats:input shape=[4]; flats:output shape=[]; flats:layers matmul(w, shape=[4]), " + (
    "reduceSum(axes=[-1]);"
)
ROWS = [
    (f"{1_000 + 37 * k},{k % 10}5", ("K\u00f6ln", "Bonn", "Ulm")[k % 3], f"{k}.{100 + k}")
    for k in range(1, 41)
]
GERMAN = "sep=;\r\nFl\u00e4che;Stadt;Preis\r\n" + "".join(
    f"{area} m\u00b2;{city};{price},5 \u20ac\r\n" for area, city, price in ROWS
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and a table, where commands are given."""
    monkeypatch.chdir(tmp_path)
    Path("flats.nnm").write_text(MODEL)
    Path("flats.csv").write_bytes(GERMAN.encode("cp1252"))
    return tmp_path


def run_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_snapshot_remembers_how_its_table_was_written(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numpy")
    train = ("train", "flats.nnm", "--data", "flats.csv", "--standardize", "--epochs", "2")
    code, _, err = run_command(capsys, *train, "--out", "flats.safetensors")
    assert code == 0, err
    assert 'flats.csv: cp1252, cells separated by ";", decimal commas' in err
    assert 'column Preis: decimal commas, thousands marked by "." and "\u20ac"' in err
    code, out, err = run_command(capsys, "test", "flats.safetensors", "--data", "flats.csv")
    assert (code, "testing: 40 samples" in out) == (0, True), err
    code, whole, err = run_command(capsys, "predict", "flats.safetensors", "flats.csv")
    assert (code, whole.count("\n")) == (0, 41), err
    # A single row, in which nothing shows that the comma is not that of thousands.
    one = "Fl\u00e4che;Stadt\r\n1.037,15 m\u00b2;Bonn\r\n"
    for text, same in [
        (one, True),
        ("Fl\u00e4che;Stadt\n1037,150;Bonn\n", True),
        ("Fl\u00e4che,Stadt\n1037.15,Bonn\n", True),
        ("Fl\u00e4che;Stadt\n1,037;Bonn\n", False),
    ]:
        piped = io.TextIOWrapper(io.BytesIO(text.encode("cp1252")))
        monkeypatch.setattr(sys, "stdin", piped)
        code, out, err = run_command(capsys, "predict", "flats.safetensors")
        assert code == 0, err
        assert (out.split()[1] == whole.split()[1]) is same


@pytest.mark.parametrize(
    ("text", "hint", "remedy"),
    [
        (
            "a;b\n1,234;1\n5,678;2\n1,239;1\n5,679;2\n",
            "--decimal , reads 1,234 as 1.234",
            ("--decimal", ","),
        ),
        ("a,b\n1,1\n,2\n3,1\n4,2\n", "--missing drop leaves", ("--missing", "drop")),
    ],
)
def test_hints_are_options_of_the_command(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    hint: str,
    remedy: tuple[str, ...],
) -> None:
    Path("t.csv").write_text(text)
    Path("m.nnm").write_text(
        "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), softmax();"
    )
    words: tuple[Any, ...] = ("review", "m.nnm", "--data", "t.csv")
    code, _, err = run_command(capsys, *words)
    assert (code, hint in err) == (1, True), err
    code, _, err = run_command(capsys, *words, *remedy)
    assert err.count("NNM713") == 0, err
