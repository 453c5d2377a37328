"""What the comparison of random graphs leaves free, and what it still asks beside that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.fuzz.executions import difference
from webnnm.backends.reference import evaluate
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

NAN, INF, HUGE = float("nan"), float("inf"), 3.4e38


def wrong(make: Callable[[GraphBuilder, Operand], Operand], given: Any, found: Any) -> list[bool]:
    """Tell of each element of what a backend found whether it would be called wrong."""
    b = GraphBuilder()
    feeds = {"x": np.asarray(given, np.float32)}
    graph = b.build({"y": make(b, b.input("x", "float32", feeds["x"].shape))})
    with np.errstate(all="ignore"):
        right = evaluate(graph, feeds)["y"]
    told: list[bool] = []
    for place, value in np.ndenumerate(np.asarray(found)):
        changed = right.copy()
        changed[place] = value
        told.append(bool(difference(graph, feeds, {"y": changed})))
    return told


def row_sums(b: GraphBuilder, x: Operand) -> Operand:
    return b.reduce_sum(x, axes=[1])


def test_exact_sums_may_be_added_in_another_order_where_terms_round() -> None:
    assert (
        wrong(row_sums, [[HUGE, -HUGE, 1, 0.5], [2.0**24, 1, 1, 0]], [0.5, 2.0**24]) == [False] * 2
    )
    assert wrong(row_sums, [[3, 4, 5, -6], [0.5, 0.25, 2, 2.0**20]], [7, 2.0**20]) == [True] * 2


def test_sums_may_overflow_on_their_way() -> None:
    given = [[-HUGE, HUGE, -HUGE], [-2e38, 1e38, -1e38]]
    assert wrong(row_sums, given, [-INF, -INF]) == [False, False]
    assert wrong(row_sums, [[-2e38, 1e38, -3e37]], [-INF]) == [True]


def test_halves_may_be_kept_wider() -> None:
    def quotients(b: GraphBuilder, x: Operand) -> Operand:
        half = b.cast(x, type="float16")
        return b.cast(b.div(half * half, half * half + 1e-3), type="int8")

    assert wrong(quotients, [581.5, 600, 0.05], [1, 0, 1]) == [False, False, True]


def resampled(b: GraphBuilder, x: Operand) -> Operand:
    return b.resample2d(x, mode="linear", sizes=[1, 5])


@pytest.mark.parametrize(
    ("given", "lost"),
    [
        ([1, HUGE, 2, 3], [False, False, False, True, True]),
        ([1, 2, HUGE, 3], [True, True, False, False, True]),
    ],
)
def test_a_next_cell_without_a_share_may_overflow_in_a_resampling(given: Any, lost: Any) -> None:
    assert wrong(resampled, [[[given]]], [[[[NAN] * 5]]]) == lost


def test_exponentials_may_overflow_up_to_half_a_power_of_two_too_early() -> None:
    def exponential(b: GraphBuilder, x: Operand) -> Operand:
        return b.exp(x)

    assert wrong(exponential, [88.3, 88.4, 88.7], [INF] * 3) == [True, False, False]


def test_zeros_outside_of_a_triangle_may_have_the_sign_of_what_was_there() -> None:
    def quotients(b: GraphBuilder, x: Operand) -> Operand:
        return 1.0 / b.triangular(x, upper=False)

    given = [[1, -2, 4], [1, 1, 0.5], [1, 1, 1]]
    told = wrong(quotients, given, [[1, -INF, -INF], [1, 1, INF], [1, 1, 1]])
    assert told == [False, False, True, *[False] * 6]


def averages(b: GraphBuilder, x: Operand) -> Operand:
    return b.average_pool2d(x, window_dimensions=[1, 2])


def filtered(b: GraphBuilder, x: Operand) -> Operand:
    return b.conv2d(x, b.constant([[[[1.0, 1.0]]]]))


def test_a_sum_with_0_may_be_left_out_and_nothing_else_is() -> None:
    def inverse(b: GraphBuilder, x: Operand) -> Operand:
        return b.reciprocal(b.linear(x))

    assert wrong(inverse, [-0.0, 0.0, -0.0], [-INF, INF, INF]) == [False] * 3
    assert wrong(inverse, [0.0, 0.5, -0.5], [-INF, -2, 2]) == [True] * 3


def test_windows_may_lose_what_is_not_finite_and_nothing_else_may() -> None:
    not_finite, finite = [[[[NAN, 1, 2]]]], [[[[3, 1, 2]]]]
    assert wrong(averages, not_finite, [[[[-INF, 1.5]]]]) == [False, False]
    assert wrong(averages, finite, [[[[-INF, 1.5]]]]) == [True, False]
    assert wrong(filtered, not_finite, [[[[HUGE, 3]]]]) == [False, False]
    assert wrong(filtered, finite, [[[[HUGE, 3]]]]) == [True, False]
    assert wrong(lambda b, x: b.relu(x), [NAN, 1], [HUGE, 1]) == [True, False]
    assert wrong(row_sums, [[NAN], [1]], [HUGE, 1]) == [True, False]
