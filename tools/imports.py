"""Which modules of the package import which: read from the sources, annotations included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.common import ROOT

PACKAGE = ROOT / "webnnm"
CORE = (
    *("core", "notation", "ops", "graph", "compiler", "backends", "training", "data"),
    *("evaluation", "runtime", "snapshots", "trainer", "model"),
)
"""The packages that create, train, test, save and load a model. They import no outer one."""
OUTER = (
    *("editing", "eager", "expert", "formats", "charts", "diagram", "language", "transformers"),
    *("tasks", "sync", "cli"),
)
"""What is plugged into the core, by `webnnm/__init__`."""
PACKAGES = (*CORE, *OUTER)
"""Each package imports only those before it."""
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a program; each is parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


class Import(NamedTuple):
    """An imported module, and when it is imported: with the module, later, or never (types).

    A name that is computed has a "*" where that is: `import_module(f"webnnm.ops.{name}")` imports
    "webnnm.ops.*".
    """

    name: str
    when: str


def name_of(path: Path) -> str:
    """Return the dotted name below the package: "graph.node", "ops", "" for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}
FULL_NAMES = {f"webnnm.{name}" for name in NAMES if name}


def package_of(module: str) -> str:
    """Return the package of a module: its first name."""
    return module.split(".")[0]


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Return every import of a module; `when` is "now", "later" or "types"."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    tree = parse(path)
    queue: list[tuple[ast.AST, str]] = [(tree, "now")]
    while queue:
        node, when = queue.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            queue += [(child, "types") for child in node.body]
            queue += [(child, when) for child in node.orelse]
            continue
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, when) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                below = inner.removeprefix("webnnm.") in NAMES
                yield Import(inner if inner.startswith("webnnm.") and below else module, when)
        elif isinstance(node, ast.Call) and _name_of_call(node) in ("import_module", "__import__"):
            yield Import(_find_dynamic_name(node.args[0]), when)
        elif isinstance(node, ast.Constant) and node.value in FULL_NAMES:
            yield Import(str(node.value), when)  # as in an annotation, or for a later import
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        later = "later" if inside and when == "now" else when
        queue += [(child, later) for child in ast.iter_child_nodes(node)]


def _name_of_call(call: ast.Call) -> str:
    return ast.unparse(call.func).split(".")[-1]


def _find_dynamic_name(argument: ast.expr) -> str:
    """Return the name of a module that a program imports by a string."""
    parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
    name = "".join(str(p.value) if isinstance(p, ast.Constant) else "*" for p in parts)
    return f"webnnm.{name}" if name.startswith("*") else name


def own(path: Path) -> list[Import]:
    """Return the imports of the package's own modules, without the package's name."""
    own_imports = [item for item in imports(path) if item.name.split(".")[0] == "webnnm"]
    return [Import(item.name.removeprefix("webnnm").lstrip("."), item.when) for item in own_imports]


@cache
def arrows() -> dict[str, set[str]]:
    """Return every module with the modules that it imports, whenever it does so."""
    return {name_of(path): {item.name for item in own(path)} for path in MODULES}
