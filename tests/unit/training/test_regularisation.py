"""L1 and L2 regularisation: gradient, penalty, small weights set to 0 (spec E.7)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, build, create, points, regression, run, values
from webnnm.graph.builder import GraphBuilder
from webnnm.model.nnmodel import NNModel
from webnnm.training.regularisation import add_penalty_gradient, compute_penalty

np = pytest.importorskip("numpy")

W = [[1.0, -2.0, 0.0], [0.5, 0.0, -4.0]]
G = [[0.1, 0.2, 0.3], [-0.1, -0.2, -0.3]]
KINDS = [(0.0, 0.0), (0.25, 0.0), (0.0, 0.5), (0.25, 0.5)]
LINEAR = "m:input shape=[3]; m:output shape=[2]; m:loss MSE; q:param b shape=[2] init=ones {};"
LINEAR += "m:layers matmul(w), add(b);"


@pytest.mark.parametrize(("l1", "l2"), KINDS)
def test_gradient_is_that_of_the_penalty(l1: float, l2: float) -> None:
    def make(b: GraphBuilder) -> dict[str, Any]:
        w, g = b.input("w", "float32", [2, 3]), b.input("g", "float32", [2, 3])
        return {
            "g": add_penalty_gradient(b, w, g, l1, l2),
            "penalty": compute_penalty(b, [w, w], l1, l2),
        }

    found = run(build(make), {"w": W, "g": G})
    w, g = np.array(W), np.array(G)
    assert np.allclose(found["g"], g + l1 * np.sign(w) + l2 * w, atol=1e-6)
    assert found["penalty"] == pytest.approx(2 * (l1 * np.abs(w).sum() + 0.5 * l2 * (w**2).sum()))


async def steps(epochs: int = 1, decay: str = "", **more: Any) -> tuple[NNModel, Any]:
    model = await create(LINEAR.format(decay), regression(6, batch_size=6))
    settings = {**PLAIN, "optimize_for": "edge", "epochs": epochs, "lr": 0.5, **more}
    return model, await model.train(settings)


@pytest.mark.parametrize(
    ("kind", "l1", "l2"),
    [("L1", 0.02, 0.0), ("L2", 0.0, 0.03), ("L1+L2", 0.02, 0.03), ("off", 0.0, 0.0)],
)
async def test_one_step_of_training(kind: str, l1: float, l2: float) -> None:
    """Weights are regularised, biases are not; a λ of what is off has no part."""
    start = values(await create(LINEAR.format(""), regression(6)))
    plain, _ = await steps()
    model, history = await steps(regularization=kind, lambda1=0.02, lambda2=0.03)
    extra = (values(plain)["w1"] - values(model)["w1"]) / 0.5
    assert np.allclose(extra, l1 * np.sign(start["w1"]) + l2 * start["w1"], atol=1e-6)
    assert (values(plain)["b"] == values(model)["b"]).all()
    expected = l1 * np.abs(start["w1"]).sum() + 0.5 * l2 * (start["w1"] ** 2).sum()
    found = history.epochs[0].penalty
    assert found is None if kind == "off" else found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("word", "moves"), [("decay=true", True), ("decay=false", False)])
async def test_decay_says_what_is_regularised(word: str, moves: bool) -> None:
    plain, _ = await steps(decay=word)
    model, _ = await steps(decay=word, regularization="L2", lambda2=0.1)
    difference = values(plain)["b"] - values(model)["b"]
    assert np.allclose(difference, 0.5 * 0.1 if moves else 0.0, atol=1e-6)


async def test_the_loss_leaves_the_penalty_out() -> None:
    _, plain = await steps()
    _, history = await steps(regularization="L1+L2", lambda1=10.0, lambda2=10.0)
    assert history.losses == plain.losses
    assert history.epochs[0].penalty > 1


@pytest.mark.parametrize(("kind", "strength"), [("L1", 1e-5), ("L2", 1e-4)])
async def test_strength_where_none_is_given(kind: str, strength: float) -> None:
    start = values(await create(LINEAR.format(""), regression(6)))["w1"]
    _, history = await steps(regularization=kind)
    expected = strength * (np.abs(start).sum() if kind == "L1" else 0.5 * (start**2).sum())
    assert history.epochs[0].penalty == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("scaling", ["off", "on"])
async def test_it_comes_after_unscaling_and_before_clipping(scaling: str) -> None:
    """The norm that is clipped contains it, the scale does not multiply it."""
    start = values(await create(LINEAR.format(""), regression(6)))["w1"]
    plain, _ = await steps()
    data = (start - values(plain)["w1"]) / 0.5
    bias = (1 - values(plain)["b"]) / 0.5
    _, history = await steps(
        regularization="L2", lambda2=0.5, gradient_scaling=scaling, gradient_clipping="global"
    )
    g = data + 0.5 * start
    assert history.epochs[0].grad_norm == pytest.approx(
        np.sqrt((g**2).sum() + (bias**2).sum()), rel=1e-5
    )


@pytest.mark.parametrize("target", ["size", "edge"])
async def test_small_weights_become_zero_for_size(target: str) -> None:
    """With L1, weights within lr·λ1 of 0 are 0 after a training for size."""
    # The target does not depend on the second input; b may be small and is left alone.
    text = "m:input shape=[2]; m:output shape=[1]; m:loss MSE;"
    text += "q:param b shape=[1] init=constant(0.001); m:layers matmul(w, init=ones), add(b);"
    from webnnm.data.dataset import Dataset

    grid = [[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    data = Dataset(grid, [[2 * x] for x, _ in grid], split=(1, 0, 0), batch_size=4)
    model = await create(text, data)
    await model.train(
        {**PLAIN, "regularization": "L1", "lambda1": 0.05, "optimize_for": target},
        epochs=60,
        lr=0.1,
    )
    useful, idle = values(model)["w1"].ravel()
    assert useful == pytest.approx(2, abs=0.05)
    assert abs(idle) <= 0.1 * 0.05
    assert (idle == 0) == (target == "size")
    assert (values(model)["b"] != 0).all()
    # The device has the same weights.
    found = await model.predict([[0.0, 1.0]])
    expected = float(values(model)["b"].item() + idle)
    assert np.array(found).ravel()[0] == pytest.approx(expected, abs=1e-7)


async def test_weights_end_smaller_than_without() -> None:
    sizes = {}
    for kind in ("off", "L2"):
        model, _ = await steps(epochs=30, regularization=kind, lambda2=0.3, lr=0.1)
        sizes[kind] = np.abs(values(model)["w1"]).sum()
    assert sizes["L2"] < 0.9 * sizes["off"]


async def test_frozen_parameters_have_no_penalty() -> None:
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE;"
    text += "m:layers matmul(w, shape=[1], init=constant(3), lrm=0), matmul(w, init=constant(2));"
    model = await create(text, points([1.0, 2.0], [1.0, 2.0]))
    history = await model.train(
        {**PLAIN, "regularization": "L2", "lambda2": 1.0}, epochs=1, lr=1e-6
    )
    assert history.epochs[0].penalty == pytest.approx(0.5 * 4)
