"""Random cases of activations, logic, searches along an axis, running sums, quantisation."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.unit.ops.families import Drawn
from tests.unit.ops.families.core import broadcastable, shapes
from webnnm.shapes import count

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
    low, high = sorted((draw(numbers), draw(numbers)))
    options = {"min_value": low, "max_value": high}
    return Drawn("clamp", (shape,), options, kinks=(low, high))


@st.composite
def slope(draw: DrawFn) -> Drawn:
    return Drawn("prelu", draw(broadcastable(2)), kinks=(0.0,))


@st.composite
def logic(draw: DrawFn) -> Drawn:
    name = draw(st.sampled_from(("logicalAnd", "logicalOr", "logicalXor", "logicalNot")))
    drawn = draw(broadcastable(1 if name == "logicalNot" else 2))
    values = tuple(
        draw(st.lists(st.integers(0, 2), min_size=count(s), max_size=count(s))) for s in drawn
    )
    return Drawn(name, drawn, dtypes=("uint8",) * len(drawn), values=values)


@st.composite
def along_an_axis(draw: DrawFn) -> Drawn:
    shape = draw(shapes(least=1))
    name = draw(st.sampled_from(("argMax", "argMin", "cumulativeSum", "squaremax")))
    options: dict[str, Any] = {"axis": draw(st.integers(-len(shape), len(shape) - 1))}
    if name.startswith("arg"):
        options["keep_dimensions"] = draw(st.booleans())
    elif name == "cumulativeSum":
        options |= {"exclusive": draw(st.booleans()), "reversed": draw(st.booleans())}
    return Drawn(name, (shape,), options)


@st.composite
def triangle(draw: DrawFn) -> Drawn:
    options = {"upper": draw(st.booleans()), "diagonal": draw(st.integers(-3, 3))}
    return Drawn("triangular", (draw(shapes(least=2)),), options)


@st.composite
def dequantised(draw: DrawFn) -> Drawn:
    parts = draw(shapes(most=3))
    shape = tuple(part * draw(st.integers(1, 3)) for part in parts)
    bytes_ = st.integers(-20, 20)
    x = draw(st.lists(bytes_, min_size=count(shape), max_size=count(shape)))
    zero = draw(st.lists(bytes_, min_size=count(parts), max_size=count(parts)))
    return Drawn(
        "dequantizeLinear",
        (shape, parts, parts),
        dtypes=("int8", "float32", "int8"),
        values=(x, None, zero),
    )


def cases() -> SearchStrategy[Drawn]:
    """Draw a case of any of these operators."""
    return st.one_of(
        activation(), straight(), slope(), logic(), along_an_axis(), triangle(), dequantised()
    )
