"""The loss of a grid of boxes against its definition (CenterNet)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.losses import graph_of, np, rows, sigmoid
from webnnm.backends.reference import evaluate
from webnnm.core.errors import DataError
from webnnm.training.loss_choice import LabelFacts, choose_loss
from webnnm.training.losses import LOSSES


def grid(seed: int, centers: int) -> tuple[Any, Any]:
    """Return outputs and targets of two pictures, 3 × 4 cells of 2 classes; the first has none."""
    draw = np.random.default_rng(seed)
    z = draw.uniform(-3, 3, (2, 3, 4, 6))
    y = np.zeros((2, 3, 4, 6))
    y[..., :2] = draw.uniform(0, 0.9, (2, 3, 4, 2))
    for cell in range(centers):
        row, column = divmod(cell * 5 % 12, 4)
        y[1, row, column, cell % 2] = 1
        y[1, row, column, 2:] = draw.uniform(0, 4, 4)
    return z, y


def define(z: Any, y: Any) -> Any:
    """Return the loss of a picture, cell by cell."""
    focal = shapes = count = 0.0
    for outputs, targets in zip(z.reshape(-1, 6), y.reshape(-1, 6), strict=True):
        for score, target in zip(outputs[:2], targets[:2], strict=True):
            p = sigmoid(score)
            if target == 1:
                focal -= (1 - p) ** 2 * np.log(p)
                count += 1
            else:
                focal -= (1 - target) ** 4 * p**2 * np.log(1 - p)
        if 1 in targets[:2]:
            shapes += (np.abs(outputs[2:] - targets[2:]) * [1, 1, 0.1, 0.1]).sum()
    return (focal + shapes) / max(1, count)


@pytest.mark.parametrize("centers", [0, 1, 5])
def test_the_loss_is_that_of_centernet(centers: int) -> None:
    z, y = grid(1, centers)
    found, counted, _ = rows("BOX", "linear", y.tolist(), z.tolist())
    assert counted is None
    assert np.allclose(found, [define(*pair) for pair in zip(z, y, strict=True)], rtol=1e-6)


def test_gradients_are_as_measured() -> None:
    z, y = grid(2, 3)
    graph, feeds = graph_of("BOX", "linear", y.tolist(), z.tolist())
    slope = evaluate(graph, feeds, wide=True)["g"]
    step = 1e-5
    for index in np.ndindex(z.shape):
        moved = np.zeros_like(z)
        moved[index] = step
        low, high = (
            sum(define(*pair) for pair in zip(one, y, strict=True))
            for one in (z - moved, z + moved)
        )
        assert slope[index] == pytest.approx((high - low) / (2 * step), abs=1e-6)


def test_extreme_scores_stay_finite() -> None:
    z, y = grid(3, 2)
    for size in (200.0, 1e4):
        found, _, slope = rows("BOX", "linear", y.tolist(), (size * z).tolist(), wide=False)
        assert np.all(np.isfinite(found)) and np.all(np.isfinite(slope))


def test_boxes_have_their_loss_and_it_has_boxes() -> None:
    boxes = LabelFacts(kind="boxes", shape=(2, 2, 6), classes=2)
    assert choose_loss("linear", (2, 2, 6), None, boxes).loss is LOSSES["BOX"]
    with pytest.raises(DataError, match="NNM604: MSE is not the loss for the labels of the output"):
        choose_loss("linear", (2, 2, 6), "MSE", boxes)
    with pytest.raises(DataError, match=r"NNM604: BOX takes logits and sizes.* ends in sigmoid"):
        choose_loss("sigmoid", (2, 2, 6), None, boxes)
    measured = LabelFacts(kind="continuous", shape=(2, 2, 6), maximum=3.5)
    with pytest.raises(DataError, match=r"NNM604: BOX is not the loss.* 0 and 3\.5"):
        choose_loss("linear", (2, 2, 6), "centerNet", measured)
