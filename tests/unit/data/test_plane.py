"""Points of two classes in the plane, and what a model is told of them."""

from __future__ import annotations

import math
from typing import Any

import pytest

import webnnm
from webnnm import DataError, plane_features

SHAPES = ("moons", "circles", "spirals", "xor")
every_shape = pytest.mark.parametrize("shape", SHAPES)


def make(shape: str, *given: Any, **options: Any) -> Any:
    return getattr(webnnm, f"make_{shape}")(*given, **options)


@every_shape
def test_the_same_seed_gives_the_same_points(shape: str) -> None:
    assert make(shape, 50, seed=3) == make(shape, 50, seed=3)
    assert make(shape, 50, seed=3) != make(shape, 50, seed=4)


@every_shape
def test_classes_are_of_one_size_and_lie_around_the_middle(shape: str) -> None:
    points, classes = make(shape, 201, noise=0)
    assert len(points) == len(classes) == 201
    assert classes.count(0) - classes.count(1) == 1
    assert all(abs(value) <= 1 for point in points for value in point)
    for axis in range(2):
        assert abs(sum(point[axis] for point in points)) / 201 < 0.2


@every_shape
def test_noise_moves_points_by_its_deviation(shape: str) -> None:
    still, _ = make(shape, 2000, noise=0)
    moved, _ = make(shape, 2000, noise=0.1)
    away = [b - a for p, q in zip(still, moved, strict=True) for a, b in zip(p, q, strict=True)]
    assert math.sqrt(sum(d * d for d in away) / len(away)) == pytest.approx(0.1, rel=0.05)
    with pytest.raises(DataError, match="noise=-1"):
        make(shape, noise=-1)
    with pytest.raises(DataError, match="rows=1"):
        make(shape, 1)


def nearest_of_another_class(shape: str) -> float:
    points, classes = make(shape, 400, noise=0)
    one = [p for p, c in zip(points, classes, strict=True) if c]
    other = [p for p, c in zip(points, classes, strict=True) if not c]
    return min(math.dist(p, q) for p in one for q in other)


@every_shape
def test_classes_are_apart_without_noise(shape: str) -> None:
    assert nearest_of_another_class(shape) > 0.1


def test_features_are_functions_of_a_point() -> None:
    names = ["x1", "x2", "x1²", "x2²", "x1·x2", "sin x1", "sin x2"]
    (row,) = plane_features([(0.5, -1.0)], names)
    assert row == pytest.approx([0.5, -1.0, 0.25, 1.0, -0.5, 1.0, 0.0])
    with pytest.raises(DataError, match='no feature "x3"'):
        plane_features([(0, 0)], ["x3"])
    with pytest.raises(DataError, match="no features"):
        plane_features([(0, 0)], [])


@pytest.mark.parametrize("name", [7, None, ["x1"]])
def test_features_that_are_no_names_are_refused(name: Any) -> None:
    with pytest.raises(DataError, match="NNM710"):
        plane_features([[0.0, 1.0]], [name])


@every_shape
@pytest.mark.parametrize("options", [{"rows": 2.5}, {"rows": "7"}, {"noise": math.nan}])
def test_counts_and_noise_that_are_no_such_numbers_are_refused(
    shape: str, options: dict[str, Any]
) -> None:
    with pytest.raises(DataError, match="NNM704"):
        make(shape, **options)
