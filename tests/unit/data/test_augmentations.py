"""Random changes to pictures: what moves where, masks with them, training rows alone."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import Brighten, Dataset, Erase, Flip, ImageDataset, Rotate, Shift
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.random import Stream
from webnnm.data.pictures.augmentations import PictureChange

ALL: dict[str, Any] = {"split": (1, 0, 0)}
PICTURE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def change(step: PictureChange, picture: Any, *draws: float, mask: Any = None) -> Any:
    """Return a picture as changed with these random numbers."""

    class Fixed:
        def uniform(self, count: int) -> Any:
            assert count == len(draws)
            return [*draws]

    outputs = {} if mask is None else {"m": HostArray.of([mask], "int32")}
    inputs, changed = step({"x": HostArray.of([picture], "float32")}, outputs, Fixed(), 0)  # type: ignore[arg-type]
    if mask is not None:
        return inputs["x"].tolist()[0], changed["m"].tolist()[0]
    assert changed == {}
    return inputs["x"].tolist()[0]


def test_flips_mirror_along_each_axis() -> None:
    both = Flip(vertical=True)
    assert change(both, PICTURE, 0.9, 0.9) == PICTURE
    assert change(both, PICTURE, 0.1, 0.9) == [[3, 2, 1], [6, 5, 4]]
    assert change(both, PICTURE, 0.9, 0.1) == [[4, 5, 6], [1, 2, 3]]
    assert change(both, PICTURE, 0.1, 0.1) == [[6, 5, 4], [3, 2, 1]]
    assert change(Flip(), PICTURE, 0.9, 0.1) == PICTURE


def test_channels_stay_together_in_both_layouts() -> None:
    last = [[[1.0, 10.0], [2.0, 20.0]]]
    assert change(Flip(), last, 0.1, 0.9) == [[[2, 20], [1, 10]]]
    first = [[[float(8 * c + x) for x in range(8)] for _ in range(8)] for c in range(3)]
    assert change(Flip(), first, 0.1, 0.9) == [[line[::-1] for line in plane] for plane in first]


def test_shifts_leave_empty_edges_and_masks_without_labels() -> None:
    step = Shift(0.7)
    assert change(step, PICTURE, 0.99, 0.5) == [[0, 0, 1], [0, 0, 4]]
    assert change(step, PICTURE, 0.01, 0.5) == [[3, 0, 0], [6, 0, 0]]
    mask = [[0, 1, 1], [0, 0, 1]]
    moved = change(step, PICTURE, 0.5, 0.99, mask=mask)
    assert moved == ([[0, 0, 0], [1, 2, 3]], [[-1, -1, -1], [0, 1, 1]])


def test_rotations_turn_around_the_middle() -> None:
    square = [[1.0, 2.0], [3.0, 4.0]]
    assert change(Rotate(90), square, 1.0) in ([[3, 1], [4, 2]], [[2, 4], [1, 3]])
    assert change(Rotate(180), square, 1.0) == [[4, 3], [2, 1]]
    assert change(Rotate(90), square, 0.5) == square


def test_brightness_moves_the_mean_and_contrast_spreads() -> None:
    assert change(Brighten(0.5, 0), PICTURE, 1.0, 0.0)[0] == [1.5, 2.5, 3.5]
    spread = change(Brighten(0, 0.5), PICTURE, 0.0, 1.0)
    assert spread == [[-0.25, 1.25, 2.75], [4.25, 5.75, 7.25]]


def test_rectangles_are_erased_in_pictures_alone() -> None:
    step, mask = Erase(1), [[1, 1, 1], [1, 1, 1]]
    assert change(step, PICTURE, 0.9, 0.5, 0.5, 0.0, 0.0) == PICTURE
    erased = change(step, PICTURE, 0.1, 0.5, 0.34, 0.99, 0.99)
    assert erased == [[1, 2, 3], [4, 5, 0]]
    inputs, outputs = step(
        {"x": HostArray.of([PICTURE])}, {"m": HostArray.of([mask])}, Stream(0, 2), 0
    )
    assert inputs.keys() == {"x"} and not outputs


def test_training_rows_alone_change_anew_in_every_epoch() -> None:
    pixels = bytes(range(144))
    data = ImageDataset(pixels, ["a", "b"] * 8, shape=(3, 3), split=(0.5, 0, 0.5))
    changed = data.augment(Flip(), Shift(0.4), Brighten())

    def rows(some: Dataset, subset: str, epoch: int) -> Any:
        batches = some.batches(subset, epoch, shuffle=False)
        return [batch.inputs["model"].tolist() for batch in batches]

    assert rows(changed, "testing", 0) == rows(data, "testing", 0)
    first = rows(changed, "training", 0)
    assert first == rows(changed, "training", 0)
    assert first != rows(changed, "training", 1) and first != rows(data, "training", 0)
    assert rows(changed.augment(None), "training", 0) == rows(data, "training", 0)


def test_settings_and_inputs_are_checked() -> None:
    for make, problem in (
        (lambda: Shift(2), "NNM704: share is 2"),
        (lambda: Rotate(-1), "NNM704: degrees is -1"),
        (lambda: Brighten(contrast=3), "NNM704: contrast is 3"),
        (lambda: Erase(-0.1), "NNM704: share is -0.1"),
    ):
        with pytest.raises(DataError, match=problem):
            make()
    with pytest.raises(DataError, match="NNM702: Flip: no input is pictures"):
        Flip()({"x": HostArray.of([[1.0]])}, {}, Stream(0, 2), 0)
