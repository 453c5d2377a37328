"""Writes what lists the optimizers, from their records: tables, the pages' choice, a type."""

from __future__ import annotations

from pathlib import Path

from tools.common import ROOT
from tools.operators import table
from webnnm.core.markup import tag
from webnnm.training.hyperparameters import HYPERPARAMETERS
from webnnm.training.optimizers import OPTIMIZERS, Optimizer

DEFAULTS = ROOT / "docs" / "defaults.md"
FORMULAS = ROOT / "docs" / "specification" / "e-training.md"
CHOICE = ROOT / "site" / "parts" / "optimizer.html"
KEYWORDS = ROOT / "webnnm" / "model" / "keywords.py"
BEGIN, END = "<!-- optimizers: written by `make documents` -->", "<!-- end of optimizers -->"

RECORDS = tuple({optimizer.name: optimizer for optimizer in OPTIMIZERS.values()}.values())


def files() -> dict[Path, str]:
    """Return the text of every file that lists the optimizers."""
    return {
        DEFAULTS: _between(DEFAULTS, BEGIN, END, f"\n\n{_defaults()}\n\n"),
        FORMULAS: _between(FORMULAS, BEGIN, END, f"\n\n{_formulas()}\n\n"),
        CHOICE: _between(CHOICE, 'id="optimizer">\n', "  </", _choice()),
        KEYWORDS: _between(KEYWORDS, "OptimizerName = Literal[", "]", f"\n{_names()}"),
    }


def _between(path: Path, begin: str, end: str, text: str) -> str:
    """Return the text of a file with other text between two marks, which it must have."""
    before, mark, rest = path.read_text("utf-8").partition(begin)
    _, closing, after = rest.partition(end)
    if not closing:
        raise ValueError(f"{path} has no {begin} with {end} after it")
    return before + mark + text + closing + after


def _defaults() -> str:
    rows = [
        [_called(o), f"{o.rate:g}" + ", adaptive" * o.adaptive, f"{o.weight_decay:g}", _settings(o)]
        for o in RECORDS
    ]
    return table(["Optimizer", "default `lr`", "`weight_decay`", "further settings"], rows)


def _called(optimizer: Optimizer) -> str:
    return ", ".join((optimizer.name, *optimizer.aliases))


def _settings(optimizer: Optimizer) -> str:
    return ", ".join(f"`{name}` {value:g}" for name, value in optimizer.defaults.items()) or "–"


def _formulas() -> str:
    rows = [[o.name, o.formula] for o in RECORDS]
    return table(["Name", "Update"], rows)


def _choice() -> str:
    default = HYPERPARAMETERS["optimizer"].default
    names = sorted((o.name for o in RECORDS), key=lambda name: name != default)
    return "".join(f"    {tag('option', name)}\n" for name in names)


def _names() -> str:
    return "".join(f'    "{name}",\n' for name in OPTIMIZERS)
