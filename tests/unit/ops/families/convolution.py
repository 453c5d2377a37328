"""Convolutions and pools of random images, filters, layouts and steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.unit.ops.families import Drawn
from webnnm.ops.declare.letters import FILTER_LAYOUTS, TRANSPOSED_FILTER_LAYOUTS, order
from webnnm.ops.declare.spatial import INPUT_LAYOUTS
from webnnm.ops.declare.tensors import OperatorError
from webnnm.ops.pool2d import OPTIONS, pool_windows

DTYPES = ("float32", "float16")


def cases() -> SearchStrategy[Drawn]:
    """Return random calls of every convolution and pool."""
    return st.one_of(convolutions(), transpose(), rows(), longer_rows(), pools(), means())


def few(low: int, high: int) -> SearchStrategy[int]:
    return st.integers(low, high)


def pairs(low: int, high: int) -> SearchStrategy[tuple[int, int]]:
    return st.tuples(few(low, high), few(low, high))


def arrange(letters: str, layout: str, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return sizes that are given in one order of letters in the order of a layout."""
    return tuple(sizes[k] for k in order(letters, layout))


def cast(draw: st.DrawFn, count: int) -> tuple[Any, ...]:
    return (draw(st.sampled_from(DTYPES)),) * count


@st.composite
def convolutions(draw: st.DrawFn) -> Drawn:
    layout, letters = draw(st.sampled_from(INPUT_LAYOUTS)), draw(st.sampled_from(FILTER_LAYOUTS))
    groups, inner, outer = draw(few(1, 3)), draw(few(1, 2)), draw(few(1, 2))
    kernel, dilations = draw(pairs(1, 3)), draw(pairs(1, 2))
    padding = draw(st.tuples(*[few(0, 2)] * 4))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    sizes = [
        draw(few(max(1, span - sum(padding[2 * k : 2 * k + 2])), span + 4))
        for k, span in enumerate(spans)
    ]
    shapes = [
        arrange("nchw", layout, (draw(few(1, 2)), groups * inner, *sizes)),
        arrange("oihw", letters, (groups * outer, inner, *kernel)),
    ]
    if draw(st.booleans()):
        shapes.append((groups * outer,))
    options = {
        "padding": padding,
        "strides": draw(pairs(1, 3)),
        "dilations": dilations,
        "groups": groups,
        "input_layout": layout,
        "filter_layout": letters,
    }
    return Drawn("conv2d", tuple(shapes), options, cast(draw, len(shapes)))


@st.composite
def transpose(draw: st.DrawFn) -> Drawn:
    layout = draw(st.sampled_from(INPUT_LAYOUTS))
    letters = draw(st.sampled_from(TRANSPOSED_FILTER_LAYOUTS))
    groups, inner, outer = draw(few(1, 3)), draw(few(1, 2)), draw(few(1, 2))
    kernel, dilations, strides = draw(pairs(1, 3)), draw(pairs(1, 2)), draw(pairs(1, 3))
    sizes = draw(pairs(1, 4))
    padding: list[int] = []
    extra: list[int] = []
    base: list[int] = []
    for k in range(2):
        whole = (sizes[k] - 1) * strides[k] + (kernel[k] - 1) * dilations[k] + 1
        before = draw(few(0, min(2, whole - 1)))
        after = draw(few(0, min(2, whole - 1 - before)))
        padding += [before, after]
        extra.append(draw(few(0, strides[k] - 1)))
        base.append(whole - before - after)
    shapes = [
        arrange("nchw", layout, (draw(few(1, 2)), groups * inner, *sizes)),
        arrange("iohw", letters, (groups * inner, outer, *kernel)),
    ]
    if draw(st.booleans()):
        shapes.append((groups * outer,))
    options: dict[str, Any] = {
        "padding": tuple(padding),
        "strides": strides,
        "dilations": dilations,
        "groups": groups,
        "input_layout": layout,
        "filter_layout": letters,
    }
    if draw(st.booleans()):
        options["output_padding"] = tuple(extra)
    else:
        options["output_sizes"] = tuple(a + b for a, b in zip(base, extra, strict=True))
    return Drawn("convTranspose2d", tuple(shapes), options, cast(draw, len(shapes)))


