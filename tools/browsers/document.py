"""Writes docs/browsers.md from what journeys recorded in docs/browsers.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools.browsers.availability import answer
from tools.browsers.engines import ENGINES
from tools.browsers.record import OPENS, QUIET, RECORD
from tools.common import ROOT
from tools.operators import table
from tools.page_parts import LINKS

PAGE = ROOT / "docs" / "browsers.md"
JOURNEYS = """\
`make browsers` goes through the pages of the site in these browsers, and does what a visitor would
do. A tick means that the page opens and that everything in its row works, except for what stands
behind the tick; a cross means that the page does not open. A quiet console has no errors. WebKitGTK
has the engine of Safari, and Chromium that of Chrome and Edge. Cameras and microphones are
simulated by the browsers, which ran without a graphics card and without a visible window.

"""
FACILITIES = """\

## What the browsers have

Pages detect what a browser has, and say what models run on.

"""
STAYED = """\

Reloading or leaving the page ends a training; the page then offers to continue from the last saved
state ([Save and load models](keeping-models.md)).
"""

UNTRIED = "this page was not tested in this browser"
FRONT = "index.html"
"""The page whose journey records what a browser has."""


def page() -> str:
    """Return the text of docs/browsers.md."""
    return write(json.loads(RECORD.read_text(encoding="utf-8")))


def write(recorded: Mapping[str, Any]) -> str:
    """Return the text about a record."""
    engines = [recorded[name] for name in ENGINES if name in recorded]
    titles = [_title(engine, engine["version"]) for engine in engines]
    reasons: list[str] = []
    rows = [
        [
            _link(name),
            ", ".join(steps),
            *(_cell(engine, name, steps, reasons) for engine in engines),
        ]
        for name, steps in _steps(engines).items()
    ]
    notes = "".join(f"\n{number}. {reason}" for number, reason in enumerate(reasons, 1))
    facilities = [
        [name, *(engine["facilities"].get(name, "–") for engine in engines)]
        for name in dict.fromkeys(name for engine in engines for name in engine["facilities"])
    ]
    versions = [engine["versions"].get(FRONT, engine["version"]) for engine in engines]
    return "".join(
        [
            answer(),
            JOURNEYS,
            table(["Page", "What is tested", *titles], rows),
            f"\n{notes}\n" if notes else "\n",
            STAYED,
            FACILITIES,
            table(["", *map(_title, engines, versions)], facilities),
            "\n",
        ]
    )


def _title(engine: Mapping[str, str], version: str) -> str:
    """Return the name of a browser with the first numbers of a version."""
    name, _, rest = engine["title"].partition(" ")
    return " ".join(filter(None, [name, _shorten(version), rest]))


def _shorten(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _link(name: str) -> str:
    if name in LINKS:
        return LINKS[name]
    return f"Documents ({name.rpartition('/')[2].removesuffix('.html')})"


def _steps(engines: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the steps on each page, pages and steps in the order of the site and of the record."""
    recorded = dict.fromkeys(name for engine in engines for name in engine["pages"])
    pages = [*(name for name in LINKS if name in recorded), *recorded]
    return {
        name: sorted(
            dict.fromkeys(
                [OPENS, *(step for engine in engines for step in engine["pages"].get(name, {}))]
            ),
            key=lambda step: step == QUIET,
        )
        for name in dict.fromkeys(pages)
    }


def _cell(engine: Mapping[str, Any], name: str, steps: list[str], reasons: list[str]) -> str:
    """Return the tick of a page in a browser, with what it lacks; its reasons join the others."""
    if name not in engine["pages"]:
        return f"–{_note(UNTRIED, reasons)}"
    states = engine["pages"][name]
    lacking = []
    for step in steps:
        state = states.get(step, False)
        if state is not True:
            lacking.append(f"{step}{_note(state, reasons) if state else ''}")
    cell = "✗"
    if OPENS not in lacking:
        cell = "✓" + (f" except: {', '.join(lacking)}" if lacking else "")
    version = engine["versions"][name]
    return cell if version == engine["version"] else f"{cell}; seen in {_shorten(version)}"


def _note(reason: str, reasons: list[str]) -> str:
    """Return the number of a reason's note, which it joins."""
    if reason not in reasons:
        reasons.append(reason)
    return f" ({reasons.index(reason) + 1})"
