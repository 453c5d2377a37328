"""What CONTRIBUTING.md asks for with a change is there: its case, its test, its place in a list."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import webnnm
from tests.parity.pretrained import fixtures
from tools.common import ROOT
from tools.imports import MODULES
from tools.page_parts import LINKS
from webnnm import ops
from webnnm.cli.program import COMMANDS, parser
from webnnm.expert.rules.registry import APPLIED_WHEN, RULES, TRAINING_MODULES
from webnnm.training.losses import LOSSES
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.transformers.architectures import ARCHITECTURES, DIFFUSERS

OTHER_NAMES = {"smollm2": "the llama of tests/unit/transformers/test_smollm2.py"}
"""Values of `model_type` under which a tested architecture also occurs."""


@cache
def words_of(folder: str) -> set[str]:
    """Return the words of all tests in a folder, and of what they share."""
    files = (ROOT / "tests" / folder).rglob("*.py")
    return {word for path in files for word in re.findall(r"\w+", path.read_text("utf-8"))}


def untested(names: Iterable[str], *folders: str) -> list[str]:
    """Return the names that no test in these folders has as a word."""
    return sorted({*names}.difference(*map(words_of, folders)))


def missing(names: Iterable[str], instruction: str) -> str:
    """Return what to do about names that are missing somewhere, "" if there are none."""
    return "".join(f"{name}: {instruction}\n" for name in names)


def test_every_rule_has_a_case() -> None:
    RULES.load([*APPLIED_WHEN, *TRAINING_MODULES])
    names = untested((rule.id for rule in RULES.values()), "unit/expert")
    todo = "add a Case that triggers the rule, and its remedy, to the CASES of tests/unit/expert"
    assert missing(names, todo) == ""


def test_every_operator_has_samples() -> None:
    names = [name for name, operator in ops.registry().items() if not operator.samples]
    assert missing(names, "give its declaration samples=, from which its tests are made") == ""


def test_every_loss_and_optimizer_has_a_test() -> None:
    names = untested([*LOSSES, *OPTIMIZERS], "unit")
    assert missing(names, "test its formula in tests/unit/training") == ""


def test_every_architecture_is_compared_with_the_library_it_comes_from() -> None:
    kinds = [fixture.config for fixture in fixtures.read().values()]
    compared = {config.get("model_type") or config["_class_name"] for config in kinds}
    names = {*ARCHITECTURES, *DIFFUSERS} - compared - {*OTHER_NAMES}
    todo = "add a case to tests/parity/pretrained/families, and run `make parity-fixtures`"
    assert missing(sorted(names), todo) == ""


def test_every_command_is_listed_and_tested() -> None:
    files = {path for path in MODULES if path.parent.name == "cli"}
    commands = {path.stem for path in files if re.search(r"^def add\(", path.read_text(), re.M)}
    assert commands == {module.__name__.rpartition(".")[2] for module in COMMANDS}
    (names,) = [a.choices for a in parser()._actions if a.dest == "command"]
    assert missing(untested(names, "unit/cli"), "test the command in tests/unit/cli") == ""


def test_every_page_is_linked_and_thereby_tested() -> None:
    """tests/browser/test_pages.py opens every page that is linked and has no test of its own."""
    assert {path.name for path in (ROOT / "site").glob("*.html")} == {*LINKS}


def test_every_public_name_has_a_test_or_an_example_that_runs() -> None:
    guides = [path for path in (ROOT / "docs").glob("*.md") if path.name != "api.md"]
    shown = {word for path in guides for word in re.findall(r"\w+", path.read_text("utf-8"))}
    names = sorted({*untested(webnnm.__all__, "unit", "browser")} - shown)
    assert missing(names, "test the public name, or show it in a guide of docs/") == ""


def test_files_that_are_named_in_contributing_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`(\w[\w.-]*/[\w./-]*)`", text))
    missing = {
        name for name in named if not any((ROOT / at / name).exists() for at in ("", "webnnm"))
    }
    assert sorted(missing) == []
