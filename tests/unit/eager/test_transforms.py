"""jit, gradients, vmap and control flow, alone and composed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from webnnm import (
    cond,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    scan,
    tree_map,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
    xp,
)
from webnnm.eager.errors import ArrayTypeError, ArrayValueError, TracedValueError


def vector(*values: float) -> xp.Array:
    return xp.asarray([float(each) for each in values])


def close(found: xp.Array, wanted: Any) -> bool:
    return bool(xp.all(xp.abs(found - xp.asarray(wanted)) < 1e-4))


def test_gradients_are_those_of_the_arguments_alone() -> None:
    x = vector(1, 2, 3)
    twice = x * 2  # depends on x, but is not the argument
    assert grad(lambda a: xp.sum(a * twice))(x).tolist() == [2.0, 4.0, 6.0]
    first = grad(lambda a: xp.sum(a * a))(x)
    assert grad(lambda a: xp.sum(a * first))(x).tolist() == [2.0, 4.0, 6.0]


def test_gradients_nest() -> None:
    cube = grad(grad(grad(lambda v: v**4)))
    assert float(cube(xp.asarray(2.0))) == 48.0
    assert hessian(lambda x: x[0] * x[1] ** 2)(vector(1, 3)).tolist() == [[0.0, 6.0], [6.0, 2.0]]
    assert hessian(lambda x: xp.sum(x) * 2.0)(vector(1, 3)).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_jacobians_agree() -> None:
    def f(x: xp.Array) -> xp.Array:
        return xp.stack([x[0] * x[1], xp.sin(x[1]), x[2] ** 3])

    x = vector(1, 2, 3)
    assert close(jacfwd(f)(x), jacrev(f)(x).tolist())
    assert close(jit(jacrev(f))(x)[2], [0.0, 0.0, 27.0])


def test_vjp_pulls_back_later() -> None:
    x = vector(1, 2)
    y, pull = vjp(lambda v: v * v, x)
    assert y.tolist() == [1.0, 4.0]  # computed before the gradient is asked for
    assert pull(vector(1, 10))[0].tolist() == [2.0, 40.0]
    assert jvp(lambda v: v * v, [x], [vector(1, 10)])[1].tolist() == [2.0, 40.0]


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


def test_containers_are_arguments_and_results() -> None:
    model = {"hidden": Layer(vector(1, 2), xp.asarray(0.5)), "scale": (2.0, None)}

    def loss(m: Any, x: xp.Array) -> xp.Array:
        return xp.sum(m["hidden"].w * x + m["hidden"].b) * m["scale"][0]

    value, gradient = value_and_grad(jit(loss))(model, vector(3, 4))
    assert float(value) == 24.0
    assert isinstance(gradient["hidden"], Layer)
    assert gradient["hidden"].w.tolist() == [6.0, 8.0]
    assert float(gradient["scale"][0]) == 12.0
    stepped = tree_map(lambda p, g: p - 0.5 * g, model, gradient)
    assert stepped["hidden"].w.tolist() == [-2.0, -2.0]


def test_functions_are_traced_once_per_signature() -> None:
    traces: list[Any] = []

    @jit(static_argnames=["mode"])
    def f(x: xp.Array, factor: float, mode: str = "sum") -> xp.Array:
        traces.append((x.shape, mode))
        return xp.sum(x * factor) if mode == "sum" else xp.max(x * factor)

    x = vector(1, 2, 3)
    assert [float(f(x, k / 2)) for k in range(4)] == [0.0, 3.0, 6.0, 9.0]
    assert float(f(x, 2, mode="max")) == 6.0  # an integer is of another type than a float
    assert float(f(vector(1, 2), 1.0)) == 3.0
    assert traces == [((3,), "sum"), ((3,), "max"), ((2,), "sum")]


def test_what_is_taken_from_outside_is_that_of_the_trace() -> None:
    outside = {"x": vector(1)}
    f = jit(lambda a: a + outside["x"])
    assert f(vector(1)).tolist() == [2.0]
    outside["x"] = vector(5)
    assert f(vector(1)).tolist() == [2.0]
    assert f(vector(1, 1)).tolist() == [6.0, 6.0]  # another shape, traced anew


def test_python_cannot_choose_by_traced_values() -> None:
    @jit
    def f(x: xp.Array) -> xp.Array:
        return x if x[0] > 0 else -x

    with pytest.raises(TracedValueError, match=r"traced array bool\[\]") as caught:
        f(vector(1))
    assert "where" in caught.value.hint
    assert "static_argnames" in caught.value.hint
    # The gradient of what runs eagerly may choose.
    assert grad(lambda x: xp.sum(x * 2 if x[0] > 0 else x))(vector(1)).tolist() == [2.0]


def test_donated_arrays_are_gone() -> None:
    step = jit(donate_argnames=["x"])(lambda x: x + 1)
    x = vector(1, 2)
    y = step(x)
    for _ in range(5):
        y = step(y)
    assert y.tolist() == [7.0, 8.0]
    with pytest.raises(ArrayValueError, match="donated"):
        x.tolist()


def test_results_may_be_arguments_constants_and_no_arrays() -> None:
    @jit
    def f(x: xp.Array) -> Any:
        return x, x, xp.ones(2), "text", None, xp.zeros((0, 3))

    first, again, ones, text, nothing, none = f(vector(5))
    assert (first.tolist(), again.tolist(), ones.tolist()) == ([5.0], [5.0], [1.0, 1.0])
    assert (text, nothing, none.shape) == ("text", None, (0, 3))


def test_vmap_is_a_loop_over_examples() -> None:
    def f(w: xp.Array, x: xp.Array) -> xp.Array:
        return xp.tanh(w @ x) * xp.sum(x)

    w, xs = xp.reshape(xp.linspace(-1, 1, 6), (2, 3)), xp.reshape(xp.linspace(0, 1, 12), (4, 3))
    wanted = [f(w, xs[at]).tolist() for at in range(4)]
    assert close(vmap(f, in_axes=(None, 0))(w, xs), wanted)
    assert close(vmap(f, in_axes=(None, 1))(w, xs.T), wanted)
    assert close(jit(vmap(f, in_axes=(None, 0), out_axes=1))(w, xs), xp.asarray(wanted).T.tolist())
    gradient = vmap(grad(lambda x: xp.sum(f(w, x))))(xs)
    alone = [grad(lambda x: xp.sum(f(w, x)))(xs[at]).tolist() for at in range(4)]
    assert close(gradient, alone)
    with pytest.raises(ArrayValueError, match="same number of examples"):
        vmap(f)(w, xs)


def test_steps_are_scanned_in_blocks_and_in_one_graph() -> None:
    def step(carry: Any, x: Any) -> Any:
        return carry * 0.5 + x, carry

    xs = xp.linspace(0, 1, 50)
    carry, outs, value = 0.0, [], xp.asarray(0.0)
    for x in xs.tolist():
        outs.append(carry)
        carry = carry * 0.5 + x
    for run in (
        lambda: scan(step, value, xs),
        lambda: jit(lambda v, a: scan(step, v, a))(value, xs),
    ):
        last, found = run()
        assert abs(float(last) - carry) < 1e-4
        assert close(found, outs)
    gradient = grad(lambda v: scan(step, v, xs[:3])[0])(value)
    assert float(gradient) == 0.125


def test_loops_end_where_their_condition_does() -> None:
    def collatz(state: Any) -> Any:
        n, steps = state
        even = n % 2 == 0
        return xp.where(even, n // 2, 3 * n + 1), steps + 1

    start = (xp.asarray(27), xp.asarray(0))
    assert int(while_loop(lambda s: s[0] != 1, collatz, start)[1]) == 111
    bounded = jit(lambda s: while_loop(lambda s: s[0] != 1, collatz, s, max_iterations=20))
    assert int(bounded((xp.asarray(6), xp.asarray(0)))[1]) == 8
    with pytest.raises(TracedValueError, match="max_iterations"):
        jit(lambda s: while_loop(lambda s: s[0] != 1, collatz, s))(start)
    assert (
        float(fori_loop(0, 3, lambda i, x: x * 2 + xp.astype(i, xp.float32), xp.asarray(1.0))) == 12
    )


def test_cond_computes_one_branch_or_chooses() -> None:
    calls: list[str] = []

    def yes(x: Any) -> Any:
        calls.append("yes")
        return x * 2

    def no(x: Any) -> Any:
        calls.append("no")
        return -x

    assert float(cond(xp.asarray(True), yes, no, xp.asarray(3.0))) == 6.0
    assert calls == ["yes"]
    f = jit(lambda x: cond(x > 0, yes, no, x))
    assert [float(f(xp.asarray(x))) for x in (3.0, -3.0)] == [6.0, 3.0]
    with pytest.raises(ArrayValueError, match="both branches"):
        jit(lambda x: cond(x > 0, lambda v: v, lambda v: xp.stack([v, v]), x))(xp.asarray(1.0))


def test_functions_without_a_gradient_say_why() -> None:
    with pytest.raises(ArrayTypeError, match="int32 has no gradient"):
        grad(xp.sum)(xp.asarray([1, 2]))
    with pytest.raises(ArrayValueError, match="one number"):
        grad(lambda x: x * 2)(vector(1, 2))


@pytest.mark.parametrize(
    ("step", "after"),
    [
        (lambda c, x: (xp.stack([c, c]), None), r"float32\[2\] after it"),
        (lambda c, x: (0.0, x), "the float 0.0 after it"),
        (lambda c, x: (None, x), "nothing after it"),
        (lambda c, x: ([c], x), r"float32\[\] after it"),
        (lambda c, x: (xp.zeros(0), x), r"float32\[0\] after it"),
        (lambda c, x: c + x, r"a step returned float32\[\]"),
    ],
)
def test_a_carry_stays_as_it_was(step: Any, after: str) -> None:
    with pytest.raises(ArrayValueError, match=after):
        scan(step, xp.asarray(0.0), vector(1, 2))


@pytest.mark.alike
def test_a_network_learns_by_hand() -> None:
    x = xp.reshape(xp.linspace(-1, 1, 64), (64, 1))
    y = xp.sin(3 * x)
    params = {
        "w1": xp.reshape(xp.linspace(-3, 3, 16), (1, 16)),
        "b1": xp.linspace(-2, 2, 16),
        "w2": xp.reshape(xp.linspace(0.3, -0.3, 16), (16, 1)),
    }

    def loss(p: Any, x: xp.Array, y: xp.Array) -> xp.Array:
        return xp.mean((xp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)

    @jit(donate_argnames=["p"])
    def step(p: Any, x: xp.Array, y: xp.Array, lr: float) -> Any:
        value, gradient = value_and_grad(loss)(p, x, y)
        return tree_map(lambda a, g: a - lr * g, p, gradient), value

    losses: list[float] = []
    for _ in range(200):
        params, value = step(params, x, y, 0.05)
        losses.append(float(value))
    assert losses[-1] < 0.1 * losses[0]


def test_numpy_cannot_compute_while_a_function_is_traced() -> None:
    numpy = pytest.importorskip("numpy")
    for of in (numpy.mean, numpy.exp, numpy.asarray):
        with pytest.raises(TracedValueError, match="NumPy cannot compute") as caught:
            jit(lambda x, of=of: xp.asarray(of(x**2)))(xp.asarray([1.0, 2.0]))
        assert "xp.mean(x)" in caught.value.hint
