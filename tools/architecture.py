"""Writes the table and the diagram of packages in docs/architecture.md from the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tools.common import ROOT
from tools.imports import CORE, OUTER, PACKAGE, PACKAGES, arrows, package_of
from tools.operators import table

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- packages: written by `make documents` -->", "<!-- end of packages -->"


def page() -> str:
    """Return the text of the page with the table and the diagram of the current sources."""
    tables = f"{jobs('Core', CORE)}\n\n{jobs('Outer ring', OUTER)}"
    generated = f"{BEGIN}\n\n{tables}\n\n{diagram()}\n\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: generated, PAGE.read_text(), flags=re.DOTALL)


def jobs(ring: str, packages: Iterable[str]) -> str:
    """Return the table of a ring's packages: the first line of each says its job."""
    rows: list[list[str]] = []
    for name in packages:
        init = PACKAGE / name / "__init__.py"
        job = (ast.get_docstring(ast.parse(init.read_text())) or "").splitlines()[0]
        rows.append([f"[`{name}`](../webnnm/{name})", job.replace("|", "\\|")])
    return table([ring, "Job"], rows)


def diagram() -> str:
    """Return the packages as Mermaid: an arrow points to what is imported.

    Packages that are also imported through another package get no arrow of their own.
    """
    imported = {name: set[str]() for name in PACKAGES}
    for module, others in arrows().items():
        if module and package_of(module) in imported:
            package = package_of(module)
            above = PACKAGES[: PACKAGES.index(package)]  # without the exceptions of the law
            imported[package] |= {*map(package_of, others)} & {*above}
    lines = ["```mermaid", "flowchart BT"]
    for ring, packages in (("core", CORE), ("outer ring", OUTER)):
        lines += [f'    subgraph "{ring}"', *(f"        {name}" for name in packages), "    end"]
    for name in PACKAGES:
        above = imported[name] - {name}
        through = {far for near in above for far in _collect_reachable(near, imported)}
        lines += [
            f"    {name} --> {imported}" for imported in PACKAGES if imported in above - through
        ]
    return "\n".join([*lines, "```"])


def _collect_reachable(name: str, imported: dict[str, set[str]]) -> set[str]:
    """Return what a package imports, and what that imports, and so on."""
    near = imported[name] - {name}
    return near.union(*(_collect_reachable(each, imported) for each in near))
