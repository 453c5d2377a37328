"""Structured output in a page: every text of SmolLM2 is JSON that fits."""

from __future__ import annotations

import json
import os

import pytest

from tests.browser import structured_in_page
from tests.browser.harness import PyodidePage
from tests.browser.site_pages import SMOLLM2, needs

COUNT = int(os.environ.get("WEBNNM_TEXTS", "3"))


@pytest.mark.slow
async def test_smollm2_writes_json_that_fits(pyodide_page: PyodidePage, site_url: str) -> None:
    needs(SMOLLM2)
    address = f"{site_url}/models/{SMOLLM2}"
    texts = await pyodide_page.call(structured_in_page.write_json, address, COUNT)
    people = [json.loads(text) for text in texts]
    assert len(people) == COUNT
    for person in people:
        assert [*person] == ["name", "age", "hobbies"] and 0 <= person["age"] <= 130
        assert len(person["hobbies"]) <= 3 and all(isinstance(h, str) for h in person["hobbies"])
