"""Results and gradients of operators that move data, at the edges of their rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.ops.cases import np
from tests.unit.ops.gradient import check_gradients, functional
from webnnm import GraphBuilder, WebNNMError, gradients
from webnnm.backends.reference import evaluate


def one_hot_counts(indices: list[int], n: int) -> list[float]:
    return [float(indices.count(k)) for k in range(n)]


INDICES = [
    ([0, 1, 2, 3], [0, 1, 2, 3]),
    ([2, 2, 2], [2, 2, 2]),
    ([1, 1, 0, 3, 1], [1, 1, 0, 3, 1]),
    ([4, 100], [3, 3]),
    ([-1, -4, -2], [3, 0, 2]),
    ([4, 100, -5, -100], [3, 3, 0, 0]),
]


@pytest.mark.parametrize(
    ("dtype", "indices", "effective"),
    [
        (dtype, *pair)
        for dtype in ("int32", "uint32", "int64")
        for pair in INDICES
        if dtype != "uint32" or min(pair[0]) >= 0
    ],
)
def test_gather_wraps_and_clamps_and_its_gradient_adds_up(
    dtype: Any, indices: list[int], effective: list[int]
) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [4])
    picked = b.gather(x, b.constant(indices, dtype))
    (dx,) = gradients(b.reduce_sum(picked), [x])
    at = np.asarray([10.0, 11, 12, 13])
    found = evaluate(b.build({"y": picked, "dx": dx}), {"x": at})
    assert found["y"].tolist() == at[effective].tolist()
    assert found["dx"].tolist() == one_hot_counts(effective, 4)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("indices", [1, [2, 0, 2], [[0, -1], [1, 5]]], ids=["0d", "1d", "2d"])
def test_gradient_of_gather_along_any_axis(axis: int, indices: Any) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3, 4, 3])
    y = b.gather(x, b.constant(indices, "int32"), axis=axis)
    at = np.random.default_rng(0).uniform(-1, 1, x.shape)
    check_gradients(functional(b, [y], 0), [x], {"x": at})


@pytest.mark.parametrize(("dtype", "far"), [("int64", 2**40), ("int64", 2**32), ("uint32", 2**31)])
def test_indices_far_out_of_range_are_clamped_in_both_directions(dtype: Any, far: int) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3])
    (dx,) = gradients(b.reduce_sum(b.gather(x, b.constant([far], dtype))), [x])
    assert evaluate(b.build({"dx": dx}), {"x": [0, 0, 0]})["dx"].tolist() == [0, 0, 1]


def test_indices_may_be_an_input() -> None:
    b = GraphBuilder()
    x, i = b.input("x", "float32", [3, 2]), b.input("i", "int32", [2])
    (dx, di) = gradients(b.reduce_sum(b.gather(x, i)), [x, i])
    feeds = {"x": np.zeros((3, 2)), "i": [-1, 2]}
    found = evaluate(b.build({"dx": dx, "di": di}), feeds)
    assert found["dx"].tolist() == [[0, 0], [0, 0], [2, 2]]
    assert (found["di"].tolist(), found["di"].dtype.name) == ([0, 0], "int32")


SLICES = [
    ([0, 0], [5, 7], None, [5, 7]),
    ([1, 2], [3, 4], None, [3, 4]),
    ([4, 6], [1, 1], None, [1, 1]),
    ([0, 0], [5, 7], [2, 3], [3, 3]),
    ([1, 1], [4, 6], [3, 4], [2, 2]),
    ([1, 0], [3, 7], [5, 9], [1, 1]),
    ([0, 1], [5, 5], [1, 2], [5, 3]),
]


@pytest.mark.parametrize(("starts", "sizes", "strides", "shape"), SLICES)
def test_slice_and_its_gradient(starts: Any, sizes: Any, strides: Any, shape: list[int]) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [5, 7])
    options = {} if strides is None else {"strides": strides}
    y = b.slice(x, starts=starts, sizes=sizes, **options)
    assert list(y.shape) == shape
    at = np.arange(35.0).reshape(5, 7)
    cut = tuple(
        slice(start, start + size, step)
        for start, size, step in zip(starts, sizes, strides or [1, 1], strict=True)
    )
    weights = np.random.default_rng(0).uniform(1, 2, shape).astype(np.float32)
    (dx,) = gradients(b.reduce_sum(y * b.constant(weights)), [x])
    found = evaluate(b.build({"y": y, "dx": dx}), {"x": at})
    assert found["y"].tolist() == at[cut].tolist()
    expected = np.zeros((5, 7), dtype=np.float32)
    expected[cut] = weights
    assert found["dx"].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("slice", {"starts": [0, 4], "sizes": [2, 4]}, "NNM308"),
        ("slice", {"starts": [0], "sizes": [2, 2]}, "NNM303"),
        ("slice", {"starts": [0, -1], "sizes": [2, 2]}, "NNM308"),
        ("slice", {"starts": [0, -8], "sizes": [2, 2]}, "NNM303"),
        ("slice", {"starts": [0, 0], "sizes": [0, 2]}, "NNM303"),
        ("slice", {"starts": [0, 0], "sizes": [2, 2], "strides": [0, 1]}, "NNM303"),
        ("reshape", {"new_shape": [4]}, "NNM407"),
        ("reshape", {"new_shape": [-1, -1]}, "NNM407"),
        ("reshape", {"new_shape": [-1, 4]}, "NNM407"),
        ("reshape", {"new_shape": [0, -1]}, "NNM407"),
        ("reshape", {"new_shape": [2.0, 7]}, "NNM303"),
        ("expand", {"new_shape": [3, 7]}, "NNM401"),
        ("expand", {"new_shape": [7]}, "NNM401"),
        ("transpose", {"permutation": [0]}, "NNM309"),
        ("transpose", {"permutation": [0, 0]}, "NNM309"),
        ("transpose", {"permutation": [0, 2]}, "NNM308"),
        ("transpose", {"permutation": 1}, "NNM303"),
        ("reverse", {"axes": [1, -1]}, "NNM309"),
        ("reduce_sum", {"axes": [2]}, "NNM308"),
        ("reduce_sum", {"axes": [True]}, "NNM303"),
        ("reduce_sum", {"axes": "0"}, "NNM303"),
        ("reduce_sum", {"keep_dimensions": 1}, "NNM303"),
        ("softmax", {"axis": -3}, "NNM308"),
        ("softmax", {"axis": 1.0}, "NNM303"),
        ("cast", {"type": "bfloat16"}, "NNM113"),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: Any, code: str) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 7])
    with pytest.raises(WebNNMError) as caught:
        getattr(b, name)(x, **options)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("name", "shapes", "options", "code"),
    [
        ("add", [(2, 3), (4,)], {}, "NNM401"),
        ("matmul", [(2, 3), (2, 3)], {}, "NNM404"),
        ("matmul", [(2, 2, 3), (3, 3, 2)], {}, "NNM401"),
        ("gemm", [(2, 3), (2, 3)], {}, "NNM404"),
        ("gemm", [(2, 3), (3, 4), (3, 4)], {}, "NNM401"),
        ("gemm", [(1, 2, 3), (3, 4)], {}, "NNM405"),
        ("concat", [(2, 3), (2, 4)], {"axis": 0}, "NNM410"),
        ("concat", [(2, 3), (2,)], {"axis": 0}, "NNM410"),
        ("concat", [(), ()], {"axis": 0}, "NNM405"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    name: str, shapes: Any, options: Any, code: str
) -> None:
    b = GraphBuilder()
    xs = [b.input(f"x{i}", "float32", shape) for i, shape in enumerate(shapes)]
    with pytest.raises(WebNNMError) as caught:
        getattr(b, name)(*xs, **options)
    assert caught.value.code == code


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers_divide_towards_zero(dtype: Any) -> None:
    b = GraphBuilder()
    x, z = b.input("x", dtype, [7]), b.input("z", dtype, [7])
    feeds = {"x": [7, -7, 7, -7, 6, -128, 0], "z": [2, 2, -2, -2, -3, 2, -5]}
    found = evaluate(b.build({"y": x / z}), feeds)["y"]
    assert (found.tolist(), found.dtype.name) == ([3, -3, -3, 3, -2, -64, 0], dtype)


def test_unsigned_integers_divide() -> None:
    b = GraphBuilder()
    x = b.input("x", "uint8", [2])
    assert evaluate(b.build({"y": x / 2}), {"x": [255, 3]})["y"].tolist() == [127, 1]


def test_halves_are_reduced_beyond_their_range() -> None:
    b = GraphBuilder()
    x = b.input("x", "float16", [2])
    outputs = {"l2": b.reduce_l2(x), "mean": b.reduce_mean(x), "log": b.reduce_log_sum_exp(x)}
    found = evaluate(b.build(outputs), {"x": [30000, 40000]})
    assert [found[name].item() for name in outputs] == [49984, 35008, 40000]
