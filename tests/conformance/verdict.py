"""How far results are from those of a conformance vector, and whether that is near enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.conformance.vectors import Vector
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FORMATS
from webnnm.graph.node import Graph

np = pytest.importorskip("numpy")

_BITS = {"float32": "int32", "float16": "int16"}

CANNOT_PASS: dict[str, str] = {
    "l2Pool2d: l2Pool2d float32 4D tensor options.roundingType=ceil": (
        "the vector lacks the square root in windows that hang over the edge"
    ),
}
"""Vectors that a right implementation cannot pass, by "file: name", with the reason."""


def as_numpy(array: HostArray) -> Any:
    """Return a host array as one of NumPy, which has no 4-bit types: they come as int8."""
    if array.dtype in FORMATS:
        return np.frombuffer(array.data, array.dtype).reshape(array.shape)
    return np.asarray(array.values(), "int8").reshape(array.shape)


def problem(vector: Vector, graph: Graph, found: Mapping[str, Any]) -> str:
    """Return what is wrong with results, "" if nothing is."""
    metric, allowed = vector.tolerance
    for name, array in vector.expected().items():
        expected = as_numpy(array)
        if graph.outputs[name].type != (array.dtype, array.shape):
            return f"{name} is {graph.outputs[name].type}, expected {array}"
        if (found[name].dtype.itemsize, found[name].shape) != (expected.itemsize, expected.shape):
            return f"{name} came as {found[name].dtype}{found[name].shape}, expected {array}"
        apart = np.max(difference(found[name], expected, metric))
        if not apart <= allowed:
            return f"{name} is {apart} {metric} away, {allowed} allowed"
    return ""


def ulp_distance(found: Any, expected: Any) -> Any:
    """Return for each element how many representable numbers lie between the two.

    Integers are their own distance; NaN is at distance 0 from NaN and far from all else.
    """
    if found.dtype.name not in _BITS:
        both = (a.astype(object) for a in (found, expected))
        return np.abs(np.subtract(*both))
    ordered = []
    for values in (found, expected):
        bits = values.view(_BITS[values.dtype.name]).astype(np.int64)
        # Negative floats order backwards; -0 falls upon 0.
        lowest = -(1 << (8 * values.dtype.itemsize - 1))
        ordered.append(np.where(bits < 0, lowest - bits, bits))
    distance = np.abs(ordered[0] - ordered[1])
    a, b = np.isnan(found), np.isnan(expected)
    return np.where(a & b, 0, np.where(a | b, 1 << 40, distance))


def difference(found: Any, expected: Any, metric: str) -> Any:
    """Return the difference of each element in the metric of a tolerance."""
    if np.array_equal(found, expected):  # quick on the vectors of many megabytes
        return np.zeros(1)
    if metric == "ULP":
        return ulp_distance(found, expected)
    assert metric == "ATOL", f"unknown metric {metric}"
    wide = [a.astype(np.float64) for a in (found, expected)]
    same = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, np.abs(wide[0] - wide[1]))
