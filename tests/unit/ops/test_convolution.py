"""Convolutions by their definition, in every layout."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.unit.ops.cases import np
from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate
from webnnm.ops.declare.letters import FILTER_LAYOUTS, TRANSPOSED_FILTER_LAYOUTS, order
from webnnm.ops.declare.spatial import INPUT_LAYOUTS


def draw(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def apply_operator(name: str, *arrays: Any, **options: Any) -> Any:
    """Apply an operator to arrays, in float64."""
    b = GraphBuilder()
    xs = [b.input(f"x{i}", "float32", a.shape) for i, a in enumerate(arrays)]
    graph = b.build({"y": getattr(b, name)(*xs, **options)})
    return evaluate(graph, {f"x{i}": a for i, a in enumerate(arrays)}, wide=True)["y"]


def by_definition(x: Any, kernel: Any, steps: dict[str, Any], groups: int) -> Any:
    """The sum that defines a convolution, cell by cell, of `nchw` and `oihw`."""
    top, bottom, left, right = steps["padding"]
    x = np.pad(x, [(0, 0), (0, 0), (top, bottom), (left, right)])
    (sy, sx), (dy, dx) = steps["strides"], steps["dilations"]
    filters, inner, rows, columns = kernel.shape
    height = (x.shape[2] - (rows - 1) * dy - 1) // sy + 1
    width = (x.shape[3] - (columns - 1) * dx - 1) // sx + 1
    y = np.zeros((x.shape[0], filters, height, width))
    for n, o, i, j in itertools.product(*map(range, y.shape)):
        first = o // (filters // groups) * inner
        cells = x[n, first : first + inner, i * sy :: dy, j * sx :: dx][:, :rows, :columns]
        y[n, o, i, j] = np.sum(cells * kernel[o])
    return y


STEPS = [
    {"padding": (0, 0, 0, 0), "strides": (1, 1), "dilations": (1, 1)},
    {"padding": (1, 0, 2, 3), "strides": (1, 2), "dilations": (1, 1)},
    {"padding": (2, 2, 0, 1), "strides": (2, 3), "dilations": (2, 1)},
]


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolution_is_the_sum_over_windows(steps: dict[str, Any], groups: int) -> None:
    x, kernel = draw(1, 2, 4, 6, 5), draw(2, 8, 4 // groups, 3, 2)
    found = apply_operator("conv2d", x, kernel, groups=groups, **steps)
    np.testing.assert_allclose(found, by_definition(x, kernel, steps, groups), atol=1e-12)


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolution_is_the_adjoint(steps: dict[str, Any], groups: int) -> None:
    x, kernel = draw(1, 2, 4, 6, 5), draw(2, 6, 4 // groups, 3, 2)
    y = apply_operator("conv2d", x, kernel, groups=groups, **steps)
    cells = draw(3, *y.shape)
    back = apply_operator(
        "conv_transpose2d", cells, kernel, groups=groups, output_sizes=x.shape[2:], **steps
    )
    assert np.sum(y * cells) == pytest.approx(np.sum(x * back), rel=1e-12)


@pytest.mark.parametrize("layout", INPUT_LAYOUTS)
@pytest.mark.parametrize(
    ("name", "letters"),
    [
        *(("conv2d", letters) for letters in FILTER_LAYOUTS),
        *(("conv_transpose2d", letters) for letters in TRANSPOSED_FILTER_LAYOUTS),
    ],
)
def test_layouts_only_move_numbers(name: str, letters: str, layout: str) -> None:
    own = "oihw" if name == "conv2d" else "iohw"
    x, kernel, bias = draw(1, 1, 4, 5, 3), draw(2, 4, 2, 2, 3), draw(3, 4)
    given = {"groups": 2 if name == "conv2d" else 1, "strides": (2, 1)}
    bias = bias[: 4 if name == "conv2d" else 2]
    expected = apply_operator(name, x, kernel, bias, **given)
    found = apply_operator(
        name,
        np.transpose(x, order("nchw", layout)),
        np.transpose(kernel, order(own, letters)),
        bias,
        input_layout=layout,
        filter_layout=letters,
        **given,
    )
    np.testing.assert_allclose(np.transpose(found, order(layout, "nchw")), expected, atol=1e-12)


def test_large_padding_sees_zeros_alone() -> None:
    x, kernel = np.ones((1, 1, 1, 1)), np.ones((1, 1, 1, 1))
    assert apply_operator("conv2d", x, kernel, padding=(1, 1, 2, 0)).tolist() == [
        [[[0, 0, 0], [0, 0, 1], [0, 0, 0]]]
    ]


# The 2022 draft.


@pytest.mark.parametrize(("mode", "padding"), [("upper", (0, 1, 1, 1)), ("lower", (1, 0, 1, 1))])
def test_automatic_padding_of_convolutions(mode: str, padding: tuple[int, ...]) -> None:
    b = GraphBuilder()
    x, kernel = b.input("x", "float32", [1, 1, 4, 5]), b.input("k", "float32", [1, 1, 2, 3])
    y = b.conv2d(x, kernel, auto_pad=f"same-{mode}", padding=(9, 9, 9, 9))
    assert y == b.conv2d(x, kernel, padding=padding)
    strided = b.conv2d(x, kernel, auto_pad=f"same-{mode}", strides=(2, 2))
    assert strided.shape == (1, 1, 2, 3)
    assert b.conv2d(x, kernel, auto_pad="explicit") == b.conv2d(x, kernel)


@pytest.mark.parametrize("mode", ["same-upper", "same-lower"])
@pytest.mark.parametrize(("kernel", "strides"), [((3, 3), (2, 2)), ((2, 1), (3, 1))])
def test_automatic_padding_makes_transposed_convolutions_grow_by_the_strides(
    mode: str, kernel: tuple[int, int], strides: tuple[int, int]
) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [1, 1, 4, 5])
    y = b.conv_transpose2d(
        x, b.input("k", "float32", [1, 1, *kernel]), auto_pad=mode, strides=strides
    )
    assert y.shape == (1, 1, 4 * strides[0], 5 * strides[1])


def test_fused_activations_follow_the_convolution() -> None:
    b = GraphBuilder()
    x, kernel = b.input("x", "float32", [1, 1, 4, 5]), b.input("k", "float32", [1, 1, 2, 3])
    plain = b.conv2d(x, kernel)
    assert b.conv2d(x, kernel, activation=b.relu()) == b.relu(plain)
    assert b.conv2d(x, kernel, activation="tanh") == b.tanh(plain)
    turned = b.conv_transpose2d(x, kernel, activation=b.relu())
    assert turned == b.relu(b.conv_transpose2d(x, kernel))
