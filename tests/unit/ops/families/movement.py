"""Random cases of the operators that move data: boxes, paddings, splits, indices, resampling."""

from __future__ import annotations

from math import prod
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.unit.ops.families import Drawn
from webnnm.core.dtypes import DataType
from webnnm.core.shapes import Shape

sizes = st.integers(1, 4)
float_types: SearchStrategy[DataType] = st.sampled_from(("float32", "float32", "float16"))
index_types: SearchStrategy[DataType] = st.sampled_from(("int32", "int32", "uint32", "int64"))


def shapes(least: int = 0, most: int = 5) -> SearchStrategy[Shape]:
    """Draw shapes of so many dimensions."""
    return st.lists(sizes, min_size=least, max_size=most).map(tuple)


def axis_of(shape: Shape) -> SearchStrategy[int]:
    """Draw an axis, counted from either end."""
    return st.integers(-len(shape), len(shape) - 1)


@st.composite
def pad(draw: DrawFn) -> Drawn:
    shape = draw(shapes(most=6))
    mode = draw(st.sampled_from(("constant", "edge", "reflection", "symmetric")))
    most = {"reflection": -1, "symmetric": 0}.get(mode, 2)
    sides = [
        tuple(draw(st.integers(0, min(size + most, 3) if most < 1 else 2)) for size in shape)
        for _ in range(2)
    ]
    options: dict[str, Any] = {"beginning_padding": sides[0], "ending_padding": sides[1]}
    if mode == "constant":
        options["value"] = draw(st.sampled_from((0.0, 1.5, -2.0)))
    return Drawn("pad", (shape,), options | {"mode": mode})


@st.composite
def box(draw: DrawFn) -> Drawn:
    shape = draw(shapes(most=6))
    starts = [draw(st.integers(0, size - 1)) for size in shape]
    lengths = [
        draw(st.integers(1, size - start)) for size, start in zip(shape, starts, strict=True)
    ]
    options: dict[str, Any] = {"starts": starts, "sizes": lengths}
    if draw(st.booleans()):
        options["strides"] = [draw(st.integers(1, 3)) for _ in shape]
    return Drawn("slice", (shape,), options)


@st.composite
def parts(draw: DrawFn) -> Drawn:
    shape = draw(shapes(least=1))
    axis = draw(axis_of(shape))
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    splits: Any = lengths
    if draw(st.booleans()):
        splits = len(lengths)
        lengths = lengths[:1] * splits
    whole = list(shape)
    whole[axis] = sum(lengths)
    return Drawn("split", (tuple(whole),), {"splits": splits, "axis": axis})


@st.composite
def concatenate(draw: DrawFn) -> Drawn:
    shape = draw(shapes(least=1))
    axis = draw(axis_of(shape)) % len(shape)
    lengths = draw(st.lists(sizes, min_size=1, max_size=4))
    operands = tuple((*shape[:axis], length, *shape[axis + 1 :]) for length in lengths)
    return Drawn("concat", operands, {"axis": axis})


@st.composite
def reshape(draw: DrawFn) -> Drawn:
    shape = draw(shapes())
    name = draw(st.sampled_from(("reshape", "flatten", "squeeze", "unsqueeze", "repeatSequence")))
    if name == "reshape":
        return Drawn(name, (shape,), {"new_shape": draw(st.permutations(shape))})
    if name == "flatten":
        return Drawn(name, (shape,), {"axis": draw(st.integers(-len(shape), len(shape)))})
    if name == "squeeze":
        ones = [axis for axis, size in enumerate(shape) if size == 1]
        given = draw(
            st.none() | st.lists(st.sampled_from(ones), unique=True) if ones else st.none()
        )
        return Drawn(name, (shape,), {"axes": given})
    if name == "unsqueeze":
        count = draw(st.integers(1, 3))
        places = st.integers(0, len(shape) + count - 1)
        axes = draw(st.lists(places, unique=True, min_size=count, max_size=count))
        return Drawn(name, (shape,), {"axes": axes})
    return Drawn(name, ((2, *shape[:4]),), {"length": draw(sizes)})


