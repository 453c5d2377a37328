"""The programs by which reviews are judged are whole, and can be run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.teach import CASES, Case
from tests.teach.cases import mistake
from tests.teach.setup import Setup
from tools import teach
from webnnm import parse

MISTAKES = [case for case in CASES.values() if not case.is_sound]
SOUND = [case for case in CASES.values() if case.is_sound]


def test_there_are_enough_of_both() -> None:
    assert len(MISTAKES) >= 60
    assert len(SOUND) >= 40


def test_the_name_is_listed_once() -> None:
    assert all(case.name == name for name, case in CASES.items())
    with pytest.raises(ValueError, match="two cases are called leaking_column"):
        mistake("Again.", remedy="Not again.", why="…")(CASES["leaking_column"].make)


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case.name)
def test_mistake_can_be_mended_or_it_is_said_why_not(case: Case) -> None:
    assert case.about.endswith(".") and case.remedy.endswith(".")
    assert case.mend is not None or case.why


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_texts_parse_and_mending_changes_something(case: Case) -> None:
    setup, mended = case.make(), case.mended()
    parse(setup.text)
    if mended is not None:
        parse(mended.text)
        assert (mended.text, mended.train, mended.create, mended.score) != (
            (setup.text, setup.train, setup.create, setup.score)
        ) or mended.data is not setup.data


def test_mistake_without_anything_to_compare_with_is_refused() -> None:
    with pytest.raises(ValueError, match="neither a mended program nor a reason"):
        mistake("Wrong.", remedy="Right.")


def test_words_that_shall_be_replaced_are_there() -> None:
    with pytest.raises(ValueError, match="is not in the text"):
        Setup("model:layers relu();", lambda seed: None).saying("tanh", "relu")  # type: ignore


async def test_runner_tells_findings_scores_and_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["unknown_optimizer", "linear_regression", "fewer_outputs_than_targets"]
    into = tmp_path / "teach.json"
    await teach.main([*names, "--seeds", "1", "--into", str(into)])
    unknown, linear, fewer = json.loads(into.read_text())
    assert unknown["first"]["error"].startswith("NNM704") and unknown["score"] is None
    assert unknown["mended_score"] > 0.9
    assert linear["score"] > 0.9 and linear["mended_score"] is None and not linear["first"]["error"]
    assert fewer["first"]["error"].startswith("NNM702") and fewer["mended_score"] > 0.3
    printed = capsys.readouterr().out
    assert "not named: none" in printed or "not named: fewer" in printed
    assert "false alarms in 1 sound programs" in printed
    assert "error NNM704" in printed and "3 cases; all texts are in" in printed


async def test_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        await teach.main(["leaking_colum"])
    assert 'there is no case "leaking_colum"' in capsys.readouterr().err
