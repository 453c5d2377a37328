"""Counts of conformance cases that pass on NumPy and in each bundled browser."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

from tests import records
from tools import chromium
from tools.common import ROOT

WPT = ROOT / "docs" / "conformance.json"
ONNX = ROOT / "docs" / "onnx.json"

Counts = dict[str, dict[str, int]]
"""Numbers of cases by operator, then by the title of a column; the first is "Cases"."""


def count_vectors() -> Counts:
    """Return how many vectors of the web-platform-tests pass, by operator."""
    failing = {
        f"Chromium {version}": records.read(version)["vectors"] for version in chromium.BUNDLES
    }
    return _count(WPT, failing)


def count_onnx_cases() -> Counts:
    """Return how many of ONNX's operator cases pass, by operator."""
    failing = {
        f"WebNN in Chromium {version}": records.read(version)["onnx_webnn"]
        for version in chromium.BUNDLES
    }
    failing["ONNX Runtime Web"] = records.read(chromium.DEFAULT)["onnx_onnxruntime"]
    return _count(ONNX, failing)


def sum_up(counts: Counts) -> dict[str, int]:
    """Return the sums of all columns."""
    columns = dict.fromkeys(title for row in counts.values() for title in row)
    return {title: sum(row[title] for row in counts.values()) for title in columns}


def _count(file: Path, failing: Mapping[str, Collection[str]]) -> Counts:
    """Return the counts; a browser fails some of the cases that pass on NumPy."""
    failed = {
        title: Counter(name.partition(": ")[0] for name in names)
        for title, names in failing.items()
    }
    return {
        operator: {
            "Cases": counts["total"],
            "NumPy": counts["reference"],
            **{title: counts["reference"] - failed[title][operator] for title in failed},
        }
        for operator, counts in json.loads(file.read_text())["vectors"].items()
    }
