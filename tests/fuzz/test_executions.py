"""What the comparison of random graphs leaves free, and what it still asks beside that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.fuzz.executions import difference
from tests.unit.ops.cases import CASES, Case, build
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


def test_a_half_may_be_kept_wider_for_one_reader_and_numbers_further_apart_differ() -> None:
    def quotients(b: GraphBuilder, x: Operand) -> Operand:
        half = b.gelu(b.cast(x, type="float16"))
        return b.floor_divide(b.reshape(half, new_shape=[1, 2]), half)

    def order(b: GraphBuilder, x: Operand) -> Operand:
        half = b.gelu(b.cast(x, type="float16"))
        return b.lesser(half, b.where(b.greater(x, 1.5), half * 1.03125, half))

    assert wrong(quotients, [1, 2], [[0, 9]]) == [False, True]
    assert wrong(order, [1, 2], [1, 0]) == [False, True]
    assert wrong(lambda b, x: b.floor_divide(x, x), [1, 2], [0, 1]) == [True, False]


def resample(b: GraphBuilder, x: Operand) -> Operand:
    return b.resample2d(x, mode="linear", sizes=[1, 5])


@pytest.mark.parametrize(
    ("given", "lost"),
    [
        ([1, HUGE, 2, 3], [False, False, False, True, True]),
        ([1, 2, HUGE, 3], [True, True, False, False, True]),
    ],
)
def test_a_next_cell_without_a_share_may_overflow_in_a_resampling(given: Any, lost: Any) -> None:
    assert wrong(resample, [[[given]]], [[[[NAN] * 5]]]) == lost


@pytest.mark.parametrize("name", ["reduce_mean", "reduce_log_sum"])
def test_sums_may_overflow_before_they_are_made_smaller(name: str) -> None:
    def mean(b: GraphBuilder, x: Operand) -> Operand:
        return getattr(b, name)(x, axes=[1])

    given = [[HUGE, -1e38, HUGE, -HUGE], [1e38, -9e37, 1e38, 1e38]]
    assert wrong(mean, given, [INF, NAN]) == [False, False]
    assert wrong(mean, [[1e38, -9e37, 1e38]], [INF]) == [True]


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


def filter_rows(b: GraphBuilder, x: Operand) -> Operand:
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
    assert wrong(filter_rows, not_finite, [[[[HUGE, 3]]]]) == [False, False]
    assert wrong(filter_rows, finite, [[[[HUGE, 3]]]]) == [True, False]
    assert wrong(lambda b, x: b.relu(x), [NAN, 1], [HUGE, 1]) == [True, False]
    assert wrong(row_sums, [[NAN], [1]], [HUGE, 1]) == [True, False]


def test_products_may_overflow_before_a_scale_that_belongs_to_them_and_no_others_may() -> None:
    def scale(b: GraphBuilder, x: Operand) -> Operand:
        return b.matmul(x * 0.125, b.constant([[1.0], [1.0]]))

    def unscale(b: GraphBuilder, x: Operand) -> Operand:
        return b.matmul(x, b.constant([[1.0], [1.0]]))

    assert wrong(scale, [[3e38, 3e38], [1e38, 1e38]], [[INF], [INF]]) == [False, True]
    assert wrong(unscale, [[4e37, 4e37]], [[INF]]) == [True]


def test_products_of_factors_may_overflow_in_another_order_within_their_own_row() -> None:
    def products(b: GraphBuilder, x: Operand) -> Operand:
        return b.reduce_product(x, axes=[1])

    given = [[1e30, 1e30, 1e-30], [1e30, 2, 1e-30]]
    assert wrong(products, given, [INF, INF]) == [False, True]


def test_small_results_may_be_differences_of_numbers_near_1() -> None:
    def curve(b: GraphBuilder, x: Operand) -> Operand:
        return b.tanh(x)

    assert wrong(curve, [1e-6, 1e-6, 0.5], [2e-6, 4e-6, 0.46213]) == [False, True, True]


def test_sigmoids_are_exact_up_to_a_few_units_of_1() -> None:
    def gate(b: GraphBuilder, x: Operand) -> Operand:
        return b.sigmoid(x)

    assert wrong(gate, [-20, -20, 0], [1.4e-7, 3e-6, 0.50001]) == [False, True, True]


def test_gates_that_are_nearly_closed_let_through_no_more_than_their_rounding() -> None:
    def gated(b: GraphBuilder, x: Operand) -> Operand:
        return b.sigmoid(x) * 1e6

    assert wrong(gated, [-40, -40], [0.2, 5]) == [False, True]


def test_the_largest_element_may_be_rounded_before_it_is_subtracted_from_itself() -> None:
    def logarithms(b: GraphBuilder, x: Operand) -> Operand:
        return b.log_softmax(x, axis=1)

    given = [[1000.0, 900.0], [1.0, 0.0]]
    assert wrong(logarithms, given, [[1e-3, -100], [-0.3125, -1.3125]]) == [
        False,
        False,
        True,
        True,
    ]
    assert wrong(logarithms, given, [[6e-3, -100.1], [-0.313261, -1.313262]])[:2] == [True, True]


def test_signs_of_zero_differences_in_normalisations_are_free_and_no_others() -> None:
    def normalise(b: GraphBuilder, x: Operand) -> Operand:
        return 1.0 / b.layer_normalization(x, axes=[1])

    assert wrong(normalise, [[1, 2, 3]], [[-0.8165, -INF, 0.8165]])[1] is False
    assert wrong(lambda b, x: 1.0 / b.relu(x), [0.0], [-INF]) == [True]


def test_squares_and_quotients_may_be_subnormal_on_their_way_and_lost() -> None:
    def norms(b: GraphBuilder, x: Operand) -> Operand:
        return b.reduce_l2(x, axes=[1])

    assert wrong(norms, [[1e-20], [1e-18]], [0, 0]) == [False, True]
    assert wrong(lambda b, x: 1.0 / x, [3e38, 3e37], [0, 0]) == [False, True]


def test_remainders_of_quotients_beyond_72_bits_may_be_unknown_and_no_others() -> None:
    def rest(b: GraphBuilder, x: Operand) -> Operand:
        return b.remainder(x, 1.5)

    assert wrong(rest, [1e22, 7e21, 5, 5], [NAN, NAN, NAN, 1]) == [False, True, True, True]


def test_variances_may_overflow_and_nothing_smaller_may() -> None:
    def normalise(b: GraphBuilder, x: Operand) -> Operand:
        return b.layer_normalization(x, axes=[1])

    given = [[1e20, 1, 2], [1e18, 1, 2]]
    assert wrong(normalise, given, [[NAN] * 3] * 2) == [False] * 3 + [True] * 3


@pytest.mark.parametrize("name", ["cos", "sin", "tan"])
def test_sines_may_be_none_where_rounding_covers_the_circle(name: str) -> None:
    assert wrong(lambda b, x: getattr(b, name)(x), [1e8, 1e7], [NAN, NAN]) == [False, True]


def test_a_closed_gate_may_be_0_and_an_open_one_may_not() -> None:
    def inverse(b: GraphBuilder, x: Operand) -> Operand:
        return b.reciprocal(b.sigmoid(x))

    assert wrong(inverse, [-16, -14], [INF, INF]) == [False, True]


def test_the_root_of_a_square_may_have_been_rounded_and_its_operand_may_not() -> None:
    def apart(b: GraphBuilder, x: Operand) -> Operand:
        return (b.reduce_l2(x, axes=[1]) - b.reshape(x, new_shape=[2])) * 1e6

    assert wrong(apart, [[1.1495], [1.5]], [0.12, 9.0]) == [False, True]
    assert wrong(lambda b, x: (b.abs(x) - x) * 1e6, [1.1495], [0.12]) == [True]


def test_two_subnormal_numbers_may_have_no_angle_and_no_others() -> None:
    def angle(b: GraphBuilder, x: Operand) -> Operand:
        return b.atan2(x, b.constant([1e-40, 1.0, 1e-40]))

    assert wrong(angle, [1e-40, 1e-40, 0.0], [NAN] * 3) == [False, True, True]


def test_the_sign_of_nan_is_free_and_of_no_other_number() -> None:
    assert wrong(lambda b, x: b.signbit(x), [NAN, 1, -1], [1, 1, 0]) == [False, True, True]
    assert wrong(lambda b, x: b.signbit(x), [-NAN], [0]) == [False]


def test_a_general_product_may_leave_out_what_it_adds_if_that_is_0() -> None:
    def inverse(b: GraphBuilder, x: Operand) -> Operand:
        ones = b.constant([[1.0]])
        return b.reciprocal(b.gemm(x, ones, ones, alpha=0.0, beta=0.0))

    assert wrong(inverse, [[-1], [1]], [[-INF], [-INF]]) == [False, True]


COMPARED = [case for case in CASES if case.operator.operands]


@pytest.mark.parametrize("case", COMPARED, ids=map(str, COMPARED))
def test_a_wrong_element_is_noticed_whatever_the_operator(case: Case) -> None:
    """A kernel that is off in one place by little more than its type's rounding is caught."""
    built = build(case)
    graph = built.builder.build({f"y{i}": y for i, y in enumerate(built.results)})
    feeds = {x.node.name: built.feeds[x.node.name].astype(x.dtype) for x in built.operands}
    right = evaluate(graph, feeds)
    assert not difference(graph, feeds, right)
    for name, y in right.items():
        place = np.unravel_index(case.number * 7 % max(y.size, 1), y.shape)
        if not y.size or not np.isfinite(y[place]):
            continue
        changed = y.copy()
        if y.dtype.kind == "f":
            largest = np.abs(y[np.isfinite(y)]).max()
            changed[place] += (1e-3 if y.dtype == np.float32 else 2e-2) * max(1, largest)
        else:
            changed[place] = 1 - y[place] if y.max() < 2 else y[place] ^ 1
        assert is_wrong(graph, feeds, {**right, name: changed}), (name, place)


def is_wrong(graph: Any, feeds: Any, found: Any) -> bool:
    try:
        return bool(difference(graph, feeds, found))
    except AssertionError:
        return True
