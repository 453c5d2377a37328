"""Browsers of journeys start or leave nothing behind; the document tells what was recorded."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.journeys.journey import start
from tools.browsers import document, firefox, webkit
from tools.browsers.driver import Browser
from tools.browsers.engines import Engine
from tools.browsers.record import FOLDER, OPENS, QUIET, Record, merge

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs here are shell scripts")


def write_program(path: Path, line: str) -> Path:
    """Write a program that notes its process, writes a line and waits; return where it notes."""
    note = path.with_suffix(".pid")
    path.write_text(f"#!/bin/sh\necho $$ > {note}\necho {line}\nexec /bin/sleep 600\n")
    path.chmod(0o755)
    return note


def is_running(note: Path) -> bool:
    try:
        os.kill(int(note.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "line", "begin"),
    [
        # Nobody listens at the address of the one, and the other's driver is missing.
        ("firefox", "WebDriver BiDi listening on ws://127.0.0.1:9", firefox.start),
        ("Xvfb", "99", webkit.start),
    ],
)
async def test_a_failed_start_leaves_no_process(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    line: str,
    begin: Callable[[Path], Awaitable[Browser]],
) -> None:
    note = write_program(tmp_path / name, line)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError):
        await begin(tmp_path / "folder")
    assert not is_running(note)


async def test_an_answer_that_comes_too_late_leaves_the_next_ones_alone() -> None:
    async def answers() -> AsyncIterator[str]:
        yield json.dumps({"id": 1})
        yield json.dumps({"id": 2})

    connection = firefox.Connection(answers())
    late, next_one = (asyncio.get_running_loop().create_future() for _ in range(2))
    late.cancel()
    connection.answers = {1: late, 2: next_one}
    await connection.reader
    assert next_one.result() == {"id": 2}


async def fail_to_start(folder: Path) -> Browser:
    raise RuntimeError(f"{folder.name} cannot be seen")


def engine(*packages: str) -> Engine:
    return Engine(
        name="other",
        title="Other",
        is_installed=lambda: True,
        packages=packages,
        start=fail_to_start,
    )


async def test_a_browser_of_the_machine_that_does_not_start_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    with pytest.raises(pytest.skip.Exception, match="folder cannot be seen"):
        await start(engine("other"), tmp_path / "folder")


async def test_it_fails_where_browsers_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="folder cannot be seen"):
        await start(engine("other"), tmp_path / "folder")


async def test_a_bundled_browser_that_does_not_start_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    with pytest.raises(RuntimeError):
        await start(engine(), tmp_path)


def write_record(folder: Path, version: str, **pages: dict[str, bool | str]) -> None:
    """Merge what journeys showed in a version of Firefox into a record."""
    run = folder / version
    run.mkdir()
    names = {f"{name}.html": steps for name, steps in pages.items()}
    Record("firefox", "Firefox", version, names).write(run)
    merge(run, folder / "browsers.json")


def cells(folder: Path) -> dict[str, str]:
    """Return what the document says of each page in the browser that was recorded last."""
    text = document.write(json.loads((folder / "browsers.json").read_text()))
    tried = text[text.index("## What was tested") :]
    rows = [line.strip("| ").split(" | ") for line in tried.splitlines() if line.startswith("| ")]
    return {row[0]: row[-1] for row in rows if len(row) == 3}


def test_a_page_of_an_earlier_version_says_so(tmp_path: Path) -> None:
    went_well: dict[str, bool | str] = {OPENS: True, QUIET: True}
    write_record(tmp_path, "152.0.1", iris=went_well, hello=went_well)
    write_record(tmp_path, "153.8.0", iris=went_well)
    assert cells(tmp_path) == {
        "Page": "Firefox 153.8",
        "Iris flowers": "✓",
        "First graph": "✓; seen in 152.0",
    }


def test_what_failed_and_what_cannot_be_tried_are_named(tmp_path: Path) -> None:
    write_record(
        tmp_path,
        "153.8.0",
        iris={OPENS: True, "trains": "no electricity", QUIET: False},
        hello={},
    )
    assert cells(tmp_path) == {
        "Page": "Firefox 153.8",
        "Iris flowers": f"✓ except: trains (1), {QUIET}",
        "First graph": "✗",
    }


def test_a_page_that_no_journey_went_through_is_no_failure(tmp_path: Path) -> None:
    write_record(tmp_path, "153.8.0", iris={OPENS: True})
    recorded = json.loads((tmp_path / "browsers.json").read_text())
    recorded["webkit"] = {**recorded["firefox"], "title": "WebKit", "pages": {}}
    text = document.write(recorded)
    assert "| Iris flowers | opens | ✓ | – (1) |" in text
    assert f"1. {document.UNTRIED}" in text
