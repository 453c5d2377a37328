"""Gradients of the losses at the logits: fused, finite, as measured (spec D.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.ops.gradient import error, measure
from tests.unit.training.losses import (
    CLASSES,
    ONE_HOT,
    SIGNS,
    SOFT,
    VALUES,
    Z,
    graph_of,
    np,
    rows,
    sigmoid,
    softmax,
)
from webnnm.backends.reference import computable, evaluate
from webnnm.graph.node import OperatorNode
from webnnm.training.losses import LossSettings

FOCAL = LossSettings(gamma=1.5, alpha=(0.3, 0.6, 0.9))


@pytest.mark.parametrize("activation", ["softmax", "logSoftmax"])
@pytest.mark.parametrize("loss", ["CCE", "CCEL", "KLD"])
def test_gradient_over_classes_is_probability_less_target(activation: str, loss: str) -> None:
    _, _, slope = rows(loss, activation, SOFT)
    y, p = np.array(SOFT), softmax(np.array(Z))
    assert np.allclose(slope, p * y.sum(axis=1, keepdims=True) - y, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("activation", ["softmax", "logSoftmax", "linear"])
def test_gradient_of_class_numbers_is_probability_less_one_hot(activation: str) -> None:
    _, _, slope = rows("SCE", activation, CLASSES)
    expected = softmax(np.array(Z)) - np.array(ONE_HOT)
    expected[3] = 0
    assert np.allclose(slope, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("loss", "activation"), [("BCE", "sigmoid"), ("BCEL", "sigmoid"), ("BCEL", "linear")]
)
def test_gradient_of_decisions_is_probability_less_target(loss: str, activation: str) -> None:
    _, _, slope = rows(loss, activation, SOFT)  # logits of 0 are among them
    assert np.allclose(slope, (sigmoid(np.array(Z)) - np.array(SOFT)) / 3, rtol=1e-13, atol=1e-15)


def test_fused_gradients_go_past_the_head() -> None:
    for loss, activation, y in (
        ("CCE", "softmax", SOFT),
        ("BCE", "sigmoid", SOFT),
        ("SCE", "softmax", CLASSES),
    ):
        graph, _ = graph_of(loss, activation, y)
        used = {n.operator.name for n in graph.nodes() if isinstance(n, OperatorNode)}
        assert "softmax" not in used
        assert ("logSoftmax" in used) == (activation == "softmax")


CASES: list[tuple[str, str, Any, LossSettings]] = [
    ("MSE", "linear", VALUES, LossSettings()),
    ("MSE", "softmax", SOFT, LossSettings()),
    ("MAE", "linear", VALUES, LossSettings()),
    ("HUL", "linear", VALUES, LossSettings(delta=0.7)),
    ("QUL", "linear", VALUES, LossSettings(alpha=(0.2, 0.5, 0.7))),
    ("BCE", "sigmoid", SOFT, LossSettings(smoothing=0.2)),
    ("BCE", "softmax", SOFT, LossSettings()),
    ("BCEL", "softmax", SOFT, LossSettings()),
    ("CCE", "softmax", SOFT, LossSettings(smoothing=0.2)),
    ("CCE", "sigmoid", SOFT, LossSettings()),
    ("CCEL", "sigmoid", SOFT, LossSettings()),
    ("SCE", "softmax", CLASSES, LossSettings(smoothing=0.2)),
    ("SCE", "sigmoid", CLASSES, LossSettings()),
    ("HIL", "linear", SIGNS, LossSettings()),
    ("KLD", "softmax", SOFT, LossSettings()),
    ("KLD", "sigmoid", SOFT, LossSettings()),
    ("FOL", "softmax", SOFT, FOCAL),
    ("FOL", "logSoftmax", ONE_HOT, LossSettings(gamma=0.5)),
    ("FOL", "sigmoid", SOFT, FOCAL),
    ("FOL", "sigmoid", ONE_HOT, LossSettings(gamma=0.5, alpha=0.25)),
]


@pytest.mark.alike
@pytest.mark.parametrize(("loss", "activation", "y", "settings"), CASES)
def test_gradients_are_as_measured(
    loss: str, activation: str, y: Any, settings: LossSettings
) -> None:
    # Away from the kinks of |e|, max(0, 1 − yŷ) and the clamp.
    z = np.random.default_rng(4).uniform(-1.9, 1.9, (4, 3))
    graph, feeds = graph_of(loss, activation, y, z, settings)
    analytic = evaluate(graph, feeds, wide=True)["g"]
    forward = computable(graph)

    def run(at: Any) -> float:
        found = evaluate(forward, {**feeds, "z": at}, wide=True)
        return float(np.sum(found["l"] * found.get("c", 1)))

    numeric, _ = measure(run, z)
    assert error(np.reshape(analytic, (-1,)), numeric) <= 1e-7


@pytest.mark.parametrize(("loss", "activation", "y", "settings"), CASES)
@pytest.mark.parametrize("size", [200.0, 1e4])
def test_extreme_logits_stay_finite(
    loss: str, activation: str, y: Any, settings: LossSettings, size: float
) -> None:
    z = [[size, -size, 0.0], [-size, size, size], [-size, -size, -size], [size, size, size]]
    found, _, slope = rows(loss, activation, y, z, settings, wide=False)
    assert np.all(np.isfinite(found)), found
    assert np.all(np.isfinite(slope)), slope


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0, 2.0, 2.5])
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_focal_loss_of_certain_predictions_is_flat_or_steep_but_finite(
    activation: str, gamma: float
) -> None:
    z = [[200.0, -200.0, -200.0], [-200.0, 200.0, -200.0]]
    y = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    found, _, slope = rows("FOL", activation, y, z, LossSettings(gamma=gamma), wide=False)
    assert found[0] == pytest.approx(0, abs=1e-5)
    assert found[1] > 100
    assert np.all(np.isfinite(slope))
    assert slope[0] == pytest.approx(0, abs=1e-4)
    assert slope[1, 0] < -0.3


@pytest.mark.parametrize(("loss", "activation", "y", "settings"), CASES)
def test_rows_of_zeros_are_finite_and_can_be_masked(
    loss: str, activation: str, y: Any, settings: LossSettings
) -> None:
    empty = np.zeros_like(np.asarray(y))
    found, _, slope = rows(loss, activation, empty, np.zeros((4, 3)), settings, wide=False)
    assert np.all(np.isfinite(found))
    assert np.all(np.isfinite(slope))


def test_subgradients_at_the_corners_are_zero() -> None:
    z = [[0.5, 1.0, -1.0]]
    assert rows("MAE", "linear", z, z)[2].tolist() == [[0, 0, 0]]
    assert rows("HUL", "linear", z, z)[2].tolist() == [[0, 0, 0]]
    assert rows("HIL", "linear", [[1.0, 1.0, -1.0]], z)[2].tolist() == [[-1, 0, 0]]


def test_huber_is_smooth_where_its_branches_meet() -> None:
    _, _, slope = rows("HUL", "linear", [[0.0, 0.0]], [[1.0, -1.0]], LossSettings(delta=1))
    assert slope.tolist() == [[0.5, -0.5]]


def test_huber_of_huge_errors_is_finite() -> None:
    found, _, slope = rows("HUL", "linear", [[1e30]], [[-1e30]], LossSettings(delta=2), wide=False)
    assert found[0] == pytest.approx(4e30)
    assert slope.tolist() == [[-2]]
