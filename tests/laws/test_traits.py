"""Facts about operators, optimizers and losses are in their records: there are no lists of names.

Code asks `operator.traits`, or another field of the record. A list of names beside the records is
forgotten when the next operator is added.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import get_args

import pytest

from tools.imports import parse
from webnnm import ops
from webnnm.graph.elaboration.loss_words import LOSSES
from webnnm.ops.declare.traits import Trait
from webnnm.training.optimizers import OPTIMIZERS

OPERATORS = ops.registry().keys()
LOSS_NAMES = {name for loss in LOSSES for name in (loss.name, *loss.aliases)}
FUNCTIONS = (ast.Name, ast.Attribute, ast.Call, ast.Lambda)
KINDS: tuple[tuple[str, Collection[str]], ...] = (
    ("operators", OPERATORS),
    ("optimizers", OPTIMIZERS),
    ("losses", LOSS_NAMES),
)

RECORDS = (
    "webnnm/ops/",
    "webnnm/training/",
    "webnnm/graph/elaboration/loss_words.py",
)
"""Where the records are."""

EXCEPTIONS = {
    "webnnm/compiler/traps/": "the operators on which a fault of a browser was measured",
    "webnnm/backends/onnxruntime_faults.py": "the operators on which a fault was measured",
    "webnnm/formats/onnx/": "the words of ONNX",
    "webnnm/formats/stablehlo/": "the words of StableHLO",
    "webnnm/graph/hints/foreign_layers.py": "the words of other libraries, and ours for each",
    "webnnm/transformers/config.py": "the words of Hugging Face",
    "webnnm/transformers/ctranslate2_model.py": "the words of Hugging Face",
    "webnnm/transformers/template_limits.py": "filters and methods of chat templates",
    "webnnm/transformers/template_sandbox.py": "functions and attributes of chat templates",
    "webnnm/eager/linalg.py": "functions of the array API",
    "webnnm/model/keywords.py": "a type for editors, which `make documents` writes",
    "webnnm/compiler/four_bits.py": "the two operators that make four bits of other numbers",
    "webnnm/compiler/passes/broadcasts.py": "the two operators that the pass removes",
    "webnnm/compiler/passes/layout.py": "the two operators that leave a part of a tensor",
    "webnnm/compiler/passes/simplify.py": "the two operators of which a chain is merged",
    "webnnm/editing/low_rank.py": "the layers of which an adapter consists, in their order",
    "webnnm/graph/packing/packed_parameters.py": "the layers whose kernels read packed weights",
    "webnnm/expert/facts/paths.py": "multiplication, and its inverse",
    "webnnm/expert/rules/loss.py": "kinds of outputs (`OutputActivation`), not operators",
    "webnnm/expert/rules/layers.py": "kinds of outputs (`OutputActivation`), not operators",
    "webnnm/expert/rules/stability.py": "kinds of outputs (`OutputActivation`), not operators",
}
"""Lists that say something else, and what. A table of functions by operator is no such list: it
says what to do with each, in code (`{"matmul": _matmul}`)."""


def collections(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """Yield the strings that are written beside each other, with the line where they are."""
    rules = {id(key) for node in ast.walk(tree) for key in _keys_of_rules(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in rules:
            yield node.lineno, _strings(node)
        elif isinstance(node, ast.Match):
            yield node.lineno, [name for case in node.cases for name in _patterns(case.pattern)]


def _keys_of_rules(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what stands for the keys of a table of functions."""
    match node:
        case ast.Dict(values=values):
            if values and all(isinstance(value, FUNCTIONS) for value in values):
                yield node
        case ast.Call(func=ast.Attribute(attr="fromkeys"), args=[names, ast.Name()]):
            yield names
        case _:
            pass


def _strings(node: ast.expr) -> list[str]:
    match node:
        case ast.Set(elts=items) | ast.Tuple(elts=items) | ast.List(elts=items):
            return _constants(items)
        case ast.Dict(keys=keys):
            return _constants(keys)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split")):
            return text.split()
        case ast.BoolOp(values=values):
            compared = [value for value in values if isinstance(value, ast.Compare)]
            return [name for value in compared for name in _constants(value.comparators)]
        case _:
            return []


def _constants(nodes: Collection[ast.expr | None]) -> list[str]:
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def _patterns(pattern: ast.pattern) -> list[str]:
    return _constants(
        [node.value for node in ast.walk(pattern) if isinstance(node, ast.MatchValue)]
    )


def lists(path: str, tree: ast.AST) -> list[str]:
    """Return the lists of names in a module, in words."""
    return [
        f"{path}:{line}: {kind} {', '.join(known)}"
        for line, names in collections(tree)
        for kind, registry in KINDS
        if len(known := [name for name in dict.fromkeys(names) if name in registry]) > 1
    ]


def test_no_list_of_names_stands_beside_the_records(root: Path) -> None:
    wrong: list[str] = []
    needed: set[str] = set()
    for module in sorted((root / "webnnm").rglob("*.py")):
        path = module.relative_to(root).as_posix()
        if path.startswith(RECORDS):
            continue
        place = next((name for name in EXCEPTIONS if path.startswith(name)), None)
        found = lists(path, parse(module))
        if place is None:
            wrong += found
        elif found:
            needed.add(place)
    assert not wrong, (
        "facts are in the record: ask for a trait (webnnm/ops/declare/traits.py) or a field"
    )
    assert needed == EXCEPTIONS.keys(), "exceptions that nothing needs any more"


@pytest.mark.parametrize(
    "text",
    [
        '("relu", "gelu")',
        '{"lstm": 1, "gru": 2}',
        'frozenset({"matmul", "gemm"})',
        'for name in "reduceSum reduceMax".split(): pass',
        'name == "add" or name == "mul"',
        'match name:\n    case "add" | "mul":\n        pass',
        'match name:\n    case "add":\n        pass\n    case "mul":\n        pass',
        'name in ["adam", "adamw"]',
        'loss in ("MSE", "MAE", other)',
        'dict.fromkeys(("add", "mul"), 1)',
    ],
)
def test_lists_are_seen(text: str) -> None:
    assert len(lists("a.py", ast.parse(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        '("relu", "hello")',
        '{"matmul": _matmul, "pad": _pad}',
        'dict.fromkeys(("add", "mul"), _fold)',
    ],
)
def test_functions_by_name_are_no_lists(text: str) -> None:
    assert not lists("a.py", ast.parse(text))


@pytest.mark.parametrize("trait", get_args(Trait))
def test_every_trait_is_one_of_several_operators_and_asked_for(root: Path, trait: str) -> None:
    having = [operator.name for operator in ops.registry().values() if trait in operator.traits]
    assert len({*having}) > 1
    asked = [
        module
        for module in (root / "webnnm").rglob("*.py")
        if not module.is_relative_to(root / "webnnm" / "ops")
        and f'"{trait}"' in module.read_text(encoding="utf-8")
    ]
    assert asked, "no rule asks for it: leave it out"
