"""A graph after any of the compiler's passes, for those who want to see what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm import ops
from webnnm.compiler.pipeline import PASSES, Target, run_passes
from webnnm.graph.node import Graph, OperatorNode

STAGES = ("lowering", *(each.name for each in PASSES))
"""The passes from a graph to a plan, in order."""


def graph_after(
    graph: Graph, stage: str = STAGES[-1], limits: Mapping[str, Any] | None = None
) -> tuple[Graph, list[str]]:
    """Return a graph after a pass, and a sentence for each kind of rewrite for the device.

    `limits` is `opSupportLimits()` of a browser; None stands for one that supports all of WebNN.
    """
    target = Target(all_limits(graph) if limits is None else limits)
    return run_passes(graph, target, PASSES[: STAGES.index(stage)])


def all_limits(graph: Graph) -> dict[str, Any]:
    """Return the limits of a browser that supports all of WebNN."""
    used = {node.operator for node in graph.nodes() if isinstance(node, OperatorNode)}
    native = {operator.native for operator in (*ops.registry().values(), *used)}
    return {name: {} for name in native if name}
