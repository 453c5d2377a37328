"""What a trap is: a place where a backend refuses, or computes wrongly, what its limits allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

from webnnm.compiler.traps.evidence import Evidence
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, OperatorNode
from webnnm.graph.rewrite import Replacement


@dataclass(frozen=True, kw_only=True, eq=False)
class Trap:
    """A trap: where it waits (`rule` gives None elsewhere), how it is avoided, and why.

    `operators` are the operators concerned, "constant" among them; `evidence` tells whether an
    implementation has the fault. Rules may be applied again to what they made, and then have
    nothing left to do. `needs` are operators without which there is no way round.
    """

    operators: frozenset[str]
    reason: str
    evidence: Evidence
    rule: Callable[[GraphBuilder, Node], Replacement | None]
    needs: frozenset[str] = frozenset()


def is_operator(node: Node, name: str) -> TypeGuard[OperatorNode]:
    """Return whether a node is an operator of this name."""
    return isinstance(node, OperatorNode) and node.operator.name == name
