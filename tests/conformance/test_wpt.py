"""The vectors of the web platform tests on the reference backend."""

from __future__ import annotations

import json
from functools import cache

import pytest

from tests.conformance import counts
from tests.conformance.vectors import vectors
from tests.conformance.verdict import CANNOT_PASS, as_numpy, np, problem, ulp_distance
from tests.places import SPEC, WPT
from webnnm.backends.reference import evaluate

VECTORS = {str(vector): vector for vector in vectors(WPT)}
LEAST_SHARE = 0.995


@cache
def found(key: str) -> str:
    """Return what is wrong with the reference's answer to a vector, "" if nothing is."""
    try:
        vector = VECTORS[key]
        graph, feeds = vector.graph()
        arrays = evaluate(graph, {name: as_numpy(array) for name, array in feeds.items()})
        return problem(vector, graph, arrays)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("key", VECTORS)
def test_vector(key: str) -> None:
    wrong = found(key)
    if key in CANNOT_PASS:
        assert wrong, "it is not an exception any more"
        pytest.xfail(CANNOT_PASS[key])
    assert not wrong, wrong


def test_exceptions_are_few() -> None:
    assert CANNOT_PASS.keys() <= VECTORS.keys()
    assert len(CANNOT_PASS) <= (1 - LEAST_SHARE) * len(VECTORS)


def test_counts_are_those_recorded() -> None:
    methods = json.loads((SPEC / "webnn_ops.json").read_text())["operators"]
    names = sorted(method["name"] for method in methods if "tensorLimits" in method)
    counts.check({key: found(key) for key in VECTORS}, methods=names)


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
