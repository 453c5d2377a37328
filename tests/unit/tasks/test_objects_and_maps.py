"""What becomes of scores, boxes and maps: objects, masks, depths."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, backend
from webnnm.core.arrays import HostArray
from webnnm.tasks.depth_estimation import to_grey
from webnnm.tasks.maps import (
    find_above,
    find_largest,
    resize_maps,
    resize_to_bytes,
    split_masks,
    weigh,
)
from webnnm.tasks.object_detection import detect_exclusive, detect_independent, in_pixels

BOXES = [[0.5, 0.5, 1.0, 1.0], [0.25, 0.25, 0.5, 0.5]]


def test_the_last_class_is_no_object() -> None:
    found = [*detect_exclusive([[0.0, 3.0, 0.0], [0.0, 0.0, 9.0]], BOXES)]
    assert [one.label for one in found] == [1, 0]
    assert found[0].score > 0.9 and found[1].score < 0.01


def test_a_box_can_have_several_classes() -> None:
    found = [*detect_independent([[-1.0, 2.0], [1.0, -2.0]], BOXES, 3)]
    assert [(one.label, one.box) for one in found] == [(1, BOXES[0]), (0, BOXES[1]), (0, BOXES[0])]


def test_boxes_are_rounded_towards_zero() -> None:
    corners = in_pixels([0.0, 0.5, 0.5, 0.999], (10, 10))
    assert corners == {"xmin": -2, "ymin": 0, "xmax": 2, "ymax": 9}


def test_boxes_of_damaged_networks_are_named() -> None:
    with pytest.raises(DataError, match="not finite") as caught:
        in_pixels([float("nan"), 0.5, 0.5, 0.5], (10, 10))
    assert caught.value.code == "NNM707"


@pytest.mark.parametrize("method", ["linear", "cubic"])
@pytest.mark.parametrize(("length", "size"), [(1, 3), (4, 9), (9, 4), (5, 5)])
def test_constant_rows_stay_constant(method: Any, length: int, size: int) -> None:
    assert [sum(row) for row in weigh(length, size, method).tolist()] == pytest.approx([1] * size)


def test_rows_of_the_same_length_stay_as_they_are() -> None:
    assert weigh(2, 2, "cubic").tolist() == [[1, 0], [0, 1]]


async def test_large_maps_are_computed_in_blocks() -> None:
    device = await backend("numpy")
    values = HostArray.of([float(n * n % 17) for n in range(2 * 5 * 4)], shape=(2, 5, 4))
    whole = await resize_maps(device, values, (11, 7), "cubic")
    largest = await find_largest(device, values, (11, 7))
    few = 2 * 7 * 3
    parts = await resize_maps(device, values, (11, 7), "cubic", block=few)
    assert parts.tolist() == whole.tolist()
    assert (await find_largest(device, values, (11, 7), block=few)).tolist() == largest.tolist()
    assert not device.memory().graphs


def test_masks_of_many_classes() -> None:
    numbers = HostArray.of([[n * 3 for n in range(600)]], "int32")
    masks = split_masks(numbers)
    assert [*masks] == [n * 3 for n in range(600)]
    assert [mask.tolist()[0].index(255) for mask in masks.values()] == [*range(600)]
    assert all(sum(mask.tolist()[0]) == 255 for mask in masks.values())


def test_equal_depths_are_black() -> None:
    assert to_grey(HostArray.of([[3.0, 3.0]])).tolist() == [[0, 0]]


async def test_masks_are_drawn_in_blocks() -> None:
    device = await backend("numpy")
    values = HostArray.of([n * n % 17 / 17 for n in range(2 * 5 * 4)], shape=(2, 5, 4))
    masks = await find_above(device, values, (11, 7), 0.4)
    assert {*masks.values()} == {0, 255}
    parts = await find_above(device, values, (11, 7), 0.4, block=2 * 7 * 3)
    assert parts.tolist() == masks.tolist()
    alpha = await resize_to_bytes(device, values, (11, 7))
    few = await resize_to_bytes(device, values, (11, 7), block=2 * 7 * 4)
    assert few.tolist() == alpha.tolist()
