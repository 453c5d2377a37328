"""A scan that has everything a scan can have; imported in pages, too, where only webnnm is."""

from __future__ import annotations

from typing import Any

from webnnm import GraphBuilder, backend
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan

GIVEN: dict[str, Any] = {
    "place": 1,
    "table": [[k, -k * k] for k in range(6)],
    "a": [[1, 2]],
    "z": [[3, 5]],
    "fixed": [[0.25, 8]],
    "sum": 100,
    "level": [7, -3],
}


def before(length: int, label: str = "") -> Graph:
    """Rows of a table, from a place on, and the place behind them."""
    b = GraphBuilder()
    place = b.input("place", "int32", [])
    places = place + b.constant(range(length), "int32")
    with b.place(label):
        rows = b.gather(b.input("table", "float32", [6, 2]), places)
    level = b.input("level", "float32", [2]) * 0.5
    return b.build({"place": place + length, "row": rows, "all rows": b.neg(rows), "half": level})


def body(label: str = "") -> Graph:
    """Two running values, which change places in each step, and what is seen of a step."""
    b = GraphBuilder()
    row, a = b.input("row", "float32", [1, 2]), b.input("a", "float32", [1, 2])
    z = b.input("z", "float32", [1, 2])
    with b.place(label):
        seen = b.concat([a * row, b.input("fixed", "float32", [1, 2])], 0)
    half = b.input("half", "float32", [2])
    return b.build({"a": z + row, "z": a * 0.5, "seen": seen, "half": half + b.reduce_sum(row)})


def after(length: int) -> Graph:
    b = GraphBuilder()
    seen = b.input("seen", "float32", [2 * length, 2])
    rows = b.input("all rows", "float32", [length, 2])
    table = b.input("sum", "float32", []) + b.reduce_sum(seen)
    level = b.input("half", "float32", [2]) * 2
    return b.build({"sum": table, "least": b.reduce_min(rows), "level": level})


def scan(length: int, label: str = "") -> Scan:
    return Scan(before(length, label), body(label), after(length), length)


async def run(length: int, name: str) -> list[dict[str, list[Any]]]:
    """Return the results of the scan and of its unrolled graph on a backend."""
    context = await backend(name)
    try:
        graphs = scan(length), scan(length).unroll()
        found = [await (await context.compile(graph)).run(GIVEN) for graph in graphs]
    finally:
        context.close()
    return [{key: value.tolist() for key, value in each.items()} for each in found]
