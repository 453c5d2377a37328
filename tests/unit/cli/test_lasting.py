"""Nothing lost: readers that leave, places that cannot be written, signals, full disks."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.shared import IRIS, ROOT, SOFTMAX, command, run, strict
from webnnm import DataError

pytestmark = pytest.mark.desktop
pytest.importorskip("numpy")
main = pytest.importorskip("webnnm.cli").main

Printed = pytest.CaptureFixture[str]
FAST = ("--epochs", "8", "--seeds", "0")
posix = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell and its signals")


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.nnm"
    path.write_text(SOFTMAX)
    return str(path)


def samples(snapshot: Path, capsys: Printed) -> int:
    """Test a snapshot, which shows that it is whole."""
    capsys.readouterr()
    assert main(["test", str(snapshot), "--data", IRIS, "--json"]) == 0
    return strict(capsys.readouterr().out)["samples"]


# Readers that leave.


@posix
@pytest.mark.parametrize("streams", ["2>&1 |", "2>&1 >/dev/null |", "|"])
def test_a_reader_that_leaves_costs_the_output_alone(
    model: str, tmp_path: Path, capsys: Printed, streams: str
) -> None:
    out = tmp_path / "m.safetensors"
    words = " ".join(command("train", model, "--data", IRIS, "--out", str(out), *FAST))
    script = f"set -o pipefail; {words} {streams} head -n 1"
    ended = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr and "Exception ignored" not in ended.stderr
    assert samples(out, capsys) == 150


@posix
@pytest.mark.parametrize(
    "arguments", [("ops",), ("show", "{model}", "--graph"), ("probe",), ("check", "{wrong}"), ()]
)
def test_every_command_ends_as_if_it_were_read(
    model: str, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    wrong = tmp_path / "wrong.nnm"
    wrong.write_text(SOFTMAX.replace("softmax", "sofmax"))
    given = [each.format(model=model, wrong=wrong) for each in arguments]
    expected = run(*given).returncode
    hear, tell = os.pipe()
    os.close(hear)
    with subprocess.Popen(command(*given), cwd=ROOT, stdout=tell, stderr=tell) as program:
        os.close(tell)
        assert program.wait(60) == expected


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_output_that_is_lost_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            command("ops"), cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr == "the output cannot be written: No space left on device\n"


@posix
def test_an_error_stream_that_is_full_costs_no_training(
    model: str, tmp_path: Path, capsys: Printed
) -> None:
    out = tmp_path / "m.safetensors"
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            command("train", model, "--data", IRIS, "--out", str(out), *FAST),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )
    assert ended.returncode == 0
    assert samples(out, capsys) == 150


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_end_a_training_and_save_it(
    model: str, tmp_path: Path, capsys: Printed, name: str
) -> None:
    out, number = tmp_path / "m.safetensors", getattr(signal, name)
    given = ("--data", IRIS, "--out", str(out), "--seeds", "0", "--json")
    endless = ("--epochs", "1000000", "--patience", "1000000")
    with subprocess.Popen(
        command("train", model, *given, *endless),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Below nohup it is ignored, which a program inherits.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as program:
        assert program.stderr is not None and program.stdout is not None
        watch = threading.Timer(120, program.kill)
        watch.start()
        for line in program.stderr:
            if line.startswith("epoch "):
                program.send_signal(number)
                break
        # The terminal is gone with its program.
        program.stderr.close()
        printed = program.stdout.read()
        watch.cancel()
    assert program.returncode == 0
    assert strict(printed)["history"]["stopped"] == "stop"
    assert samples(out, capsys) == 150


# Places that cannot be written are refused before the first step.


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a training fail the test."""

    def train(*_: Any, **__: Any) -> None:
        raise AssertionError("it was trained")

    monkeypatch.setattr("webnnm.model.nnmodel.NNModel.train", train)


