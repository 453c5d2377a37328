"""The documents and their headings."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]


def id_of(page: Path) -> str:
    """Return the path of a document below the checkout."""
    return page.relative_to(ROOT).as_posix()


def headings(page: Path) -> list[str]:
    """Return the titles of a document."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ (.+)$", text, re.MULTILINE)