@st.composite
def rows(draw: st.DrawFn) -> Drawn:
    layout, groups, outer = draw(st.sampled_from(("ncl", "nlc"))), draw(few(1, 2)), draw(few(1, 2))
    inner, kernel, dilation = draw(few(1, 2)), draw(few(1, 3)), draw(few(1, 2))
    padding = draw(pairs(0, 2))
    span = (kernel - 1) * dilation + 1
    length = draw(few(max(1, span - sum(padding)), span + 4))
    shapes = (
        arrange("ncl", layout, (draw(few(1, 2)), groups * inner, length)),
        (groups * outer, inner, kernel),
    )
    options = {
        "padding": padding,
        "strides": draw(few(1, 3)),
        "dilations": dilation,
        "groups": groups,
        "input_layout": layout,
    }
    return Drawn("conv1d", shapes, options, cast(draw, 2))


@st.composite
def longer_rows(draw: st.DrawFn) -> Drawn:
    layout, groups, outer = draw(st.sampled_from(("ncl", "nlc"))), draw(few(1, 2)), draw(few(1, 2))
    inner, kernel, dilation = draw(few(1, 2)), draw(few(1, 4)), draw(few(1, 2))
    length, stride = draw(few(1, 4)), draw(few(1, 3))
    most = (length - 1) * stride + (kernel - 1) * dilation
    before = draw(few(0, min(2, most)))
    padding = before, draw(few(0, min(2, most - before)))
    shapes = [
        arrange("ncl", layout, (draw(few(1, 2)), groups * inner, length)),
        (groups * inner, outer, kernel),
    ]
    if draw(st.booleans()):
        shapes.append((groups * outer,))
    options = {
        "padding": padding,
        "strides": stride,
        "dilations": dilation,
        "groups": groups,
        "input_layout": layout,
    }
    return Drawn("convTranspose1d", tuple(shapes), options, cast(draw, len(shapes)))


def pools() -> SearchStrategy[Drawn]:
    return _pools().filter(_has_real_cells)


@st.composite
def _pools(draw: st.DrawFn) -> Drawn:
    name = draw(st.sampled_from(("averagePool2d", "l2Pool2d", "maxPool2d")))
    layout = draw(st.sampled_from(INPUT_LAYOUTS))
    window, dilations, strides = draw(pairs(1, 3)), draw(pairs(1, 2)), draw(pairs(1, 3))
    padding = draw(st.tuples(*[few(0, 2)] * 4))
    sizes, counts = [], []
    for k in range(2):
        span, pads = (window[k] - 1) * dilations[k] + 1, sum(padding[2 * k : 2 * k + 2])
        size = draw(few(max(1, span - pads), span + 4))
        sizes.append(size)
        room = size + pads - span
        counts.append(draw(st.sampled_from((room, room + strides[k] - 1))) // strides[k] + 1)
    options: dict[str, Any] = {
        "window_dimensions": window,
        "padding": padding,
        "strides": strides,
        "dilations": dilations,
        "layout": layout,
    }
    if draw(st.booleans()):
        options["output_sizes"] = tuple(counts)
    else:
        options["output_shape_rounding"] = draw(st.sampled_from(("floor", "ceil")))
    shape = arrange("nchw", layout, (draw(few(1, 2)), draw(few(1, 3)), *sizes))
    low = 0.2 if name == "l2Pool2d" else -2.0
    return Drawn(name, (shape,), options, cast(draw, 1), low=low)


def _has_real_cells(drawn: Drawn) -> bool:
    defaults = {name: option.default for name, option in OPTIONS.items()}
    try:
        pool_windows(drawn.shapes[0], **{**defaults, **drawn.options})
    except OperatorError:
        return False
    return True


@st.composite
def means(draw: st.DrawFn) -> Drawn:
    shape = tuple(draw(few(1, 4)) for _ in range(4))
    options = {
        "layout": draw(st.sampled_from(INPUT_LAYOUTS)),
        "keep_dimensions": draw(st.booleans()),
    }
    return Drawn("globalAveragePool", (shape,), options, cast(draw, 1))
