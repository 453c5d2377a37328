"""Functions with gradients of their own: `custom_gradient`, and `recompute`."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import custom_gradient, grad, hessian, jit, jvp, recompute, value_and_grad, vmap, xp
from webnnm.compiler.passes.simplify import simplify
from webnnm.compiler.plan import Plan, lower
from webnnm.compiler.rematerialisation import peak_bytes
from webnnm.eager.device import Device
from webnnm.eager.errors import ArrayTypeError, ArrayValueError
from webnnm.eager.scopes import plain_graph


@custom_gradient
def halve(x: xp.Array, factor: xp.Array) -> Any:
    """x · factor, with half the gradient of x and none of the factor."""
    return x * factor, lambda g: (g * factor / 2, None)


X, FACTOR = [1.0, 2.0], 4.0


def x() -> xp.Array:
    return xp.asarray(X)


def test_the_gradient_is_the_one_that_the_function_gives() -> None:
    def loss(a: xp.Array, factor: xp.Array) -> xp.Array:
        return xp.sum(halve(a, factor) ** 2)

    factor = xp.asarray(FACTOR)
    wanted = [[2 * FACTOR * each * FACTOR / 2 for each in X], 0.0]
    for run in (grad(loss, (0, 1)), jit(grad(loss, (0, 1))), grad(jit(loss), (0, 1))):
        assert [each.tolist() for each in run(x(), factor)] == wanted
    assert halve(x(), factor).tolist() == [4.0, 8.0]
    assert jvp(lambda a: halve(a, factor), [x()], [x()])[1].tolist() == [2.0, 4.0]
    alone = vmap(grad(lambda a, f: halve(a, f), (0, 1)), (0, None))(x(), factor)
    assert [each.tolist() for each in alone] == [[2.0, 2.0], [0.0, 0.0]]


def test_a_gradient_rule_is_differentiated_again() -> None:
    cube = custom_gradient(lambda a: (a**3, lambda g: g * a))
    assert grad(cube)(xp.asarray(2.0)).item() == 2.0
    assert grad(grad(cube))(xp.asarray(2.0)).item() == 1.0
    assert hessian(lambda v: xp.sum(vmap(cube)(v)))(x()).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_containers_and_integers_are_arguments_and_results() -> None:
    @custom_gradient
    def f(p: Any, places: xp.Array) -> Any:
        y = {"a": p["w"][places] * 2, "places": places, "text": "kept"}
        return y, lambda g: ({"w": xp.ones_like(p["w"]) * xp.sum(g["a"])}, None)

    def loss(p: Any) -> Any:
        found = f(p, xp.asarray([1, 1]))
        assert found["text"] == "kept"
        assert found["places"].tolist() == [1, 1]
        return xp.sum(found["a"] * 5)

    assert grad(loss)({"w": x()})["w"].tolist() == [10.0, 10.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a: a, "not a Array"),
        (lambda a: (a, lambda g: (g, g)), "same containers"),
        (
            lambda a: (a, lambda g: xp.sum(g)),
            r"a cotangent float32\[\] for an argument float32\[2\]",
        ),
        (lambda a: (a, lambda g: {"a": g}), "containers"),
    ],
)
def test_rules_that_do_not_fit_say_so(function: Any, message: str) -> None:
    with pytest.raises(ArrayValueError, match=message):
        custom_gradient(function)(x())


def test_what_is_not_an_array_is_refused() -> None:
    with pytest.raises(ArrayTypeError, match="a str is not an array"):
        recompute(lambda a: a)("text")


def layer(a: xp.Array, w: xp.Array) -> xp.Array:
    for _ in range(6):
        a = xp.tanh(a @ w) + xp.sin(a)
    return a


def network(wrap: Any) -> Any:
    def loss(w: xp.Array, a: xp.Array) -> xp.Array:
        for _ in range(4):
            a = wrap(layer)(a, w)
        return xp.mean(a**2)

    return loss


def arguments() -> tuple[xp.Array, xp.Array]:
    return xp.reshape(xp.linspace(-1, 1, 16), (4, 4)), xp.reshape(xp.linspace(-1, 1, 400), (100, 4))


def close(found: xp.Array, wanted: xp.Array) -> bool:
    return bool(xp.all(xp.abs(found - wanted) <= 1e-5 * xp.max(xp.abs(wanted))))


@pytest.mark.alike
def test_what_is_computed_again_is_the_same() -> None:
    w, a = arguments()
    plain, again = network(lambda f: f), network(recompute)
    wanted, gradient = value_and_grad(plain)(w, a)
    for run in (value_and_grad(again), jit(value_and_grad(again)), value_and_grad(jit(again))):
        value, found = run(w, a)
        assert close(value, wanted)
        assert close(found, gradient)
    small = a[:2]
    assert close(hessian(again)(w, small), hessian(plain)(w, small))
    assert close(
        vmap(grad(again), (0, None))(xp.stack([w, w * 0.5]), small),
        xp.stack([grad(plain)(w, small), grad(plain)(w * 0.5, small)]),
    )


def test_an_array_that_is_two_arguments_gets_both_gradients() -> None:
    product = recompute(lambda a, b: xp.sum(a * b * b))
    assert grad(lambda a: product(a, a))(x()).tolist() == [3.0, 12.0]


@pytest.mark.alike
def test_intermediate_results_are_not_kept_but_computed_again() -> None:
    w, a = arguments()

    def compile_graph(loss: Any) -> Plan:
        step = jit(grad(loss))
        step(w, a)
        (traced,) = step._traces.values()
        return lower(simplify(plain_graph(traced.graph)))

    plain, again = compile_graph(network(lambda f: f)), compile_graph(network(recompute))

    def count(plan: Plan, name: str) -> int:
        return sum(call["op"] == name for call in plan.content["operators"])

    # No gradient needs the last sine of a layer.
    assert (count(plain, "sin"), count(again, "sin")) == (24, 24 + 20)
    assert peak_bytes(again) < 0.6 * peak_bytes(plain)


def test_a_loop_compiles_nothing_after_its_first_passes() -> None:
    before, device = Device.default(), Device()
    device.make_default()
    try:
        w, a = arguments()
        built: list[int] = []
        for _ in range(4):
            gradient = grad(network(recompute))(w, a)
            w = w - 0.1 * gradient
            float(xp.sum(vmap(halve, (0, None))(w, xp.asarray(2.0))))
            built.append(device.builds)
        assert built[-1] == built[1]
    finally:
        before.make_default()
