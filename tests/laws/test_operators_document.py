"""docs/operators.md says what the registry and the recorded conformance counts say."""

from __future__ import annotations

import doctest
import json

import pytest

from tools import operators
from webnnm import ops
from webnnm.cli import operator_facts


def test_every_operator_with_vectors_is_counted_on_both_backends() -> None:
    vectors = json.loads(operators.COUNTS.read_text())["vectors"]
    assert all(counts.keys() == {"total", "reference", "webnn"} for counts in vectors.values())
    others = {"constant-reshape-optimization", "subgraph"}
    assert vectors.keys() - others <= ops.registry().keys()


@pytest.mark.parametrize("module", [operator_facts, operators], ids=lambda module: module.__name__)
def test_examples_of_the_tool_run(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
