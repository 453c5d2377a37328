"""Writes docs/chromium.md from the records of what the bundled Chromiums do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests import records
from tools import chromium, conformance
from tools.common import ROOT
from tools.operators import table
from webnnm.backends.faults import sentences
from webnnm.compiler.traps import ALL_TRAPS, Trap
from webnnm.compiler.traps.evidence import Untried

PROCESSES = {"renderer": "the page's own", "GPU": "the GPU process"}
PAGE = ROOT / "docs" / "chromium.md"

INTRODUCTION = """\
# WebNN in two versions of Chromium

<!-- Written by `make documents` from the records in tests/data/chromium, which `make operators`
writes: change those, or the text in tools/chromium_document.py, not this file. -->

This page shows which operators work on WebNN in two versions of Chromium, and how webnnm works
around the rest. Both compute on the CPU, with LiteRT. The tests record what each of them does, and
fail if a browser behaves differently. All samples of all operators, all training runs that are
compared with PyTorch, and all texts that language models write have to be right in both.
"""
FAULTS = """\
## Faults

These are things that a version rejects or computes incorrectly, although its limits allow them.
Each fault has tiny graphs with known results, which run once per browser version and device; if the
fault occurs, graphs are rewritten. `model.report()` lists the faults of your browser.
"""
LIMITS = """\
## Limits that differ

These are the ranks that operands may have, according to `opSupportLimits()`. Graphs with other
ranks are reshaped.
"""


def page() -> str:
    """Return the text of docs/chromium.md."""
    known = {version: records.read(version) for version in chromium.BUNDLES}
    parts = [INTRODUCTION, _summary(known), FAULTS, *_faults(known), LIMITS, _limits(known)]
    return "\n".join(parts)


def _summary(known: dict[str, dict[str, Any]]) -> str:
    vectors, cases = (
        conformance.sum_up(counts)
        for counts in (conformance.count_vectors(), conformance.count_onnx_cases())
    )
    rows = {
        "Vectors of the [web-platform-tests](operators.md)": [
            f"{vectors[f'Chromium {version}']:,} of {vectors['Cases']:,}" for version in known
        ],
        "Operator cases of [ONNX](onnx.md) that pass on NumPy": [
            f"{cases[f'WebNN in Chromium {version}']:,} of {cases['NumPy']:,}" for version in known
        ],
        "[Faults](#faults) that are worked around": [
            str(len(record["faults"])) for record in known.values()
        ],
        **{
            f"Asked for `{device}`": [record["devices"][device] for record in known.values()]
            for device in ("npu", "gpu", "cpu")
        },
        "Process that computes": [PROCESSES[record["process"]] for record in known.values()],
        "`probe()` says": [record["sentence"] for record in known.values()],
    }
    head = ["", *(f"Chromium {record['browser']}" for record in known.values())]
    return table(head, ([title, *cells] for title, cells in rows.items())) + "\n"


def _faults(known: dict[str, dict[str, Any]]) -> Iterable[str]:
    """Return a list of faults for each set of versions that have the same ones."""
    owners: dict[tuple[str, ...], list[Trap]] = {(version,): [] for version in known}
    for trap in ALL_TRAPS:
        versions = tuple(v for v, record in known.items() if trap.reason in record["faults"])
        if versions:
            owners.setdefault(versions, []).append(trap)
    for versions, traps in owners.items():
        only = "Only in " if len(versions) < len(known) else "In "
        title = f"{only}Chromium {' and '.join(versions)}"
        if traps:
            yield _section(f"{title}: {len(traps)}", traps)
    untried = [trap for trap in ALL_TRAPS if isinstance(trap.evidence, Untried)]
    yield _section(f"Expected without a try, which could end the page: {len(untried)}", untried)


def _section(title: str, traps: Iterable[Trap]) -> str:
    lines = "\n".join(f"- {sentence}" for sentence in sentences(traps))
    return f"### {title}\n\n{lines}\n"


def _limits(known: dict[str, dict[str, Any]]) -> str:
    """Return a table with a row for all operators whose operands differ alike."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name in sorted({name for record in known.values() for name in record["limits"]}):
        bounds = [record["limits"].get(name) for record in known.values()]
        operands = {key for each in bounds if isinstance(each, dict) for key in each}
        by_ranks: dict[tuple[str, ...], list[str]] = {}
        for operand in sorted(operands):
            ranks = tuple(_rank((each or {}).get(operand)) for each in bounds)
            if len(set(ranks)) > 1:
                by_ranks.setdefault(ranks, []).append(operand)
        for ranks, those in by_ranks.items():
            rows.setdefault((", ".join(those), *ranks), []).append(name)
    head = ["Operators", "Operands", *(f"Chromium {version}" for version in known)]
    return table(head, ([", ".join(names), *key] for key, names in rows.items())) + "\n"


def _rank(bounds: dict[str, Any] | None) -> str:
    return f"up to {bounds['rankRange']['max']}" if bounds and "rankRange" in bounds else "–"
