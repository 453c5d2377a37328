"""Gradients exactly at kinks, ties and poles, and where formulas would divide by zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.ops.cases import np
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate

X = [-2.0, -0.0, 0.0, 3.0]


def gradients_at(
    name: str, *values: Any, seed: Any = None, **options: Any
) -> tuple[list[Any], Any]:
    """Return the gradients of an operator's (summed) result at exact values, and the result."""
    b = GraphBuilder()
    arrays = [np.asarray(value, dtype=np.float32) for value in values]
    xs = [b.input(f"x{i}", "float32", a.shape) for i, a in enumerate(arrays)]
    y = getattr(b, name)(*xs, **options)
    weights = b.constant(1 if seed is None else seed, "float32")
    outputs = gradients(b.reduce_sum(y * weights), xs)
    graph = b.build({"y": y, **{f"g{i}": g for i, g in enumerate(outputs)}})
    found = evaluate(graph, {f"x{i}": a for i, a in enumerate(arrays)})
    return [found[f"g{i}"].tolist() for i in range(len(xs))], found["y"].tolist()


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("relu", X, [0, 0, 0, 1]),
        ("abs", X, [-1, 0, 0, 1]),
        ("sign", X, [0, 0, 0, 0]),
        ("ceil", [-0.5, 0, 1, 1.5], [0, 0, 0, 0]),
        ("floor", [-0.5, 0, 1, 1.5], [0, 0, 0, 0]),
        ("round_even", [-0.5, 0.5, 1.5, 2], [0, 0, 0, 0]),
        ("identity", X, [1, 1, 1, 1]),
        ("reduce_l1", X, [-1, 0, 0, 1]),
        ("reduce_l2", [0, 0, 0], [0, 0, 0]),
        ("reduce_l2", [3, 0, -4], [0.6000000238418579, 0, -0.800000011920929]),
        ("reduce_max", [1, 5, 5, 2, 5], [0, 1 / 3, 1 / 3, 0, 1 / 3]),
        ("reduce_min", [1, 5, 1, 2], [0.5, 0, 0.5, 0]),
        ("reduce_max", [4, 4], [0.5, 0.5]),
        ("reduce_product", [0, 2, 3], [6, 0, 0]),
        ("reduce_product", [2, 0, 3], [0, 6, 0]),
        ("reduce_product", [0, 0, 3], [0, 0, 0]),
        ("reduce_product", [0, 2, 0, 5], [0, 0, 0, 0]),
        ("reduce_product", [-2, 3], [3, -2]),
        ("reduce_product", [7], [1]),
        ("reduce_product", [1, 2, 3, 4, 5], [120, 60, 40, 30, 24]),
    ],
)
def test_gradient_of_one_operand(name: str, at: Sequence[float], expected: Any) -> None:
    ((found,), _) = gradients_at(name, at)
    assert found == np.asarray(expected, dtype=np.float32).tolist()


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_ties_share_along_each_reduced_stretch(name: str) -> None:
    ((found,), _) = gradients_at(name, [[1, 1], [2, 3]], axes=[1], seed=[10, 1])
    picked = [0, 1] if name == "reduce_max" else [1, 0]
    assert found == [[5, 5], picked]


@pytest.mark.parametrize(
    ("name", "x", "z", "dx", "dz"),
    [
        ("max", [1, 2, 3], [2, 2, 2], [0, 1, 1], [1, 0, 0]),
        ("min", [1, 2, 3], [2, 2, 2], [1, 1, 0], [0, 0, 1]),
        ("max", [0.0, -0.0], [-0.0, 0.0], [1, 1], [0, 0]),
        # d/dx = z·x^(z-1), 0 where x = 0 and z > 1; d/dz = x^z·ln x where x > 0, else 0.
        ("pow", [0, 0, 0], [2, 3, 1.5], [0, 0, 0], [0, 0, 0]),
        ("pow", [0], [1], [1], [0]),
        ("pow", [0, 2, -2], [0, 0, 0], [0, 0, 0], [0, float(np.float32(np.log(2))), 0]),
        ("pow", [-2, -2, -1], [2, 3, -1], [-4, 12, -1], [0, 0, 0]),
        ("pow", [1, 1], [5, -5], [5, -5], [0, 0]),
    ],
)
def test_gradients_of_two_operands(
    name: str, x: list[float], z: list[float], dx: list[float], dz: list[float]
) -> None:
    found, _ = gradients_at(name, x, z)
    assert found == [dx, dz]


def test_ties_of_broadcast_operands_go_to_the_first() -> None:
    found, _ = gradients_at("max", [[1, 2, 3], [4, 2, 0]], 2)
    assert found == [[[0, 1, 1], [1, 1, 0]], 2]


def test_pow_with_a_scalar_exponent_of_zero_is_constant() -> None:
    found, result = gradients_at("pow", [0, -1, 2], 0)
    assert result == [1, 1, 1]
    assert found[0] == [0, 0, 0]


def test_where_sends_the_gradient_to_the_chosen_value() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 3])
    z = b.input("z", "float32", [3])
    chosen = b.where(b.constant([[1, 0, 255], [0, 0, 7]], "uint8"), x, z)
    dx, dz = gradients(b.reduce_sum(chosen * b.constant([[1.0, 2, 3], [4, 5, 6]])), [x, z])
    feeds = {"x": np.zeros((2, 3)), "z": np.zeros(3)}
    found = evaluate(b.build({"dx": dx, "dz": dz}), feeds)
    assert found["dx"].tolist() == [[1, 0, 3], [0, 0, 6]]
    assert found["dz"].tolist() == [4, 7, 0]


def test_where_hides_poles_of_the_value_that_is_not_chosen() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    zero = b.equal(x, 0.0)
    safe = b.where(zero, b.constant(1.0), x)
    (dx,) = gradients(b.reduce_sum(b.where(zero, b.constant(0.0), b.log(safe))), [x])
    assert evaluate(b.build({"dx": dx}), {"x": [0, 2]})["dx"].tolist() == [0, 0.5]


@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "greater", "greater_or_equal", "lesser", "lesser_or_equal"]
)
def test_comparisons_cut_the_gradient(name: str) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    mask = b.cast(getattr(b, name)(x, 0.0), type="float32")
    (dx,) = gradients(b.reduce_sum(x * x * mask), [x])
    found = evaluate(b.build({"dx": dx, "mask": mask}), {"x": [-1, 2]})
    assert found["dx"].tolist() == (found["mask"] * [-2, 4]).tolist()


def test_cast_between_floats_passes_and_to_integers_cuts() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3])
    half = b.cast(b.cast(x, type="float16") * 2, type="float32")
    whole = b.cast(b.cast(x, type="int32"), type="float32")
    (dx,) = gradients(b.reduce_sum(half + x * whole), [x])
    found = evaluate(b.build({"dx": dx, "whole": whole}), {"x": [-1.75, 0.5, 2.25]})
    assert found["whole"].tolist() == [-1, 0, 2]
    assert found["dx"].tolist() == [1, 2, 4]
