"""Computing a graph once in the browser: with await, and without where the browser can wait."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.browser.harness import PyodidePage, PythonError

PROGRAM = """
from array import array
from webnnm import GraphBuilder
from webnnm.backends.webnn import WebNNBackend

context = await WebNNBackend.open()
try:
    b = GraphBuilder(context)
    graph = await b.build_async({"y": b.input("x", {"type": "float32", "dimensions": [2]}) * 2})
    filled = array("f", [0, 0])
    awaited = await context.compute_async(graph, {"x": [1, 2]}, {"y": filled})
    waited = context.compute(graph, {"x": [3, 4]}) if waits else None
    held = context.memory()
finally:
    context.close()
{
    "awaited": [float(value) for value in awaited["y"]],
    "filled": list(filled),
    "waited": waited and [float(value) for value in waited["y"]],
    "tensors": held.tensors,
}
"""


async def test_compute_with_and_without_await(pyodide_page: PyodidePage) -> None:
    found = await pyodide_page.run_python(PROGRAM, waits=True)
    assert found == {"awaited": [2, 4], "filled": [2, 4], "waited": [6, 8], "tensors": 0}


# Other tests share the page.
CANNOT_WAIT = f"""
from unittest.mock import patch
with patch("webnnm.backends.pyodide_host.can_wait", return_value=False):
{indent(PROGRAM, "    ")}
"""


async def test_compute_says_what_to_do_where_it_cannot_wait(pyodide_page: PyodidePage) -> None:
    with pytest.raises(PythonError, match="use `await compute_async"):
        await pyodide_page.run_python(CANNOT_WAIT, waits=True)
