"""Random cases of the normalisations, and of dropout outside training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.unit.ops.families import Drawn
from webnnm.core.shapes import Shape

sizes = st.integers(1, 4)
epsilons = st.sampled_from((1e-5, 1e-3, 0.5))


def shapes(least: int, most: int) -> SearchStrategy[Shape]:
    """Draw shapes of so many dimensions."""
    return st.lists(sizes, min_size=least, max_size=most).map(tuple)


@st.composite
def given(draw: DrawFn, *allowed: Shape) -> tuple[Shape | None, Shape | None]:
    """Draw the shapes of two optional operands, None where one is absent."""
    either = st.sampled_from((None, *allowed))
    return draw(either), draw(either)


def pick(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return the sizes of some axes."""
    return tuple(shape[axis] for axis in axes)


@st.composite
def some_axes(draw: DrawFn, shape: Shape) -> list[int]:
    """Draw distinct axes in any order."""
    return draw(st.lists(st.integers(0, len(shape) - 1), unique=True, max_size=len(shape)))


@st.composite
def layer(draw: DrawFn) -> Drawn:
    shape = draw(shapes(1, 5))
    axes = draw(some_axes(shape))
    options: dict[str, Any] = {"axes": axes, "epsilon": draw(epsilons)}
    name = draw(st.sampled_from(("layerNormalization", "rmsNorm")))
    more = draw(given(pick(shape, axes)))
    return Drawn(name, (shape, *more[: 1 if name == "rmsNorm" else 2]), options)


@st.composite
def batch(draw: DrawFn) -> Drawn:
    shape = draw(shapes(1, 5))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    channels = (shape[axis],)
    options: dict[str, Any] = {"axis": axis, "epsilon": draw(epsilons)}
    operands = (shape, channels, channels, *draw(given(channels)))
    return Drawn("batchNormalization", operands, options, low=0.1)


@st.composite
def instance(draw: DrawFn) -> Drawn:
    shape = draw(shapes(4, 4))
    layout = draw(st.sampled_from(("nchw", "nhwc")))
    channels = (shape[layout.index("c")],)
    options: dict[str, Any] = {"layout": layout, "epsilon": draw(epsilons)}
    return Drawn("instanceNormalization", (shape, *draw(given(channels))), options)


@st.composite
def group(draw: DrawFn) -> Drawn:
    groups, each = draw(sizes), draw(sizes)
    channels = (groups * each,)
    shape = (draw(sizes), *channels, *draw(shapes(0, 3)))
    options: dict[str, Any] = {"groups": groups, "epsilon": draw(epsilons)}
    return Drawn("groupNormalization", (shape, *draw(given(channels))), options)


@st.composite
def mean_variance(draw: DrawFn) -> Drawn:
    shape = draw(shapes(1, 4))
    axes = draw(some_axes(shape))
    others = [axis for axis in range(len(shape)) if axis not in axes]
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    statistics = draw(given(pick(shape, others), kept))
    rest = draw(given(pick(shape, axes), shape, (1,)))
    options: dict[str, Any] = {"axes": axes, "epsilon": draw(epsilons)}
    return Drawn("meanVarianceNormalization", (shape, *statistics, *rest), options, low=0.1)


@st.composite
def dropout(draw: DrawFn) -> Drawn:
    share = draw(st.floats(0, 1, exclude_min=True, exclude_max=True))
    return Drawn("dropout", (draw(shapes(0, 4)),), {"p": share})


def cases() -> SearchStrategy[Drawn]:
    """Draw one case of the family."""
    return st.one_of(layer(), batch(), instance(), group(), mean_variance(), dropout())
