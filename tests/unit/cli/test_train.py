"""`train`, `test` and `predict`: from a table to a snapshot, and to answers."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.shared import IRIS, LINE, ROOT, SOFTMAX, command, run, strict

pytestmark = pytest.mark.desktop
pytest.importorskip("numpy")
main = pytest.importorskip("webnnm.cli").main

Printed = pytest.CaptureFixture[str]
FAST = ("--epochs", "8", "--seeds", "2", "--lr", "0.05")


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.nnm"
    path.write_text(SOFTMAX)
    return str(path)


@pytest.fixture
def snapshot(model: str, tmp_path: Path, capsys: Printed) -> str:
    out = str(tmp_path / "m.safetensors")
    given = ["train", model, "--data", IRIS, "--standardize", "--out", out, *FAST]
    assert main(given) == 0
    capsys.readouterr()
    return out


def train_as_json(capsys: Printed, *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return strict(capsys.readouterr().out)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# Training.


@pytest.mark.parametrize(
    ("time", "finds", "decides"),
    [("before", True, True), ("after", True, False), ("off", False, False)],
)
def test_a_training_that_is_reviewed_after_it_or_never(
    model: str, tmp_path: Path, capsys: Printed, time: str, finds: bool, decides: bool
) -> None:
    out = str(tmp_path / "m.safetensors")
    done = train_as_json(
        capsys, "train", model, "--data", IRIS, "--out", out, *FAST, "--review", time
    )["history"]
    assert bool(done["findings"]) is finds
    assert any(origin.startswith("E") for origin in done["chosen"].values()) is decides


def test_training_as_a_user_starts_it(model: str, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    ended = run("train", model, "--data", IRIS, "--standardize", "--out", str(out), *FAST)
    assert ended.returncode == 0, ended.stderr
    first, *rest = ended.stdout.splitlines()
    assert re.match(r"8 epochs on (numpy|onnxruntime) in ", first)
    assert first.endswith("ended by epochs")
    assert rest[0].startswith("testing: 45 samples, loss ")
    assert "epoch 8/8: loss " in ended.stderr
    assert ended.stderr.endswith(f"saved {out}\n")
    ended = run("test", str(out), "--data", IRIS)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("testing: 150 samples, loss ")
    table = "sepal_length,sepal_width,petal_length,petal_width\n5,3,1,0.2\n6,3,6,2\n"
    ended = run("predict", str(out), input=table)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [row["predicted"] for row in rows_of(ended.stdout)] == ["setosa", "virginica"]


def test_json_has_history_and_test(model: str, tmp_path: Path, capsys: Printed) -> None:
    out = tmp_path / "m.safetensors"
    found = train_as_json(capsys, "train", model, "--data", IRIS, "--out", str(out), *FAST)
    assert found["model"] == model and found["saved"] == str(out) and out.exists()
    assert len(found["history"]["epochs"]) == 8
    assert found["history"]["settings"]["seeds"] == 2
    assert found["test"]["samples"] == 45
    alone = train_as_json(
        capsys, "train", model, "--data", IRIS, "--out", str(out), "--split", "1,0,0", *FAST
    )
    assert alone["test"] is None


def test_a_seed_makes_all_of_it_the_same(model: str, tmp_path: Path, capsys: Printed) -> None:
    files = [tmp_path / f"{k}.safetensors" for k in range(3)]
    for path, seed in zip(files, ("1", "1", "2"), strict=True):
        train_as_json(
            capsys, "train", model, "--data", IRIS, "--out", str(path), "--seed", seed, *FAST
        )
    one, same, other = (path.read_bytes() for path in files)
    assert one == same != other


def test_members_are_averaged_into_one_model(model: str, tmp_path: Path, capsys: Printed) -> None:
    out = str(tmp_path / "two.safetensors")
    arguments = ["--data", IRIS, "--epochs", "3", "--members", "2", "--out", out]
    found = train_as_json(capsys, "train", model, *arguments)
    assert len(found["history"]["epochs"]) == 3
    assert found["test"]["samples"] == 45
    assert main(["show", out]) == 0
    assert "matmul2" in capsys.readouterr().out
    assert main(["train", out, "--resume", *arguments]) == 2
    assert "--resume with --members" in capsys.readouterr().err


def test_a_snapshot_is_trained_further(snapshot: str, tmp_path: Path, capsys: Printed) -> None:
    again = str(tmp_path / "again.safetensors")
    before = train_as_json(capsys, "test", snapshot, "--data", IRIS)["loss"]
    given = ("--data", IRIS, "--standardize", "--epochs", "20", "--out", again)
    found = train_as_json(capsys, "train", snapshot, *given)
    assert found["history"]["scouting"] is None, "it starts where it was"
    assert train_as_json(capsys, "test", again, "--data", IRIS)["loss"] < before


@pytest.mark.parametrize("change", ["none", "columns", "classes"])
def test_a_table_is_prepared_as_in_the_training_of_the_snapshot(
    snapshot: str, tmp_path: Path, capsys: Printed, change: str
) -> None:
    rows = [row.split(",") for row in Path(IRIS).read_text().splitlines()]
    if change == "columns":
        rows = [[*reversed(row[:-1]), row[-1]] for row in rows]
    elif change == "classes":
        rows = [row for row in rows if row[-1] != rows[1][-1]]
    table, again = tmp_path / "new.csv", str(tmp_path / "again.safetensors")
    table.write_text("\n".join(",".join(row) for row in rows))
    before = train_as_json(capsys, "test", snapshot, "--data", str(table))
    still = ("--epochs", "1", "--lr", "1e-7", "--out", again)
    after = train_as_json(capsys, "train", snapshot, "--data", str(table), *still)
    assert after["test"]["loss"] == pytest.approx(before["loss"], abs=0.2)
    if change == "columns":
        given = ("train", snapshot, "--data", str(table), "--standardize", *still)
        assert main([*given]) == 1
        assert "hint: leave out the options that prepare the table" in capsys.readouterr().err


def test_without_a_training_there_is_none_to_resume(
    snapshot: str, tmp_path: Path, capsys: Printed
) -> None:
    plain, again = str(tmp_path / "plain.safetensors"), str(tmp_path / "again.safetensors")
    assert main(["convert", snapshot, "--out", plain]) == 0
    capsys.readouterr()
    given = ("--data", IRIS, "--standardize", "--out", again)
    assert main(["train", plain, "--resume", *given]) == 2
    assert "NNM808" in capsys.readouterr().err
    assert not Path(again).exists()


@pytest.mark.parametrize("suffix", [".csv", ".json", ".svg"])
def test_the_course_is_written(model: str, tmp_path: Path, capsys: Printed, suffix: str) -> None:
    out, course = str(tmp_path / "m.safetensors"), tmp_path / f"h{suffix}"
    train_as_json(
        capsys, "train", model, "--data", IRIS, "--out", out, "--history", str(course), *FAST
    )
    text = course.read_text()
    if suffix == ".csv":
        assert [row["epoch"] for row in rows_of(text)] == [str(k) for k in range(1, 9)]
    elif suffix == ".json":
        assert len(strict(text)["epochs"]) == 8
    else:
        assert text.startswith("<svg")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--history", "h.txt"), "NNM704: --history h.txt"),
        (("--resume",), "NNM704: --resume with a text"),
        (("--backend", "numpi"), 'NNM709: there is no backend "numpi"'),
        (("--epochs", "many"), "NNM704: epochs is 'many'"),
        (("--label", "kind"), 'NNM710: no column "kind"'),
    ],
)
def test_what_cannot_be_carried_out_is_2(
    model: str, tmp_path: Path, capsys: Printed, more: tuple[str, ...], words: str
) -> None:
    out = tmp_path / "m.safetensors"
    assert main(["train", model, "--data", IRIS, "--out", str(out), *more]) == 2
    assert words in capsys.readouterr().err
    assert not out.exists()
    assert main(["train", model, "--data", IRIS, "--out", str(out), *more, "--json"]) == 2
    (problem,) = strict(capsys.readouterr().out)["errors"]
    assert problem["code"] == words[:6]


def test_a_folder_that_is_not_there(model: str, tmp_path: Path, capsys: Printed) -> None:
    out = str(tmp_path / "none" / "m.safetensors")
    assert main(["train", model, "--data", IRIS, "--out", out, *FAST]) == 2
    assert "NNM807" in capsys.readouterr().err


def test_data_that_do_not_fit_are_1(model: str, tmp_path: Path, capsys: Printed) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,x\n2,y\n3,x\n4,y\n")
    out = str(tmp_path / "m.safetensors")
    assert main(["train", model, "--data", str(table), "--out", out]) == 1
    assert "NNM702" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send there")
def test_ctrl_c_saves_what_was_learnt(model: str, tmp_path: Path, capsys: Printed) -> None:
    out = tmp_path / "m.safetensors"
    given = ("--data", IRIS, "--out", str(out), "--epochs", "1000000", "--seeds", "0")
    with subprocess.Popen(
        command("train", model, *given, "--json"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stderr is not None and program.stdout is not None
        watch = threading.Timer(60, program.kill)
        watch.start()
        for line in program.stderr:
            if line.startswith("epoch "):
                program.send_signal(signal.SIGINT)
                break
        rest, printed = program.stderr.read(), program.stdout.read()
        watch.cancel()
    assert program.returncode == 0, rest
    assert "Ctrl-C" in rest and "Traceback" not in rest
    history = strict(printed)["history"]
    assert history["stopped"] == "stop" and 0 < len(history["epochs"]) < 1000000
    assert train_as_json(capsys, "test", str(out), "--data", IRIS)["samples"] == 150


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals there")
def test_a_terminal_shows_a_bar(model: str, tmp_path: Path) -> None:
    import pty

    here, there = pty.openpty()
    out = str(tmp_path / "m.safetensors")
    # The plain bar, whatever else is installed.
    hide = "import sys; sys.modules['rich'] = sys.modules['tqdm'] = None; "
    start = f"{hide}from webnnm.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = [sys.executable, "-c", start, "train", model, "--data", IRIS, "--out", out, *FAST]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=there, text=True, env=environment
    ) as program:
        os.close(there)
        shown = b""
        while True:
            try:
                part = os.read(here, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert program.stdout is not None
        printed = program.stdout.read()
    os.close(here)
    text = shown.decode()
    assert program.returncode == 0, text
    assert "[########################] 8/8  loss " in text
    assert "epoch 8/8" not in text, "the bar tells it already"
    assert re.match(r"8 epochs on (numpy|onnxruntime) in ", printed)


# Tests.


def test_the_rows_that_the_training_left_out(snapshot: str, capsys: Printed) -> None:
    whole = train_as_json(capsys, "test", snapshot, "--data", IRIS)
    left = train_as_json(capsys, "test", snapshot, "--data", IRIS, "--split", "0.7,0,0.3")
    rest = train_as_json(
        capsys, *("test", snapshot, "--data", IRIS, "--split", "0.7,0,0.3", "--subset", "training")
    )
    assert (whole["samples"], left["samples"], rest["samples"]) == (150, 45, 105)
    mean = (left["loss"] * 45 + rest["loss"] * 105) / 150
    assert whole["loss"] == pytest.approx(mean, rel=1e-5)


def test_the_same_result_as_after_the_training(model: str, tmp_path: Path, capsys: Printed) -> None:
    out = str(tmp_path / "m.safetensors")
    given = ("--data", IRIS, "--standardize", "--out", out, *FAST)
    then = train_as_json(capsys, "train", model, *given)["test"]
    now = train_as_json(capsys, "test", out, "--data", IRIS, "--split", "0.7,0,0.3")
    assert now["loss"] == pytest.approx(then["loss"], rel=1e-5)
    matrices = [result["outputs"]["model"]["confusion_matrix"] for result in (then, now)]
    assert matrices[0] == matrices[1]


def test_the_column_of_the_labels_is_found(snapshot: str, tmp_path: Path, capsys: Printed) -> None:
    with Path(IRIS).open() as file:
        rows = [row[::-1] for row in csv.reader(file)]
    turned = tmp_path / "turned.tsv"
    turned.write_text("\n".join("\t".join(row) for row in rows))
    assert rows[0][0] == "species"
    found = train_as_json(capsys, "test", snapshot, "--data", str(turned), "--delimiter", "tab")
    assert found["loss"] == train_as_json(capsys, "test", snapshot, "--data", IRIS)["loss"]
    assert main(["test", snapshot, "--data", IRIS, "--label", "0"]) == 1
    assert "sepal_length" in capsys.readouterr().err
    assert main(["test", snapshot, "--data", IRIS, "--label", "specis"]) == 2
    assert 'did you mean "species"?' in capsys.readouterr().err


def test_unknown_classes_are_told(snapshot: str, tmp_path: Path, capsys: Printed) -> None:
    table = tmp_path / "t.csv"
    table.write_text(Path(IRIS).read_text().replace("virginica", "verginica"))
    assert main(["test", snapshot, "--data", str(table)]) == 1
    assert 'did you mean "virginica"?' in capsys.readouterr().err


# Predictions.


def line_snapshot(tmp_path: Path, capsys: Printed, **more: str) -> str:
    model, table = tmp_path / "line.nnm", tmp_path / "line.csv"
    model.write_text(LINE)
    table.write_text("x,y\n" + "".join(f"{k},{2 * k + 1}\n" for k in range(20)))
    out = str(tmp_path / "line.safetensors")
    given = ("--task", "regression", "--standardize", "--epochs", "400", "--optimizer", "adam")
    train_as_json(
        capsys, "train", str(model), "--data", str(table), "--out", out, *given, "--lr", "0.5"
    )
    return out


def test_numbers_are_predicted(tmp_path: Path, capsys: Printed) -> None:
    out = line_snapshot(tmp_path, capsys)
    rows = tmp_path / "rows.csv"
    rows.write_text("x\n3\n5\n")
    assert main(["predict", out, str(rows)]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == "y"
    values = [float(row["y"]) for row in rows_of(printed)]
    assert values == pytest.approx([7, 11], abs=0.5)
    found = train_as_json(capsys, "test", out, "--data", str(tmp_path / "line.csv"))
    assert found["outputs"]["line"]["r2"] > 0.99


FLOWERS = [[5.0, 3.0, 1.0, 0.2], [6.0, 3.0, 6.0, 2.0]]
NAMES = ("sepal_length", "sepal_width", "petal_length", "petal_width")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(FLOWERS),
        json.dumps([dict(zip(NAMES, row, strict=True)) for row in FLOWERS]),
        json.dumps([dict(zip(NAMES[::-1], row[::-1], strict=True)) for row in FLOWERS]),
        json.dumps({"model": FLOWERS}),
        "5,3,1,0.2\n6,3,6,2\n",
        "petal_width,petal_length,sepal_length,sepal_width\n0.2,1,5,3\n2,6,6,3\n",
        "id,petal_width,petal_length,sepal_length,sepal_width\n1,0.2,1,5,3\n2,2,6,6,3\n",
    ],
)
def test_rows_in_every_form_give_the_same(
    snapshot: str, text: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "rows"
    rows.write_text(text)
    found = train_as_json(capsys, "predict", snapshot, str(rows))["model"]
    assert found["predicted"] == ["setosa", "virginica"]
    assert found["classes"] == ["setosa", "versicolor", "virginica"]
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(FLOWERS)))
    assert train_as_json(capsys, "predict", snapshot)["model"] == found
    out = tmp_path / "answers.csv"
    assert main(["predict", snapshot, str(rows), "--out", str(out), "--batch-size", "1"]) == 0
    first = rows_of(out.read_text())[0]
    assert float(first["setosa"]) == pytest.approx(found["values"][0][0], rel=1e-5)
    assert math.fsum(float(first[name]) for name in found["classes"]) == pytest.approx(1, abs=1e-5)


def test_categories_and_missing_cells_as_in_the_training(tmp_path: Path, capsys: Printed) -> None:
    model, table = tmp_path / "m.nnm", tmp_path / "t.csv"
    model.write_text(SOFTMAX.replace("[3]", "[2]"))
    lines = [f"{k % 5 if k % 7 else ''},{'red' if k % 2 else 'blue'},{k % 2}" for k in range(60)]
    table.write_text("size,colour,kind\n" + "\n".join(lines))
    model.write_text(model.read_text().replace("shape=[4]", "shape=[3]"))
    out = str(tmp_path / "m.safetensors")
    given = ("--missing", "mean", "--standardize", "--epochs", "30", "--out", out)
    train_as_json(capsys, "train", str(model), "--data", str(table), *given)
    rows = tmp_path / "rows.csv"
    rows.write_text("colour,size\nred,1\nblue,\ngreen,2\n")
    found = train_as_json(capsys, "predict", out, str(rows))["model"]
    assert found["predicted"][:2] == ["1", "0"]
    assert (
        train_as_json(capsys, "test", out, "--data", str(table))["outputs"]["model"]["accuracy"]
        == 1
    )


def spoilt(snapshot: str) -> None:
    path = Path(snapshot)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("rows", "code", "words"),
    [
        ("", 1, "NNM705"),
        ("[]", 1, "holds no rows"),
        ("[1, 2", 1, "not JSON"),
        ("[[1, 2]]", 1, "NNM702: row 0 is [1, 2]"),
        ('[{"a": 1}, {"b": 2}]', 1, "row 1 has b, row 0 has a"),
        ('[{"a": 1}]', 1, 'no column "sepal_length"'),
        ("a,b,c,d\n1,2,3,4\n", 1, 'no column "sepal_length"'),
        ("1,2,3\n4,5,6\n", 1, "a row has 4 cells: sepal_length"),
        ('[[1, 2, 3, "x"]]', 1, "NNM713"),
        ('{"modl": [[1, 2, 3, 4]]}', 1, 'did you mean "model"?'),
    ],
)
def test_rows_that_do_not_fit(
    snapshot: str, tmp_path: Path, capsys: Printed, rows: str, code: int, words: str
) -> None:
    path = tmp_path / "rows"
    path.write_text(rows)
    assert main(["predict", snapshot, str(path)]) == code
    told = capsys.readouterr()
    assert told.out == "" and words in told.err


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (spoilt, 1, "NNM803"),
        (lambda place: Path(place).unlink(), 2, "NNM715"),
        (lambda place: Path(place).write_bytes(b"x"), 1, "NNM801"),
    ],
)
def test_snapshots_that_are_damaged(
    snapshot: str, capsys: Printed, change: Callable[[str], object], code: int, words: str
) -> None:
    change(snapshot)
    for given in (["predict", snapshot, IRIS], ["test", snapshot, "--data", IRIS]):
        assert main(given) == code
        assert words in capsys.readouterr().err
