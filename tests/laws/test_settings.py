"""Settings of trainings are read as attributes of the record, never by a name in a string."""

from __future__ import annotations

import ast

import pytest

from tools.common import ROOT
from webnnm.training.settings import HYPERPARAMETERS

PACKAGES = ("training", "trainer", "expert", "runtime", "snapshots")
FILES = [path for name in PACKAGES for path in sorted((ROOT / "webnnm" / name).rglob("*.py"))]


def accesses(text: str) -> list[str]:
    """Return the hyperparameters that a module takes from `settings` by strings, with lines."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Subscript(value=owner, slice=ast.Constant(value=str(name))):
                pass
            case ast.Call(
                func=ast.Attribute(value=owner, attr="get"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                pass
            case _:
                continue
        last = ast.unparse(owner).rsplit(".", 1)[-1].strip("_")
        if name in HYPERPARAMETERS and last in ("settings", "hyperparameters"):
            found.append(f"{node.lineno}: {name}")
    return found


def test_no_module_takes_settings_by_strings() -> None:
    known = {str(path.relative_to(ROOT)): accesses(path.read_text("utf-8")) for path in FILES}
    # An optimizer's record has the numbers that it reads by name, as it declares their defaults.
    known.pop("webnnm/training/optimizers.py")
    assert {path: lines for path, lines in known.items() if lines} == {}


@pytest.mark.parametrize(
    "text", ['settings["lr"]', 'self._settings["epochs"]', 'history.settings.get("lr", 0.0)']
)
def test_accesses_are_found(text: str) -> None:
    assert len(accesses(text)) == 1


def test_attributes_and_other_names_are_none() -> None:
    assert accesses('settings.lr; settings["backend"]; losses["lr"]') == []
