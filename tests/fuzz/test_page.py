"""The fuzzer's browser: after a graph that ends its page it opens another."""

from __future__ import annotations

import base64
import pickle
from typing import Any

import pytest

from tests.fuzz.page import Browser


class StubPage:
    """A page that answers every graph, or crashes at the first."""

    def __init__(self, *, crashes: bool) -> None:
        self._crashes = crashes

    async def run_python(self, code: str, **values: Any) -> str:
        """Answer a graph, or end like a page whose process is gone."""
        if self._crashes:
            raise RuntimeError("Target crashed")
        return base64.b64encode(pickle.dumps(({}, True))).decode()


def test_a_page_that_crashes_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph that ended the page fails; the next one is answered by a new page."""
    browser = Browser("webnn")
    pages = iter([StubPage(crashes=True), StubPage(crashes=False)])

    async def open_page() -> Any:
        return next(pages)

    monkeypatch.setattr(browser, "_open", open_page)
    job: Any = "a graph"
    try:
        with pytest.raises(RuntimeError, match="Target crashed"):
            browser.answer(job)
        assert browser.answer(job) == ({}, True)
    finally:
        browser.close()
