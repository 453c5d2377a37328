"""Layers that move data: what they compute by name and by list, for samples, steps, constants."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import network, operators, parameters, run
from tests.unit.ops.cases import np

ROWS = "{rows:4, cols:3}"
IMAGE = "{channels:2, height:3, width:4}"


def compute(
    layers: str, x: Any, *more: str, input: str, output: str, sequence: str = "", dtype: str = ""
) -> Any:
    """Return what layers make of a batch."""
    ports = f"m:input {dtype} shape={input} {sequence}; m:output shape={output};"
    text = "\n".join([ports, f"m:layers {layers};", *more])
    return np.asarray(run(text, {"m": x}, {"sequence": np.shape(x)[1]} if sequence else None))


def batch(*shape: int) -> Any:
    return np.arange(float(np.prod(shape))).reshape(shape)


X = batch(2, 4, 3)


@pytest.mark.parametrize(
    ("layers", "output", "expected"),
    [
        ("pad([1, 0], [0, 2])", "[5, 5]", np.pad(X, [(0, 0), (1, 0), (0, 2)])),
        (
            "pad({cols:1}, {rows:2}, value=-1)",
            "[6, 4]",
            np.pad(X, [(0, 0), (0, 2), (1, 0)], constant_values=-1),
        ),
        (
            "pad(beginningPadding={rows:2}, mode=edge)",
            "[6, 3]",
            np.pad(X, [(0, 0), (2, 0), (0, 0)], mode="edge"),
        ),
        (
            "pad(endingPadding={rows:3, cols:2}, mode=reflection)",
            "[7, 5]",
            np.pad(X, [(0, 0), (0, 3), (0, 2)], mode="reflect"),
        ),
        (
            "pad(endingPadding={rows:4, cols:2}, mode=symmetric)",
            "[8, 5]",
            np.pad(X, [(0, 0), (0, 4), (0, 2)], mode="symmetric"),
        ),
        ("tile({cols:2})", "[4, 6]", np.tile(X, (1, 1, 2))),
        ("tile([2, 3])", "[8, 9]", np.tile(X, (1, 2, 3))),
        ("flatten()", "[12]", X.reshape(2, 12)),
        ("slice({rows:-2})", "[2, 3]", X[:, 2:]),
        ("slice({rows:1}, {rows:2}, strides={cols:2})", "[2, 2]", X[:, 1:3, ::2]),
        ("slice([1, 0], [3, -1], strides=[2, 0])", "[2, 3]", X[:, 1:4:2]),
        ("unsqueeze(axes=[0, -1])", "[1, 4, 3, 1]", X[:, None, :, :, None]),
        ("unsqueeze(axis=1), squeeze(axes=[1])", "[4, 3]", X),
        ("split(2)", "[2, 3]", X[:, :2]),
        ("split(2, axis=rows, name=h), identity(node=h.1)", "[2, 3]", X[:, 2:]),
        ("split([1, 2], axis=-1, name=h), identity(node=h.1)", "[4, 2]", X[:, :, 1:]),
        ("reshape([-1, 6])", "[2, 6]", X.reshape(2, 2, 6)),
        ("reverse(axes=cols)", "[4, 3]", X[:, :, ::-1]),
    ],
    ids=str,
)
def test_boxes(layers: str, output: str, expected: Any) -> None:
    found = compute(layers, X, input=ROWS, output=output)
    np.testing.assert_array_equal(found, expected)


def test_a_box_of_a_transposed_flow() -> None:
    layers = "transpose(), pad({rows:1}), tile({cols:2}), slice({rows:1}), split([3, 3], axis=cols)"
    found = compute(layers, X, input=ROWS, output="[3, 4]")
    np.testing.assert_array_equal(found, X.transpose(0, 2, 1))


def test_squeeze_of_all_dimensions_of_one_element() -> None:
    x = batch(1, 1, 3, 1)
    found = compute("squeeze()", x, input="{a:1, b:3, c:1}", output="{b:3}")
    assert found.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("matmul(w), split([1, 2])", {"w1": (4, 3)}),
        ("matmul(w), split(2)", {"w1": (4, 6)}),
        ("matmul(w, shape=[3]), unsqueeze(axes=[0]), squeeze(axes=[0])", {"w1": (4, 3)}),
    ],
)
def test_sizes_follow_backwards(layers: str, expected: dict[str, tuple[int, ...]]) -> None:
    size = 1 if "[1, 2]" in layers else 3
    text = f"m:input shape=[4]; m:output shape=[{size}]; m:layers {layers};"
    assert parameters(text) == expected


def test_parts_of_a_sequence() -> None:
    x = batch(2, 5, 3)
    found = compute(
        "split([2, 3], axis=sequence, name=h), identity(node=h.1)",
        x,
        input="[3]",
        output="[3]",
        sequence="sequence=true",
    )
    np.testing.assert_array_equal(found, x[:, 2:])


# Resampling.

PICTURE = batch(2, 2, 3, 4)


def nearest(x: Any, axis: int, size: int) -> Any:
    n = x.shape[axis]
    return np.take(x, [(2 * i + 1) * n // (2 * size) for i in range(size)], axis=axis)


@pytest.mark.parametrize(
    ("layers", "sizes"),
    [
        ("resample2d(newShape={height:6, width:2})", (6, 2)),
        ("resample2D(sizes=[2, 5], mode=nearest)", (2, 5)),
        ("resample2d(scales=2)", (6, 8)),
        ("resample2d(scales=[1, 0.5], mode=nearest-neighbor)", (3, 2)),
        ("resample2d(newShape={width:7})", (3, 7)),
        ("resample2d(sizes={height:5, width}, axes=[height, width])", (5, 4)),
        ("resample2d(sizes=[9, 1], axes=[width, height])", (1, 9)),
    ],
    ids=str,
)
def test_images_resampled(layers: str, sizes: tuple[int, int]) -> None:
    expected = nearest(nearest(PICTURE, 2, sizes[0]), 3, sizes[1])
    output = f"[2, {sizes[0]}, {sizes[1]}]"
    found = compute(layers, PICTURE, input=IMAGE, output=output)
    np.testing.assert_array_equal(found, expected)


def test_images_mixed() -> None:
    x = [[[[0.0, 1.0]], [[4.0, 8.0]]]]
    found = compute(
        "resample2d(scales=2, mode=bilinear)",
        x,
        input="{height:2, channels:1, width:2}",
        output="[4, 1, 4]",
    )
    rows = [[0, 0.25, 0.75, 1], [1, 1.4375, 2.3125, 2.75], [3, 3.8125, 5.4375, 6.25], [4, 5, 7, 8]]
    np.testing.assert_allclose(found[0, :, 0], rows, rtol=1e-6)


@pytest.mark.parametrize(
    ("input", "axes", "place"),
    [("{height:3, width:4}", "", (2, 3)), ("[3, 2, 2, 4]", ", axes=[0, 3]", (2, 5))],
)
def test_images_in_a_sequence_and_among_other_features(
    input: str, axes: str, place: tuple[int, int]
) -> None:
    shape = (2, 5, 3, 4) if not axes else (2, 5, 3, 2, 2, 4)
    x = batch(*shape)
    sizes = [1, 6] if not axes else [1, 2, 2, 6]
    found = compute(
        f"resample2d(sizes=[1, 6]{axes})",
        x,
        input=input,
        output=str(sizes),
        sequence="sequence=true",
    )
    np.testing.assert_array_equal(found, nearest(nearest(x, place[0], 1), place[1], 6))


# Gathering and scattering.


@pytest.mark.parametrize(
    ("layers", "output", "expected"),
    [
        ("gather(data=[2, -1], axis=rows)", "[2, 3]", X[:, [2, 3]]),
        ("gather(shape={cols:-1})", "[4]", X[:, :, 2]),
        ("gather(shape={rows:50%})", "[2, 3]", X[:, [0, 2]]),
        (
            "gatherElements(shape={rows:1, cols}, data=[3, 0, -2], axis=rows)",
            "[1, 3]",
            np.stack([X[:, 3, 0], X[:, 0, 1], X[:, 2, 2]], axis=-1)[:, None],
        ),
        (
            "gatherND(shape={picks:2}, coords=[cols, rows], data=[2, 0, 1, -1])",
            "[2]",
            np.stack([X[:, 0, 2], X[:, 3, 1]], axis=-1),
        ),
        ("gatherND(data=[3, 1])", "[2, 3]", X[:, [3, 1]]),
        ("gatherND(shape=[2], data=[3, 1, 0, 2])", "[2]", X[:, [3, 0], [1, 2]]),
        ("gatherND(shape=[1, 2], coords=[cols], data=[0, 2])", "[1, 2, 4]",
         np.moveaxis(X[:, :, [0, 2]], 2, 1)[:, None]),
    ],
    ids=str,
)  # fmt: skip
def test_constant_indices(layers: str, output: str, expected: Any) -> None:
    found = compute(layers, X, input=ROWS, output=output)
    np.testing.assert_array_equal(found, expected)


def test_constant_indices_hold_for_every_step() -> None:
    x = batch(2, 5, 4, 3)
    layers = "gatherND(shape={picks:2}, coords=[cols], data=[0, 2])"
    found = compute(layers, x, input=ROWS, output="[2, 4]", sequence="sequence=true")
    np.testing.assert_array_equal(found, np.moveaxis(x[..., [0, 2]], 3, 2))


INDEX = np.asarray([[[1, 0, 2], [3, 3, -1]], [[0, 0, 0], [9, 1, 2]]])
CLEAN = np.asarray([[[1, 0, 2], [3, 3, 3]], [[0, 0, 0], [3, 1, 2]]])


def index_rows(layers: str, index: Any, index_shape: str, output: str, **feeds: Any) -> Any:
    """Return what layers make of rows and an index tensor of their own for every sample."""
    blocks = "".join(
        f"{name}:input shape={list(np.shape(value)[1:])}; " for name, value in feeds.items()
    )
    text = (
        f"m:input shape={ROWS}; m:output shape={output}; i:input int32 shape={index_shape};"
        f"{blocks} m:layers {layers};"
    )
    return np.asarray(run(text, {"m": X, "i": index, **feeds}))


def test_elements_by_an_index_tensor() -> None:
    found = index_rows("gatherElements(indices=i:input, axis=rows)", INDEX, "[2, 3]", "[2, 3]")
    np.testing.assert_array_equal(found, np.take_along_axis(X, CLEAN, axis=1))


def test_elements_replaced_by_an_index_tensor() -> None:
    updates = -1 - batch(2, 2, 3)
    layers = "scatterElements(u:input, indices=i:input, axis=rows)"
    found = index_rows(layers, INDEX, "[2, 3]", "[4, 3]", u=updates)
    expected = X.copy()
    np.put_along_axis(expected, CLEAN, updates, axis=1)
    np.testing.assert_array_equal(found, expected)


def test_slices_by_an_index_tensor() -> None:
    index = np.asarray([[[2, 0], [1, 3]], [[-1, 0], [0, 9]]])
    found = index_rows("gatherND(indices=i:input, coords=[cols, rows])", index, "[2, 2]", "[2]")
    assert found.tolist() == [[X[0, 0, 2], X[0, 3, 1]], [X[1, 0, 2], X[1, 3, 0]]]


def test_slices_replaced_by_an_index_tensor() -> None:
    index, updates = np.asarray([[[1], [1]], [[0], [-1]]]), -1 - batch(2, 2, 3)
    found = index_rows("scatterND(u:input, indices=i:input)", index, "[2, 1]", "[4, 3]", u=updates)
    expected = X.copy()
    expected[0, 1], expected[1, 0], expected[1, 3] = updates[0, 1], updates[1, 0], updates[1, 1]
    np.testing.assert_array_equal(found, expected)


def test_the_last_of_repeated_constant_indices_wins() -> None:
    text = f"""
    m:input shape={ROWS}; m:output shape={ROWS}; u:input shape=[2, 3];
    m:layers scatterElements(u:input, shape={{rows:2, cols}}, data=[0, 1, 2, 0, 3, 2], axis=rows);
    """
    updates = -1 - batch(2, 2, 3)
    expected = X.copy()
    expected[:, 0, 0], expected[:, 1, 1], expected[:, 3, 1], expected[:, 2, 2] = (
        updates[:, 1, 0],
        updates[:, 0, 1],
        updates[:, 1, 1],
        updates[:, 1, 2],
    )
    np.testing.assert_array_equal(run(text, {"m": X, "u": updates}), expected)


def test_cells_replaced_at_constant_coordinates() -> None:
    layers = "scatterND(c, shape={picks:2}, coords=[cols], data=[2, 0])"
    found = compute(layers, X, "c [2, 4] [1,2,3,4,5,6,7,8];", input=ROWS, output="[4, 3]")
    expected = X.copy()
    expected[:, :, 2], expected[:, :, 0] = [1, 2, 3, 4], [5, 6, 7, 8]
    np.testing.assert_array_equal(found, expected)


def test_a_constant_of_indices_is_one_for_all_samples() -> None:
    layers = "gatherElements(indices=i, axis=cols)"
    found = compute(layers, X, "i int32 [4, 1] [0, 1, 2, 0];", input=ROWS, output="[4, 1]")
    np.testing.assert_array_equal(found[..., 0], X[:, range(4), [0, 1, 2, 0]])


def test_steps_chosen_for_every_sample() -> None:
    text = """
    m:input shape=[3] sequence=true; m:output shape=[2, 3]; i:input int32 shape=[2];
    m:layers gather(indices=i:input, axis=sequence);
    """
    x, index = batch(2, 5, 3), [[4, 0], [-1, 9]]
    found = np.asarray(run(text, {"m": x, "i": index}, {"sequence": 5}))
    np.testing.assert_array_equal(found, [x[0, [4, 0]], x[1, [4, 4]]])


# Sequences made.


def test_numbers_in_equal_steps() -> None:
    text = """
    m:input shape=[4]; m:output shape=[2, 2];
    m:layers fillSequence(shape={a:2, b:2}, start=1, delta=0.5), add(0);
    """
    assert run(text, {"m": [[0, 0, 0, 0]]}) == [[1, 1.5], [2, 2.5]]
    assert operators(text) == ["fillSequence", "add"]


def test_positions_of_a_sequence() -> None:
    text = """
    m:input shape=[3] sequence=true; m:output int32 shape=[] sequence=true;
    m:layers fillSequence(like=m:input, start=1, delta=2, dataType=int32);
    """
    assert run(text, {"m": np.zeros((2, 4, 3))}, {"sequence": 4}) == [[1, 3, 5, 7]] * 2


def test_positions_join_the_flow() -> None:
    text = """
    m:input shape=[2] sequence=true; m:output shape=[2] sequence=true;
    m:layers fillSequence(like=m:input), unsqueeze(axes=[0]), add(m:input);
    """
    x = batch(2, 4, 2)
    found = run(text, {"m": x}, {"sequence": 4})
    np.testing.assert_array_equal(found, x + np.arange(4.0)[:, None])


def test_a_value_for_every_step() -> None:
    text = """
    m:input shape=[2]; m:output shape=[2] sequence=words;
    w:input shape=[2] sequence=words;
    m:layers repeatSequence(like=w:input), add(w:input);
    """
    x, w = batch(2, 2), batch(2, 3, 2)
    found = run(text, {"m": x, "w": w}, {"words": 3})
    np.testing.assert_array_equal(found, x[:, None] + w)


def test_a_value_for_so_many_steps() -> None:
    text = "m:input shape=[2]; m:output shape=[2]; m:layers repeatSequence(length=3);"
    assert run(text, {"m": [[1, 2]]}) == [[[1, 2]] * 3]
    assert network(text).layers[-1].features[0].sequence == "sequence"
