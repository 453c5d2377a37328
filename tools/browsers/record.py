"""What journeys showed: a file per engine while they run, docs/browsers.json in the end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.common import ROOT

RECORD = ROOT / "docs" / "browsers.json"
FOLDER = "WEBNNM_RECORD_BROWSERS"
"""A variable of the environment: the folder in which journeys record what they showed."""
PICTURES = "WEBNNM_PICTURES"
"""A variable of the environment: the folder in which journeys leave pictures of pages."""

OPENS = "opens"
"""What each journey begins with."""
QUIET = "fits a phone, with a quiet console"
"""What each journey ends with."""


@dataclass
class Record:
    """What journeys showed in one browser."""

    engine: str
    title: str
    version: str = ""
    pages: dict[str, dict[str, bool | str]] = field(default_factory=dict)
    """Page → step → whether it always went well, or why it cannot be tried."""
    facilities: dict[str, str] = field(default_factory=dict)
    """What the browser has → in words."""

    def add_page(self, page: str) -> None:
        """Record that somebody goes to a page, whatever comes of it."""
        self.pages.setdefault(page, {})

    def add_success(self, page: str, step: str) -> None:
        """Record that a step went well."""
        self.pages.setdefault(page, {}).setdefault(step, True)

    def add_failure(self, page: str, step: str) -> None:
        """Record that a step went wrong, whatever other journeys say."""
        self.pages.setdefault(page, {})[step] = False

    def add_skip(self, page: str, step: str, reason: str) -> None:
        """Record why a step cannot be tried."""
        self.pages.setdefault(page, {})[step] = reason

    def write(self, folder: Path) -> None:
        """Write the record to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {name: getattr(self, name) for name in ("title", "version", "facilities")}
        text = json.dumps({**content, "pages": self.pages}, ensure_ascii=False)
        (folder / f"{self.engine}.json").write_text(text, encoding="utf-8")


def merge(folder: Path, target: Path = RECORD) -> None:
    """Take over what journeys recorded in a folder, in place of what they recorded before."""
    recorded: dict[str, Any] = {}
    if target.exists():
        recorded = json.loads(target.read_text(encoding="utf-8"))
    for path in sorted(folder.glob("*.json")):
        new = json.loads(path.read_text(encoding="utf-8"))
        old = recorded.get(path.stem, {})
        # The pages that journeys did not go through are still those of an earlier version.
        new["versions"] = dict.fromkeys(new["pages"], new["version"])
        for name in ("pages", "versions", "facilities"):
            new[name] = old.get(name, {}) | new[name]
        recorded[path.stem] = new
    text = json.dumps(recorded, ensure_ascii=False, indent=1)
    target.write_text(f"{text}\n", encoding="utf-8")
