"""Rules and initialisers ask operators for their traits, and keep no lists of names beside them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from tools.imports import parsed
from webnnm import ops

TRAITS = frozenset(
    (
        *("activation", "convolution", "normalization", "pooling", "product", "recurrent"),
        *("rectifying", "saturating"),
    )
)
OTHERS = {
    "loss.py": {("softmax", "logSoftmax")},
    "layers.py": {("softmax", "sigmoid")},
    "stability.py": {("softmax", "sigmoid")},
}
"""Lists of other things that have the same names: the activations of outputs."""


def collections(tree: ast.AST) -> Iterator[list[str]]:
    """Yield the strings that are written beside each other."""
    for node in ast.walk(tree):
        items: list[ast.expr | None] = []
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            items = [*node.elts]
        elif isinstance(node, ast.Dict):
            items = node.keys
        yield [
            item.value
            for item in items
            if isinstance(item, ast.Constant) and isinstance(item.value, str)
        ]


def modules(root: Path) -> list[Path]:
    """Return the modules that judge layers."""
    package = root / "webnnm"
    own = [
        package / "graph" / "elaboration" / "initialise.py",
        package / "training" / "layer_figures.py",
    ]
    return [*sorted((package / "expert").rglob("*.py")), *own]


def test_no_list_of_operators_stands_for_a_trait(root: Path) -> None:
    known = ops.registry()
    wrong = [
        f"{module.name}: {first}, {second}"
        for module in modules(root)
        for names in collections(parsed(module))
        if tuple(names) not in OTHERS.get(module.name, set())
        for first, second in combinations([name for name in names if name in known], 2)
        if known[first].traits & known[second].traits & TRAITS
    ]
    assert not wrong


@pytest.mark.parametrize(
    "text", ['("relu", "gelu")', '{"lstm": 1, "gru": 2}', '{"matmul", "gemm"}']
)
def test_lists_are_seen(text: str) -> None:
    assert [len(names) for names in collections(ast.parse(text)) if names] == [2]
