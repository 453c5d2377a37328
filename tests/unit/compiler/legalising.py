"""Graphs rewritten for a device, for the tests of what is rewritten and of what it computes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping
from typing import Any

from tests import records
from webnnm.compiler.pipeline import LEGALISATIONS, Target, run_passes
from webnnm.compiler.traps import ALL_TRAPS, Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand

Make = Callable[[GraphBuilder], Operand | dict[str, Operand]]


def legalise(
    graph: Graph,
    limits: Mapping[str, Any],
    traps: Collection[Trap] = ALL_TRAPS,
    constant_inputs: Container[str] = (),
) -> tuple[Graph, list[str]]:
    """Return a graph that a device of these limits and traps computes, and what was rewritten."""
    return run_passes(graph, Target(limits, traps, constant_inputs), LEGALISATIONS)


def chromium_limits() -> dict[str, Any]:
    """Return what the newest of the recorded versions of Chromium can do."""
    return records.read(records.versions()[0])["limits"]


def build_graph(make: Make) -> Graph:
    """Return the graph of a function; a single result is named "y"."""
    b = GraphBuilder()
    made = make(b)
    return b.build({"y": made} if isinstance(made, Operand) else made)
