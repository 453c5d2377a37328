"""docs/onnx.md says what the table of operators and the recorded counts say."""

from __future__ import annotations

from tools import conformance
from webnnm.formats.onnx.importing.table import entries


def test_every_operator_says_what_it_computes() -> None:
    silent = {name for (_, name), entry in entries().items() if not entry.function.__doc__}
    assert not silent


def test_counts_never_exceed_the_cases() -> None:
    counts = conformance.count_onnx_cases()
    assert all(0 <= n <= of["Cases"] for of in counts.values() for n in of.values())
