"""A scan on WebNN: the bridge unrolls its plan as the graph unrolls itself."""

from __future__ import annotations

import pytest

from tests.browser.harness import PyodidePage
from tests.unit.graph import scans


@pytest.mark.parametrize("length", [1, 2, 5])
async def test_a_scan_is_its_unrolled_graph(pyodide_page: PyodidePage, length: int) -> None:
    on_webnn = await pyodide_page.call(scans.run, length, "webnn")
    assert on_webnn == await scans.run(length, "numpy")
