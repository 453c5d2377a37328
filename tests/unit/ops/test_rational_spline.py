"""Splines rise from bound to bound, and their inverses undo them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.ops.cases import np
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate
from webnnm.ops.declare.tensors import OperatorError


def apply(x: Any, *tables: Any, bound: float, inverse: bool = False) -> Any:
    """Return the results and their slopes."""
    b = GraphBuilder()
    source = b.input("x", "float32", x.shape)
    operands = [b.input(f"t{k}", "float32", table.shape) for k, table in enumerate(tables)]
    y = b.rational_spline(source, *operands, bound=bound, inverse=inverse)
    (slope,) = gradients(b.reduce_sum(y), [source])
    feeds = {"x": x, **{f"t{k}": table for k, table in enumerate(tables)}}
    found = evaluate(b.build({"y": y, "slope": slope}), feeds, wide=True)
    return found["y"], found["slope"]


def draw(count: int, bins: int) -> list[Any]:
    random = np.random.default_rng(bins)
    return [random.normal(size=(count, size)) for size in (bins, bins, bins - 1)]


@pytest.mark.parametrize("bins", [2, 5, 10])
def test_the_inverse_undoes_it(bins: int) -> None:
    x = np.linspace(-3.0, 3.0, 121)
    tables = draw(len(x), bins)
    y, _ = apply(x, *tables, bound=2.0)
    np.testing.assert_allclose(apply(y, *tables, bound=2.0, inverse=True)[0], x, atol=1e-6)
    assert not np.allclose(y, x)


def test_it_rises_and_meets_the_identity_with_slope_1() -> None:
    x = np.linspace(-2.5, 2.5, 1001)
    tables = [np.broadcast_to(table[:1] / 4, (len(x), table.shape[1])) for table in draw(1, 6)]
    y, slope = apply(x, *tables, bound=2.0)
    assert (np.diff(y) > 0).all()
    np.testing.assert_allclose(y[np.abs(x) >= 2], x[np.abs(x) >= 2], atol=1e-6)
    np.testing.assert_allclose(slope[1:-1], (y[2:] - y[:-2]) / (x[2:] - x[:-2]), rtol=0.05)


def test_known_numbers() -> None:
    """Equal bins and slopes of 1 are the identity; a flat bin is a parabola over a parabola."""
    x = np.array([-0.75, 0.0, 0.5])
    one = np.log(np.expm1(1 - 1e-3))
    flat = [np.zeros((3, 2)), np.zeros((3, 2)), np.full((3, 1), one)]
    np.testing.assert_allclose(apply(x, *flat, bound=1.0)[0], x, atol=1e-6)
    steep = [*flat[:2], np.full((3, 1), np.log(np.expm1(3 - 1e-3)))]
    # In the middle of the bin from 0 to 1: (1·¼ + 3·¼) / (1 + (1 + 3 − 2)·¼)
    np.testing.assert_allclose(apply(x, *steep, bound=1.0)[0][2], 2 / 3, atol=1e-6)


@pytest.mark.parametrize(
    ("code", "shapes"),
    [
        ("NNM401", ((3,), (3, 4), (3, 4), (3, 4))),
        ("NNM401", ((3,), (3, 4), (3, 5), (3, 3))),
        ("NNM401", ((2,), (3, 4), (3, 4), (3, 3))),
        ("NNM303", ((3,), (3, 1000), (3, 1000), (3, 999))),
    ],
)
def test_tables_that_do_not_fit_are_refused(code: str, shapes: tuple[Any, ...]) -> None:
    b = GraphBuilder()
    with pytest.raises(OperatorError, match=code):
        b.rational_spline(*(b.input(f"x{k}", "float32", s) for k, s in enumerate(shapes)))
