"""Transcripts on WebNN are those of NumPy, in memory that is taken once."""

from __future__ import annotations

import pytest

from tests.browser import transcripts_in_page
from tests.browser.harness import PyodidePage


async def test_transcripts_are_those_of_numpy(pyodide_page: PyodidePage) -> None:
    pytest.importorskip("tokenizers")
    wanted = await transcripts_in_page.transcripts("numpy")
    found = await pyodide_page.call(transcripts_in_page.transcripts, "webnn")
    assert found.pop("sure") == pytest.approx(wanted.pop("sure"), abs=1e-3)
    pairs = {name: [tuple(each) for each in found[name]] for name in ("first", "slower")}
    assert {**found, **pairs} == wanted
    assert wanted["slower"] and wanted["same"] and wanted["steady"]
