"""Random cases of the recurrent operators: sizes, directions, layouts, what is given."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.unit.ops.families import Drawn
from webnnm.core.shapes import Shape

sizes = st.integers(1, 3)
# "sin" is none that WebNN's own methods have; "relu", which they have, has a kink.
functions = st.sampled_from(("sigmoid", "sigmoid", "tanh", "tanh", "sin"))

LAYOUTS = {"lstm": ("iofg", "ifgo"), "gru": ("zrn", "rzn")}


@st.composite
def some_of(draw: DrawFn, *shapes: Shape) -> tuple[Shape | None, ...]:
    """Draw which optional operands are given, None for the others."""
    return tuple(shape if draw(st.booleans()) else None for shape in shapes)


@st.composite
def cell_options(draw: DrawFn, name: str) -> dict[str, Any]:
    """Draw the options that an operator has with and without steps."""
    count = 3 if name == "lstm" else 2
    options: dict[str, Any] = {
        "layout": draw(st.sampled_from(LAYOUTS[name])),
        "activations": tuple(draw(functions) for _ in range(count)),
    }
    if name == "gru":
        options["reset_after"] = draw(st.booleans())
    return options


@st.composite
def over_steps(draw: DrawFn) -> Drawn:
    name = draw(st.sampled_from(("lstm", "gru")))
    steps, batch, features, hidden = (draw(sizes) for _ in range(4))
    options = draw(cell_options(name))
    options["direction"] = draw(st.sampled_from(("forward", "backward", "both")))
    options["return_sequence"] = draw(st.booleans())
    directions = 2 if options["direction"] == "both" else 1
    rows = (4 if name == "lstm" else 3) * hidden
    state = (directions, batch, hidden)
    peephole = ((directions, 3 * hidden),) if name == "lstm" else ()
    states = (state,) * (2 if name == "lstm" else 1)
    given = ((steps, batch, features), (directions, rows, features), (directions, rows, hidden))
    more = draw(some_of((directions, rows), (directions, rows), *peephole, *states))
    return Drawn(name, (*given, *more), options)


@st.composite
def one_step(draw: DrawFn) -> Drawn:
    name = draw(st.sampled_from(("lstm", "gru")))
    batch, features, hidden = (draw(sizes) for _ in range(3))
    rows = (4 if name == "lstm" else 3) * hidden
    states = ((batch, hidden),) * (2 if name == "lstm" else 1)
    peephole = ((3 * hidden,),) if name == "lstm" else ()
    given = ((batch, features), (rows, features), (rows, hidden), *states)
    more = draw(some_of((rows,), (rows,), *peephole))
    return Drawn(f"{name}Cell", (*given, *more), draw(cell_options(name)))


def cases() -> SearchStrategy[Drawn]:
    """Draw one case of the family."""
    return st.one_of(over_steps(), one_step())
