"""Pools by their definition: padding, rounding, ties and zeros; how the notation writes them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.unit.graph.texts import calls, network, run
from tests.unit.ops.cases import np
from tests.unit.ops.test_convolution import apply_operator, draw
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate

REDUCTIONS = {
    "average_pool2d": np.mean,
    "l2_pool2d": lambda cells: np.sqrt(np.sum(cells * cells)),
    "max_pool2d": np.max,
}


def by_definition(name: str, x: Any, count: tuple[int, int], **options: Any) -> Any:
    """Reduce the real cells of every window of an `nchw` image."""
    top, _, left, _ = options["padding"]
    (sy, sx), (dy, dx) = options["strides"], options["dilations"]
    rows, columns = options["window_dimensions"]
    y = np.zeros((*x.shape[:2], *count))
    for n, c, i, j in itertools.product(*map(range, y.shape)):
        cells = [
            x[n, c, i * sy + k * dy - top, j * sx + m * dx - left]
            for k in range(rows)
            for m in range(columns)
            if 0 <= i * sy + k * dy - top < x.shape[2] and 0 <= j * sx + m * dx - left < x.shape[3]
        ]
        y[n, c, i, j] = REDUCTIONS[name](np.asarray(cells))
    return y


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    ("count", "options"),
    [
        ((5, 6), {}),
        ((6, 8), {"padding": (1, 0, 1, 1)}),
        ((3, 3), {"padding": (1, 0, 1, 0), "strides": (2, 3)}),
        ((4, 3), {"padding": (1, 0, 1, 0), "strides": (2, 3), "output_shape_rounding": "ceil"}),
        ((4, 3), {"padding": (1, 1, 0, 0), "strides": (2, 3), "output_sizes": (4, 3)}),
        ((5, 5), {"dilations": (2, 3), "padding": (1, 0, 0, 1)}),
    ],
    ids=str,
)
def test_pools_reduce_the_real_cells(
    name: str, count: tuple[int, int], options: dict[str, Any]
) -> None:
    x = draw(1, 2, 2, 6, 7) - 2  # all negative: a padding of zeros would win every maximum
    given = {"padding": (0, 0, 0, 0), "strides": (1, 1), "dilations": (1, 1), **options}
    given["window_dimensions"] = (2, 2)
    expected = by_definition(name, x, count, **given)
    np.testing.assert_allclose(apply_operator(name, x, **given), expected, atol=1e-12)
    turned = apply_operator(name, np.moveaxis(x, 1, 3), layout="nhwc", **given)
    np.testing.assert_allclose(np.moveaxis(turned, 3, 1), expected, atol=1e-12)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_window_is_the_whole_image_by_default(name: str) -> None:
    x = draw(1, 2, 3, 4, 5)
    found = apply_operator(name, x)
    assert found.shape == (2, 3, 1, 1)
    assert found[1, 2, 0, 0] == pytest.approx(REDUCTIONS[name](x[1, 2]), rel=1e-12)


def test_integers_have_maxima() -> None:
    b = GraphBuilder()
    x = b.input("x", "int8", [1, 1, 2, 3])
    y = b.max_pool2d(x, window_dimensions=(2, 2), padding=(0, 0, 1, 0))
    assert y.dtype == "int8"
    found = evaluate(b.build({"y": y}), {"x": [[[[-7, -128, 3], [-9, -5, 1]]]]})["y"]
    assert found.tolist() == [[[[-7, -5, 3]]]]


def gradient(name: str, x: Any, g: Any, **options: Any) -> Any:
    """Return the gradient of Σ g·pool(x) for one image of one channel."""
    b = GraphBuilder()
    image = np.asarray(x, dtype="float32")[None, None]
    operand = b.input("x", "float32", image.shape)
    y = getattr(b, name)(operand, **options)
    (dx,) = gradients(b.reduce_sum(y * b.constant(np.asarray(g, "float32"))), [operand])
    return evaluate(b.build({"dx": dx}), {"x": image})["dx"][0, 0].tolist()


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([[5, 5], [5, 5]], [[1, 0], [0, 0]]),
        ([[1, 5], [5, 5]], [[0, 1], [0, 0]]),
        ([[1, 2], [5, 5]], [[0, 0], [1, 0]]),
        ([[5, 1], [5, 5]], [[1, 0], [0, 0]]),
        ([[1, 5], [5, 1]], [[0, 1], [0, 0]]),
        ([[-1, -1], [-1, -2]], [[1, 0], [0, 0]]),
        ([[float("-inf"), float("-inf")], [float("-inf"), -9]], [[0, 0], [0, 1]]),
    ],
)
def test_gradient_goes_to_the_first_maximum_row_by_row(x: Any, expected: Any) -> None:
    assert gradient("max_pool2d", x, 1) == expected


def to_first_maxima(x: Any, weights: Any, **options: Any) -> Any:
    """Return the gradient of a weighted sum of maxima: of each, to the first cell that has it."""
    (rows, columns), (sy, sx) = options["window_dimensions"], options.get("strides", (1, 1))
    (dy, dx), (top, _, left, _) = options.get("dilations", (1, 1)), options.get("padding", (0,) * 4)
    found = np.zeros(x.shape)
    for i, j in itertools.product(*map(range, weights.shape)):
        cells = [
            (row, column)
            for row in range(i * sy - top, i * sy - top + rows * dy, dy)
            for column in range(j * sx - left, j * sx - left + columns * dx, dx)
            if 0 <= row < x.shape[0] and 0 <= column < x.shape[1]
        ]
        found[max(cells, key=lambda cell: x[cell])] += weights[i, j]
    return found


@pytest.mark.parametrize(
    "options",
    [
        # Cell by cell:
        {"window_dimensions": (2, 2), "strides": (2, 2)},
        {"window_dimensions": (2, 1), "strides": (3, 2)},  # cells between the windows
        {"window_dimensions": (3, 3), "padding": (1, 1, 1, 1)},
        {"window_dimensions": (3, 2), "padding": (1, 1, 1, 0), "strides": (2, 2)},
        {"window_dimensions": (2, 3), "strides": (2, 3), "output_shape_rounding": "ceil"},
        {"window_dimensions": (2, 2), "dilations": (3, 2), "strides": (2, 1)},
        {"window_dimensions": (3, 4), "dilations": (1, 2), "padding": (2, 0, 1, 3)},
        # Axis by axis:
        {"window_dimensions": (5, 4), "padding": (2, 2, 2, 1), "strides": (2, 2)},
        {"window_dimensions": (4, 5), "dilations": (2, 1), "strides": (1, 3)},
        {"window_dimensions": (6, 3), "strides": (5, 4), "output_shape_rounding": "ceil"},
        # Axis by axis, all places of an axis at once:
        {"window_dimensions": (11, 10), "padding": (5, 5, 5, 4), "strides": (2, 2)},
    ],
    ids=str,
)
def test_gradient_goes_to_the_first_of_equal_maxima_of_windows_of_any_size(
    options: dict[str, Any],
) -> None:
    x = np.random.default_rng(5).integers(0, 4, (8, 9))
    shape = apply_operator("max_pool2d", x[None, None], **options).shape[2:]
    weights = np.arange(1, 1 + math.prod(shape)).reshape(shape)
    found = gradient("max_pool2d", x, weights, **options)
    assert found == to_first_maxima(x, weights, **options).tolist()


def test_gradient_of_infinite_maxima_is_finite() -> None:
    infinite = float("inf")
    x = [[infinite, 1], [infinite, -infinite]]
    assert gradient("max_pool2d", x, 3) == [[3, 0], [0, 0]]


def test_gradients_of_overlapping_maxima_add_up() -> None:
    x = [[0, 0, 0], [0, 9, 0], [0, 0, 0]]
    found = gradient("max_pool2d", x, [[1, 2], [3, 4]], window_dimensions=(2, 2))
    assert found == [[0, 0, 0], [0, 10, 0], [0, 0, 0]]


def test_ties_with_padding_are_won_by_real_cells() -> None:
    options = {"window_dimensions": (2, 2), "padding": (1, 1, 1, 1), "strides": (2, 2)}
    found = gradient("max_pool2d", [[0, 0], [0, 0]], [[1, 2], [3, 4]], **options)
    assert found == [[1, 2], [3, 4]]
    found = gradient("max_pool2d", [[0, -1], [-1, 0]], [[1, 2], [3, 4]], **options)
    assert found == [[1, 2], [3, 4]]


def test_gradient_of_the_norm_is_0_at_0() -> None:
    found = gradient("l2_pool2d", [[0, 0, 3], [0, 0, 4]], [[5, 10]], window_dimensions=(2, 2))
    assert found == [[0, 0, 6], [0, 0, 8]]


def test_gradient_of_an_average_is_shared_by_the_real_cells() -> None:
    options = {"window_dimensions": (2, 2), "padding": (1, 0, 1, 0)}
    found = gradient("average_pool2d", [[1, 2], [3, 4]], [[4, 4], [4, 4]], **options)
    assert found == [[9, 3], [3, 1]]


def test_wide_windows_need_no_more_operators() -> None:
    b = GraphBuilder()
    sizes = []
    for width in (9, 30):
        x = b.input(f"x{width}", "float32", [1, 1, 40, 40])
        y = b.max_pool2d(x, window_dimensions=(width, width))
        (dx,) = gradients(b.reduce_sum(y), [x])
        sizes.append(len(list(b.build({"dx": dx}).nodes())))
    assert sizes[0] == sizes[1]


# The 2022 draft.


def test_automatic_padding_and_the_former_name_of_rounding() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [1, 1, 5, 7])
    given = {"window_dimensions": (2, 3), "strides": (2, 2)}
    upper = b.max_pool2d(x, auto_pad="same-upper", **given)
    assert upper == b.max_pool2d(x, padding=(0, 1, 1, 1), **given)
    lower = b.max_pool2d(x, auto_pad="same-lower", **given)
    assert lower == b.max_pool2d(x, padding=(1, 0, 1, 1), **given)
    former = b.max_pool2d(x, rounding_type="ceil", **given)
    assert former == b.max_pool2d(x, output_shape_rounding="ceil", **given)
    assert former.shape == (1, 1, 3, 3)


# The notation.

IMAGE = "{channels:3, height:8, width:6}"


@pytest.mark.parametrize(
    ("input", "layer", "output"),
    [
        (IMAGE, "averagePool2d()", "[3, 1, 1]"),
        (IMAGE, "averagePool2D(windowDimensions=2)", "[3, 7, 5]"),
        ("[3, 8, 6]", "maxPool2d(window=2, strides=2)", "[3, 4, 3]"),
        ("[8, 6, 3]", "maxPool2d(window=2, strides=2, layout=nhwc)", "[4, 3, 3]"),
        ("{height:8, width:6, channels:3}", "maxPool2d(window=[2, 1])", "[7, 6, 3]"),
        (IMAGE, "l2Pool2d(window={height:3, width:2}, strides=[2, 3])", "[3, 3, 2]"),
        (IMAGE, "maxPool2d(window=3, padding=1)", "[3, 8, 6]"),
        (IMAGE, "maxPool2d(window=3, padding=same, strides=4)", "[3, 2, 2]"),
        (IMAGE, "maxPool2d(window=3, paddingBeginning=[1, 2])", "[3, 7, 6]"),
        (IMAGE, "maxPool2d(window=3, paddingEnding={height:0, width:1})", "[3, 6, 5]"),
        (IMAGE, "maxPool2d(window=3, strides=2, roundingType=ceil)", "[3, 4, 3]"),
        (IMAGE, "maxPool2d(window=3, strides=2, outputSizes=[4, 2])", "[3, 4, 2]"),
        (IMAGE, "maxPool2d(window=2, dilations=[3, 2])", "[3, 5, 4]"),
        (IMAGE, "globalAveragePool()", "{channels:3}"),
        (IMAGE, "globalAveragePool(keepDimensions=true)", "[3, 1, 1]"),
        ("[8, 6, 3]", "globalAveragePool(layout=nhwc)", "[3]"),
        ("{height:8, channels:3, width:6}", "globalAveragePool(keepDimensions=true)", "[1, 3, 1]"),
    ],
    ids=str,
)
def test_shapes(input: str, layer: str, output: str) -> None:
    written = f"m:input shape={input}; m:output shape={output}; m:layers {layer};"
    assert "channels" in network(written).layers[0].features[0].names


def test_the_mean_of_channels_needs_no_transpose() -> None:
    for input in (IMAGE, "{height:8, width:6, channels:3}", "{height:8, channels:3, width:6}"):
        text = f"m:input shape={input}; m:output shape=[3]; m:layers globalAveragePool();"
        assert calls(text) == ["reduceMean"]


def test_pools_over_a_sequence_work_on_every_frame() -> None:
    frames = draw(1, 2, 5, 3, 4, 6)
    text = (
        "m:input shape=[3, 4, 6] sequence=true; m:output shape=[3, 2, 3] sequence=true;"
        "m:layers maxPool2d(window=2, strides=2);"
    )
    found = run(text, {"m": frames}, {"sequence": 5})
    options = {"window_dimensions": (2, 2), "strides": (2, 2)}
    each = [apply_operator("max_pool2d", frames[:, k], **options) for k in range(5)]
    np.testing.assert_allclose(found, np.stack(each, axis=1), rtol=1e-6)
