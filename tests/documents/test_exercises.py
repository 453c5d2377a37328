"""Exercises of documents judge answers: as they stand, wrong ones, and their solutions."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.document_files import PAGES, ROOT, id_of
from tools.docs import session
from tools.docs.markup import Exercise, exercises, pieces

WITH_EXERCISES = [page for page in PAGES if [*exercises(page.read_text())]]
RIGHT = "That is right: "
FAULTS = re.compile(r"Traceback|ends with an error|cannot use the result")
"""What learners must not read of an exercise as it stands, nor of the mistakes that it foresees."""


def run_before(page: Path) -> Iterator[Exercise]:
    """Yield the exercises of a document, each after the programs before it have run."""
    session.SESSIONS.pop(id_of(page), None)
    by_line = {exercise.line: exercise for exercise in exercises(page.read_text())}
    for piece in pieces(page.read_text()):
        if piece.is_program:
            with redirect_stdout(io.StringIO()) as printed:
                ending = asyncio.run(session.run(piece.text, id_of(page)))
            assert ending == "done", printed.getvalue()
        elif piece.line in by_line:
            yield by_line[piece.line]


def judge(program: str, exercise: Exercise, page: Path) -> str:
    """Return what the check of an exercise says of a program."""
    with redirect_stdout(io.StringIO()) as printed:
        verdict = asyncio.run(session.check(program, exercise.check, id_of(page)))
    return f"{verdict}\n{printed.getvalue()}" if FAULTS.search(verdict) else verdict


@pytest.mark.parametrize("page", WITH_EXERCISES, ids=id_of)
def test_checks_say_what_is_missing_and_accept_solutions(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    problems: list[str] = []
    for exercise in run_before(page):
        verdict = judge(exercise.start, exercise, page)
        if not verdict or verdict.startswith(RIGHT) or FAULTS.search(verdict):
            problems.append(f"{exercise.name}, as it stands: {verdict!r}")
        for message, answer in exercise.wrong:
            if message not in (verdict := judge(answer, exercise, page)):
                problems.append(f"{exercise.name}, wrong: {verdict!r} lacks {message!r}")
        verdict = judge(exercise.solution, exercise, page)
        if not verdict.startswith(RIGHT):
            problems.append(f"{exercise.name}, solution: {verdict!r}")
    assert problems == []


@pytest.mark.parametrize("page", WITH_EXERCISES, ids=id_of)
def test_exercises_are_complete(page: Path) -> None:
    for exercise in exercises(page.read_text()):
        assert exercise.check, f"{exercise.name} has no check"
        assert exercise.solution, f"{exercise.name} has no solution"
        assert exercise.wrong, f"{exercise.name} foresees no mistake"


def test_checks_say_what_programs_lack() -> None:
    async def say() -> list[str]:
        check = "assert x > 1, 'too small'\nprint('That is right: it is')"
        answers = ["x = 1", "x = 2", "y = 2", "x = ''", "x = = 2", "x = 1 / 0"]
        return [await session.check(answer, check, "check") for answer in answers]

    with redirect_stdout(io.StringIO()) as printed:
        small, right, none, text, syntax, error = asyncio.run(say())
    assert [small, right] == ["too small", "That is right: it is"]
    assert none == "The check looks for `x`, which the program does not define any more."
    assert text.startswith("The check cannot use the result: ")
    assert syntax == error
    assert error.startswith("The program ends with an error")
    assert "ZeroDivisionError" in printed.getvalue()


def test_a_name_that_only_the_answer_uses_is_not_sought_by_the_check() -> None:
    answer = "def draw():\n    return random.random()"
    verdict = asyncio.run(session.check(answer, "assert draw() < 1", "check"))
    assert verdict == "The program uses `random`, which it neither defines nor imports."


def test_exercises_leave_the_session_alone() -> None:
    async def use() -> list[str]:
        await session.run("x, rows = 1, [[1]]\ndef double(): return 2 * x", "alone")
        await session.run("x = 2; rows[0].append(2); y = 3", "alone", "", 0, True)
        answer = "x = 3; rows += [[4]]; print(double())"
        check = "assert printed != '6\\n' or 'x = 3' not in program, 'functions see changed names'"
        verdict = await session.check(answer, check, "alone")
        ending = await session.run(
            "assert (x, rows, 'y' in globals()) == (1, [[1]], False)", "alone"
        )
        return [verdict, ending]

    with redirect_stdout(io.StringIO()) as printed:
        assert asyncio.run(use()) == ["functions see changed names", "done"], printed.getvalue()
