"""The losses against their definitions (spec D.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.training.losses import (
    CLASSES,
    FLOOR,
    ONE_HOT,
    SIGNS,
    SOFT,
    VALUES,
    Z,
    np,
    rows,
    sigmoid,
    softmax,
)
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.loss_words import LOSSES as WORDS
from webnnm.training.losses import LOSSES, LossSettings, default_loss, is_fused
from webnnm.training.output_activation import find_activation

Formula = Callable[[Any, Any], Any]


def cross_entropy(y: Any, p: Any) -> Any:
    return -(y * np.log(p)).sum(axis=-1)


def binary(y: Any, p: Any) -> Any:
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean(axis=-1)


def divergence(y: Any, p: Any) -> Any:
    return np.where(y > 0, y * (np.log(np.where(y > 0, y, 1)) - np.log(p)), 0).sum(axis=-1)


def clip(z: Any) -> Any:
    return np.clip(z, float(np.float32(FLOOR)), float(np.float32(1 - FLOOR)))


def huber(delta: float) -> Formula:
    def formula(y: Any, z: Any) -> Any:
        e = np.abs(y - z)
        return np.where(e <= delta, e * e / 2, delta * (e - delta / 2)).mean(axis=-1)

    return formula


DEFINITIONS: list[tuple[str, str, Any, Formula]] = [
    ("MSE", "linear", VALUES, lambda y, z: ((y - z) ** 2).mean(axis=-1)),
    ("MSE", "softmax", SOFT, lambda y, z: ((y - softmax(z)) ** 2).mean(axis=-1)),
    ("MAE", "linear", VALUES, lambda y, z: np.abs(y - z).mean(axis=-1)),
    ("HUL", "linear", VALUES, huber(1)),
    ("QUL", "linear", VALUES, lambda y, z: np.mean(0.5 * np.abs(y - z), axis=-1)),
    ("BCE", "sigmoid", SOFT, lambda y, z: binary(y, sigmoid(z))),
    ("BCE", "softmax", SOFT, lambda y, z: binary(y, clip(softmax(z)))),
    ("BCE", "linear", SOFT, lambda y, z: binary(y, clip(z))),
    ("BCEL", "linear", SOFT, lambda y, z: binary(y, sigmoid(z))),
    ("BCEL", "sigmoid", SOFT, lambda y, z: binary(y, sigmoid(z))),
    ("BCEL", "softmax", SOFT, lambda y, z: binary(y, sigmoid(softmax(z)))),
    ("CCE", "softmax", SOFT, lambda y, z: cross_entropy(y, softmax(z))),
    ("CCE", "logSoftmax", SOFT, lambda y, z: cross_entropy(y, softmax(z))),
    ("CCE", "sigmoid", SOFT, lambda y, z: cross_entropy(y, clip(sigmoid(z)))),
    ("CCE", "linear", SOFT, lambda y, z: cross_entropy(y, clip(z))),
    ("CCEL", "linear", SOFT, lambda y, z: cross_entropy(y, softmax(z))),
    ("CCEL", "softmax", SOFT, lambda y, z: cross_entropy(y, softmax(z))),
    ("CCEL", "logSoftmax", SOFT, lambda y, z: cross_entropy(y, softmax(z))),
    ("CCEL", "sigmoid", SOFT, lambda y, z: cross_entropy(y, softmax(sigmoid(z)))),
    ("KLD", "softmax", SOFT, lambda y, z: divergence(y, softmax(z))),
    ("KLD", "logSoftmax", SOFT, lambda y, z: divergence(y, softmax(z))),
    ("KLD", "linear", SOFT, lambda y, z: divergence(y, clip(z))),
    ("HIL", "linear", SIGNS, lambda y, z: np.maximum(0, 1 - y * z).sum(axis=-1)),
]


@pytest.mark.parametrize(("loss", "activation", "y", "formula"), DEFINITIONS)
def test_losses_are_what_they_are_defined_as(
    loss: str, activation: str, y: Any, formula: Formula
) -> None:
    found, counted, _ = rows(loss, activation, y)
    assert counted is None
    assert np.allclose(found, formula(np.array(y), np.array(Z)), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("activation", ["softmax", "logSoftmax", "linear"])
def test_class_numbers_count_unless_negative(activation: str) -> None:
    found, counted, slope = rows("SCE", activation, CLASSES)
    log_p = np.log(softmax(np.array(Z)))
    assert np.allclose(found[:3], [-log_p[0, 1], -log_p[1, 0], -log_p[2, 2]])
    assert counted.tolist() == [1, 1, 1, 0]
    assert found[3] == 0
    assert slope[3].tolist() == [0, 0, 0]


def test_class_numbers_under_a_sigmoid_take_its_probabilities() -> None:
    found, _, _ = rows("SCE", "sigmoid", CLASSES)
    assert np.allclose(found[0], -np.log(sigmoid(-2.0)))


def test_numbers_beyond_the_classes_stay_inside_the_tables() -> None:
    found, counted, slope = rows("SCE", "softmax", [3, 100000, -7, 0], wide=False)
    assert found[:3].tolist() == [0, 0, 0]
    assert counted.tolist() == [1, 1, 0, 1]
    assert np.all(np.isfinite(slope))


@pytest.mark.parametrize("loss", ["CCE", "CCEL", "KLD", "FOL"])
def test_losses_over_classes_take_class_numbers_too(loss: str) -> None:
    of_numbers, counted, _ = rows(loss, "softmax", CLASSES)
    of_rows, _, _ = rows(loss, "softmax", ONE_HOT)
    assert np.allclose(of_numbers[:3], of_rows[:3])
    assert counted.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("delta", [0.5, 1.0, 3.0, 100.0])
def test_delta_is_where_the_square_ends(delta: float) -> None:
    found, _, _ = rows("HUL", "linear", VALUES, settings=LossSettings(delta=delta))
    assert np.allclose(found, huber(delta)(np.array(VALUES), np.array(Z)))


def focal(y: Any, p: Any, gamma: float) -> Any:
    return -y * (1 - p) ** gamma * np.log(p)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("alpha", [None, 0.5, (0.3, 1.7, 1.0)])
@pytest.mark.parametrize("activation", ["softmax", "logSoftmax"])
def test_focal_loss_over_classes(activation: str, alpha: Any, gamma: float) -> None:
    found, _, _ = rows("FOL", activation, SOFT, settings=LossSettings(gamma=gamma, alpha=alpha))
    weight = 1.0 if alpha is None else np.array(alpha)
    expected = (weight * focal(np.array(SOFT), softmax(np.array(Z)), gamma)).sum(axis=1)
    assert np.allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(
    ("alpha", "yes", "no"),
    [(None, 1, 1), (0.25, 0.25, 0.75), ((0.1, 0.2, 0.3), (0.1, 0.2, 0.3), (0.9, 0.8, 0.7))],
)
def test_focal_loss_of_decisions(alpha: Any, yes: Any, no: Any, gamma: float) -> None:
    found, _, _ = rows("FOL", "sigmoid", SOFT, settings=LossSettings(gamma=gamma, alpha=alpha))
    y, p = np.array(SOFT), sigmoid(np.array(Z))
    expected = np.array(yes) * focal(y, p, gamma) + np.array(no) * focal(1 - y, 1 - p, gamma)
    assert np.allclose(found, expected.mean(axis=1), rtol=1e-6)


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_a_pair_of_alphas_is_for_no_and_yes(shape: tuple[int, ...]) -> None:
    y, z = np.reshape([0.0, 1.0], shape), np.zeros(shape)
    settings = LossSettings(gamma=0, alpha=(0.2, 0.6))
    found, _, _ = rows("FOL", "sigmoid", y, z, settings)
    assert np.allclose(found, np.log(2) * np.array([0.2, 0.6]))


def test_smoothing_moves_targets_towards_all_alike() -> None:
    y, settings = np.array(SOFT), LossSettings(smoothing=0.1)
    smooth = y * 0.9 + 0.1 / 3
    for loss in ("CCE", "CCEL", "KLD", "FOL"):
        found, _, _ = rows(loss, "softmax", SOFT, settings=settings)
        assert np.allclose(found, rows(loss, "softmax", smooth)[0])
    for loss in ("BCE", "BCEL", "FOL"):
        found, _, _ = rows(loss, "sigmoid", SOFT, settings=settings)
        assert np.allclose(found, rows(loss, "sigmoid", y * 0.9 + 0.05)[0])
    of_numbers, _, _ = rows("SCE", "softmax", CLASSES, settings=settings)
    expected, _, _ = rows("CCE", "softmax", np.array(ONE_HOT) * 0.9 + 0.1 / 3)
    assert np.allclose(of_numbers[:3], expected[:3])


CONTINUOUS = ("MSE", "MAE", "HUL", "BCE", "BCEL")


def data(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(5).uniform(0.1, 0.9, shape)


@pytest.mark.parametrize("loss", CONTINUOUS)
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 5, 3), (4, 5, 2, 3)])
def test_continuous_losses_give_one_number_per_row_or_position(
    loss: str, shape: tuple[int, ...]
) -> None:
    y, z = data(shape), data(shape) * 2 - 1
    whole, _, _ = rows(loss, "linear", y, z)
    each, _, _ = rows(loss, "linear", np.reshape(y, (-1,)), np.reshape(z, (-1,)))
    each = np.reshape(each, shape)
    assert np.allclose(whole, np.mean(each, axis=tuple(range(1, len(shape)))))
    if len(shape) > 1:
        positions, _, _ = rows(loss, "linear", y, z, sequence=True)
        assert np.allclose(positions, np.mean(each, axis=tuple(range(2, len(shape)))))


@pytest.mark.parametrize("loss", ["CCE", "CCEL", "KLD", "FOL", "HIL", "SCE"])
@pytest.mark.parametrize(
    ("shape", "sequence"),
    [((4, 3), False), *(((4, *rest, 3), flag) for rest in ((5,), (5, 2)) for flag in (0, 1))],
)
def test_losses_over_classes_give_one_number_per_position(
    loss: str, shape: tuple[int, ...], sequence: bool
) -> None:
    activation = "linear" if loss == "HIL" else "softmax"
    y, z = data(shape), data(shape) * 6 - 3
    if loss == "SCE":
        y = np.argmax(y, axis=-1) - 1
    found, counted, _ = rows(loss, activation, y, z, sequence=sequence)
    assert found.shape == shape[:-1]
    assert (counted is not None) == (loss == "SCE")
    flat = np.reshape(y, (-1,) if loss == "SCE" else (-1, 3))
    each, _, _ = rows(loss, activation, flat, np.reshape(z, (-1, 3)))
    assert np.allclose(np.reshape(found, (-1,)), each)


@pytest.mark.parametrize(("shape", "sequence"), [((4,), False), ((4, 5), True)])
def test_hinge_of_single_numbers(shape: tuple[int, ...], sequence: bool) -> None:
    z = data(shape)
    found, _, _ = rows("HIL", "linear", np.ones(shape), z, sequence=sequence)
    assert np.allclose(found, 1 - z)


@pytest.mark.parametrize(
    ("activation", "loss"),
    [("softmax", "CCE"), ("logSoftmax", "CCE"), ("sigmoid", "BCE"), ("linear", "MSE")],
)
def test_activations_and_their_default_losses(activation: str, loss: str) -> None:
    b = GraphBuilder()
    z = b.input("z", "float16", [2, 3])
    outputs = {
        "softmax": b.softmax(z, axis=1),
        "logSoftmax": b.log_softmax(z, axis=1),
        "sigmoid": b.sigmoid(z),
        "linear": z + z,
    }
    found = find_activation(b.cast(outputs[activation], type="float32"))
    assert found.kind == activation
    assert (found.output.dtype, found.logits.dtype) == ("float32", "float32")
    assert default_loss(found).name == loss
    assert is_fused(default_loss(found), found.kind) == (activation != "linear")


def test_softmax_over_another_axis_is_not_a_head() -> None:
    b = GraphBuilder()
    z = b.input("z", "float32", [2, 3, 4])
    assert find_activation(b.softmax(z, axis=1)).kind == "linear"


def test_every_word_has_its_loss() -> None:
    assert {word.name: word.parameters for word in WORDS} == {
        name: loss.parameters for name, loss in LOSSES.items()
    }
