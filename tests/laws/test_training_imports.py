"""What a training imports: the core alone, and of the operators those that it needs."""

from __future__ import annotations

from tools.imports import CORE, package_of
from tools.training_imports import training_modules

MAX_MODULES, MAX_LINES = 190, 28_800
MAX_OPERATORS = 20


def test_a_training_without_a_review_imports_the_core_alone() -> None:
    modules = training_modules(review=False)
    inner = [name.removeprefix("webnnm").lstrip(".") for name in modules]
    assert {*map(package_of, inner)} == {"", *CORE} - {"snapshots"}
    assert len(modules) <= MAX_MODULES
    assert sum(modules.values()) <= MAX_LINES


def test_operators_are_imported_when_a_graph_needs_them() -> None:
    modules = training_modules(review=False)
    operators = [name for name in modules if name.startswith("webnnm.ops.")]
    declared = [n for n in operators if ".declare" not in n and n != "webnnm.ops.index"]
    assert "webnnm.ops.softmax" in declared and "webnnm.ops.lstm" not in declared
    assert len(declared) <= MAX_OPERATORS, declared
