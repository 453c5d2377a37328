"""Sorting, running products and searches: what browsers get orders as the kernels do."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.ops.cases import np
from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import integer_range, is_float
from webnnm.ops.cumulative import cumulative_max, cumulative_min, cumulative_product
from webnnm.ops.declare.tensors import OperatorError
from webnnm.ops.search_sorted import search_sorted
from webnnm.ops.sorting import argsort, sort, top_k

MANY = 1100
"""So many elements are sorted by a network; fewer are counted."""


def both(operator: Any, *operands: Any, **options: Any) -> list[Any]:
    """Return what the kernel and the decomposition make of operands, results joined."""
    found: list[Any] = []
    for each in (operator, replace(operator, reference=None)):
        b = GraphBuilder()
        inputs = [b.input(f"x{i}", x.dtype.name, x.shape) for i, x in enumerate(operands)]
        made = b.apply(each, inputs, options)
        graph = b.build({f"y{i}": y for i, y in enumerate(made if type(made) is tuple else [made])})
        results = evaluate(graph, {f"x{i}": x for i, x in enumerate(operands)})
        found.append([results[name] for name in sorted(results)])
    return found


def draw(dtype: Any, shape: Any) -> Any:
    """Return numbers with ties, the ends of the type, and what floats have besides."""
    rng = np.random.default_rng(8)
    x = rng.integers(0, 20, shape).astype(dtype)
    special = [-0.0, 0.0, math.inf, -math.inf, math.nan, math.nan]
    ends = special if is_float(dtype) else [*integer_range(dtype)] * 3
    places = rng.choice(x.size, len(ends), replace=False)
    np.reshape(x, (-1,))[places] = np.asarray(ends, x.dtype)
    return x


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("float32", (1, MANY)), *((d, (3, 9)) for d in ("float32", "int32", "uint8", "uint32"))],
)
def test_order_is_stable_with_nan_last(dtype: Any, shape: Any, descending: bool) -> None:
    x = draw(dtype, shape)
    sign = -1 if descending else 1
    order = [
        [i for *_, i in sorted((v != v, 0 if v != v else sign * v, i) for i, v in enumerate(row))]
        for row in x.tolist()
    ]
    for (places,) in both(argsort, x, axis=1, descending=descending):
        assert places.tolist() == order
    for (values,) in both(sort, x, axis=1, descending=descending):
        expected = np.take_along_axis(x, np.asarray(order), axis=1)
        np.testing.assert_array_equal(values, expected)
        assert not is_float(dtype) or (np.signbit(values) == np.signbit(expected)).all()


@pytest.mark.parametrize("n", [1, 3])
def test_short_rows(n: int) -> None:
    kernel, decomposed = both(sort, np.arange(2.0 * n, dtype=np.float32).reshape(2, n)[:, ::-1])
    np.testing.assert_array_equal(kernel, decomposed)


@pytest.mark.parametrize("largest", [False, True])
def test_top_elements_and_their_places(largest: bool) -> None:
    x = draw("float32", (4, 3, 5))
    kernel, decomposed = both(top_k, x, k=2, axis=1, largest=largest)
    for found, expected in zip(decomposed, kernel, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.take_along_axis(x, kernel[1], axis=1), kernel[0])


def test_more_elements_than_there_are() -> None:
    b = GraphBuilder()
    with pytest.raises(OperatorError, match="k=4, but there are 3 elements along axis 1"):
        b.top_k(b.input("x", "float32", [2, 3]), k=4)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(
    ("operator", "running"),
    [
        (cumulative_product, np.multiply.accumulate),
        (cumulative_max, np.maximum.accumulate),
        (cumulative_min, np.minimum.accumulate),
    ],
    ids=["product", "max", "min"],
)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_running_results(operator: Any, running: Any, n: int, dtype: Any) -> None:
    x = np.random.default_rng(2).integers(-4, 5, (2, n, 3)).astype(dtype)
    for (found,) in both(operator, x, axis=1):
        np.testing.assert_array_equal(found, running(x, axis=1))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("size", [6, 1500])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_places_in_a_sorted_list(dtype: Any, size: int, right: bool) -> None:
    many, x = np.sort(draw(dtype, (size,))), draw(dtype, (size // 2, 2))
    expected = np.searchsorted(many, x, side="right" if right else "left")
    for (found,) in both(search_sorted, many, x, right=right):
        np.testing.assert_array_equal(found, expected)
