"""Indices and masks: what they select, and what they must not."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import jit, xp
from webnnm.eager.errors import ArrayIndexError, ArrayKeyError, ArrayTypeError, ArrayValueError


def grid() -> xp.Array:
    return xp.reshape(xp.arange(12), (3, 4))


def mask(*values: Any) -> xp.Array:
    return xp.asarray([*values], dtype=xp.bool)


def zeros(*shape: int) -> xp.Array:
    return xp.zeros(shape, dtype=xp.bool)


MISFITS = [
    (mask(True, False),),
    (mask(True, False, True, True),),
    (zeros(3, 5),),
    (zeros(3, 1),),
    (zeros(1, 4),),
    (zeros(3, 4, 1),),
    (zeros(4, 3),),
    (slice(None), zeros(3)),
    (Ellipsis, zeros(3)),
    (None, zeros(4)),
    (0, zeros(3)),
    (zeros(3), zeros(3)),
    (zeros(3, 4), 0),
]


@pytest.mark.parametrize("key", MISFITS, ids=str)
def test_a_mask_has_the_sizes_of_what_it_selects_from(key: tuple[Any, ...]) -> None:
    for function in (lambda x: x[key], lambda x: put(x, key, 1)):
        for call in (function, jit(function)):
            with pytest.raises(ArrayIndexError, match=r"mask|indices"):
                call(grid())


def put(x: xp.Array, key: Any, value: Any) -> xp.Array:
    found = x + 0
    found[key] = value
    return found


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ((mask(True, False, True),), [[0, 1, 2, 3], [8, 9, 10, 11]]),
        ((slice(1, None), mask(False, True, False, True)), [[5, 7], [9, 11]]),
        ((Ellipsis, mask(False, True, False, False)), [[1], [5], [9]]),
        ((mask(True, False, True), 1), [1, 9]),
        ((mask(True, False, True), xp.asarray([3, 0])), [3, 8]),
        ((mask(True, False, True), xp.asarray([-1, 1], dtype=xp.int64)), [3, 9]),
        ((None, mask(True, False, False), 2), [[2]]),
        ((zeros(3),), []),
        ((zeros(3, 4),), []),
        ((zeros(0),), []),
        ((zeros(3, 0),), []),
    ],
    ids=str,
)
def test_masks_beside_other_indices(key: tuple[Any, ...], expected: list[Any]) -> None:
    assert grid()[key].tolist() == expected


@pytest.mark.parametrize("index", [3, -4, 1000])
@pytest.mark.desktop
def test_integers_out_of_range(index: int) -> None:
    x = grid()
    calls: list[Any] = [
        lambda: x[index],
        lambda: x[xp.asarray([0, index])],
        lambda: x[xp.asarray(index)],
        lambda: x[xp.asarray([0, 1]) * 0 + index],
        lambda: x[xp.asarray([index]), 0],
        lambda: xp.take(x, xp.asarray([index]), axis=0),
        lambda: xp.take_along_axis(x, xp.asarray([[index] * 4]), axis=0),
        lambda: put(x, index, 1),
        lambda: put(x, xp.asarray([0, index]), 1),
    ]
    for call in calls:
        with pytest.raises(IndexError, match=f"index {index} of dimension 0, which has 3 elements"):
            call()


def test_an_index_of_nothing() -> None:
    x = xp.zeros((0, 3))
    with pytest.raises(IndexError, match="dimension 0, which has no elements"):
        x[xp.asarray([0])]
    with pytest.raises(IndexError, match="index 7 of dimension 1"):
        x[:, xp.asarray([7])]
    assert x[xp.asarray([], dtype=xp.int32)].shape == (0, 3)
    assert x[:, xp.asarray([2, -3])].shape == (0, 2)


def test_unknown_indices_are_clamped_to_their_own_dimension() -> None:
    rows, columns = xp.asarray([0, 1, 2]), xp.asarray([7, -6, -1])
    assert jit(lambda x, i, j: x[i, j])(grid(), rows, columns).tolist() == [3, 4, 11]
    assert jit(lambda x, i: x[i, 0])(grid(), xp.asarray([9, -9])).tolist() == [8, 0]
    along = jit(lambda x, i: xp.take_along_axis(x, i, axis=1))
    assert along(grid(), xp.asarray([[-9], [9], [1]])).tolist() == [[0], [7], [9]]


@pytest.mark.parametrize(
    "key", [1.5, "a", True, [0], (0, True), xp.asarray([1.0]), xp.asarray(0.0)], ids=str
)
def test_what_is_no_index(key: Any) -> None:
    for kind in (ArrayKeyError, TypeError, IndexError):
        with pytest.raises(kind, match="is not an index"):
            grid()[key]
        with pytest.raises(kind, match="is not an index"):
            put(grid(), key, 1)


def test_too_many_indices() -> None:
    with pytest.raises(IndexError, match="3 indices for an array"):
        grid()[0, 0, 0]
    with pytest.raises(IndexError, match="one ellipsis"):
        grid()[..., ...]
    with pytest.raises(IndexError, match="3 indices"):
        grid()[zeros(3, 4), 0]


def test_index_arrays_that_an_empty_ellipsis_separates_come_first() -> None:
    x, i = xp.reshape(xp.arange(24), (2, 3, 4)), xp.asarray([0, 1, 1])
    assert x[0:2, i, ..., i].shape == (3, 2)
    assert x[0:2, i, i].shape == (2, 3)
    assert x[0:2, i, ..., i].tolist() == xp.permute_dims(x[0:2, i, i], (1, 0)).tolist()


def test_index_arrays_of_different_types() -> None:
    i, j = xp.asarray([0, 2], dtype=xp.uint8), xp.asarray([1, -1], dtype=xp.int64)
    assert grid()[i, j].tolist() == [1, 11]
    assert put(grid(), (i, j), 50)[i, j].tolist() == [50, 50]


def test_values_for_a_mask() -> None:
    rows = mask(True, False, True)
    assert put(grid(), rows, xp.asarray([1, 2, 3, 4]))[0].tolist() == [1, 2, 3, 4]
    assert put(grid(), rows, xp.asarray([[1], [2]])).tolist()[::2] == [[1] * 4, [2] * 4]
    assert put(grid(), grid() > 9, xp.asarray([-1, -2]))[2].tolist() == [8, 9, -1, -2]
    assert put(grid(), 0, xp.ones((1, 1, 4), dtype=xp.int32))[0].tolist() == [1] * 4
    assert jit(lambda x, m: put(x, m, 7))(grid(), rows)[2].tolist() == [7] * 4
    for value in (xp.asarray([1, 2]), xp.asarray([1, 2, 3]), xp.ones((3, 4), dtype=xp.int32)):
        with pytest.raises(ArrayValueError, match="does not fit into"):
            put(grid(), rows, value)
    with pytest.raises(ArrayTypeError, match="takes a number or a vector"):
        put(grid(), grid() > 5, xp.ones((1, 6), dtype=xp.int32))


def test_arrays_of_numpy_are_indices() -> None:
    np = pytest.importorskip("numpy")
    assert grid()[np.array([True, False, True])].tolist() == grid()[::2, :].tolist()
    assert grid()[np.array([0, -1])].tolist() == grid()[::2, :].tolist()
    assert grid()[np.int64(1), np.uint8(2)].item() == 6
    assert put(grid(), 0, np.array([9, 8, 7, 6]))[0].tolist() == [9, 8, 7, 6]
    with pytest.raises(IndexError, match="a mask"):
        grid()[np.array([True, False])]
