"""Pipelines in a page give what they give on a desktop."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import pipelines_in_page
from tests.browser.harness import PyodidePage


async def test_results_are_those_of_desktops(pyodide_page: PyodidePage) -> None:
    pytest.importorskip("tokenizers")
    results = await pyodide_page.call(pipelines_in_page.run_tasks, "webnn")
    check(results, await pipelines_in_page.run_tasks("numpy"))


def check(found: Any, expected: Any) -> None:
    """Check that two results are the same, numbers to 1e-4."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name in expected:
            check(found[name], expected[name])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            check(one, other)
    else:
        close = pytest.approx(expected, abs=1e-4) if isinstance(expected, float) else expected
        assert found == close
