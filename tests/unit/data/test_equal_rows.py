"""Equal rows are found among wide ones, whatever part of them is looked at first."""

from __future__ import annotations

import pytest

from webnnm.core.arrays import HostArray
from webnnm.data.preparation.equal_rows import MAX_BYTES, group_equal_rows

WIDTH = 3 * MAX_BYTES


def bytes_with(*changes: tuple[int, int]) -> HostArray:
    """Return five rows of zeros, but for a 1 at each (row, column)."""
    memory = bytearray(5 * WIDTH)
    for row, column in changes:
        memory[row * WIDTH + column] = 1
    return HostArray("uint8", (5, WIDTH), memory)


def test_all_rows_are_equal() -> None:
    assert group_equal_rows({"x": bytes_with()}) == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("column", [0, WIDTH // 2, WIDTH - 1])
def test_one_number_makes_a_difference_wherever_it_is(column: int) -> None:
    assert group_equal_rows({"x": bytes_with((1, column), (3, column))}) == [[0, 2, 4], [1, 3]]


def test_of_several_arrays_all_are_equal() -> None:
    x, y = bytes_with((0, 0)), HostArray.of([1, 2, 1, 2, 3], "int32")
    assert group_equal_rows({"x": x}, {"y": y}) == [[1, 3]]
    assert group_equal_rows({"a": x, "b": bytes_with((1, 0))}) == [[2, 3, 4]]
    assert group_equal_rows({"y": y}, {"z": HostArray("uint8", (5, 0), b"")}) == [[0, 2], [1, 3]]


def test_rows_of_half_bytes_are_told_apart() -> None:
    rows = HostArray.of([[1, 2, 3], [1, 2, 4], [1, 2, 3]], "uint4")
    assert group_equal_rows({"x": rows}) == [[0, 2]]
