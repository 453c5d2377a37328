"""Boxes as the numbers of a grid, and back."""

from __future__ import annotations

import math

import pytest

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.rectangles import Rectangle
from webnnm.data.pictures.box_grid import BoxGrid, find_spread
from webnnm.data.pictures.boxes import Box, Placement, clip_boxes
from webnnm.data.pictures.fitting import PictureFormat

GRID = BoxGrid(rows=6, columns=8, classes=2, width=32, height=24)


def test_boxes_of_targets_are_those_that_were_encoded() -> None:
    boxes = [Box(0, 0, 3, 5, 0), Box(20, 10, 12, 14, 1), Box(8, 16, 8, 8, 0)]
    found = GRID.decode_targets(GRID.encode(boxes))
    assert sorted(found) == [pytest.approx(box) for box in sorted(boxes)]


def test_scores_fall_around_a_center() -> None:
    wide = BoxGrid(rows=20, columns=24, classes=2, width=96, height=80)
    values = wide.encode([Box(4, 8, 84, 64, 0)])  # the center is in column 11, row 10
    heat = [values[row * 24 * 6 : (row + 1) * 24 * 6 : 6] for row in range(20)]
    assert heat[10][11] == 1
    assert 0 < heat[10][12] == heat[10][10] == heat[9][11] == heat[11][11] < 1
    assert 0 < heat[11][12] < heat[11][11]
    assert heat[10][13] == 0, "half of the box is farther away than corners may move"
    assert sum(values[1::6]) == 0, "the other class"


@pytest.mark.parametrize(("width", "height"), [(10, 10), (5, 20), (40, 3)])
def test_boxes_within_the_spread_overlap_enough(width: float, height: float) -> None:
    radius = find_spread(width, height)
    box = Rectangle(0, 0, width, height)
    moved = [(radius, radius), (radius, -radius), (-radius, radius)]
    overlaps = [
        box.compute_iou(Rectangle(low, low, width + high, height + high)) for low, high in moved
    ]
    assert min(overlaps) == pytest.approx(0.7)


def test_a_small_box_wins_the_cell_of_a_large_one() -> None:
    boxes = [Box(9, 9, 2, 2, 0), Box(2, 2, 16, 16, 0), Box(1, 1, 18, 18, 1)]
    assert GRID.count_hidden(boxes) == 2
    assert {box.width for box in GRID.decode_targets(GRID.encode(boxes))} == {2}


def test_the_lower_border_belongs_to_the_last_cells() -> None:
    [box] = GRID.decode_targets(GRID.encode([Box(31.5, 23.5, 1, 1, 0)]))
    assert box[:4] == (31.5, 23.5, 1, 1)


def logits(*boxes: Box) -> list[float]:
    """Return outputs that predict boxes, whose scores are logits here."""
    values = [*GRID.encode([])]
    values = [-9.0 if index % 6 < 2 else value for index, value in enumerate(values)]
    for box in boxes:
        target = GRID.encode([box])
        cell = next(k for k in range(48) if target[k * 6 + box.label] == 1)
        values[cell * 6 + box.label] = box.score
        values[cell * 6 + 2 : cell * 6 + 6] = target[cell * 6 + 2 : cell * 6 + 6]
    return values


def test_outputs_are_decoded_by_their_scores() -> None:
    good, fair = Box(4, 4, 8, 8, 1, 2.0), Box(20, 12, 6, 6, 0, -1.0)
    found = GRID.decode_outputs(logits(fair, good))
    assert [box.label for box in found] == [1, 0]
    assert found[0] == pytest.approx(good._replace(score=1 / (1 + math.exp(-2))))
    assert GRID.decode_outputs(logits(good._replace(score=-3.0))) == [], "below 0.05"


def test_neighbours_of_a_better_cell_are_none() -> None:
    found = GRID.decode_outputs(logits(Box(4, 4, 8, 8, 1, 2.0), Box(12, 4, 2, 2, 1, 1.0)))
    assert [round(box.width) for box in found] == [8]


def test_boxes_that_overlap_a_better_one_of_their_class_are_none() -> None:
    best, same = Box(4, 4, 16, 8, 1, 2.0), Box(8, 4, 16, 8, 1, 1.0)
    assert len(GRID.decode_outputs(logits(best, same))) == 1, "overlap 0.6"
    assert len(GRID.decode_outputs(logits(best, same._replace(label=0)))) == 2
    assert len(GRID.decode_outputs(logits(best, same._replace(x=12)))) == 2, "overlap 1/3"


def test_boxes_without_an_area_are_none() -> None:
    values = logits(Box(4, 4, 8, 8, 1, 2.0))
    cell = values.index(2.0) // 6
    values[cell * 6 + 4] = -0.5
    assert GRID.decode_outputs(values) == []


def test_other_shapes_are_no_grids() -> None:
    with pytest.raises(DataError, match=r"NNM702: \[1, 6, 8, 5\] is no grid of boxes"):
        GRID.decode_rows(HostArray("float32", (1, 6, 8, 5), bytes(960)))


@pytest.mark.parametrize("fit", ["crop", "pad", "stretch"])
def test_boxes_go_to_the_fitted_picture_and_back(fit: str) -> None:
    place = Placement.find(200, 100, PictureFormat(64, 48, 3, fit))
    box = Box(90, 30, 20, 40, "cat")
    fitted = place.to_fitted(box)
    expected = {
        "crop": (26.4 + 0.8, 14.4, 9.6, 19.2),
        "pad": (28.8, 8 + 9.6, 6.4, 12.8),
        "stretch": (28.8, 14.4, 6.4, 19.2),
    }
    assert fitted[2:4] == pytest.approx(expected[fit][2:])
    assert fitted.y == pytest.approx(expected[fit][1])
    assert fitted.x + fitted.width / 2 == pytest.approx(32)
    assert place.to_picture(fitted) == pytest.approx(box)


def test_predictions_are_cut_at_the_border_of_the_picture() -> None:
    place = Placement.find(200, 100, PictureFormat(64, 48, 3, "pad"))
    assert place.to_picture(Box(-3, 0, 10, 20, 0)) == pytest.approx(Box(0, 0, 21.875, 37.5, 0))
    assert place.to_picture(Box(10, 0, 10, 5, 0)) is None, "in the black margin"


def test_boxes_of_which_little_is_visible_are_left_out() -> None:
    boxes = [Box(-7, 0, 10, 10, 0), Box(-8, 0, 10, 10, 1), Box(0, 0, 20, 20, 2)]
    assert [box.label for box in clip_boxes(boxes, 20, 20)] == [0, 2]
