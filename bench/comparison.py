"""Compares two results of the contest: what became slower, what became faster.

    python -m bench.comparison before.json after.json

Milliseconds differ from run to run as the machine does; the ratio to the hand-written program,
measured in the same minutes, differs less. A row is slower if that ratio rose by more than 5 %, or,
if there is no hand-written program, its time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.report import FACTS, Results, number, table

MAX_SLOWDOWN = 0.05


class Row(NamedTuple):
    """A measurement: its name, our time, and the time of the hand-written program."""

    name: str
    ours: float
    by_hand: float | None = None


def rows(results: Results) -> Iterator[Row]:
    """Yield the measurements; lower is better for all of them."""
    for step in results.get("training", {}).values():
        yield Row(f"step of {step['title']}, ms", step["ours"], step["webnn"])
    for call in results.get("inference", {}).values():
        name = f"{call['title'].partition(', batch')[0]}, {call['rows']} rows"
        yield Row(f"`predict`: {name}, ms", call["predict"], call["webnn"])
        yield Row(f"context: {name}, ms", call["ours"], call["webnn"])
    built = results.get("build", [])
    for graph in built if isinstance(built, list) else [built]:
        operators = graph.get("operators", graph.get("nodes"))
        yield Row(f"graph of {operators:,} operators, ms", graph["ours"]["time"], graph["webnn"])
    for kind, points in results.get("scale", {}).get("kinds", {}).items():
        for point in points:
            yield Row(f"step, {kind} {point['value']}, ms", point["ours"], point["webnn"])
    for fact in FACTS:
        if fact.section in results and fact.unit:
            yield Row(f"{fact.label}, {fact.unit}", fact.value(results[fact.section]))


def change(before: Row, after: Row) -> float:
    """Return by how much a row became slower, 0.1 for a tenth.

    >>> round(change(Row("x", 2, 1), Row("x", 3.3, 1.5)), 3), change(Row("y", 2), Row("y", 1))
    (0.1, -0.5)
    """
    if before.by_hand is None or after.by_hand is None:
        return after.ours / before.ours - 1
    return (after.ours / after.by_hand) / (before.ours / before.by_hand) - 1


def compare(before: Results, after: Results) -> str:
    """Return a table of the rows that are in both results."""
    earlier = {row.name: row for row in rows(before)}
    lines = [("", "before", "after", "by hand, before", "by hand, after", "change")]
    for row in rows(after):
        if (old := earlier.get(row.name)) is None:
            continue
        changed = change(old, row)
        text = f"{100 * changed:+.0f} %" + (" **slower**" if changed > MAX_SLOWDOWN else "")
        times = (old.ours, row.ours, old.by_hand, row.by_hand)
        lines.append((row.name, *map(number, times), text))
    return table(lines)


def main() -> None:
    """Print the comparison of two files."""
    before, after = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:3])
    print(compare(before, after))


if __name__ == "__main__":
    main()
