"""Operators on integers that a browser lacks are exact by others, at the ends of the ranges too."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.compiler.legalising import chromium_limits, legalise
from tests.unit.compiler.rewriting import names
from tests.unit.ops.cases import np
from webnnm import ops
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import DataType, integer_range
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand

ONE: dict[str, Callable[[GraphBuilder, Operand], Operand]] = {
    "abs": lambda b, x: b.abs(x),
    "sign": lambda b, x: b.sign(x),
    "reverse": lambda b, x: b.reverse(x, axes=[0, 2]),
    "reduceSumSquare": lambda b, x: b.reduce_sum_square(x, axes=[1], keep_dimensions=True),
    "argMax": lambda b, x: b.arg_max(x, axis=1),
    "argMin": lambda b, x: b.arg_min(x, axis=2, keep_dimensions=True, output_data_type="int64"),
}
TWO: dict[str, Callable[[GraphBuilder, Operand, Operand], Operand]] = {
    "div": lambda b, x, z: b.div(x, z),
    "pow": lambda b, x, z: b.pow(x, z),
}
WHOLE: tuple[DataType, ...] = ("int64", "uint32")


def check(graph: Graph, name: str, feeds: dict[str, Any]) -> None:
    """The graph fits Chromium without an operator, and gives the same numbers."""
    fitted, _ = legalise(graph, chromium_limits())
    assert name not in names(fitted) or name == "div"  # of floats it may be there
    expected, found = (evaluate(g, feeds)["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(found, expected, strict=True)


def numbers(dtype: DataType) -> list[int]:
    """Small numbers, the ends of the range and their neighbours, and some between."""
    low, high = integer_range(dtype)
    drawn = [0, 1, 2, 3, 7, 10, 2**24 + 1, 2**31 - 1, high // 3, high // 2 + 1, high - 1, high]
    return [*drawn, *(-n for n in drawn[1:] if low < 0), *([low] if low < 0 else [])]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, t) for name in ONE for t in WHOLE if t in ops.registry()[name].operands[0].dtypes],
)
def test_one_operand(name: str, dtype: DataType) -> None:
    listed = [*numbers(dtype), *numbers(dtype)][:24]
    b = GraphBuilder()
    graph = b.build({"y": ONE[name](b, b.input("x", dtype, [2, 4, 3]))})
    check(graph, name, {"x": np.asarray(listed, dtype).reshape(2, 4, 3)})


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("name", TWO)
def test_two_operands(name: str, dtype: DataType) -> None:
    pairs = [*itertools.product(numbers(dtype), repeat=2)]
    generator = np.random.default_rng(5)
    low, high = integer_range(dtype)
    more = generator.integers(low, high, (300, 2), dtype, endpoint=True)
    more[:100, 1] >>= 20
    x, z = np.concatenate([np.asarray(pairs, dtype), more]).T
    b = GraphBuilder()
    operands = (b.input(name, dtype, [len(x)]) for name in ("x", "z"))
    check(b.build({"y": TWO[name](b, *operands)}), name, {"x": x, "z": z})


@pytest.mark.parametrize("exponents", [[-2, -1, 0, 1, 5], [3, 64, 2, 0, 1]])
def test_known_exponents(exponents: list[int]) -> None:
    b = GraphBuilder()
    x = b.input("x", "int64", [6, 1])
    graph = b.build({"y": b.pow(x, b.constant(exponents, "int64"))})
    check(graph, "pow", {"x": np.asarray([[-3], [-1], [0], [1], [2], [2**40 + 1]], np.int64)})
