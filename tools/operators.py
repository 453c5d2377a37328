"""Writes docs/operators.md from the registry of operators and the recorded conformance."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from tests import records
from tools import chromium, conformance
from tools.citations import link_citations
from tools.common import ROOT, fail
from webnnm.cli import operator_facts as facts
from webnnm.ops.declare.operator import AnyOperator, Composite, covers_all

PAGE = ROOT / "docs" / "operators.md"
REFERENCE_TESTS = ("tests/conformance/test_wpt.py", "tests/conformance/test_onnx_cases.py")
BROWSER_TESTS = (
    "tests/browser/test_chromium.py",
    "tests/browser/test_wpt.py",
    "tests/browser/test_onnx_cases.py",
)

INTRODUCTION = """\
# Operators

<!-- Written by `make operators`: change the operators in webnnm/ops, not this file. -->

These are the {count} operators of webnnm, each declared once in a module of `webnnm/ops/`. In
Python an operator is a method of `GraphBuilder` in snake_case, `b.reduce_sum(x, axes=[1])`; in a
model text it is a layer in WebNN's spelling, `reduceSum(axes=[…])`.
[Adding an operator](adding-an-operator.md) shows how to write one.

**Contents:** [families](#families) · [all operators in a table](#all-operators) · {letters}

In the table and below:

- **Gradient**: ✓ the operator has its own rule; *derived* from the operators that it is composed
  of; – no gradient flows through it. These {without} return booleans, indices, integers or steps,
  whose derivative is 0 or does not exist: {names_without}.
- **WebNN**: ✓ a method of MLGraphBuilder computes it; *composed*: it is built from other operators.
- **{columns}**: how many vectors of the web-platform-tests pass on the
  reference backend and on the WebNN of [these browsers](chromium.md); – if there are none.
  In total, of {total:,} vectors: {totals}.
"""


def main() -> None:
    """Run the tests that record: of the reference, and of the named or each bundled Chromium."""
    _record(REFERENCE_TESTS)
    named = os.environ.get("WEBNNM_CHROMIUM")
    for browser in [named] if named else chromium.BUNDLES:
        _record(BROWSER_TESTS, WEBNNM_CHROMIUM=browser)


def _record(tests: Sequence[str], **variables: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-k", "recorded", *tests, *sys.argv[1:]]
    environment = {**os.environ, records.RECORD: "1", **variables}
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        fail("the conformance tests failed; the output above says why.")


def page() -> str:
    """Return the text of docs/operators.md."""
    methods = frozenset(json.loads(conformance.WPT.read_text())["methods"])
    counts = conformance.count_vectors()
    entries = [
        Entry(operator, operator.native in methods, counts.get(operator.name, {}))
        for operator in facts.library().values()
    ]
    totals = conformance.sum_up(counts)
    total, *columns = totals
    initials = {}
    for entry in entries:
        initials.setdefault(entry.name[0].upper(), entry.name)
    without = [entry.name for entry in entries if entry.gradient == "none"]
    introduction = INTRODUCTION.format(
        count=len(entries),
        letters=" ".join(f"[{letter}](#{name.lower()})" for letter, name in initials.items()),
        columns="**, **".join(columns),
        totals=", ".join(f"{totals[column]:,} on {column}" for column in columns),
        total=totals[total],
        without=len(without),
        names_without=", ".join(f"`{name}`" for name in without),
    )
    parts = [
        introduction,
        families(),
        overview(entries, columns),
        *(entry.section() for entry in entries),
    ]
    return "\n".join(parts)


def families() -> str:
    """Return the list of families: the modules of webnnm.ops with their operators."""
    operators_by_family: dict[str, list[str]] = {}
    for name, operator in facts.library().items():
        operators_by_family.setdefault(facts.module_of(operator), []).append(link(name))
    rows = [
        [
            f"[{module}](../webnnm/ops/{module}.py)",
            link_citations(facts.title_of(module)),
            ", ".join(links),
        ]
        for module, links in sorted(operators_by_family.items())
    ]
    return f"## Families\n\n{table(['Module', 'What it declares', 'Operators'], rows)}\n"


def overview(entries: Iterable[Entry], columns: Sequence[str]) -> str:
    """Return the table of all operators, with the counts of these columns."""
    head = ["Operator", "What it computes", "Gradient", "WebNN", *columns]
    rows = [
        [
            link(entry.name),
            entry.operator.summary,
            {"rule": "✓", "derived": "derived", "none": "–"}[entry.gradient],
            "✓" if entry.is_method else "composed",
            *(entry.count_passed(column) for column in columns),
        ]
        for entry in entries
    ]
    return f"## All operators\n\n{table(head, rows)}\n"


@dataclass(frozen=True)
class Entry:
    """One operator: whether WebNN has a method for it, and the counts of its vectors."""

    operator: AnyOperator
    is_method: bool
    counts: Mapping[str, int]

    @property
    def name(self) -> str:
        """Its name in the notation."""
        return self.operator.name

    @cached_property
    def carrying(self) -> list[str]:
        """The operands to which a gradient flows."""
        return facts.differentiable_operands(self.operator)

    @property
    def gradient(self) -> str:
        """The origin of its gradient: "rule", "derived" or "none"."""
        if not self.carrying:
            return "none"
        derived = isinstance(self.operator, Composite) and self.operator.gradient is None
        return "derived" if derived else "rule"

    def count_passed(self, column: str) -> str:
        """Return the number of vectors that pass on a backend."""
        return f"{self.counts[column]} of {self.counts['Cases']}" if self.counts else "–"

    def section(self) -> str:
        """Return the section on the operator."""
        operator = self.operator
        lines = [f"### {self.name}", "", f"{operator.summary}."]
        if operator.aliases:
            lines[-1] += f" Also called {', '.join(f'`{alias}`' for alias in operator.aliases)}."
        lines += ["", f"- Python: `{facts.call_in_python(operator)}`"]
        notation = facts.call_in_notation(operator)
        lines.append(f"- Notation: `{notation}`" if notation else "- Notation: not used there")
        lines.append(f"- Result: for example `{facts.example_of(operator)}`")
        lines.append(f"- Gradient: {self._gradient_text()}")
        lines.append(f"- WebNN: {self._webnn_text()}")
        if self.counts:
            _, *columns = self.counts
            passed = (f"{self.count_passed(column)} on {column}" for column in columns)
            lines.append(f"- Conformance: {', '.join(passed)}")
        lines += ["", *self._operands(), *self._options()]
        return "\n".join(lines)

    def _gradient_text(self) -> str:
        operands = ", ".join(f"`{name}`" for name in self.carrying)
        if not operands:
            return "none"
        how = {"rule": "a rule of its own", "derived": "derived from its decomposition"}
        return f"for {operands}; {how[self.gradient]}"

    def _webnn_text(self) -> str:
        operator = self.operator
        parts = ""
        if operator.decompose is not None:
            parts = ", ".join(f"`{name}`" for name in facts.parts_of(operator))
        if not self.is_method:
            return f"composed of {parts}"
        text = f"the method `{operator.native}`"
        if isinstance(operator, Composite) and operator.covers is not covers_all:
            text += " for the options that it has"
        return f"{text}, else composed of {parts}" if parts else text

    def _operands(self) -> list[str]:
        slots = self.operator.operands
        rows = [
            [f"`{slot.name}`", facts.types_of(slot, slots), facts.ranks_of(slot), _use_of(slot)]
            for slot in slots
        ]
        return [table(["Operand", "Data types", "Rank", ""], rows), ""] if rows else []

    def _options(self) -> list[str]:
        rows = [
            [f"`{name}`", facts.default_of(option.default), facts.kind_of(option.check)]
            for name, option in self.operator.options.items()
        ]
        return [table(["Option", "Default", "Values"], rows), ""] if rows else []


def _use_of(slot: Any) -> str:
    words = ["a list" * slot.variadic, "optional" * slot.optional, "by keyword" * slot.keyword]
    return ", ".join(word for word in words if word)


def link(name: str) -> str:
    """Return a link to the section of an operator.

    >>> link("reduceSum")
    '[reduceSum](#reducesum)'
    """
    return f"[{name}](#{name.lower()})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(table(["a"], [["b|c"]]))
    | a |
    |---|
    | b\\|c |
    """
    lines = [head, ["---"] * len(head), *rows]
    texts = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    texts[1] = texts[1].replace(" ", "")
    return "\n".join(texts)


if __name__ == "__main__":
    main()
