"""Imports point down, whenever they are made: a package knows only those above it in the table."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tools.imports import (
    MODULES,
    PACKAGE,
    PACKAGES,
    Import,
    arrows,
    imports,
    name_of,
    own,
    package_of,
)

RANK = {name: place for place, name in enumerate((*PACKAGES, "__main__"))}

BROWSER = {"js", "pyodide", "pyodide_js", "_pyodide", "_pyodide_core", "micropip", "pyscript"}
HOST = "backends.pyodide_host"


def test_only_packages_lie_in_the_package() -> None:
    flat = {path.stem for path in PACKAGE.glob("*.py")}
    assert flat == {"__init__", "__main__"}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == {*PACKAGES}


def upwards(module: str, imported: list[Import]) -> list[str]:
    """Return what a module imports of packages that come after its own."""
    here = RANK[package_of(module)]
    return [each.name for each in imported if RANK.get(package_of(each.name), len(RANK)) > here]


def test_imports_point_down() -> None:
    up = {name_of(path): upwards(name_of(path), own(path)) for path in MODULES if name_of(path)}
    assert {module: names for module, names in up.items() if names} == {}


def test_public_names_are_imported_on_first_use() -> None:
    assert all(each.when == "types" for each in own(PACKAGE / "__init__.py"))


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules of a circle, none if there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_modules_import_no_circles() -> None:
    modules = {name: above for name, above in arrows().items() if name}
    # A package knows its modules, and these may know what its `__init__` declares.
    assert not circle({n: {a for a in above if a != n} for n, above in modules.items()})


def test_one_module_knows_the_browser() -> None:
    roots = {name_of(path): {each.name.split(".")[0] for each in imports(path)} for path in MODULES}
    assert {module for module, names in roots.items() if names & BROWSER} <= {HOST}


def test_numpy_is_not_imported_with_a_module() -> None:
    numpy = [
        name_of(path)
        for path in MODULES
        for each in imports(path)
        if each.when == "now" and each.name.split(".")[0] == "numpy"
    ]
    assert numpy == []


@pytest.mark.parametrize(
    "text",
    [
        "from webnnm.model.nnmodel import NNModel\n",
        "def f():\n    import webnnm.model.nnmodel\n",
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from webnnm.model.nnmodel import NNModel\n",
    ],
)
def test_an_arrow_that_points_up_is_seen(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert upwards("graph.node", own(path)) == ["model.nnmodel"]
    assert not upwards("cli.train", own(path))


def test_a_circle_is_seen() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert not circle({"a": {"b", "c"}, "b": {"c"}, "c": set()})


def test_the_law_sees_what_it_shall_see(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "import numpy.linalg as la\n"
        "from webnnm import ops, gradients\n"
        "from webnnm.ops.declare.traits import Trait\n"
        "if TYPE_CHECKING:\n    import js\nelse:\n    import pyodide\n"
        "try:\n    import micropip\nexcept ImportError:\n    pass\n"
        "def f():\n    import torch\n"
    )
    assert sorted(set(imports(path))) == [
        ("js", "types"),
        ("micropip", "now"),
        ("numpy.linalg", "now"),
        ("pyodide", "now"),
        ("torch", "later"),
        ("typing", "now"),
        ("webnnm", "now"),
        ("webnnm.ops", "now"),
        ("webnnm.ops.declare.traits", "now"),
    ]
