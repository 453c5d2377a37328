"""Logic bit by bit: the arithmetic that browsers get computes what the bits say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.unit.ops.cases import np
from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import integer_range
from webnnm.ops import bitwise


def shift(a: Any, z: Any, *, left: bool) -> Any:
    """Return the elements shifted as integers of Python, as many bits kept as there were."""
    bits = 8 * a.dtype.itemsize
    counts = [count if 0 <= count < bits else bits for count in z.tolist()]
    pairs = zip(a.tolist(), counts, strict=True)
    found = [number << count if left else number >> count for number, count in pairs]
    return np.asarray([number % 2**bits for number in found], f"uint{bits}").astype(a.dtype)


BITS = {
    bitwise.bitwise_and: np.bitwise_and,
    bitwise.bitwise_or: np.bitwise_or,
    bitwise.bitwise_xor: np.bitwise_xor,
    bitwise.bitwise_left_shift: partial(shift, left=True),
    bitwise.bitwise_right_shift: partial(shift, left=False),
}


@pytest.mark.parametrize("dtype", sorted(bitwise.INTEGERS))
@pytest.mark.parametrize("operator", BITS, ids=lambda operator: operator.name)
def test_random_numbers_and_the_ends_of_the_range(operator: Any, dtype: Any) -> None:
    low, high = integer_range(dtype)
    rng = np.random.default_rng(5)
    ends = [low, high, 0, 1, high - 1, low + 1]
    a, z = (
        np.concatenate([np.asarray(several, dtype), drawn])
        for several in (ends, ends[::-1])
        for drawn in [rng.integers(low, high, 100, dtype, endpoint=True)]
    )
    if "Shift" in operator.name:
        z = np.concatenate([z[:53], rng.integers(0, 70, 53, dtype)])
    b = GraphBuilder()
    operands = [b.input("a", dtype, a.shape), b.input("z", dtype, z.shape)]
    arithmetic = b.apply(replace(operator, reference=None), operands, {})
    graph = b.build({"arithmetic": arithmetic, "kernel": b.apply(operator, operands, {})})
    for found in evaluate(graph, {"a": a, "z": z}).values():
        assert found.dtype == a.dtype
        np.testing.assert_array_equal(found, BITS[operator](a, z))


@pytest.mark.parametrize("dtype", sorted(bitwise.INTEGERS))
def test_inverted_bits(dtype: Any) -> None:
    low, high = integer_range(dtype)
    x = np.asarray([low, low + 1, 0, 1, high - 1, high], dtype)
    b = GraphBuilder()
    operator = replace(bitwise.bitwise_invert, reference=None)
    arithmetic = b.apply(operator, [b.input("x", dtype, x.shape)], {})
    np.testing.assert_array_equal(evaluate(b.build({"y": arithmetic}), {"x": x})["y"], ~x)
