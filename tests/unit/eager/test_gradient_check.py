"""Gradients against central differences: what agrees, what differs, and what cannot be told."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from webnnm import backend, check_gradients, custom_gradient, xp
from webnnm.eager.device import Device
from webnnm.eager.errors import ArrayTypeError, ArrayValueError


@custom_gradient
def wrong_at_one_place(x: xp.Array) -> Any:
    """2 · x, with a gradient that is 1 % off for the element [1, 0]."""
    factor = xp.asarray([[2.0, 2.0], [2.02, 2.0]], dtype=x.dtype)
    return x * 2, lambda g: g * factor


@pytest.mark.parametrize(
    ("name", "error"), [("float64", 1e-8), ("float32", 1e-3), ("float16", 0.3)]
)
def test_step_and_tolerance_follow_from_the_data_type(name: str, error: float) -> None:
    device = Device(partial(backend, "numpy"))
    values = [[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]]
    x = xp.asarray(values, dtype=getattr(xp, name), device=device)
    found = check_gradients(lambda x: xp.mean(xp.exp(xp.sin(x)) * x), x)
    assert found.ok
    assert len(found.comparisons) == 6
    assert found.worst is not None
    assert found.worst.error < error


def test_the_worst_element_is_named() -> None:
    x = xp.asarray([[0.5, 1.0], [-1.0, 2.0]])
    found = check_gradients(lambda x: xp.sum(wrong_at_one_place(x)), x)
    assert not found.ok
    assert [each.name for each in found.faults] == ["x[1, 0]"]
    assert "x: 3 of 4 agree" in str(found)
    assert "worst: x[1, 0]: gradient 2.02, measured 2, relative error 9.9e-03" in str(found)
    assert check_gradients(lambda x: xp.sum(wrong_at_one_place(x)), x, tolerance=0.02).ok


def test_a_gradient_between_the_slopes_of_a_kink_is_not_a_fault() -> None:
    x = xp.asarray([0.0, 1e-4, 1.0])
    found = check_gradients(lambda x: xp.sum(xp.maximum(x, xp.zeros_like(x))), x)
    assert [each.verdict for each in found.comparisons] == ["at a kink", "at a kink", "agrees"]
    assert "2 at a kink (x[0]: slopes 0 and 1)" in str(found)
    outside = custom_gradient(lambda x: (xp.abs(x), lambda g: 3 * g))
    assert not check_gradients(lambda x: xp.sum(outside(x)), xp.asarray([0.0, 1.0])).ok


def test_what_rounding_hides_is_not_called_right() -> None:
    found = check_gradients(lambda x: xp.sum(x) + 1e9, xp.asarray([1.0, 2.0]))
    assert not found.ok
    assert not found.faults
    assert "compute in float64" in str(found)
    infinite = check_gradients(lambda x: xp.sum(1 / (x - x)), xp.asarray([1.0]))
    assert [each.verdict for each in infinite.comparisons] == ["not measurable"]


def test_containers_are_named_by_their_keys_and_large_ones_sampled() -> None:
    params = {"w": xp.ones((20, 20)) * 0.1, "b": (xp.ones(2), None)}

    def loss(params: Any, *factors: Any) -> Any:
        return xp.sum(params["w"] ** 2) * xp.sum(params["b"][0]) * factors[0] * factors[1]

    found = check_gradients(loss, params, 2.0, xp.asarray(3.0), elements=5)
    places = [each.place for each in found.comparisons]
    assert {place: places.count(place) for place in places} == {
        "params['b'][0]": 2,
        "params['w']": 5,
        "factors[0]": 1,
        "factors[1]": 1,
    }
    assert found.to_dict()["ok"] is True


def test_what_has_no_gradient_is_refused() -> None:
    with pytest.raises(ArrayTypeError, match="int32 has no gradient"):
        check_gradients(xp.sum, xp.asarray([1, 2]))
    with pytest.raises(ArrayValueError, match="gradients are taken of one number"):
        check_gradients(xp.sin, xp.asarray([1.0, 2.0]))
    with pytest.raises(ArrayTypeError, match="no array"):
        check_gradients(lambda: xp.asarray(1.0))
