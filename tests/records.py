"""What each bundled Chromium does, recorded by `make operators`: a file for each major version."""

from __future__ import annotations

import json
import os
from typing import Any

from tests.places import CHROMIUM

RECORD = "WEBNNM_RECORD"
"""The environment variable with which `make operators` runs the tests, so that they record."""


def is_recording() -> bool:
    """Return whether tests record what they see instead of comparing it."""
    return bool(os.environ.get(RECORD))


def versions() -> list[str]:
    """Return the major versions that have a record, the newest first."""
    return sorted((path.stem for path in CHROMIUM.glob("*.json")), key=int, reverse=True)


def read(version: str) -> dict[str, Any]:
    """Return the record of a major version."""
    return json.loads((CHROMIUM / f"{version}.json").read_text(encoding="utf-8"))


def compare(browser: str, **facts: Any) -> None:
    """Compare facts with those recorded of a browser's version, or record them if that is asked."""
    path = CHROMIUM / f"{browser.partition('.')[0]}.json"
    if is_recording():
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(_format(dict(sorted({**known, **facts, "browser": browser}.items()))))
        return
    assert path.exists(), f"there is no record of Chromium {browser}: `make operators` writes one"
    record = json.loads(path.read_text())
    for name, fact in facts.items():
        is_recorded = name in record and fact == record[name]
        assert is_recorded, f"{name} of Chromium {browser}: `make operators` records them"


def _format(content: dict[str, Any]) -> str:
    """Return JSON with a line for each element of each value."""
    return "{\n" + ",\n".join(f"{_write(k)}: {_break(v)}" for k, v in content.items()) + "\n}\n"


def _break(value: Any) -> str:
    if isinstance(value, dict) and value:
        return "{\n" + ",\n".join(f" {_write(k)}: {_write(v)}" for k, v in value.items()) + "\n}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f" {_write(v)}" for v in value) + "\n]"
    return _write(value)


def _write(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
