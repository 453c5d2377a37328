"""Writes docs/operators.md from the registry of operators and the recorded conformance counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tools.citations import link_citations
from tools.common import ROOT, fail
from webnnm.cli import operator_facts as facts
from webnnm.ops.declare.operator import AnyOperator, Composite, covers_all

PAGE = ROOT / "docs" / "operators.md"
COUNTS = ROOT / "docs" / "conformance.json"
RECORD = "WEBNNM_RECORD_CONFORMANCE"
RUNNERS = (
    "tests/conformance/test_wpt.py",
    "tests/conformance/test_onnx_cases.py",
    "tests/browser/test_wpt.py",
    "tests/browser/test_onnx_cases.py",
)

INTRODUCTION = """\
# Operators

<!-- Written by `make operators`: change the operators in webnnm/ops, not this file. -->

The {count} operators of webnnm, each declared once in a module of `webnnm/ops/`. In Python an
operator is a method of `GraphBuilder` in snake_case, `b.reduce_sum(x, axes=[1])`; in a model text
it is a layer in WebNN's spelling, `reduceSum(axes=[…])`.
[Adding an operator](adding-an-operator.md) shows how to write one.

**Contents:** [families](#families) · [all operators in a table](#all-operators) · {letters}

In the table and below:

- **Gradient**: ✓ by a rule of its own; *derived* from the operators that it is composed of;
  – none flows through it.
- **WebNN**: ✓ a method of MLGraphBuilder computes it; *composed* of other operators.
- **NumPy**, **Browser**: how many vectors of the web platform tests pass on the reference backend
  and on WebNN in {browser}; – if there are none for it. In total: {totals}.
"""


def main() -> None:
    """Run the conformance tests of both backends, which record their counts."""
    command = [sys.executable, "-m", "pytest", "-q", "-k", "counts", *RUNNERS]
    environment = {**os.environ, RECORD: "1"}
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
        fail("the conformance tests failed; the output above says why.")


def page() -> str:
    """Return the text of docs/operators.md."""
    content = json.loads(COUNTS.read_text())
    entries = [Entry(operator, content) for operator in facts.library().values()]
    initials = {}
    for entry in entries:
        initials.setdefault(entry.name[0].upper(), entry.name)
    introduction = INTRODUCTION.format(
        count=len(entries),
        letters=" ".join(f"[{letter}](#{name.lower()})" for letter, name in initials.items()),
        browser=content["browser"],
        totals=_totals(content["vectors"]),
    )
    parts = [introduction, families(), overview(entries), *(entry.section() for entry in entries)]
    return "\n".join(parts)


def _totals(vectors: Mapping[str, Mapping[str, int]]) -> str:
    total, numpy, browser = (
        sum(counts.get(key, 0) for counts in vectors.values())
        for key in ("total", "reference", "webnn")
    )
    return f"{total} vectors, {numpy} pass on NumPy, {browser} in the browser"


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


def overview(entries: Iterable[Entry]) -> str:
    """Return the table of all operators."""
    head = ["Operator", "What it computes", "Gradient", "WebNN", "NumPy", "Browser"]
    rows = [
        [
            link(entry.name),
            entry.operator.summary,
            {"rule": "✓", "derived": "derived", "none": "–"}[entry.gradient],
            "✓" if entry.is_method else "composed",
            entry.count_passed("reference"),
            entry.count_passed("webnn"),
        ]
        for entry in entries
    ]
    return f"## All operators\n\n{table(head, rows)}\n"


@dataclass(frozen=True)
class Entry:
    """One operator, with its recorded conformance."""

    operator: AnyOperator
    recorded: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name in the notation."""
        return self.operator.name

    @property
    def is_method(self) -> bool:
        """Return whether WebNN has a method for it."""
        return self.operator.native in self.recorded["methods"]

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

    def count_passed(self, backend: str) -> str:
        """Return the number of vectors that pass on a backend."""
        counts = self.recorded["vectors"].get(self.name)
        return f"{counts.get(backend, 0)} of {counts['total']}" if counts else "–"

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
        if self.name in self.recorded["vectors"]:
            passed = [self.count_passed(backend) for backend in ("reference", "webnn")]
            lines.append(f"- Conformance: {passed[0]} on NumPy, {passed[1]} in the browser")
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
