"""Imports point down: a module knows only the layers below its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent.parent / "webnnm"

LAYERS = (
    (
        "errors",
        "dtypes",
        "shapes",
        "spelling",
        "arrays",
        "random",
        "keywords",
        "markup",
        "occupancy",
        "waiting",
    ),
    ("notation",),
    ("ops",),
    ("graph",),
    ("autodiff", "passes"),
    ("training",),
    ("expert", "plan", "formats"),
    ("rematerialisation", "scanned"),
    ("backends",),
    ("compilation", "data", "history_plot", "screen"),
    (
        "binding",
        "context",
        "evaluator",
        "history",
        "parameters",
        "progress_screens",
        "report",
        "texts",
    ),
    ("eager", "evaluation", "tracing", "progress"),
    ("answers", "entries"),
    ("checkpoint", "creation", "objectives", "prediction", "restored", "rows", "pace", "storage"),
    ("banks", "checkpoint_file", "description", "facts", "restored_file", "testing", "validation"),
    ("snapshot", "stepping"),
    ("autosave", "stored", "watching"),
    ("resident",),
    ("divergence", "records", "reviewing", "scout"),
    ("preparation",),
    ("session", "exporting"),
    ("model",),
    ("models", "parts", "sync", "cli"),
    ("__main__",),
)
LAYER = {part: number for number, parts in enumerate(LAYERS) for part in parts}

BROWSER = {"js", "pyodide", "pyodide_js", "_pyodide", "_pyodide_core", "micropip", "pyscript"}
HOST = "backends.pyodide_host"

MODULES = sorted(PACKAGE.rglob("*.py"))
Import = tuple[str, bool]


def name_of(path: Path) -> str:
    """Return the dotted name below the package: "graph.node", "ops", "" for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


def imports(path: Path) -> Iterator[Import]:
    """Return every imported module, and whether it is imported with the module.

    What stands under TYPE_CHECKING is imported by nobody.
    """
    tree = ast.parse(path.read_text())
    found: list[tuple[ast.AST, bool]] = [(tree, True)]
    while found:
        node, at_once = found.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            found += [(child, at_once) for child in node.orelse]
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                below = inner.removeprefix("webnnm.") in NAMES
                yield (inner if inner.startswith("webnnm.") and below else module, at_once)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        found += [(child, at_once and not inside) for child in ast.iter_child_nodes(node)]


def own(path: Path) -> list[Import]:
    """Return the imports of the package's own modules, without the package's name."""
    mine = [(name, now) for name, now in imports(path) if name.split(".")[0] == "webnnm"]
    return [(name.removeprefix("webnnm").lstrip("."), now) for name, now in mine]


every_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: name_of(path) or "webnnm")


@every_module
def test_module_has_a_layer(path: Path) -> None:
    name = name_of(path)
    assert not name or name.split(".")[0] in LAYER, "say in LAYERS where it belongs"


@every_module
def test_module_imports_lower_layers_only(path: Path) -> None:
    part = name_of(path).split(".")[0]
    for imported, _ in own(path):
        other = imported.split(".")[0]
        assert other, "modules import one another, not the package's public names"
        assert part, "the package itself imports on first use only"
        # The modules of the lowest layer know one another.
        within = other == part or LAYER[part] == LAYER[other] == 0
        assert within or LAYER[other] < LAYER[part], f"{part} imports {imported}"


def test_modules_import_no_circles() -> None:
    graph = {name_of(path): {name for name, now in own(path) if now} for path in MODULES}
    TopologicalSorter(graph).prepare()


@every_module
def test_one_module_knows_the_browser(path: Path) -> None:
    foreign = {name.split(".")[0] for name, _ in imports(path)} & BROWSER
    assert not foreign or name_of(path) == HOST, f"{foreign} belong into {HOST}"


@every_module
def test_numpy_is_not_imported_with_a_module(path: Path) -> None:
    assert not [name for name, now in imports(path) if now and name.split(".")[0] == "numpy"]


def test_the_law_sees_what_it_shall_see(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "import numpy.linalg as la\n"
        "from webnnm import ops, gradients\n"
        "from webnnm.ops.naming import snake_case\n"
        "if TYPE_CHECKING:\n    import js\nelse:\n    import pyodide\n"
        "try:\n    import micropip\nexcept ImportError:\n    pass\n"
        "def f():\n    import torch\n"
    )
    assert sorted(set(imports(path))) == [
        ("micropip", True),
        ("numpy.linalg", True),
        ("pyodide", True),
        ("torch", False),
        ("typing", True),
        ("webnnm", True),
        ("webnnm.ops", True),
        ("webnnm.ops.naming", True),
    ]
