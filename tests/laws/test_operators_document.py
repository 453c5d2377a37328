"""docs/operators.md says what the registry and the recorded conformance counts say."""

from __future__ import annotations

import doctest

import pytest

from tools import conformance, operators
from webnnm import ops
from webnnm.cli import operator_facts


def test_vectors_are_counted_for_operators() -> None:
    counts = conformance.count_vectors()
    assert all(0 <= n <= of["Cases"] for of in counts.values() for n in of.values())
    others = {"constant-reshape-optimization", "subgraph"}
    assert counts.keys() - others <= ops.registry().keys()


@pytest.mark.parametrize("module", [operator_facts, operators], ids=lambda module: module.__name__)
def test_examples_of_the_tool_run(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
