"""docs/onnx.md says what the table of operators and the recorded counts say."""

from __future__ import annotations

import json

from tools import onnx_document
from webnnm.formats.onnx.importing.table import entries


def test_every_operator_says_what_it_computes() -> None:
    silent = {name for (_, name), entry in entries().items() if not entry.function.__doc__}
    assert not silent


def test_counts_never_exceed_the_cases() -> None:
    counts = json.loads(onnx_document.COUNTS.read_text())["vectors"]
    assert all(0 <= each["reference"] <= each["total"] for each in counts.values())
