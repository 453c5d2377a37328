"""Writes a module: one operation per line, values numbered in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webnnm.formats.needed import find_needed_calls
from webnnm.formats.stablehlo.emitter import Operation, Region, Value
from webnnm.formats.stablehlo.text import quote, symbol

NAME = "webnnm.name"
"""The attribute of arguments and results that names their block, parameter or state."""


@dataclass(frozen=True)
class Main:
    """The function of a module: named arguments and results, and all operations in between."""

    arguments: Sequence[tuple[str, Value]]
    results: Sequence[tuple[str, Value]]
    operations: Sequence[Operation]


def module_text(name: str, main: Main) -> str:
    """Return the text of a module `@name` with `func.func public @main`."""
    names = _Names()
    arguments = ", ".join(
        f"{names.argument(value, index)}: {value} {_name_attribute(name)}"
        for index, (name, value) in enumerate(main.arguments)
    )
    results = ", ".join(f"{value} {_name_attribute(name)}" for name, value in main.results)
    values = [value for _, value in main.results]
    lines = [
        f"module {symbol(name)} {{",
        f"  func.func public @main({arguments}) -> ({results}) {{",
        *_body(find_needed_calls(main.operations, values), names, "    "),
        f"    return {_join_names(values, names)} : {', '.join(map(str, values))}",
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


class _Names:
    """The SSA names of values, in the order in which they are defined."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._next = 0
        self._inner = 0

    def __getitem__(self, value: Value) -> str:
        return self._names[id(value)]

    def argument(self, value: Value, index: int) -> str:
        """Name an argument of the function."""
        self._names[id(value)] = ssa_name = f"%arg{index}"
        return ssa_name

    def inner(self, value: Value) -> str:
        """Name an argument of a region."""
        self._names[id(value)] = ssa_name = f"%in{self._inner}"
        self._inner += 1
        return ssa_name

    def results(self, operation: Operation) -> str:
        """Name the results of an operation; several share a number."""
        number, values = self._next, operation.results
        self._next += 1
        if len(values) == 1:
            self._names[id(values[0])] = f"%{number}"
            return f"%{number}"
        self._names |= {id(value): f"%{number}#{index}" for index, value in enumerate(values)}
        return f"%{number}:{len(values)}"


def _body(operations: Sequence[Operation], names: _Names, indent: str) -> list[str]:
    lines: list[str] = []
    for operation in operations:
        operands = _join_names(operation.operands, names)
        attributes = f" <{{{operation.attributes}}}>" if operation.attributes else ""
        inner = _regions(operation.regions, names, indent)
        head = f'{indent}{names.results(operation)} = "{operation.name}"({operands}){attributes}'
        lines += [
            *_format_operation(head, inner, _signature(operation.operands, operation.results))
        ]
    return lines


def _format_operation(head: str, inner: Sequence[str], signature: str) -> list[str]:
    if not inner:
        return [f"{head} : {signature}"]
    return [f"{head} ({inner[0].lstrip()}", *inner[1:-1], f"{inner[-1]}) : {signature}"]


def _regions(regions: Sequence[Region], names: _Names, indent: str) -> list[str]:
    lines: list[str] = []
    for index, region in enumerate(regions):
        arguments = ", ".join(f"{names.inner(value)}: {value}" for value in region.arguments)
        opening = f"{indent}{{" if not index else f"{lines.pop()}, {{"
        results = region.results
        signature = f"({', '.join(map(str, results))}) -> ()"
        lines += [
            opening,
            f"{indent}^bb0({arguments}):",
            *_body(find_needed_calls(region.operations, results), names, f"{indent}  "),
            f'{indent}  "stablehlo.return"({_join_names(results, names)}) : {signature}',
            f"{indent}}}",
        ]
    return lines


def _signature(operands: Sequence[Value], results: Sequence[Value]) -> str:
    inputs, outputs = (", ".join(map(str, values)) for values in (operands, results))
    return f"({inputs}) -> {outputs}" if len(results) == 1 else f"({inputs}) -> ({outputs})"


def _join_names(values: Sequence[Value], names: _Names) -> str:
    return ", ".join(names[value] for value in values)


def _name_attribute(name: str) -> str:
    return f"{{{NAME} = {quote(name)}}}"
