"""What a trap is: something that a backend refuses or gets wrong though its limits allow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

from webnnm.compiler.traps.evidence import Evidence
from webnnm.core.dtypes import ANY, DataType
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement


@dataclass(frozen=True, kw_only=True, eq=False)
class Trap:
    """A trap: where it occurs (elsewhere `rule` returns None), how it is avoided, and why.

    `operators` are the operators concerned, which may include "constant", and "output" for results
    that are outputs and read by operators; `evidence` shows whether an implementation has the
    fault. Rules may be applied again to their own results, in which they must find nothing left to
    do. `needs` are operators that the workaround requires, `dtypes` the data types of the fault,
    which cannot occur where no tensor holds one of these.
    """

    operators: frozenset[str]
    reason: str
    evidence: Evidence
    rule: Callable[[GraphBuilder, Node], Replacement | None]
    needs: frozenset[str] = frozenset()
    dtypes: frozenset[DataType] = ANY


def is_operator(node: Node, name: str) -> TypeGuard[OperatorNode]:
    """Return whether a node is an operator of this name."""
    return isinstance(node, OperatorNode) and node.operator.name == name
