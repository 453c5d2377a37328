"""Python's standard library in pages: what they start with, and the rest on demand."""

from __future__ import annotations

import pytest
from playwright.async_api import BrowserContext

from tests.browser.harness import PageLog, PyodidePage, PythonError, open_pyodide_in

Fresh = tuple[PyodidePage, list[str]]
REST = "python_stdlib_rest.zip"


@pytest.fixture
async def fresh(webnn_context: BrowserContext, page_log: PageLog, site_url: str) -> Fresh:
    """A page that just started Pyodide, with the archives that it asks for from then on."""
    page = await open_pyodide_in(webnn_context, page_log, site_url)
    asked: list[str] = []
    page.page.on(
        "request", lambda request: asked.append(request.url.rpartition("/")[2].partition("?")[0])
    )
    return page, asked


async def test_the_rest_comes_once_when_one_of_its_modules_is_imported(fresh: Fresh) -> None:
    page, asked = fresh
    program = "import difflib\ndifflib.get_close_matches('tain', ['train', 'test'])"
    assert await page.run_python(program) == ["train"]
    # Others are there now: those of packages, too, of which pages start with a part.
    others = "import colorsys, email.mime.text, json.tool, unittest.mock, xml.etree.ElementTree\n"
    assert await page.run_python(f"{others}json.tool.__file__") == "/lib/python314.zip/json/tool.py"
    assert [name for name in asked if name == REST] == [REST]


async def test_what_is_there_or_nowhere_fetches_nothing(fresh: Fresh) -> None:
    page, asked = fresh
    program = """
import asyncio, encodings.latin_1, gzip, importlib.metadata, json, pickle, webnnm, zipfile
import importlib.util
[importlib.util.find_spec(name) for name in ("no_such_module", "msvcrt", "json.none", "numpyy")]
"""
    assert await page.run_python(program) == [None] * 4
    assert REST not in asked


async def test_numpy_imports_nothing_of_the_rest(fresh: Fresh) -> None:
    page, asked = fresh
    program = """
import pyodide_js
await pyodide_js.loadPackage("numpy")
import numpy, numpy.fft, numpy.linalg, numpy.random
float(numpy.random.default_rng(0).random(3).sum())
"""
    assert await page.run_python(program) > 0
    assert REST not in asked


async def test_without_a_network_the_error_says_so_and_a_later_import_succeeds(
    fresh: Fresh,
) -> None:
    page, _ = fresh
    await page.page.context.set_offline(True)
    with pytest.raises(PythonError, match=r"difflib is a module of python_stdlib_rest\.zip, which"):
        await page.run_python("import difflib")
    await page.page.context.set_offline(False)
    assert await page.run_python("import difflib\ndifflib.__name__") == "difflib"


async def test_tracebacks_show_lines_of_compiled_modules(fresh: Fresh) -> None:
    page, _ = fresh
    program = """
import json, traceback
try:
    json.loads("{")
except ValueError as error:
    text = "".join(traceback.format_exception(error))
text
"""
    text = await page.run_python(program)
    assert 'File "/lib/python314.zip/json/decoder.py", line' in text
