"""Imports point down, however they are made: a package knows only those above it in the table."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tools.imports import (
    CORE,
    MODULES,
    OUTER,
    PACKAGE,
    PACKAGES,
    Import,
    arrows,
    imports,
    name_of,
    own,
    package_of,
)

RANK = {name: rank for rank, name in enumerate((*CORE, "", *OUTER, "__main__"))}
"""The package itself, "", knows its public names: the core does not import it either."""

BROWSER = {"js", "pyodide", "pyodide_js", "_pyodide", "_pyodide_core", "micropip", "pyscript"}
HOST = "backends.pyodide_host"


def test_only_packages_lie_in_the_package() -> None:
    flat = {path.stem for path in PACKAGE.glob("*.py")}
    assert flat == {"__init__", "__main__"}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == {*PACKAGES}


EXCEPTIONS = {
    "backends.pyodide_host": "*",  # the names of JavaScript's modules
}
"""Modules of the core that name outer packages, and why. This list only becomes shorter."""


def upwards(module: str, imported: list[Import]) -> list[str]:
    """Return what a module imports of packages that come after its own."""
    here = RANK[package_of(module)]
    return [each.name for each in imported if RANK.get(package_of(each.name), len(RANK)) > here]


def test_imports_point_down() -> None:
    up = {name_of(path): upwards(name_of(path), own(path)) for path in MODULES if name_of(path)}
    packages = {m: " ".join(sorted({*map(package_of, names)})) for m, names in up.items() if names}
    assert packages == EXCEPTIONS


def test_the_core_is_above_the_outer_packages() -> None:
    assert not {*CORE} & {*OUTER} and (*CORE, *OUTER) == PACKAGES
    assert {package_of(module) for module in EXCEPTIONS} <= {*CORE}


def test_public_names_are_imported_on_first_use() -> None:
    imported = {each for each in own(PACKAGE / "__init__.py") if each.when != "types"}
    assert imported == {Import("core.plugins", "now"), Import("*", "later")}


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
        'from importlib import import_module\nimport_module("webnnm.model.nnmodel")\n',
        'import importlib\ndef f():\n    importlib.import_module("webnnm.model.nnmodel")\n',
        'def f(model: "webnnm.model.nnmodel"): ...\n',
        'NAME = "webnnm.model.nnmodel"\n',
    ],
)
def test_an_arrow_that_points_up_is_seen(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert {*upwards("graph.node", own(path))} == {"model.nnmodel"}
    assert not upwards("cli.train", own(path))


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ('import_module("webnnm.expert")', "expert"),
        ('__import__("webnnm.expert.reviewer")', "expert.reviewer"),
        ('importlib.import_module(f"webnnm.expert.{name}")', "expert.*"),
        ('import_module(f"webnnm.{name}")', "*"),
        ('import_module(f"{package}.reviewer")', "*.reviewer"),
        ("import_module(name)", "*"),
    ],
)
def test_the_core_imports_no_outer_package_by_a_string(
    text: str, imported: str, tmp_path: Path
) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"def f():\n    {text}\n")
    assert {*upwards("trainer.training", own(path))} == {imported}


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