@st.composite
def repeat(draw: DrawFn) -> Drawn:
    shape = draw(shapes(most=4))
    if draw(st.booleans()):
        times = [draw(st.integers(1, 3)) for _ in shape]
        return Drawn("tile", (shape,), {"repetitions": times})
    narrow = tuple(size if draw(st.booleans()) else 1 for size in shape)
    dropped = draw(st.integers(0, len(shape)))
    return Drawn("expand", (narrow[dropped:],), {"new_shape": shape})


@st.composite
def reorder(draw: DrawFn) -> Drawn:
    shape = draw(shapes())
    axes = draw(st.none() | st.lists(st.integers(0, max(0, len(shape) - 1)), unique=True))
    return Drawn("reverse", (shape,), {"axes": axes if shape else None})


@st.composite
def resample(draw: DrawFn) -> Drawn:
    shape = tuple(draw(st.integers(1, 5)) for _ in range(4))
    axes = draw(st.permutations(range(4)))[:2]
    options: dict[str, Any] = {
        "axes": axes,
        "mode": draw(st.sampled_from(("nearest-neighbor", "linear"))),
    }
    if draw(st.booleans()):
        options["sizes"] = [draw(st.integers(1, 7)) for _ in axes]
    else:
        options["scales"] = [draw(st.sampled_from((1.0, 1.5, 2.0))) for _ in axes]
    return Drawn("resample2d", (shape,), options)


@st.composite
def indices_into(draw: DrawFn, dtype: DataType, bounds: list[int]) -> list[int]:
    """Draw indices, one for each bound; some are out of range, some count from the end."""
    return [
        draw(
            st.integers(0 if dtype == "uint32" else -size - 2, size + 1) | st.integers(0, size - 1)
        )
        for size in bounds
    ]


@st.composite
def pick(draw: DrawFn) -> Drawn:
    shape, index = draw(shapes(least=1, most=4)), draw(shapes(most=2))
    axis = draw(axis_of(shape))
    dtypes = (draw(float_types), draw(index_types))
    values = draw(indices_into(dtypes[1], [shape[axis]] * prod(index)))
    return Drawn("gather", (shape, index), {"axis": axis}, dtypes, (None, values))


@st.composite
def elements(draw: DrawFn) -> Drawn:
    shape = draw(shapes(least=1, most=4))
    axis = draw(axis_of(shape)) % len(shape)
    index = (*shape[:axis], draw(sizes), *shape[axis + 1 :])
    dtypes = (draw(float_types), draw(index_types))
    values = draw(indices_into(dtypes[1], [shape[axis]] * prod(index)))
    if draw(st.booleans()):
        return Drawn("gatherElements", (shape, index), {"axis": axis}, dtypes, (None, values))
    dtypes = (*dtypes, dtypes[0])
    operands = (shape, index, index)
    return Drawn("scatterElements", operands, {"axis": axis}, dtypes, (None, values))


@st.composite
def slices(draw: DrawFn) -> Drawn:
    shape = draw(shapes(least=1, most=4))
    count = draw(st.integers(1, len(shape)))
    lines = draw(shapes(most=2))
    dtypes = (draw(float_types), draw(index_types))
    values = draw(indices_into(dtypes[1], list(shape[:count]) * prod(lines)))
    operands = (shape, (*lines, count))
    if draw(st.booleans()):
        return Drawn("gatherND", operands, {}, dtypes, (None, values))
    operands = (*operands, (*lines, *shape[count:]))
    return Drawn("scatterND", operands, {}, (*dtypes, dtypes[0]), (None, values))


def cases() -> SearchStrategy[Drawn]:
    """Draw a case of any of these operators."""
    return st.one_of(
        pad(),
        box(),
        parts(),
        concatenate(),
        reshape(),
        repeat(),
        reorder(),
        resample(),
        pick(),
        elements(),
        slices(),
    )
