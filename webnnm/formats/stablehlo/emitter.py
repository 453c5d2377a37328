"""Operations and values of a module, collected in order, without duplicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from webnnm.formats.sizes import Dims
from webnnm.formats.stablehlo.text import Element, tensor_type

Type = tuple[Element, Dims]


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A result of an operation, or an argument; compared by identity."""

    dtype: Element
    shape: Dims

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __str__(self) -> str:
        return tensor_type(self.dtype, self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class Region:
    """A region of an operation: arguments, operations, results."""

    arguments: tuple[Value, ...]
    operations: list[Operation]
    results: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """An operation of StableHLO or CHLO; `attributes` are written by name as they are."""

    name: str
    operands: tuple[Value, ...]
    attributes: str
    regions: tuple[Region, ...]
    results: tuple[Value, ...]


@dataclass
class Emitter:
    """Collects operations; equal operations are emitted once."""

    operations: list[Operation] = field(default_factory=list[Operation])
    _known: dict[Any, tuple[Value, ...]] = field(default_factory=dict[Any, Any])

    def emit(
        self,
        name: str,
        operands: Sequence[Value],
        types: Sequence[Type],
        *regions: Region,
        **attributes: str,
    ) -> tuple[Value, ...]:
        """Add an operation with results of these types, or return the results of an equal one."""
        written = ", ".join(f"{key} = {value}" for key, value in sorted(attributes.items()))
        key = (name, tuple(map(id, operands)), tuple(types), written)
        if not regions and key in self._known:
            return self._known[key]
        results = tuple(Value(*type) for type in types)
        self.operations.append(Operation(name, tuple(operands), written, regions, results))
        if not regions:
            self._known[key] = results
        return results

    def one(
        self,
        name: str,
        operands: Sequence[Value],
        dtype: Element,
        shape: Dims,
        *regions: Region,
        **attributes: str,
    ) -> Value:
        """Add an operation with one result."""
        return self.emit(name, operands, [(dtype, shape)], *regions, **attributes)[0]

    def region(self, types: Sequence[Type], body: Callable[..., Sequence[Value]]) -> Region:
        """Return a region with arguments of these types; `body` gets them and returns its results.

        Regions capture nothing from outside.
        """
        outer = self.operations, self._known
        self.operations = []
        self._known = {}
        try:
            arguments = tuple(Value(*type) for type in types)
            results = tuple(body(*arguments))
            return Region(arguments, self.operations, results)
        finally:
            self.operations, self._known = outer
