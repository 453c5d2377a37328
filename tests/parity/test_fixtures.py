"""Results and gradients are those of PyTorch, as committed fixtures have them."""

from __future__ import annotations

from functools import cache

import pytest

from tests.parity import fixtures
from tests.parity.cases import CASES, MOST_ELEMENTS, Case
from tests.parity.outcome import LIMIT, Outcome, compute, difference
from webnnm.core.shapes import count

every_case = pytest.mark.parametrize("case", CASES, ids=str)
recorded = cache(fixtures.read)


@cache
def compute_case(name: str) -> Outcome:
    """Compute a case once for both of its tests."""
    case = next(case for case in CASES if str(case) == name)
    fixture = recorded()[name]
    return compute(case, fixture.operands, fixture.weights)


def test_fixtures_are_those_of_the_cases() -> None:
    assert list(recorded()) == [str(case) for case in CASES], "`make parity-fixtures` writes them"


@every_case
def test_fixture_is_small_and_of_the_shapes_of_the_case(case: Case) -> None:
    operands = recorded()[str(case)].operands
    assert tuple(operands[i].shape if i in operands else None for i in range(len(case.shapes))) == (
        case.shapes
    )
    arrays = [*operands.values(), *recorded()[str(case)].outcome.results.values()]
    assert max(count(array.shape) for array in arrays) <= MOST_ELEMENTS


@every_case
def test_results_are_those_of_pytorch(case: Case) -> None:
    expected = recorded()[str(case)].outcome.results
    assert difference(compute_case(str(case)).results, expected) <= LIMIT


@every_case
def test_gradients_are_those_of_pytorch(case: Case) -> None:
    expected = recorded()[str(case)].outcome.gradients
    assert difference(compute_case(str(case)).gradients, expected) <= LIMIT
