"""Writes the table of hyperparameters in the specification, from the fields of `Settings`."""

from __future__ import annotations

from typing import Any

from tools.common import ROOT
from tools.operators import table
from tools.optimizers import replace_between
from webnnm.cli.setting_meanings import setting_meanings
from webnnm.training.settings import HYPERPARAMETERS, Settings

PAGE = ROOT / "docs" / "specification" / "e-training.md"
BEGIN = "<!-- hyperparameters: written by `make documents` -->"
END = "<!-- end of hyperparameters -->"


def write_table(text: str) -> str:
    """Return the text of the page with the table of today."""
    meanings = setting_meanings()
    rows = [
        [
            ", ".join(f"`{spelling}`" for spelling in (name, *hyperparameter.spellings)),
            _show_default(getattr(Settings(), name)),
            hyperparameter.range,
            meanings[name],
        ]
        for name, hyperparameter in HYPERPARAMETERS.items()
    ]
    content = table(["Name", "Default", "Values", "What it is"], rows)
    return replace_between(text, BEGIN, END, f"\n\n{content}\n\n")


def _show_default(value: Any) -> str:
    if value is None or value == ():
        return "–"
    return str(value).lower() if isinstance(value, bool) else f"{value}"
