"""Losses and the fused gradients at the logits (spec D.1, D.2)."""

from __future__ import annotations

import math

import pytest

from webnnm import gradients
from webnnm.graph.builder import GraphBuilder
from webnnm.training.losses import CCE, MSE, default_loss, head_of

np = pytest.importorskip("numpy")

Z = [[1.0, -2.0, 0.5], [3.0, 3.0, -1.0], [0.0, 0.0, 0.0], [-4.0, 2.0, 9.0]]
Y = [[0.0, 1.0, 0.0], [0.2, 0.5, 0.3], [0.5, 0.5, 0.5], [0.0, 0.0, 1.0]]
M = [1.0, 1.0, 0.0, 1.0]


def evaluated(head: str, loss: object, *, wide: bool = True) -> tuple[object, object, object]:
    """Return (rows, Σ m·ℓ/n, gradient at the logits) for the numbers above."""
    from webnnm.backends.reference import evaluate

    b = GraphBuilder()
    z, y, m = (
        b.input("z", "float32", [4, 3]),
        b.input("y", "float32", [4, 3]),
        b.input("m", "float32", [4]),
    )
    output = {
        "softmax": lambda: b.softmax(z, axis=1),
        "logSoftmax": lambda: b.log_softmax(z, axis=1),
        "sigmoid": lambda: b.sigmoid(z),
        "linear": lambda: z * 1.0,
    }[head]()
    rows = loss.rows(b, head_of(output), y)  # type: ignore[attr-defined]
    total = b.reduce_sum(rows * m) / b.reduce_sum(m)
    (dz,) = gradients(total, [z])
    found = evaluate(b.build({"l": rows, "t": total, "g": dz}), {"z": Z, "y": Y, "m": M}, wide=wide)
    return found["l"], found["t"], found["g"]


def softmax(z: object) -> object:
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("head", ["softmax", "logSoftmax"])
def test_cross_entropy_and_its_fused_gradient(head: str) -> None:
    z, y, m = np.array(Z), np.array(Y), np.array(M)
    p = softmax(z)
    rows, total, slope = evaluated(head, CCE)
    expected = -(y * np.log(p)).sum(axis=1)
    assert np.allclose(rows, expected)
    assert np.isclose(total, (expected * m).sum() / 3)
    fused = (p * y.sum(axis=1, keepdims=True) - y) * m[:, None] / 3
    assert np.allclose(slope, fused)


def test_masked_row_contributes_exactly_nothing() -> None:
    for head, loss in (("softmax", CCE), ("linear", MSE), ("sigmoid", CCE)):
        assert evaluated(head, loss, wide=False)[2][2].tolist() == [0, 0, 0]


def test_squared_error_is_the_mean_over_the_elements() -> None:
    z, y, m = np.array(Z), np.array(Y), np.array(M)
    rows, total, slope = evaluated("linear", MSE)
    assert np.allclose(rows, ((y - z) ** 2).mean(axis=1))
    assert np.isclose(total, (((y - z) ** 2).mean(axis=1) * m).sum() / 3)
    assert np.allclose(slope, 2 * (z - y) * m[:, None] / 3 / 3)


def test_cross_entropy_of_another_head_is_clamped() -> None:
    from webnnm.backends.reference import evaluate

    b = GraphBuilder()
    p, y = b.input("p", "float32", [3, 2]), b.input("y", "float32", [3, 2])
    rows = CCE.rows(b, head_of(p), y)
    found = evaluate(
        b.build({"l": rows}), {"p": [[0, 1], [0.25, 0.75], [-3, 2]], "y": [[1, 0], [1, 0], [0, 1]]}
    )["l"]
    assert found[0] == pytest.approx(-math.log(1e-7), rel=1e-3)
    assert found[1] == pytest.approx(-math.log(0.25))
    assert found[2] == pytest.approx(0, abs=1e-6)


def test_large_logits_stay_finite() -> None:
    from webnnm.backends.reference import evaluate

    b = GraphBuilder()
    z, y = b.input("z", "float32", [1, 2]), b.input("y", "float32", [1, 2])
    rows = CCE.rows(b, head_of(b.softmax(z, axis=1)), y)
    (slope,) = gradients(b.reduce_sum(rows), [z])
    found = evaluate(b.build({"l": rows, "g": slope}), {"z": [[1000, -1000]], "y": [[0, 1]]})
    assert found["l"].tolist() == [2000]
    assert found["g"].tolist() == [[1, -1]]


@pytest.mark.parametrize(
    ("head", "loss"),
    [("softmax", "CCE"), ("logSoftmax", "CCE"), ("sigmoid", "MSE"), ("linear", "MSE")],
)
def test_heads_and_what_they_ask_for(head: str, loss: str) -> None:
    b = GraphBuilder()
    z = b.input("z", "float16", [2, 3])
    outputs = {
        "softmax": b.softmax(z, axis=1),
        "logSoftmax": b.log_softmax(z, axis=1),
        "sigmoid": b.sigmoid(z),
        "linear": z + z,
    }
    found = head_of(b.cast(outputs[head], type="float32"))
    assert found.kind == head
    assert (found.output.dtype, found.logits.dtype) == ("float32", "float32")
    if head != "sigmoid":  # whose own loss comes with the other losses
        assert default_loss(found).name == loss


def test_softmax_over_another_axis_is_no_head() -> None:
    b = GraphBuilder()
    z = b.input("z", "float32", [2, 3, 4])
    assert head_of(b.softmax(z, axis=1)).kind == "linear"
