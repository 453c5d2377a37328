"""The rewrites around Chromium's convolutions and pools keep what is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.compiler.rewriting import names, out_of_traps
from tests.unit.ops.cases import CASES, build, np
from tests.unit.ops.families import some
from tests.unit.ops.families.convolution import cases
from webnnm.backends.reference import evaluate
from webnnm.compiler.traps.convolution import TRAPS
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand, OperatorNode

NAMES = frozenset[str]().union(*(trap.operators for trap in TRAPS))


def check(graph: Graph, feeds: dict[str, Any]) -> Graph:
    fitted = out_of_traps(graph, TRAPS)
    expected, found = (evaluate(g, feeds, wide=True) for g in (graph, fitted))
    for name, value in expected.items():
        # The shares of real cells are constants of the image's type.
        limit = 1e-3 if graph.outputs[name].dtype == "float16" else 1e-6
        np.testing.assert_allclose(found[name], value, rtol=limit, atol=limit)
    for node in fitted.nodes():
        if isinstance(node, OperatorNode) and node.operator.name in NAMES - {"conv2d"}:
            assert node.options["dilations"] == (1, 1)
            assert node.options.get("groups", 1) == 1
    return fitted


@pytest.mark.parametrize("case", [case for case in CASES if case.operator.name in NAMES], ids=str)
def test_samples_compute_the_same(case: Any) -> None:
    built = build(case)
    check(built.builder.build({"y": built.results[0]}), dict(built.feeds))


@pytest.mark.alike
def test_random_cases_compute_the_same() -> None:
    for drawn in some(cases, 150):
        if drawn.name in NAMES:
            built = build(drawn.case)
            check(built.builder.build({"y": built.results[0]}), dict(built.feeds))


def pool(name: str, **options: Any) -> list[str]:
    return make(lambda b, x: getattr(b, name)(x, **options))


def make(make: Callable[[GraphBuilder, Operand], Operand]) -> list[str]:
    """Return the operators of a legal graph over an image of one channel, 5 by 7."""
    b = GraphBuilder()
    x = b.input("x", "float32", [1, 1, 5, 7])
    values = np.random.default_rng(1).uniform(-2, -1, x.shape)
    return names(check(b.build({"y": make(b, x)}), {"x": values}))


@pytest.mark.parametrize("name", ["average_pool2d", "l2_pool2d", "max_pool2d"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"window_dimensions": (2, 3), "strides": (2, 2)},
        # Rounding up, and sizes, that say the same as rounding down.
        {"window_dimensions": (3, 3), "strides": (2, 2), "output_shape_rounding": "ceil"},
        {"window_dimensions": (2, 2), "strides": (2, 2), "output_sizes": (2, 3)},
        # Padding that no window sees.
        {"window_dimensions": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)},
    ],
    ids=str,
)
def test_harmless_pools_stay(name: str, options: dict[str, Any]) -> None:
    assert len(pool(name, **options)) == 1


def test_the_same_padding_of_litert_stays_but_for_norms() -> None:
    options = {"window_dimensions": (3, 3), "padding": (1, 1, 1, 1)}
    assert pool("max_pool2d", **options) == ["maxPool2d"]
    assert pool("average_pool2d", **options) == ["averagePool2d"]
    assert pool("l2_pool2d", **options) == ["pad", "l2Pool2d"]


@pytest.mark.parametrize(
    "options",
    [
        {"window_dimensions": (3, 3), "padding": (1, 0, 0, 1)},
        {"window_dimensions": (2, 2), "strides": (2, 2), "output_shape_rounding": "ceil"},
        {"window_dimensions": (2, 2), "strides": (2, 2), "output_sizes": (3, 4)},
    ],
    ids=str,
)
def test_padding_is_put_in_front_of_the_pool(options: dict[str, Any]) -> None:
    assert pool("max_pool2d", **options) == ["pad", "maxPool2d"]
    assert pool("average_pool2d", **options) == ["pad", "averagePool2d", "div"]


def test_transposed_convolutions() -> None:
    kernel = [[[[1.0, 2.0], [3.0, 4.0]]]]

    def turned(**options: Any) -> list[str]:
        return make(lambda b, x: b.conv_transpose2d(x, b.constant(kernel), **options))

    assert turned(strides=(2, 2), output_padding=(1, 1)) == ["convTranspose2d"]
    assert turned(padding=(1, 0, 0, 1)) == ["convTranspose2d", "slice"]
    assert turned(dilations=(2, 1)) == ["reverse", "transpose", "conv2d"]
    assert "convTranspose2d" not in turned(dilations=(2, 1), strides=(2, 1), padding=(1, 1, 1, 1))


def test_norms_of_dilated_halves_square_in_float32() -> None:
    b = GraphBuilder()
    x = b.input("x", "float16", [1, 1, 3, 3])
    y = b.l2_pool2d(x, window_dimensions=(2, 2), dilations=(2, 2), padding=(1, 1, 1, 1))
    values = np.float16([[[[571, -850, 3], [60000, 0, -1274], [0.5, -8, 900]]]])
    graph = b.build({"y": y})
    expected, found = (
        evaluate(g, {"x": values})["y"] for g in (graph, check(graph, {"x": values}))
    )
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=2e-3)


def test_maxima_of_padded_integers_start_from_the_least() -> None:
    b = GraphBuilder()
    x = b.input("x", "int32", [1, 1, 2, 2])
    graph = b.build({"y": b.max_pool2d(x, window_dimensions=(2, 2), padding=(1, 0, 1, 0))})
    fitted = out_of_traps(graph, TRAPS)
    assert "pad" in names(fitted)
    feeds = {"x": [[[[-5, -7], [-6, -8]]]]}
    assert evaluate(fitted, feeds)["y"].tolist() == evaluate(graph, feeds)["y"].tolist()


def convolve(size: tuple[int, int], window: tuple[int, int], **options: Any) -> list[str]:
    b = GraphBuilder()
    x = b.input("x", "float32", [1, *size, 1])
    kernel = b.constant(np.arange(1.0, 1 + window[0] * window[1]).reshape(1, *window, 1).tolist())
    layouts = {"input_layout": "nhwc", "filter_layout": "ohwi"}
    y = b.conv2d(x, kernel, bias=b.constant([0.5]), **layouts, **options)
    values = np.random.default_rng(2).normal(size=x.shape)
    return names(check(b.build({"y": y}), {"x": values}))


@pytest.mark.parametrize(
    ("size", "window", "options"),
    [
        ((2, 2), (2, 1), {"padding": (0, 1, 0, 0), "strides": (1, 2)}),
        ((2, 3), (1, 3), {"padding": (0, 0, 1, 1), "strides": (3, 1)}),
        ((2, 6), (3, 2), {"padding": (1, 1, 0, 0), "strides": (1, 4), "dilations": (1, 2)}),
    ],
)
def test_cells_that_no_window_reads_are_cut_off_where_others_are_padded(
    size: tuple[int, int], window: tuple[int, int], options: dict[str, Any]
) -> None:
    assert convolve(size, window, **options) == ["slice", "conv2d"]


def test_convolutions_that_read_all_or_have_no_padding_stay() -> None:
    assert convolve((4, 4), (3, 3), padding=(1, 1, 1, 1), strides=(2, 2)) == ["conv2d"]
    assert convolve((2, 2), (2, 1), strides=(1, 2)) == ["conv2d"]
