"""Every page of the site has a journey, and the record of journeys knows no other page."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tools.browsers.record import RECORD
from tools.page_parts import LINKS

JOURNEYS = Path(__file__).resolve().parents[1] / "journeys"
OPENED = re.compile(r'(?:open|begin)\((?:journey, )?"([\w/]+[.]html)')


def opened() -> set[str]:
    return {
        name for file in JOURNEYS.glob("test_*.py") for name in OPENED.findall(file.read_text())
    }


def test_every_page_has_a_journey() -> None:
    assert LINKS.keys() - opened() == set()


def test_the_record_is_of_pages_that_journeys_open() -> None:
    recorded = json.loads(RECORD.read_text())
    pages = {name for engine in recorded.values() for name in engine["pages"]}
    assert pages - opened() == set()
