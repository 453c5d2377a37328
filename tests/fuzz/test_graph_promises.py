"""What decompositions in random graphs are held to: their equations, not anybody's numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.fuzz.executions import difference
from tests.fuzz.graph_case import GraphCase, Leaf, Step
from tests.fuzz.graph_promises import PROMISES, showing
from webnnm.backends.reference import evaluate

REGULAR = ((4.0, 1.0, -0.5), (1.0, 3.0, 0.75), (-0.5, 0.75, 2.0))
DEPENDENT = ((1.0, 2.0, 3.0), (2.0, 4.0, 6.0), (1.0, 2.0, 3.0))
LOWEST = ((1.0, 2.0, 0.0), (2.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def case(operator: str, matrix: Any, results: int, *others: Any) -> GraphCase:
    """Return a graph of a decomposition whose first result is doubled."""
    leaves = [
        Leaf("float32", np.shape(each), tuple(np.ravel(each).tolist()))
        for each in (matrix, *others)
    ]
    step = Step(operator, tuple(range(len(leaves))), {}, results)
    double = Step("add", (len(leaves), len(leaves)))
    last = len(leaves) + results
    return showing(GraphCase((*leaves, step, double), (last,)))


def verdict(case: GraphCase, change: Any) -> str:
    """Return what is said of the reference's results after a change, "" if nothing."""
    graph, feeds = case.graph()
    values = {name: np.asarray(array.values(), "float32") for name, array in feeds.items()}
    found = dict(evaluate(graph, {n: v.reshape(feeds[n].shape) for n, v in values.items()}))
    change(found)
    try:
        return difference(graph, values, found)
    except AssertionError as error:
        return str(error)


def test_outputs_show_what_decompositions_take_and_return() -> None:
    leaf = Leaf("float32", (2, 2), (1, 2, 3, 4))
    steps = (Step("neg", (0,)), Step("qr", (1,), {}, 2), Step("relu", (3,)))
    assert showing(GraphCase((leaf, *steps), (4,))).outputs == (4, 1, 2, 3)


def test_factors_of_other_signs_are_right_with_what_follows_from_them() -> None:
    def turned(found: dict[str, Any]) -> None:
        found |= {name: -value for name, value in found.items()}

    def turned_alone(found: dict[str, Any]) -> None:
        found |= {name: -found[name] for name in ("y1", "y2")}

    for matrix in (REGULAR, DEPENDENT):
        assert verdict(case("qr", matrix, 2), lambda found: None) == ""
        assert verdict(case("qr", matrix, 2), turned) == ""
        assert "y3[0, 0] is" in verdict(case("qr", matrix, 2), turned_alone)


@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.parametrize("error", [1e-3, np.nan, np.inf])
def test_a_wrong_element_of_any_result_breaks_the_promise(name: str, error: float) -> None:
    results = {"eigh": 2, "qr": 2, "slogdet": 2, "svd": 3}.get(name, 1)
    others = [[[1.0], [2.0], [-1.0]]] if name == "solve" else []
    given = case(name, REGULAR, results, *others)
    first = 1 + len(others)
    graph, _ = given.graph()
    last = f"y{first + results}"

    def move(output: str, place: tuple[int, ...], found: dict[str, Any]) -> None:
        found[output] = found[output].copy()
        found[output][place] += error * max(1, np.abs(found[output]).max())
        found[last] = found[f"y{first}"] * 2

    for output in (f"y{number}" for number in range(first, first + results)):
        for place in np.ndindex(graph.outputs[output].shape):
            assert verdict(given, partial(move, output, place)), (output, place)


def test_a_determinant_has_a_sign() -> None:
    def negative(found: dict[str, Any]) -> None:
        found |= {name: -value for name, value in found.items()}

    assert "is off by" in verdict(case("determinant", REGULAR, 1), negative)


def test_singular_matrices_have_any_inverse_and_regular_ones_their_own() -> None:
    def anything(found: dict[str, Any]) -> None:
        found |= {"y1": np.full((3, 3), 7, "float32"), "y2": np.full((3, 3), 14, "float32")}

    assert verdict(case("inverse", DEPENDENT, 1), anything) == ""
    assert "is off by" in verdict(case("inverse", REGULAR, 1), anything)


def test_a_matrix_that_is_not_positive_has_no_square_root() -> None:
    def root(found: dict[str, Any]) -> None:
        found |= {"y1": np.eye(3, dtype="float32"), "y2": 2 * np.eye(3, dtype="float32")}

    assert verdict(case("cholesky", LOWEST, 1), lambda found: None) == ""
    assert "no matrix has this square" in verdict(case("cholesky", LOWEST, 1), root)
