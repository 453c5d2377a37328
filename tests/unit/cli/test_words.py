"""The words of the command line: what may have been meant, what was given, exit codes."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

import pytest

import webnnm
from tests.unit.cli.shared import IRIS, ROOT, SOFTMAX, command, strict
from webnnm.core.arrays import HostArray
from webnnm.snapshots.safetensors import chunks

pytestmark = pytest.mark.desktop
pytest.importorskip("numpy")
main = pytest.importorskip("webnnm.cli").main

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a text, a table and weights, where commands are given."""
    monkeypatch.chdir(tmp_path)
    Path("wine.nnm").write_text(SOFTMAX)
    Path("wine.csv").write_text(Path(IRIS).read_text())
    weights = {"w1": HostArray.of([[0.0] * 3] * 4), "b1": HostArray.of([0.0] * 3)}
    Path("weights.safetensors").write_bytes(b"".join(chunks(weights, {})))
    return tmp_path


def run_to_exit(capsys: Printed, *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(list(arguments))
    except SystemExit as error:
        code = error.code
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_version(capsys: Printed) -> None:
    assert run_to_exit(capsys, "--version") == (0, f"webnnm {webnnm.__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("trian", "wine.nnm"), "train"),
        (("chekc", "wine.nnm"), "check"),
        (("review", "wine.nnm", "--epoch", "3"), "--epochs"),
        (("review", "wine.nnm", "--epoch=3"), "--epochs"),
        (("train", "wine.nnm", "--dta", "wine.csv", "--out", "m"), "--data"),
        (("train", "wine.nnm", "--data", "wine.csv", "--uot", "m"), "--out"),
        (("show", "wine.nnm", "--jsno"), "--json"),
        (("--verison",), "--version"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_mistyped_words_are_suggested(capsys: Printed, words: tuple[str, ...], meant: str) -> None:
    code, printed, told = run_to_exit(capsys, *words)
    assert (code, printed) == (2, "")
    assert told.startswith("usage: webnnm")
    assert told.endswith(f'hint: did you mean "{meant}"?\n')


@pytest.mark.usefixtures("folder")
def test_the_usage_is_that_of_the_command(capsys: Printed) -> None:
    told = run_to_exit(capsys, "show", "wine.nnm", "--colour", "red")[2]
    assert told.startswith("usage: webnnm show ")
    assert told.endswith("webnnm show: error: unrecognized arguments: --colour red\n")


# Files of another kind.


def zip_file(name: str) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as made:
        made.writestr(name, b"x")
    return found.getvalue()


FOREIGN = {
    "a.pt": (zip_file("archive/data.pkl"), "a file of PyTorch"),
    "b.pth": (b"\x80\x02\x8a\nl\xfc", "a file of PyTorch"),
    "renamed": (zip_file("archive/data.pkl"), "a file of PyTorch"),
    "c.onnx": (b"\x08\x07\x12\x07pytorch", "an ONNX model"),
    "d.h5": (b"\x89HDF\r\n\x1a\n" + bytes(8), "a file of Keras"),
    "e.keras": (zip_file("config.json"), "a file of Keras"),
    "f.tflite": (b"\x1c\0\0\0TFL3" + bytes(8), "a TensorFlow Lite model"),
    "g.gguf": (b"GGUF\3\0\0\0", "a GGUF file"),
    "h.npz": (zip_file("arr_0.npy"), "a file of NumPy"),
    "i.npy": (b"\x93NUMPY\1\0", "a file of NumPy"),
    "j.bz2": (b"BZh91AY&SY", "a compressed file"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_programs_are_called_by_name(
    folder: Path, capsys: Printed, name: str
) -> None:
    data, kind = FOREIGN[name]
    (folder / name).write_bytes(data)
    for words in (
        ("show", name),
        ("check", name),
        ("review", "wine.nnm", "--data", name),
        ("train", name, "--data", "wine.csv", "--out", "m.safetensors"),
        ("train", "wine.nnm", "--data", name, "--out", "m.safetensors"),
        ("test", name, "--data", "wine.csv"),
        ("predict", name, "wine.csv"),
        ("predict", "wine.nnm", name),
        ("export", name, "--format", "stablehlo"),
        ("convert", name, "--out", "m.safetensors"),
        ("convert", "weights.safetensors", "--model", name, "--out", "m.safetensors"),
    ):
        if words[:2] in (("show", "c.onnx"), ("convert", "c.onnx")):  # which they read
            continue
        code, printed, told = run_to_exit(capsys, *words)
        assert (code, printed) == (2, ""), words
        assert told.startswith(f'NNM715: "{name}" is {kind}, not '), words
        assert "\nhint: " in told


async def test_python_calls_them_by_name_too(folder: Path) -> None:
    from webnnm import DataError, NNModel

    for name, (data, kind) in FOREIGN.items():
        (folder / name).write_bytes(data)
        with pytest.raises(DataError) as caught:
            await NNModel.load(folder / name)
        assert caught.value.code == "NNM802"
        assert kind in caught.value.message and caught.value.hint, name
    with pytest.raises(DataError, match="it is the text of a model") as caught:
        await NNModel.load(folder / "wine.nnm")
    assert caught.value.code == "NNM802"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("test", "wine.nnm", "--data", "wine.csv"), '"wine.nnm" is the text of a model, not a sn'),
        (("predict", "wine.nnm", "wine.csv"), '"wine.nnm" is the text of a model, not a snapshot'),
        (("test", "wine.csv", "--data", "wine.csv"), '"wine.csv" is a table, not a model'),
        (("show", "wine.csv"), '"wine.csv" is a table, not a model'),
        (("check", "wine.csv"), '"wine.csv" is a table, not a model'),
        (
            ("review", "wine.nnm", "--data", "wine.nnm"),
            '"wine.nnm" is the text of a model, not a t',
        ),
        (
            ("review", "wine.nnm", "--data", "weights.safetensors"),
            '"weights.safetensors" is a safetensors file, not a table',
        ),
        (
            ("convert", "wine.nnm", "--out", "m"),
            '"wine.nnm" is the text of a model, not a safetens',
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_was_given_and_what_is_wanted(
    capsys: Printed, words: tuple[str, ...], told: str
) -> None:
    code, printed, found = run_to_exit(capsys, *words)
    assert (code, printed) == (2, "")
    assert found.startswith(f"NNM715: {told}") and "\nhint: " in found


@pytest.mark.usefixtures("folder")
def test_a_snapshot_is_known_by_its_contents(capsys: Printed) -> None:
    given = ("convert", "weights.safetensors", "--model", "wine.nnm", "--out", "m.safetensors")
    assert run_to_exit(capsys, *given)[0] == 0
    Path("m.safetensors").rename("renamed")
    Path("rows.csv").write_text("1,2,3,4\n5,6,7,8\n")
    code, printed, _ = run_to_exit(capsys, "predict", "renamed", "rows.csv")
    assert code == 0 and len(printed.splitlines()) == 3
    assert run_to_exit(capsys, "show", "renamed")[0] == 0


def test_input_that_is_not_a_text() -> None:
    for arguments in (("check", "-"), ("format", "-")):
        found = subprocess.run(
            command(*arguments), cwd=ROOT, capture_output=True, input=b"\xff\xfe\0", check=False,
            env={**__import__("os").environ, "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:strict"},
        )  # fmt: skip
        assert found.returncode == 2
        assert found.stderr.startswith(b"NNM715: the standard input is not text")


# Exit codes.

TABLE = "a,b,c,d,kind\n1,2,3,4,x\n2,3,4,5,y\n3,4,5,6,z\n4,5,6,7,x\n"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, ("check", "wine.nnm")),
        (0, ("review", "wine.nnm", "--data", "t.csv")),
        # What is wrong in a model or in data is 1.
        (1, ("check", "wrong.nnm")),
        (1, ("show", "wrong.nnm")),
        (1, ("review", "wine.nnm", "--data", "ragged.csv")),
        (1, ("review", "wine.nnm", "--data", "word.csv")),
        (1, ("review", "wine.nnm", "--data", "narrow.csv")),
        (1, ("review", "wine.nnm", "--data", "empty.csv")),
        (1, ("show", "damaged.safetensors")),
        (1, ("convert", "weights.safetensors", "--model", "other.nnm", "--out", "o")),
        # What is wrong in the words of a command is 2.
        (2, ("cheque", "wine.nnm")),
        (2, ("check",)),
        (2, ("check", "none.nnm")),
        (2, ("check", "wine.csv")),
        (2, ("ops", "softmin")),
        (2, ("review", "wine.nnm", "--epochs", "0")),
        (2, ("review", "wine.nnm", "--set", "epocs=3")),
        (2, ("review", "wine.nnm", "--data", "t.csv", "--label", "knd")),
        (2, ("review", "wine.nnm", "--data", "t.csv", "--features", "a,b,c,e")),
        (2, ("review", "wine.nnm", "--data", "none.csv")),
        (2, ("review", "wine.nnm", "--data", "t.csv", "--split", "0.5,0.1,0.1")),
        (2, ("train", "wine.nnm", "--data", "t.csv", "--out", "none/m")),
        (2, ("train", "wine.nnm", "--data", "t.csv", "--out", "m", "--backend", "gpu")),
        (2, ("convert", "weights.safetensors", "--out", "o")),
        (2, ("serve", "none")),
    ],
)
def test_exit_codes(folder: Path, capsys: Printed, code: int, words: tuple[str, ...]) -> None:
    texts = {
        "t.csv": TABLE,
        "ragged.csv": f"{TABLE}1,2\n",
        "word.csv": f"{TABLE}1,2,three,4,x\n",
        "narrow.csv": "a,b\n1,x\n2,y\n3,x\n",
        "empty.csv": "",
        "wrong.nnm": SOFTMAX.replace("softmax", "sofmax"),
        "other.nnm": SOFTMAX.replace("shape=[4]", "shape=[5]"),
        "damaged.safetensors": "?",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    found, _, told = run_to_exit(capsys, *words)
    assert found == code, told
    if words[0] != "cheque" and len(words) > 1 and code:
        _, printed, _ = run_to_exit(capsys, *words, "--json")
        assert strict(printed), "and --json tells the same"


# Headers.


@pytest.mark.usefixtures("folder")
def test_a_header_can_be_told(capsys: Printed) -> None:
    given = ("convert", "weights.safetensors", "--model", "wine.nnm", "--out", "m.safetensors")
    assert run_to_exit(capsys, *given)[0] == 0
    Path("rows.csv").write_text("1,2,3,4\n5,6,7,8\n9,8,7,6\n")

    def rows(*more: str) -> int:
        code, printed, told = run_to_exit(capsys, "predict", "m.safetensors", "rows.csv", *more)
        assert code == 0, told
        return len(printed.splitlines()) - 1

    assert (rows(), rows("--no-header"), rows("--header")) == (3, 3, 2)
