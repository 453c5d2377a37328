"""Random cases of broadcasting, reductions, products of matrices, softmax, transposes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.unit.ops.families import Drawn
from webnnm.core.shapes import Shape, count

ARITHMETIC = ("add", "sub", "mul", "max", "min")
COMPARISONS = ("equal", "notEqual", "greater", "greaterOrEqual", "lesser", "lesserOrEqual")
REDUCTIONS = (
    "reduceL1",
    "reduceL2",
    "reduceLogSumExp",
    "reduceMax",
    "reduceMean",
    "reduceMin",
    "reduceProduct",
    "reduceSum",
    "reduceSumSquare",
    "reduceVariance",
)

sizes = st.integers(1, 4)


def shapes(least: int = 0, most: int = 4) -> SearchStrategy[Shape]:
    """Draw shapes of so many dimensions."""
    return st.lists(sizes, min_size=least, max_size=most).map(tuple)


@st.composite
def broadcastable(draw: DrawFn, count: int, most: int = 4) -> tuple[Shape, ...]:
    """Draw shapes that broadcast together: leading sizes left out, others 1 here and there."""
    whole = draw(shapes(most=most))

    def part() -> Shape:
        kept = whole[draw(st.integers(0, len(whole))) :]
        return tuple(1 if draw(st.booleans()) else size for size in kept)

    return tuple(part() for _ in range(count))


@st.composite
def axes(draw: DrawFn, shape: Shape) -> tuple[int, ...]:
    """Draw distinct axes of a shape in any order, some counted from the end."""
    rank = len(shape)
    chosen = draw(st.lists(st.integers(0, rank - 1), unique=True, max_size=rank)) if rank else []
    return tuple(axis - rank if draw(st.booleans()) else axis for axis in chosen)


@st.composite
def binary(draw: DrawFn) -> Drawn:
    name = draw(st.sampled_from((*ARITHMETIC, "div", "pow", *COMPARISONS)))
    # Quotients and powers stay away from 0, where they or their gradients are infinite.
    low = 0.5 if name in ("div", "pow") else -2.0
    return Drawn(name, draw(broadcastable(2)), low=low)


@st.composite
def choice(draw: DrawFn) -> Drawn:
    condition, *others = draw(broadcastable(3))
    zeros_and_ones = st.lists(st.integers(0, 1), min_size=(n := count(condition)), max_size=n)
    return Drawn(
        "where",
        (condition, *others),
        dtypes=("uint8", "float32", "float32"),
        values=(draw(zeros_and_ones), None, None),
    )


@st.composite
def reduction(draw: DrawFn) -> Drawn:
    name = draw(st.sampled_from((*REDUCTIONS, "reduceLogSum")))
    shape = draw(shapes())
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options["axes"] = draw(axes(shape))
    if draw(st.booleans()):
        options["keep_dimensions"] = draw(st.booleans())
    kinks = (0.0,) if name in ("reduceL1", "reduceL2") else ()
    return Drawn(name, (shape,), options, low=0.5 if name == "reduceLogSum" else -2, kinks=kinks)


@st.composite
def product(draw: DrawFn) -> Drawn:
    rows, inner, columns = draw(st.tuples(sizes, sizes, sizes))
    left, right = draw(broadcastable(2, most=3))
    return Drawn("matmul", ((*left, rows, inner), (*right, inner, columns)))


@st.composite
def general_product(draw: DrawFn) -> Drawn:
    rows, inner, columns = draw(st.tuples(sizes, sizes, sizes))
    options: dict[str, Any] = {
        name: draw(st.sampled_from((-1.0, 0.5, 2.0)))
        for name in ("alpha", "beta")
        if draw(st.booleans())
    }
    a, b = (rows, inner), (inner, columns)
    if draw(st.booleans()):
        options["a_transpose"], a = True, a[::-1]
    if draw(st.booleans()):
        options["b_transpose"], b = True, b[::-1]
    addend = draw(st.sampled_from([(), (columns,), (1, columns), (rows, 1), (rows, columns)]))
    return Drawn("gemm", (a, b, addend) if draw(st.booleans()) else (a, b), options)


@st.composite
def distribution(draw: DrawFn) -> Drawn:
    shape = draw(shapes(least=1))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return Drawn(draw(st.sampled_from(("softmax", "logSoftmax"))), (shape,), {"axis": axis})


@st.composite
def transpose(draw: DrawFn) -> Drawn:
    shape = draw(shapes())
    if draw(st.booleans()):
        return Drawn("transpose", (shape,))
    order = tuple(draw(st.permutations(range(len(shape)))))
    return Drawn("transpose", (shape,), {"permutation": order})


def cases() -> SearchStrategy[Drawn]:
    """Draw a case of any of these operators."""
    return st.one_of(
        binary(), choice(), reduction(), product(), general_product(), distribution(), transpose()
    )
