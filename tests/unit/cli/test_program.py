"""The command line, from arguments to printed text and exit code."""

from __future__ import annotations

import io
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.shared import IRIS, ROOT, SOFTMAX, run, strict
from webnnm.core.finding import AREAS, SEVERITIES, Finding
from webnnm.trainer.review import Review
from webnnm.training.settings import Settings

# Files and processes of a desktop; in a page nobody types commands.
pytestmark = pytest.mark.desktop

# The wheel of the pages leaves it out.
main = pytest.importorskip("webnnm.cli").main

REGRESSION = """model:input shape=[4];
model:output shape=[1];
model:layers matmul(w), add(b);
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.nnm"
    path.write_text(SOFTMAX)
    return str(path)


# The program as a user starts it.


def test_review_of_a_file_with_its_data(model: str) -> None:
    ended = run("review", model, "--data", IRIS, "--label", "species", "--epochs", "100")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.split("\n")
    assert any(
        line.startswith("  warning E603 line 1, column 7: 3 of 4 features") for line in lines
    )
    assert "    → Standardise the inputs: --standardize." in lines
    assert "  model:loss CCE (E101)" in lines
    areas = [line for line in lines if line in AREAS]
    assert areas == [area for area in AREAS if area in areas] and "Data" in areas


def test_an_error_has_no_traceback(model: str) -> None:
    Path(model).write_text(SOFTMAX.replace("softmax", "sofmax"))
    ended = run("review", model)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("NNM204 line 3, column 33: ")
    assert 'did you mean "softmax"?' in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "arguments", [(), ("revue",), ("review",), ("review", "m", "--epoch", "3")]
)
def test_usage_errors_are_2(arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert ended.returncode == 2
    assert ended.stderr.startswith("usage: webnnm")


def test_the_project_installs_the_command() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"webnnm": "webnnm.cli:main"}


# The same by call.


def test_standardize_and_silence_take_their_findings_away(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(*more: str) -> set[str]:
        assert main(["review", model, "--data", IRIS, "--json", *more]) == 0
        return {finding["id"] for finding in strict(capsys.readouterr().out)["findings"]}

    before = found()
    assert {"E603", "E606", "E111"} <= before
    assert found("--standardize") == before - {"E603"}
    assert found("--silence", "E603,E606", "--silence", "E111") == before - {"E603", "E606", "E111"}


def test_json_is_strict_and_complete(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--set", "lr=0.6", "--set", "weightDecay=1e-3", "--shuffle", "false"]
    assert main(["review", model, "--data", IRIS, "--json", *given]) == 0
    result = strict(capsys.readouterr().out)
    assert result["model"] == model and result["warnings"] == []
    settings, origins = result["settings"], result["origins"]
    assert (settings["lr"], origins["lr"]) == (0.6, "given")
    assert (settings["weight_decay"], origins["weight_decay"]) == (1e-3, "given")
    assert settings["shuffle"] is False
    assert origins["epochs"] == "default for 105 rows"
    for finding in result["findings"]:
        assert finding["area"] in AREAS and finding["severity"] in SEVERITIES
    fast = next(f for f in result["findings"] if f["id"] == "E305")
    assert fast["evidence"] == {"lr": 0.6, "default": pytest.approx(0.01)}


def test_a_finding_of_severity_error_is_1(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Finding(id="E803", severity="error", message="too large", remedy="Use less.")
    answer = Review(findings=[found], settings=Settings(lr=math.inf), origins={"lr": "given"})
    monkeypatch.setattr("webnnm.cli.review.review", lambda *_, **__: answer)
    assert main(["review", model]) == 1
    lines = ["Target", "  error E803: too large", "    → Use less."]
    lines.append("and 1 setting: --verbose shows them")
    assert capsys.readouterr().out.splitlines() == [*lines, "Findings: 1 error"]
    assert main(["review", model, "--json"]) == 1
    assert strict(capsys.readouterr().out)["settings"] == {"lr": None}


def test_data_that_cannot_be_trained_on_are_findings(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels that no loss fits (E103), and a number that is not finite (E605)."""

    def found(name: str, rows: list[str]) -> tuple[dict[str, Any], str]:
        table = tmp_path / "t.csv"
        table.write_text("a,b,c,d,e\n" + "\n".join(rows))
        given = ["review", model, "--data", str(table)]
        assert main([*given, "--json"]) == 1
        findings = strict(capsys.readouterr().out)["findings"]
        (one,) = [finding for finding in findings if finding["id"] == name]
        assert one["severity"] == "error" and one["evidence"] and one["remedy"]
        assert main(given) == 1
        told = capsys.readouterr()
        assert (told.err, told.out.count(f"error {name}")) == ("", 1)
        return one, told.out

    Path(model).write_text(REGRESSION.replace("add(b)", "sigmoid()") + "model:loss BCE;")
    finding, printed = found("E103", [f"{i},{i % 3},{i % 5},{i / 7},{i / 4}" for i in range(40)])
    assert "BCE needs labels from 0 to 1" in finding["message"]
    assert finding["places"] == [[2, 7]]
    assert "E603" in printed, "the rest of the data is looked at"
    Path(model).write_text(SOFTMAX)
    finding, printed = found("E605", ["1,2,3,4,p", "1,2,inf,4,q"])
    assert 'row 3, column c is "inf"' in finding["message"]
    assert finding["evidence"] == {"row": 3}
    assert "E101" in printed


