"""What commands may open besides files below the folder of a model: the option `--references`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.data.test_references import external
from webnnm.cli.program import main
from webnnm.core.arrays import HostArray

Printed = pytest.CaptureFixture[str]
TEXT = """
m:input shape=[2]; m:output shape=[1]; m:loss MSE; b:source "net.onnx";
m:layers b(), matmul(w, shape=[1]);
"""
COMMANDS: Sequence[Sequence[str]] = (
    ("check", "net.nnm"),
    ("show", "net.nnm"),
    ("show", "net.nnm", "--graph"),
    ("review", "net.nnm"),
    ("gradcheck", "net.nnm"),
    (
        "train",
        "net.nnm",
        "--data",
        "table.csv",
        "--out",
        "net.safetensors",
        "--epochs",
        "1",
        "--task",
        "regression",
    ),
    ("export", "net.nnm", "--format", "params", "--out", "params.safetensors"),
    ("export", "net.nnm", "--format", "onnx", "--out", "out.onnx"),
    ("export", "net.nnm", "--format", "stablehlo"),
    ("convert", "net.onnx", "--out", "out.safetensors"),
    (
        "convert",
        "net.onnx",
        "--out",
        "out.safetensors",
        "--model",
        "other.nnm",
        "--mapping",
        "names.json",
    ),
)
SNAPSHOTS: Sequence[Sequence[str]] = (
    ("check", "net.safetensors"),
    ("show", "net.safetensors"),
    ("test", "net.safetensors", "--data", "table.csv"),
    ("predict", "net.safetensors", "table.csv"),
    ("convert", "net.safetensors", "--out", "half.safetensors", "--dtype", "float16"),
)
HINT = (
    "hint: --references anywhere lets a file that you trust refer to any other, "
    "--references FOLDER to those below a folder"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a model whose weight is in the folder beside it."""
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "w.bin").write_bytes(HostArray.of([1.0, 2.0]).data)
    inner = tmp_path / "model"
    inner.mkdir()
    (inner / "net.onnx").write_bytes(external("../weights/w.bin"))
    (inner / "net.nnm").write_text(TEXT)
    (inner / "other.nnm").write_text("m:input shape=[2]; m:output shape=[2]; m:layers add(b);")
    (inner / "names.json").write_text('{"b1": "w"}')
    rows = [f"{k % 5},{k % 3},{k % 7}" for k in range(30)]
    (inner / "table.csv").write_text("\n".join(["a,b,c", *rows]))
    monkeypatch.chdir(inner)
    return tmp_path


def run(words: Sequence[str], printed: Printed) -> tuple[int, str]:
    """Return the exit code of a command, and what it printed."""
    backend = [] if words[0] in ("check", "show", "review") else ["--backend", "numpy"]
    code = main([*words, *backend])
    found = printed.readouterr()
    return code, found.out + found.err


@pytest.mark.desktop
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_open_what_users_allow(
    folder: Path, capsys: Printed, words: Sequence[str]
) -> None:
    code, text = run(words, capsys)
    assert code == 1
    assert "NNM809" in text and '"net.onnx" refers to "../weights/w.bin"' in text
    assert HINT in text
    code, text = run([*words, "--references", str(folder / "model")], capsys)
    assert code == 1 and "which is not below" in text
    for place in ("anywhere", str(folder), "..", str(folder / "weights")):
        code, text = run([*words, "--references", place], capsys)
        assert code == 0, text


@pytest.mark.desktop
def test_snapshots_hold_what_their_model_refers_to(folder: Path, capsys: Printed) -> None:
    (train,) = (words for words in COMMANDS if words[0] == "train")
    assert run([*train, "--references", "anywhere"], capsys)[0] == 0
    for words in SNAPSHOTS:
        code, text = run(words, capsys)
        assert code == 0, text


@pytest.mark.desktop
def test_hints_in_json_are_options(folder: Path, capsys: Printed) -> None:
    assert main(["check", "net.nnm", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert found["problems"][0]["hint"] == HINT.removeprefix("hint: ")
    assert main(["show", "net.nnm", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["hint"] == HINT.removeprefix("hint: ")