PLACES = {
    "none/m.safetensors": "No such file or directory",
    "folder": "it is a folder",
    "m.nnm/m.safetensors": "Not a directory",
    "a" * 300: "File name too long",
}


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize("place", PLACES, ids=range(len(PLACES)))
@pytest.mark.parametrize("option", ["--out", "--history"])
def test_a_place_that_cannot_be_written_is_refused_before_the_training(
    model: str, tmp_path: Path, capsys: Printed, place: str, option: str
) -> None:
    (tmp_path / "folder").mkdir()
    other = "--history" if option == "--out" else "--out"
    given = [option, str(tmp_path / place), other, str(tmp_path / "other.csv")]
    if option == "--history":
        given[1] += ".csv" if place == "folder" else "/h.csv" if "a" * 300 not in place else ".csv"
    if given[1].endswith("folder.csv"):
        (tmp_path / "folder.csv").mkdir()
    assert main(["train", model, "--data", IRIS, *given]) == 2
    told = capsys.readouterr().err
    assert told.startswith("NNM807: ") and "cannot be written: " in told
    if option == "--out":
        assert PLACES[place] in told
    assert "previous file" not in told, "there was no file before"


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_takes_no_files(
    model: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    really = os.open

    def refusing(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & os.O_CREAT and str(path).startswith(str(tmp_path)):
            raise OSError(number, os.strerror(number))
        return really(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refusing)
    assert main(["train", model, "--data", IRIS, "--out", str(tmp_path / "m.safetensors")]) == 2
    told = capsys.readouterr().err
    assert os.strerror(number) in told and "hint: " in told


def test_every_command_checks_its_place_first(
    model: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was read")

    monkeypatch.setattr("webnnm.cli.common._read", read)
    out = str(tmp_path / "none" / "x")
    for given in (
        ("predict", model, IRIS, "--out", out),
        ("export", model, "--format", "stablehlo", "--out", out),
        ("convert", model, "--out", out),
        ("train", model, "--data", IRIS, "--out", out),
    ):
        assert main(list(given)) == 2
        told = capsys.readouterr().err
        assert "NNM807" in told and "create the folder first" in told


@pytest.mark.usefixtures("never")
def test_what_is_read_is_not_replaced(model: str, tmp_path: Path, capsys: Printed) -> None:
    table = tmp_path / "t.csv"
    table.write_text(Path(IRIS).read_text())
    (tmp_path / "link").symlink_to(model)
    for out in (model, str(tmp_path / "link"), str(table)):
        assert main(["train", model, "--data", str(table), "--out", out]) == 2
        assert "would replace" in capsys.readouterr().err
    assert main(["predict", model, str(table), "--out", str(table)]) == 2
    one = str(tmp_path / "h.csv")
    assert main(["train", model, "--data", IRIS, "--out", one, "--history", one]) == 2
    assert "are both" in capsys.readouterr().err
    assert Path(model).read_text() == SOFTMAX


def test_format_leaves_a_text_that_it_cannot_write(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.nnm"
    path.write_text("m:input shape = [4,]; m:layers relu( );")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["format", str(path), "--write"]) == 2
    assert "free some space" in capsys.readouterr().err
    assert path.read_text() == "m:input shape = [4,]; m:layers relu( );"


# What was learnt is kept when its place fails in the meantime.


def failing_in(folder: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    """Let files of a folder be made but not be written, as on a disk that is full."""
    from webnnm.core import atomic

    really = atomic.os.fsync

    def fsync(handle: int) -> None:
        if Path(f"/proc/self/fd/{handle}").readlink().is_relative_to(folder):
            raise error
        really(handle)

    monkeypatch.setattr(atomic.os, "fsync", fsync)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="files are told by /proc")
@pytest.mark.parametrize("as_json", [False, True])
def test_a_disk_that_is_full_after_the_training(
    model: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    full, here = tmp_path / "full", tmp_path / "here"
    full.mkdir()
    here.mkdir()
    (full / "m.safetensors").write_bytes(b"old")
    (here / "rescued-1-m.safetensors").write_bytes(b"of another time")
    monkeypatch.chdir(here)
    failing_in(full, monkeypatch, OSError(errno.ENOSPC, "No space left on device"))
    out = str(full / "m.safetensors")
    given = ["train", model, "--data", IRIS, "--out", out, *FAST]
    assert main([*given, *["--json"] * as_json]) == 2
    told = capsys.readouterr()
    rescued = here / "rescued-2-m.safetensors"
    words = f"NNM807: {out} cannot be written: No space left on device; the trained model is in"
    if as_json:
        found = strict(told.out)
        assert found["saved"] == str(rescued)
        assert found["errors"][0]["code"] == "NNM807"
        assert len(found["history"]["epochs"]) == 8 and found["test"]["samples"] == 45
    else:
        assert f"{words} {rescued}\nhint: move it where you want it\n" in told.err
        assert re.match(r"8 epochs on (numpy|onnxruntime) in ", told.out), "it is told, too"
    assert (full / "m.safetensors").read_bytes() == b"old"
    assert (here / "rescued-1-m.safetensors").read_bytes() == b"of another time"
    monkeypatch.undo()
    assert samples(rescued, capsys) == 150


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="files are told by /proc")
def test_the_folder_for_temporary_files_is_the_last_resort(
    model: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, spare = tmp_path / "full", tmp_path / "spare"
    full.mkdir()
    spare.mkdir()
    monkeypatch.chdir(full)
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    failing_in(full, monkeypatch, OSError(errno.ENOSPC, "No space left on device"))
    given = ["train", model, "--data", IRIS, "--out", "m.safetensors", *FAST]
    assert main([*given, "--history", "h.csv"]) == 2
    told = capsys.readouterr().err
    assert f"the trained model is in {spare / 'rescued-1-m.safetensors'}" in told
    assert "NNM807: h.csv cannot be written" in told, "and so is the course that is not there"
    failing_in(tmp_path, monkeypatch, OSError(errno.ENOSPC, "No space left on device"))
    assert main(given) == 2
    told = capsys.readouterr().err
    assert "NNM807: m.safetensors cannot be written" in told and "free some space" in told
    assert list(full.iterdir()) == []


def test_a_folder_that_goes_while_the_model_learns(
    model: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    from webnnm.model.nnmodel import NNModel

    folder, here = tmp_path / "folder", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    really = NNModel.train

    def train(self: Any, *given: Any, **more: Any) -> Any:
        folder.rmdir()
        return really(self, *given, **more)

    monkeypatch.setattr(NNModel, "train", train)
    out = str(folder / "m.safetensors")
    assert main(["train", model, "--data", IRIS, "--out", out, *FAST]) == 2
    assert "the trained model is in" in capsys.readouterr().err
    assert samples(here / "rescued-1-m.safetensors", capsys) == 150


async def test_saving_tells_what_failed_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same from Python, where nobody chooses another place."""
    from webnnm import NNModel

    path = tmp_path / "m.safetensors"
    model = await NNModel.create(source=SOFTMAX, backend="numpy", log=lambda _: None)
    await model.save(path)
    before, values = path.read_bytes(), model.state.parameters.value("w1").tolist()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left") as caught:
        await model.save(path)
    assert "free some space" in caught.value.hint and "file is unchanged" in caught.value.hint
    assert path.read_bytes() == before
    assert model.state.parameters.value("w1").tolist() == values
    assert list(tmp_path.iterdir()) == [path]
