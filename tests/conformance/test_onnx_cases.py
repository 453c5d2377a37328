"""The operator cases of ONNX on the reference backend: right, or refused by name."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pytest

from tests.conformance import counts
from tests.conformance.onnx_cases import cases, onnx, problem
from tests.conformance.onnx_jobs import OnnxCase, refusal
from tests.conformance.verdict import as_numpy
from webnnm.backends.reference import evaluate
from webnnm.core.errors import WebNNMError

CASES = cases()
OPERATORS: dict[str, list[OnnxCase]] = defaultdict(list)
for _case in CASES.values():
    OPERATORS[_case.operator].append(_case)
REQUIRED = 1_450
"""How many cases pass at least."""


@cache
def found(name: str) -> str:
    """Return "" for a case that passes, the code of the error that refuses it, or what is wrong."""
    case = CASES[name]
    try:
        graph, feeds = case.graph()
    except WebNNMError as error:
        return refusal(error) or f"wrong: {error}"
    arrays = evaluate(graph, {name: as_numpy(array) for name, array in feeds.items()})
    wrong = problem(case, list(arrays.values()))
    return f"wrong: {wrong}" if wrong else ""


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_operator(operator: str) -> None:
    results = {case.name: found(case.name) for case in OPERATORS[operator]}
    wrong = {name: text for name, text in results.items() if text.startswith("wrong")}
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())


def test_counts_are_those_recorded() -> None:
    results = {f"{case.operator}: {case.name}": found(case.name) for case in CASES.values()}
    passed = sum(not text for text in results.values())
    assert passed >= REQUIRED
    counts.check(results, file=counts.ONNX, onnx=onnx.__version__)
