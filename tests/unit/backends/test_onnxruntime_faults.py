"""What ONNX Runtime computes wrongly by itself is right after the rewrites."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm.backends.reference import evaluate
from webnnm.graph.builder import GraphBuilder

pytest.importorskip("onnxruntime", reason="the ONNX Runtime backend needs it")
np = pytest.importorskip("numpy")

NAN, INF = math.nan, math.inf
ROWS = [[1.0, NAN, 3.0, -INF], [INF, 2.0, -1.0, NAN], [NAN, NAN, 0.0, 1.0]]
INTEGERS = {
    "int32": [[2**31 - 1, 1, 5], [-(2**31), -1, 7]],
    "uint32": [[2**32 - 1, 1, 5], [2**31, 3, 7]],
    "int64": [[2**63 - 1, 1, 5], [-(2**63), -1, 7]],
    "uint64": [[2**64 - 1, 1, 5], [2**63, 3, 7]],
}


def compare(operator: str, values: Any, dtype: Any, **options: Any) -> None:
    from webnnm.backends.onnxruntime import OnnxRuntimeBackend

    b = GraphBuilder()
    array = np.asarray(values, dtype)
    x = b.input("x", dtype, array.shape)
    graph = b.build({"y": getattr(b, operator)(x, **options)})
    backend = OnnxRuntimeBackend()
    found = backend.compute(graph, {"x": array})["y"]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, evaluate(graph, {"x": array})["y"])
    backend.close()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("operator", ["arg_max", "arg_min"])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_first_nan_is_the_extremum(operator: str, dtype: str, axis: int) -> None:
    compare(operator, ROWS, dtype, axis=axis)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("operator", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_extrema_with_nan_are_nan(operator: str, dtype: str, axes: list[int]) -> None:
    compare(operator, ROWS, dtype, axes=axes)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_sign_of_nan_is_nan(dtype: str) -> None:
    compare("sign", ROWS, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("operator", ["reduce_sum", "reduce_product", "reduce_sum_square"])
@pytest.mark.parametrize("axes", [[0], [1], [0, 1], []])
def test_integers_wrap_around(operator: str, dtype: str, axes: list[int]) -> None:
    compare(operator, INTEGERS[dtype], dtype, axes=axes)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("type", ["uint4", "int4"])
def test_casts_to_four_bits_truncate(dtype: str, type: str) -> None:
    compare("cast", [1.97, -1.97, 0.5, 300.0, -300.0, NAN, INF, -INF], dtype, type=type)
