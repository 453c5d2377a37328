"""Plans of the web-platform-tests and of ONNX's own cases are accepted by any conforming WebNN."""

from __future__ import annotations

import pytest

from tests.conformance.test_onnx_cases import CASES, OPERATORS
from tests.conformance.vectors import vectors
from tests.places import WPT
from tests.unit.compiler.conforming import IMPLEMENTATIONS, plan_conforming
from webnnm.compiler.plan import Plan
from webnnm.core.errors import WebNNMError

VECTORS = {str(vector): vector for vector in vectors(WPT)}
LEAST_SHARE = {"wide": 0.99, "least": 0.7}
"""How many of the graphs can be planned at all: the least implementation lacks 64-bit integers."""


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_vectors_of_the_platform_tests(name: str) -> None:
    plans = [plan_conforming(vector.graph()[0], name) for vector in VECTORS.values()]
    planned = [plan for plan in plans if isinstance(plan, Plan)]
    assert len(planned) >= LEAST_SHARE[name] * len(plans)


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_cases_of_onnx(operator: str) -> None:
    for case in OPERATORS[operator]:
        try:
            graph, _ = CASES[case.name].graph()
        except WebNNMError:
            continue  # test_onnx_cases.py counts them
        for name in IMPLEMENTATIONS:
            plan_conforming(graph, name)
