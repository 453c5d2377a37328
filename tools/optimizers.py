"""Writes what lists the optimizers, from their records: tables, the pages' choice, a type."""

from __future__ import annotations

from pathlib import Path

from tools.common import ROOT
from tools.operators import table
from webnnm.core.markup import tag
from webnnm.training.optimizers import OPTIMIZERS, Optimizer
from webnnm.training.settings import Settings

DEFAULTS = ROOT / "docs" / "defaults.md"
FORMULAS = ROOT / "docs" / "specification" / "e-training.md"
CHOICE = ROOT / "site" / "parts" / "optimizer.html"
KEYWORDS = ROOT / "webnnm" / "model" / "keywords.py"
BEGIN, END = "<!-- optimizers: written by `make documents` -->", "<!-- end of optimizers -->"

RECORDS = tuple({optimizer.name: optimizer for optimizer in OPTIMIZERS.values()}.values())


def files() -> dict[Path, str]:
    """Return the text of every file that lists the optimizers."""
    return {
        DEFAULTS: _replace_in(DEFAULTS, BEGIN, END, f"\n\n{_tabulate_defaults()}\n\n"),
        FORMULAS: _replace_in(FORMULAS, BEGIN, END, f"\n\n{_tabulate_formulas()}\n\n"),
        CHOICE: _replace_in(CHOICE, 'id="optimizer">\n', "  </", _list_options()),
        KEYWORDS: _replace_in(KEYWORDS, "OptimizerName = Literal[", "]", f"\n{_list_names()}"),
    }


def replace_between(text: str, begin: str, end: str, content: str) -> str:
    """Return a text with other content between two marks, which it must have.

    >>> replace_between("a < b > c", "<", ">", "-")
    'a <-> c'
    """
    before, mark, rest = text.partition(begin)
    _, closing, after = rest.partition(end)
    if not closing:
        raise ValueError(f"there is no {begin} with {end} after it")
    return before + mark + content + closing + after


def _replace_in(path: Path, begin: str, end: str, content: str) -> str:
    return replace_between(path.read_text("utf-8"), begin, end, content)


def _tabulate_defaults() -> str:
    rows = [
        [
            _show_names(o),
            f"{o.rate:g}" + ", adaptive" * o.adaptive,
            f"{o.weight_decay:g}",
            _show_settings(o),
        ]
        for o in RECORDS
    ]
    return table(["Optimizer", "default `lr`", "`weight_decay`", "further settings"], rows)


def _show_names(optimizer: Optimizer) -> str:
    return ", ".join((optimizer.name, *optimizer.aliases))


def _show_settings(optimizer: Optimizer) -> str:
    return ", ".join(f"`{name}` {value:g}" for name, value in optimizer.defaults.items()) or "–"


def _tabulate_formulas() -> str:
    rows = [[o.name, o.formula] for o in RECORDS]
    return table(["Name", "Update"], rows)


def _list_options() -> str:
    default = Settings().optimizer
    names = sorted((o.name for o in RECORDS), key=lambda name: name != default)
    return "".join(f"    {tag('option', name)}\n" for name in names)


def _list_names() -> str:
    return "".join(f'    "{name}",\n' for name in OPTIMIZERS)
