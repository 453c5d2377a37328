"""Writes docs/browsers.md from what journeys recorded in docs/browsers.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools.browsers.engines import ENGINES
from tools.browsers.record import QUIET, RECORD
from tools.common import ROOT
from tools.operators import table
from tools.page_parts import LINKS

PAGE = ROOT / "docs" / "browsers.md"
INTRODUCTION = """\
# What works in which browser

<!-- Written by `make browsers` from docs/browsers.json, which it records: change neither. -->

Every page of the site, and what somebody does there, was gone through in these browsers by
`make browsers`: a tick is a journey that went well, with no error in the console, on a page that is
no wider than a telephone. WebKitGTK has the engine of Safari, and Chromium that of Chrome and Edge.
Cameras and microphones are made up by the browsers; all computed without a graphics card, and none
had a window that somebody sees.

## Pages

"""
FACILITIES = """\

## What the browsers have

Pages find out themselves what a browser has, and say what models run on.

"""
STAYED = """\

A training goes on in a hidden tab, in the page and in a worker, slower where the browser slows
hidden tabs down. A reload, or leaving the page, ends it; the page then offers to go on where it was
kept ([Keeping models](keeping-models.md)).
"""

Pages = Mapping[str, Mapping[str, bool | str]]


def page() -> str:
    """Return the text of docs/browsers.md."""
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    engines = [recorded[name] for name in ENGINES if name in recorded]
    titles = [_title(engine) for engine in engines]
    reasons: list[str] = []
    rows = [
        [
            _link(name),
            ", ".join(steps),
            *(_cell(e["pages"].get(name), steps, reasons) for e in engines),
        ]
        for name, steps in _steps(engines).items()
    ]
    notes = "".join(f"\n{number}. {reason}" for number, reason in enumerate(reasons, 1))
    facilities = [
        [name, *(engine["facilities"].get(name, "–") for engine in engines)]
        for name in dict.fromkeys(name for engine in engines for name in engine["facilities"])
    ]
    return "".join(
        [
            INTRODUCTION,
            table(["Page", "What it does there", *titles], rows),
            f"\n{notes}\n" if notes else "\n",
            STAYED,
            FACILITIES,
            table(["", *titles], facilities),
            "\n",
        ]
    )


def _title(engine: Mapping[str, str]) -> str:
    """Return the name of a browser with the first numbers of its version."""
    name, _, rest = engine["title"].partition(" ")
    version = ".".join(engine["version"].split(".")[:2])
    return " ".join(filter(None, [name, version, rest]))


def _link(name: str) -> str:
    if name in LINKS:
        return LINKS[name]
    return f"Documents ({name.rpartition('/')[2].removesuffix('.html')})"


def _steps(engines: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the steps on each page, pages and steps in the order of the site and of the record."""
    names = [*LINKS, *(name for engine in engines for name in engine["pages"])]
    steps = {
        name: sorted(
            dict.fromkeys(step for engine in engines for step in engine["pages"].get(name, {})),
            key=lambda step: step == QUIET,
        )
        for name in dict.fromkeys(names)
    }
    return {name: found for name, found in steps.items() if found}


def _cell(shown: Mapping[str, bool | str] | None, steps: list[str], reasons: list[str]) -> str:
    """Return the tick of a page in a browser, with what it lacks; its reasons join the others."""
    if shown is None or shown.get(steps[0]) is not True:
        return "✗"
    lacking = []
    for step in steps:
        state = shown.get(step, False)
        if state is True:
            continue
        note = ""
        if isinstance(state, str):
            if state not in reasons:
                reasons.append(state)
            note = f" ({reasons.index(state) + 1})"
        lacking.append(f"{step}{note}")
    return "✓" + (f" but for: {', '.join(lacking)}" if lacking else "")
