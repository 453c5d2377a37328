"""Writes the table of tasks in docs/pipelines.md from the classes of pipelines."""

from __future__ import annotations

import re
from importlib import import_module

from tools.common import ROOT
from tools.operators import table
from webnnm.tasks.pipeline import ALIASES, TASKS

PAGE = ROOT / "docs" / "pipelines.md"
BEGIN, END = "<!-- tasks: written by `make documents` -->", "<!-- end of tasks -->"


def page() -> str:
    """Return the text of the page with the table of the current tasks."""
    rows: list[list[str]] = []
    for task, (module, name) in TASKS.items():
        kind = getattr(import_module(f"webnnm.tasks.{module}"), name)
        names = [task, *(alias for alias, other in ALIASES.items() if other == task)]
        summary = str(kind.__doc__).splitlines()[0]
        rows.append([", ".join(f"`{name}`" for name in names), summary, kind.classes])
    generated = f"{BEGIN}\n\n{table(['Task', 'What it does', 'Models'], rows)}\n\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: generated, PAGE.read_text(), flags=re.DOTALL)
