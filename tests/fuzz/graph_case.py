"""A graph as plain data: what the fuzzer draws, keeps as text, and builds wherever it runs.

It imports webnnm alone, because pages build graphs as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webnnm import ops
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand


@dataclass(frozen=True)
class Leaf:
    """An input or a constant, with its values in row-major order."""

    dtype: DataType
    shape: tuple[int, ...]
    values: tuple[float, ...]
    constant: bool = False


@dataclass(frozen=True)
class Step:
    """An operator applied to earlier values by their numbers, None for absent ones."""

    operator: str
    operands: tuple[int | None, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    results: int = 1


Entry = Leaf | Step


@dataclass(frozen=True)
class GraphCase:
    """Entries, each of which may use the results of those before it, and the outputs."""

    entries: tuple[Entry, ...]
    outputs: tuple[int, ...]

    def graph(self) -> tuple[Graph, Mapping[str, HostArray]]:
        """Build the graph; return it with the values of its inputs."""
        b = GraphBuilder()
        values: list[Operand] = []
        feeds: dict[str, HostArray] = {}
        for entry in self.entries:
            if isinstance(entry, Leaf):
                array = HostArray.of(list(entry.values), entry.dtype, entry.shape)
                if entry.constant:
                    values.append(b.constant(array))
                else:
                    name = f"x{len(values)}"
                    values.append(b.input(name, entry.dtype, entry.shape))
                    feeds[name] = array
            else:
                values += apply_operator(b, entry, values)
        graph = b.build({f"y{number}": values[number] for number in self.outputs})
        return graph, feeds

    def prune(self) -> GraphCase:
        """Return the case without what no output needs."""
        owners = [i for i, entry in enumerate(self.entries) for _ in range(results(entry))]
        needed: set[int] = set()
        waiting = [owners[number] for number in self.outputs]
        while waiting:
            place = waiting.pop()
            if place not in needed:
                needed.add(place)
                entry = self.entries[place]
                if isinstance(entry, Step):
                    waiting += [owners[n] for n in entry.operands if n is not None]
        kept = [number for number, place in enumerate(owners) if place in needed]
        moved = {number: place for place, number in enumerate(kept)}
        entries = tuple(
            Step(
                entry.operator,
                tuple(None if n is None else moved[n] for n in entry.operands),
                entry.options,
                entry.results,
            )
            if isinstance(entry, Step)
            else entry
            for place, entry in enumerate(self.entries)
            if place in needed
        )
        return GraphCase(entries, tuple(moved[n] for n in self.outputs))

    def __str__(self) -> str:
        """Write it as JSON, an entry a line."""
        lines = [json.dumps(_plain(entry)) for entry in self.prune().entries]
        listed = ",\n  ".join(lines)
        return f'{{"entries": [\n  {listed}],\n "outputs": {list(self.prune().outputs)}}}\n'


def read_case(text: str) -> GraphCase:
    """Read what `str` of a case writes."""
    found = json.loads(text)
    return GraphCase(tuple(map(_entry, found["entries"])), tuple(found["outputs"]))


def results(entry: Entry) -> int:
    """Return how many values an entry makes."""
    return entry.results if isinstance(entry, Step) else 1


def apply_operator(b: GraphBuilder, step: Step, values: Sequence[Operand]) -> tuple[Operand, ...]:
    """Apply the operator of a step."""
    operator = ops.registry()[step.operator]
    operands = [None if number is None else values[number] for number in step.operands]
    several = operator.operands and operator.operands[0].variadic
    apply: Callable[..., Any] = b.apply
    made = apply(operator, [operands] if several else operands, dict(step.options))
    return made if isinstance(made, tuple) else (made,)


def _plain(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, Leaf):
        kind = "constant" if entry.constant else "input"
        return {kind: entry.dtype, "shape": entry.shape, "values": entry.values}
    found: dict[str, Any] = {"operator": entry.operator, "operands": entry.operands}
    if entry.options:
        found["options"] = dict(entry.options)
    if entry.results != 1:
        found["results"] = entry.results
    return found


def _entry(plain: Mapping[str, Any]) -> Entry:
    if "operator" in plain:
        options = {name: _tuple(value) for name, value in plain.get("options", {}).items()}
        operands = tuple(plain["operands"])
        return Step(plain["operator"], operands, options, plain.get("results", 1))
    kind = "constant" if "constant" in plain else "input"
    values = tuple(plain["values"])
    return Leaf(plain[kind], tuple(plain["shape"]), values, kind == "constant")


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
