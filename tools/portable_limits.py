"""Writes what every implementation of WebNN can compute, for the plans of exported pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.unit.backends.webnn_tables import support_limits
from tools.common import ROOT

PAGE = ROOT / "webnnm" / "formats" / "page" / "portable_limits.py"
CHROMIUM = ROOT / "tests" / "data" / "chromium"
HEAD = '''"""What every known implementation of WebNN can compute. Written by `make documents`."""

from __future__ import annotations

LIMITS = {
'''
TAIL = '''}
"""Data types with the lowest and highest rank → the operands and results that may have them, in all
implementations of the specification and in the recorded versions of Chromium."""
'''
WIDTH = 100


def page() -> str:
    """Return the text of the module."""
    slots: dict[str, list[str]] = {}
    for name, bounds in find_limits():
        slots.setdefault(bounds, []).append(name)
    return HEAD + "".join(_write(bounds, slots[bounds]) for bounds in sorted(slots)) + TAIL


def find_limits() -> Iterator[tuple[str, str]]:
    """Yield each operand and result as `operator.slot`, and its types and ranks in words."""
    recorded = [json.loads(path.read_text())["limits"] for path in sorted(CHROMIUM.glob("*.json"))]
    for operator, slots in support_limits(required=True).items():
        if not isinstance(slots, dict) or "dataTypes" in slots:
            continue
        for slot, required in slots.items():
            known = [required, *(limits[operator][slot] for limits in recorded)]
            yield f"{operator}.{slot}", _intersect(known)


def _intersect(known: list[dict[str, Any]]) -> str:
    first, *others = known
    dtypes = [d for d in first["dataTypes"] if all(d in other["dataTypes"] for other in others)]
    ranks = [bounds["rankRange"] for bounds in known]
    low, high = max(r["min"] for r in ranks), min(r["max"] for r in ranks)
    return " ".join([*dtypes, str(low), str(high)])


def _write(bounds: str, names: list[str]) -> str:
    """Return an entry of the table, in lines of the source's width."""
    if len(whole := f'    "{bounds}": "{" ".join(names)}",') <= WIDTH:
        return f"{whole}\n"
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) + 11 > WIDTH:
            lines.append("")
        lines[-1] += f"{name} "
    lines[-1] = lines[-1].rstrip()
    texts = "".join(f'        "{line}"\n' for line in lines)
    return f'    "{bounds}": (\n{texts}    ),\n'
