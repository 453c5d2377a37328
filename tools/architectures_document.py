"""Writes the table of architectures in docs/transformers.md from their modules.

What a module is, and what it does not support, is in its docstring; its classes are those that it
asks `class_suffix` for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any
from unittest.mock import patch

from tools.common import ROOT
from tools.operators import table
from webnnm.transformers.architectures import ARCHITECTURES, model_text
from webnnm.transformers.config import Config

PAGE = ROOT / "docs" / "transformers.md"
BEGIN = "<!-- architectures: written by `make documents` -->"
END = "<!-- end of architectures -->"
PACKAGE = model_text.__name__.rpartition(".")[0]
LIMITS = re.compile(r"Not supported(?: by (?P<kinds>`[^:]*`))?: (?P<text>.*?)\.\n", re.DOTALL)
"""What docstrings say of what is not supported, by all models of a module or some of them."""


class _ClassesAreKnown(Exception):
    """Ends the writing of a text: only its classes are of interest."""


def page() -> str:
    """Return the text of the page with the table of the current architectures."""
    rows: list[list[str]] = []
    for name in dict.fromkeys(ARCHITECTURES.values()):
        module = import_module(f"{PACKAGE}.{name}")
        kinds = [kind for kind, other in ARCHITECTURES.items() if other == name]
        title = str(module.__doc__).splitlines()[0].rstrip(".")
        groups: dict[tuple[tuple[str, ...], str], list[str]] = {}
        for kind in kinds:
            key = find_classes(module, kind), find_limits(module, kind)
            groups.setdefault(key, []).append(kind)
        for (classes, limits), group in groups.items():
            rows.append([_quote(group), title, _quote(classes), limits])
            title = "the same"
    heads = ["`model_type`", "What it is", "Classes", "Not supported"]
    generated = f"{BEGIN}\n\n{table(heads, rows)}\n\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: generated, PAGE.read_text(), flags=re.DOTALL)


def _quote(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def find_classes(module: ModuleType, kind: str) -> tuple[str, ...]:
    """Return the classes of models of a type: whole names, or "…" and what they end with."""
    found: list[str] = []

    def record(_: Config, *suffixes: str, default: str) -> str:
        found.extend(suffixes)
        raise _ClassesAreKnown(default)

    modules: list[Any] = [
        other
        for name, other in sys.modules.items()
        if name.startswith(PACKAGE) and hasattr(other, "class_suffix")
    ]
    patches = [patch.object(other, "class_suffix", record) for other in modules]
    for replacement in patches:
        replacement.start()
    try:
        module.write_model(Config({"model_type": kind}))
    except _ClassesAreKnown:
        pass
    finally:
        for replacement in patches:
            replacement.stop()
    assert found, f'the classes of models of type "{kind}" are not known before its config is read'
    plain = re.compile(r"For|Model$|LMHead|MTModel|TextModel|VisionModel")
    return tuple(f"…{name}" if plain.match(name) else name for name in found)


def find_limits(module: ModuleType, kind: str) -> str:
    """Return what is not supported of models of a type."""
    texts = [
        " ".join(match["text"].split())
        for match in LIMITS.finditer(f"{module.__doc__}\n")
        if match["kinds"] is None or f"`{kind}`" in match["kinds"]
    ]
    return "; ".join(texts)