def test_columns_splits_and_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.nnm"
    path.write_text(REGRESSION)
    table = tmp_path / "t.csv"
    rows = [f"{i % 7};{i / 9};{i % 3};{i * 0.25};{i % 4};{i % 2}" for i in range(50)]
    table.write_text("a;b;c;d;e;f\n" + "\n".join(rows))
    chosen = ["--delimiter", ";", "--label", "-3", "--features", "a,b,2,f", "--split", "30,10,10"]
    assert main(["review", str(path), "--data", str(table), *chosen, "--json"]) == 0
    result = strict(capsys.readouterr().out)
    (loss,) = [f for f in result["findings"] if f["id"] == "E101"]
    assert "numbers" in loss["message"] or "MSE" in loss["message"]
    assert result["settings"]["validation_split"] == 0, "it has a validation subset"


@pytest.mark.parametrize(
    ("more", "code", "text"),
    [
        (("--epochs", "0"), 2, "NNM704: epochs is 0\nhint: give an integer from 1 to below 2**64"),
        (("--set", "lt=3"), 2, 'NNM703: there is no hyperparameter "lt"'),
        (("--set", "lr"), 2, "NNM704: lr is ''"),
        (("--silence", "E999"), 2, 'NNM703: there is no rule "E999"'),
        (("--data", "/nowhere.csv"), 2, "NNM715"),
        (("--data", IRIS, "--label", "speces"), 2, 'NNM710: no column "speces"'),
        (("--data", IRIS, "--features", "0,1"), 1, "NNM702"),
    ],
)
def test_errors_are_told_with_their_exit_code(
    model: str, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], code: int, text: str
) -> None:
    assert main(["review", model, *more]) == code
    told = capsys.readouterr()
    assert (told.out, told.err[: len(text)]) == ("", text)
    assert main(["review", model, *more, "--json"]) == code
    (problem,) = strict(capsys.readouterr().out)["errors"]
    assert text.startswith(problem["code"])
    assert problem["severity"] == "error"


def test_a_split_that_is_not_a_list_is_usage(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["review", model, "--data", IRIS, "--split", "0.7,x"])
    assert ended.value.code == 2
    assert "'0.7,x' is not a list of numbers" in capsys.readouterr().err


def test_several_errors_of_a_text_are_all_told(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), relu(), matmul(w), tanh();"
    Path(model).write_text(wide)
    assert main(["review", model]) == 1
    assert capsys.readouterr().err.count("NNM403") == 4
    assert main(["review", model, "--json"]) == 1
    errors = strict(capsys.readouterr().out)["errors"]
    assert sorted((e["line"], e["column"]) for e in errors) == [(1, 49), (1, 56), (1, 60), (1, 75)]


def test_check_lists_problems_of_several_files(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", model]) == 0
    assert capsys.readouterr().out == ""
    idle, wrong = tmp_path / "idle.nnm", tmp_path / "wrong.nnm"
    idle.write_text(f"{SOFTMAX}other:layers tanh();")
    assert main(["check", model, str(idle)]) == 0
    assert capsys.readouterr().out.startswith(f"{idle}: warning NNM001 line 4, column 1: ")
    wrong.write_text(SOFTMAX.replace(";", "", 1))
    assert main(["check", str(idle), str(wrong)]) == 1
    assert f"{wrong}: error NNM104" in capsys.readouterr().out
    assert main(["check", model, str(idle), str(wrong), "--json"]) == 1
    files = strict(capsys.readouterr().out)
    assert [[p["code"] for p in f["problems"]] for f in files] == [[], ["NNM001"], ["NNM104"]]


def test_format_prints_or_writes(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    untidy = "m:input shape = [4,]; m:layers relu( );"
    tidy = "m:input shape=[4];\nm:layers\n  relu();\n"
    Path(model).write_text(untidy)
    assert main(["format", model]) == 0
    assert capsys.readouterr().out == tidy
    assert Path(model).read_text() == untidy
    assert main(["format", model, "--write"]) == 0
    assert (capsys.readouterr().out, Path(model).read_text()) == ("", tidy)
    monkeypatch.setattr("sys.stdin", io.StringIO(untidy))
    assert main(["format", "-"]) == 0
    assert capsys.readouterr().out == tidy
    assert main(["format", str(Path(model).parent / "none.nnm")]) == 2
