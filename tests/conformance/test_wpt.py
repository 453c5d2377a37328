"""The vectors of the web platform tests on the reference backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.vectors import Vector, difference, graph, np, tensor, ulp_distance, vectors
from tests.shared import shared_path
from webnnm.backends.reference import evaluate

CANNOT_PASS: dict[str, str] = {}
"""Vectors that the reference backend cannot pass, by "file: name", with the reason."""


def folder() -> Path:
    try:
        return shared_path("wpt")
    except pytest.skip.Exception as reason:
        pytest.skip(str(reason), allow_module_level=True)


VECTORS = {str(vector): vector for vector in vectors(folder())}


def parameters() -> list[object]:
    return [
        pytest.param(
            vector,
            id=key,
            marks=[pytest.mark.xfail(reason=CANNOT_PASS[key], strict=True)]
            if key in CANNOT_PASS
            else [],
        )
        for key, vector in VECTORS.items()
    ]


@pytest.mark.parametrize("vector", parameters())
def test_vector(vector: Vector) -> None:
    built, feeds = graph(vector)
    found = evaluate(built, feeds)
    tolerance = vector.content["tolerance"]
    for name, record in vector.content["graph"]["expectedOutputs"].items():
        expected = tensor(record)
        assert built.outputs[name].type == (expected.dtype.name, expected.shape)
        assert (found[name].dtype, found[name].shape) == (expected.dtype, expected.shape)
        apart = difference(found[name], expected, tolerance["metric"])
        assert np.max(apart) <= tolerance["value"], (
            f"{name} is {np.max(apart)} {tolerance['metric']} away, {tolerance['value']} allowed"
        )


def test_exceptions_are_vectors() -> None:
    assert CANNOT_PASS.keys() <= VECTORS.keys()


@pytest.mark.parametrize(
    ("dtype", "a", "b", "distance"),
    [
        ("float32", 1.0, 1.0, 0),
        ("float32", 1.0, 1.0 + 2**-23, 1),
        ("float32", 1.0, 1.0 - 2**-24, 1),
        ("float32", -1.0, -1.0 - 2**-23, 1),
        ("float32", 0.0, -0.0, 0),
        ("float32", 2.0**-149, -(2.0**-149), 2),
        ("float32", 3.4028234663852886e38, float("inf"), 1),
        ("float32", float("nan"), float("nan"), 0),
        ("float32", float("nan"), 1.0, 1 << 40),
        ("float16", 1.0, 1.0 + 2**-10, 1),
        ("float16", -(2.0**-24), 2.0**-24, 2),
        ("int8", -128, 127, 255),
        ("uint8", 0, 255, 255),
        ("int64", 2**53, 2**53 + 1, 1),
    ],
)
def test_ulp_distance(dtype: str, a: float, b: float, distance: int) -> None:
    x, y = (np.asarray([value], dtype=dtype) for value in (a, b))
    assert ulp_distance(x, y).tolist() == [distance]
