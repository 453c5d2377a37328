"""The programs and models in documents do what these say, and every document is found."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import webnnm
from tests.laws.headings import DOCS, PAGES, ROOT, headings
from tools.errors import anchor
from webnnm import ops

LEAST = {
    "arrays.md": 19,
    "backends.md": 12,
    "cloud.md": 10,
    "composites.md": 24,
    "fine-tuning.md": 40,
    "foreign-weights.md": 15,
    "generation.md": 8,
    "keeping-models.md": 10,
    "predictions.md": 9,
    "quantization.md": 4,
    "speech.md": 9,
    "stablehlo.md": 3,
    "transfer-learning.md": 20,
    "transformers.md": 25,
}
"""How many examples a document has at least: a fence that is not closed would hide some."""
NEEDS = {"cloud.md": "jax"}


@pytest.fixture
def no_new_operators() -> Iterator[None]:
    """Take away what a document registered."""
    before = set(ops.registry())
    yield
    for name in set(ops.registry()) - before:
        ops.unregister(name)


@pytest.mark.parametrize("document", LEAST)
def test_examples_run(
    document: str, monkeypatch: pytest.MonkeyPatch, no_new_operators: None
) -> None:
    if document in NEEDS:
        pytest.importorskip(NEEDS[document], reason=f"{document} needs it")
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(ROOT / "docs" / document), module_relative=False)
    assert result.attempted >= LEAST[document]
    assert result.failed == 0


FENCE = re.compile(r"^```webnnm(?: (NNM\d+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
MODELS = [
    pytest.param(code, text, id=f"{page.relative_to(ROOT).as_posix()}-{number}")
    for page in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for number, (code, text) in enumerate(FENCE.findall(page.read_text()), 1)
]
"""The models of all documents; those that are wrong on purpose name their code."""


@pytest.mark.parametrize(("code", "text"), MODELS)
def test_models_are_what_documents_say(code: str, text: str) -> None:
    found = webnnm.check(text)
    assert [finding.code for finding in found] == ([code] if code else [])


def test_there_are_models() -> None:
    assert len(MODELS) > 8


def test_every_document_is_listed() -> None:
    index = (DOCS / "README.md").read_text()
    linked = set(re.findall(r"\]\(([\w./-]+)[)#]", index))
    files = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.is_file()}
    assert sorted(files - {"README.md"} - linked) == []


@pytest.mark.parametrize(
    "page",
    [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target, place in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", text):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        if place:
            assert place in {anchor(title) for title in headings(path)}, f"{target}#{place}"
