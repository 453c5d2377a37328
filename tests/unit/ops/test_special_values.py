"""Functions that WebNN lacks: their approximations have the digits and special cases of kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.ops.cases import np
from tests.unit.ops.special_values import FUNCTIONS, NUMBERS
from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate

DIGITS = 4
"""Units in the last place of float32 that an approximation may be off."""
every_function = pytest.mark.parametrize("operator", FUNCTIONS, ids=lambda operator: operator.name)


def results(operator: Any, feeds: Any, *, wide: bool = False) -> Any:
    """Return what an operator makes of its operands."""
    b = GraphBuilder()
    operands = [b.input(name, x.dtype.name, x.shape) for name, x in feeds.items()]
    return evaluate(b.build({"y": b.apply(operator, operands, {})}), feeds, wide=wide)["y"]


def pairs(operator: Any, drawn: Any) -> Any:
    """Return special numbers, all with all for two operands, followed by others."""
    special = np.asarray(NUMBERS, np.float32)
    if len(operator.operands) == 1:
        return {"x": np.concatenate([special, drawn])}
    x, z = (np.reshape(grid, (-1,)) for grid in np.meshgrid(special, special))
    return {"x": np.concatenate([x, drawn]), "z": np.concatenate([z, drawn[::-1]])}


@every_function
def test_special_cases_are_those_of_the_kernel(operator: Any) -> None:
    feeds = pairs(operator, np.asarray([], np.float32))
    if operator.name == "remainder":  # quotients of more than 72 bits are not known
        with np.errstate(all="ignore"):
            known = ~(np.abs(feeds["x"] / feeds["z"]) >= 2.0**72)
        feeds = {name: x[known | ~np.isfinite(feeds["x"])] for name, x in feeds.items()}
    found, expected = (results(o, feeds) for o in (replace(operator, reference=None), operator))
    special = ~np.isfinite(expected) | (expected == 0)
    np.testing.assert_array_equal(found[special], expected[special])
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@every_function
@pytest.mark.parametrize("size", [1.0, 6.0, 80.0])
def test_approximations_have_the_digits_of_float32(operator: Any, size: float) -> None:
    drawn = np.random.default_rng(3).uniform(-size, size, 2000).astype(np.float32)
    feeds = pairs(operator, drawn)
    found = results(replace(operator, reference=None), feeds)
    exact = results(operator, feeds, wide=operator.name != "nextafter")
    with np.errstate(all="ignore"):
        # Where terms cancel the operands' own digits decide.
        scale = np.abs(exact) if operator.name != "logaddexp" else np.abs(exact) + 1
        apart = np.abs(found - exact) / np.spacing(np.maximum(scale, 1e-37).astype(np.float32))
    assert np.nanmax(np.where(np.isfinite(exact) & np.isfinite(found), apart, 0)) <= DIGITS


@pytest.mark.parametrize("rows", [[0.0, 0.0], [300.0, 300.0]])
def test_squares_of_halves_neither_overflow_nor_vanish(rows: list[float]) -> None:
    """ε is below the smallest normal float16, the square of 300 above the largest."""
    b = GraphBuilder()
    x = b.input("x", "float16", [2])
    graph = b.build({"y": b.squaremax(x, axis=0)})
    assert evaluate(graph, {"x": np.array(rows, "float16")})["y"].tolist() == [0.5, 0.5]
