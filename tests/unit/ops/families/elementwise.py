"""Random cases of activations, logic, searches along an axis, running sums, quantisation."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.unit.ops.families import Drawn
from tests.unit.ops.families.core import broadcastable, shapes
from webnnm.core.shapes import Shape, count

SMOOTH = ("gelu", "softplus", "sigmoid", "tanh", "erf")
KINKED: dict[str, tuple[float, ...]] = {
    "relu": (0.0,),
    "elu": (0.0,),
    "leakyRelu": (0.0,),
    "softsign": (0.0,),
    "hardSwish": (-3.0, 3.0),
}
numbers = st.sampled_from((-1.5, -0.5, 0.25, 1.0, 2.0))


@st.composite
def activation(draw: DrawFn) -> Drawn:
    name = draw(st.sampled_from((*SMOOTH, *KINKED)))
    takes_alpha = name in ("elu", "leakyRelu") and draw(st.booleans())
    options = {"alpha": draw(numbers)} if takes_alpha else {}
    return Drawn(name, (draw(shapes()),), options, kinks=KINKED.get(name, ()))


@st.composite
def straight(draw: DrawFn) -> Drawn:
    shape = draw(shapes())
    if draw(st.booleans()):
        return Drawn("linear", (shape,), {"alpha": draw(numbers), "beta": draw(numbers)})
    if draw(st.booleans()):
        alpha, beta = draw(numbers), draw(numbers)
        options = {"alpha": alpha, "beta": beta}
        return Drawn("hardSigmoid", (shape,), options, kinks=(-beta / alpha, (1 - beta) / alpha))
    low, high = sorted((draw(numbers), draw(numbers)))
    options = {"min_value": low, "max_value": high}
    if draw(st.booleans()):
        del options[draw(st.sampled_from(tuple(options)))]
    return Drawn("clamp", (shape,), options, kinks=tuple(options.values()))


@st.composite
def slope(draw: DrawFn) -> Drawn:
    return Drawn("prelu", draw(broadcastable(2)), kinks=(0.0,))


@st.composite
def logic(draw: DrawFn) -> Drawn:
    name = draw(st.sampled_from(("logicalAnd", "logicalOr", "logicalXor", "logicalNot")))
    drawn = draw(broadcastable(1 if name == "logicalNot" else 2))
    values = tuple(draw(_several(st.integers(0, 2), shape)) for shape in drawn)
    return Drawn(name, drawn, dtypes=("uint8",) * len(drawn), values=values)


@st.composite
def special(draw: DrawFn) -> Drawn:
    shape = draw(shapes())
    found = draw(_several(st.sampled_from((math.nan, math.inf, -math.inf, 0.0, -1.5)), shape))
    name = draw(st.sampled_from(("isNaN", "isInfinite")))
    return Drawn(name, (shape,), dtypes=("float32",), values=(found,))


@st.composite
def along_an_axis(draw: DrawFn) -> Drawn:
    shape = draw(shapes(least=1))
    name = draw(st.sampled_from(("argMax", "argMin", "cumulativeSum", "squaremax")))
    options: dict[str, Any] = {"axis": draw(st.integers(-len(shape), len(shape) - 1))}
    if name.startswith("arg"):
        options["keep_dimensions"] = draw(st.booleans())
        options["output_data_type"] = draw(st.sampled_from(("int32", "int64")))
        # Few numbers have ties, of which the first is found.
        values = (draw(_several(st.integers(0, 2), shape)),) if draw(st.booleans()) else ()
        return Drawn(name, (shape,), options, dtypes=("float32",), values=values)
    if name == "cumulativeSum":
        options |= {"exclusive": draw(st.booleans()), "reversed": draw(st.booleans())}
    return Drawn(name, (shape,), options)


@st.composite
def triangle(draw: DrawFn) -> Drawn:
    options = {"upper": draw(st.booleans()), "diagonal": draw(st.integers(-3, 3))}
    return Drawn("triangular", (draw(shapes(least=2)),), options)


@st.composite
def quantise(draw: DrawFn) -> Drawn:
    parts = draw(shapes(most=3))
    shape = tuple(part * draw(st.integers(1, 3)) for part in parts)
    dtype = draw(st.sampled_from(("int8", "uint8", "int32")))
    bytes_ = st.integers(0 if dtype == "uint8" else -20, 20)
    zero = draw(_several(bytes_, parts))
    if draw(st.booleans()):
        scale = draw(_several(st.sampled_from((0.125, 0.3, 1.0, 1.7)), parts))
        return Drawn(
            "quantizeLinear",
            (shape, parts, parts),
            dtypes=("float32", "float32", dtype),
            values=(None, scale, zero),
            low=-40.0,
            high=40.0,
        )
    return Drawn(
        "dequantizeLinear",
        (shape, parts, parts),
        dtypes=(dtype, "float32", dtype),
        values=(draw(_several(bytes_, shape)), None, zero),
    )


def _several(one: SearchStrategy[Any], shape: Shape) -> SearchStrategy[list[Any]]:
    """Draw a value for each element of a shape."""
    return st.lists(one, min_size=count(shape), max_size=count(shape))


def cases() -> SearchStrategy[Drawn]:
    """Draw a case of any of these operators."""
    return st.one_of(
        activation(),
        straight(),
        slope(),
        logic(),
        special(),
        along_an_axis(),
        triangle(),
        quantise(),
    )
