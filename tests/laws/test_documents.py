"""The programs in documents run, and give what these say."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from pathlib import Path

import pytest

from webnnm import ops

ROOT = Path(__file__).resolve().parent.parent.parent

LEAST = {
    "cloud.md": 10,
    "composites.md": 20,
    "foreign-weights.md": 15,
    "keeping-models.md": 10,
    "predictions.md": 9,
    "stablehlo.md": 3,
    "transfer-learning.md": 20,
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
