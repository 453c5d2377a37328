"""What a backend can do: queries of WebNN's `opSupportLimits()`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webnnm.core.naming import camel_case
from webnnm.graph.node import Operand, OperatorNode
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.tensors import TensorType


@dataclass(frozen=True, slots=True)
class Bounds:
    """The data types and the ranks that one operand or result may have."""

    dtypes: tuple[str, ...]
    ranks: tuple[int, int]

    def has_rank(self, type: TensorType) -> bool:
        """Return whether a type has one of the ranks."""
        return self.ranks[0] <= len(type.shape) <= self.ranks[1]


class Limits:
    """The limits of one backend.

    >>> limits = Limits({"relu": {"input": {"dataTypes": ["float32"], "rankRange": {"max": 5}}}})
    >>> limits.operators
    frozenset({'relu'})

    Attributes: `operators` (those that the backend has), `max_bytes` (of one tensor).
    """

    def __init__(self, limits: Mapping[str, Any]) -> None:
        self._limits = limits
        self._operands: dict[tuple[str, int], Bounds | None] = {}
        self._results: dict[tuple[str, int], Bounds | None] = {}
        self.max_bytes: int = limits.get("maxTensorByteLength", 2**31 - 1)
        self.operators = frozenset(
            name
            for name, entry in limits.items()
            if isinstance(entry, Mapping) and "dataTypes" not in entry
        )

    def tensor(self, kind: str) -> Bounds | None:
        """Return the bounds of an "input", a "constant" or an "output" of graphs."""
        return _bounds(self._limits.get(kind))

    def find_bounds(self, operator: str, slot: str) -> Bounds | None:
        """Return the bounds of an operand or result by its name in WebNN."""
        return _bounds(self._limits.get(operator, {}).get(slot))

    def operand(self, operator: AnyOperator, index: int) -> Bounds | None:
        """Return the bounds of an operand, None if the backend states none."""
        key = operator.native, index
        if key not in self._operands:
            slots = operator.operands
            name = camel_case(slots[0 if slots[0].variadic else index].name)
            self._operands[key] = self.find_bounds(operator.native, name)
        return self._operands[key]

    def result(self, operator: AnyOperator, index: int = 0) -> Bounds | None:
        """Return the bounds of a result, None if the backend states none."""
        key = operator.native, index
        if key not in self._results:
            entry = self._limits.get(operator.native, {})
            names = ("output" if index == 0 else "", f"output{index}", "outputs")
            bounds = (_bounds(entry[name]) for name in names if name in entry)
            self._results[key] = next(bounds, None)
        return self._results[key]

    def list_bounds(self, node: OperatorNode) -> list[tuple[TensorType, Bounds]]:
        """Return type and bounds of all operands and results of a node."""
        return [
            (type, bounds)
            for type, bounds in (
                *((o.type, self.operand(node.operator, i)) for i, o in present_operands(node)),
                *((type, self.result(node.operator, i)) for i, type in enumerate(node.types)),
            )
            if bounds is not None
        ]


def present_operands(node: OperatorNode) -> list[tuple[int, Operand]]:
    """Return the operands that are present, each with its position."""
    return [(i, operand) for i, operand in enumerate(node.operands) if operand is not None]


def _bounds(entry: Any) -> Bounds | None:
    if not entry:
        return None
    ranks = entry.get("rankRange", {})
    return Bounds(tuple(entry["dataTypes"]), (ranks.get("min", 0), ranks.get("max", 255)))
