"""Recurrent operators by their definition, natively and by steps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.ops.cases import np
from tests.unit.ops.recurrences import (
    BATCH,
    HIDDEN,
    STEPS,
    apply_operator,
    build,
    gru_arrays,
    gru_by_definition,
    lstm_arrays,
    lstm_by_definition,
)
from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate
from webnnm.compiler.traps.recurrent import TRAPS
from webnnm.graph.node import OperatorNode
from webnnm.graph.transforms.rewrite import inline_composites, rewrite

DIRECTIONS = {"forward": [False], "backward": [True], "both": [False, True]}


@pytest.mark.parametrize("layout", ["iofg", "ifgo"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_lstm_is_its_definition(direction: str, layout: str) -> None:
    arrays = lstm_arrays(len(DIRECTIONS[direction]))
    options = {"direction": direction, "layout": layout}
    found = apply_operator("lstm", arrays, return_sequence=True, **options)
    parts = [
        lstm_by_definition(arrays, layout, d, backward)
        for d, backward in enumerate(DIRECTIONS[direction])
    ]
    sequence, hidden, cell = (np.stack(some) for some in zip(*parts, strict=True))
    np.testing.assert_allclose(found[0], hidden, atol=1e-12)
    np.testing.assert_allclose(found[1], cell, atol=1e-12)
    np.testing.assert_allclose(found[2], np.moveaxis(sequence, 0, 1), atol=1e-12)
    assert len(apply_operator("lstm", arrays, **options)) == 2


@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("layout", ["zrn", "rzn"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_gru_is_its_definition(direction: str, layout: str, after: bool) -> None:
    arrays = gru_arrays(len(DIRECTIONS[direction]))
    options: Any = {"direction": direction, "layout": layout, "reset_after": after}
    found = apply_operator("gru", arrays, return_sequence=True, **options)
    parts = [
        gru_by_definition(arrays, layout, d, backward, after)
        for d, backward in enumerate(DIRECTIONS[direction])
    ]
    sequence, hidden = (np.stack(some) for some in zip(*parts, strict=True))
    np.testing.assert_allclose(found[0], hidden, atol=1e-12)
    np.testing.assert_allclose(found[1], np.moveaxis(sequence, 0, 1), atol=1e-12)
    assert len(apply_operator("gru", arrays, **options)) == 1


def test_cells_are_one_step() -> None:
    arrays = lstm_arrays()
    x, w, r, b, rb, p, h, c = (a[0] for a in arrays.values())
    one = arrays | {"input": arrays["input"][:1]}
    hidden, cell = apply_operator("lstm", one)
    names = ("input", "weight", "recurrent_weight", "hidden_state", "cell_state")
    given = dict(zip(names, (x, w, r, h, c), strict=True))
    given |= {"bias": b, "recurrent_bias": rb, "peephole_weight": p}
    found = apply_operator("lstm_cell", given)
    np.testing.assert_allclose(found, [hidden[0], cell[0]], atol=1e-12)

    arrays = gru_arrays()
    x, w, r, b, rb, h = (a[0] for a in arrays.values())
    (hidden,) = apply_operator("gru", arrays | {"input": arrays["input"][:1]})
    given = dict(zip(names, (x, w, r, h), strict=False)) | {"bias": b, "recurrent_bias": rb}
    np.testing.assert_allclose(apply_operator("gru_cell", given), hidden, atol=1e-12)


def test_states_start_at_zero() -> None:
    arrays = lstm_arrays()
    states = ("initial_hidden_state", "initial_cell_state")
    rest = {k: v for k, v in arrays.items() if k not in states}
    zeros = arrays | {name: np.zeros((1, BATCH, HIDDEN)) for name in states}
    np.testing.assert_array_equal(apply_operator("lstm", rest), apply_operator("lstm", zeros))


# WebNN's methods, and what they do not have.


def native(name: str, arrays: dict[str, Any], **options: Any) -> set[str]:
    nodes = build(name, arrays, **options)[0].nodes()
    return {node.operator.native for node in nodes if isinstance(node, OperatorNode)}


def test_what_webnn_has_stays_one_operator() -> None:
    assert native("lstm", lstm_arrays(2), direction="both") == {"lstm"}
    assert native("gru", gru_arrays(), activations=["relu", "tanh"]) == {"gru"}


def test_activations_are_names_or_those_of_the_draft_of_2022() -> None:
    b, arrays = GraphBuilder(), gru_arrays()
    by_name = apply_operator("gru", arrays, activations=["relu", "tanh"])
    objects = apply_operator("gru", arrays, activations=[b.relu(), b.tanh()])
    np.testing.assert_array_equal(by_name, objects)
    assert native("gru", arrays, activations=[b.sigmoid(), b.tanh()]) == {"gru"}


def test_steps_and_hidden_size_are_arguments_as_in_webnn() -> None:
    b = GraphBuilder()
    x, w, r, *_ = (b.input(key, "float32", a.shape) for key, a in gru_arrays().items())
    (plain,) = b.gru(x, w, r)
    (hidden,) = b.gru(x, w, r, STEPS, HIDDEN, activations=[b.sigmoid(), b.tanh()])
    assert hidden == plain


def test_any_other_activation_unrolls_the_steps() -> None:
    arrays = gru_arrays()
    found = native("gru", arrays, activations=["sigmoid", "sin"])
    assert "gru" not in found
    assert "sin" in found
    plain = apply_operator("gru", arrays, activations=["sigmoid", "sin"])
    assert not np.allclose(plain, apply_operator("gru", arrays))


def test_peepholes_with_another_layout_are_computed_by_steps() -> None:
    (trap,) = TRAPS
    arrays = lstm_arrays()
    feeds: dict[str, Any] = {}
    for layout, decomposed in (("iofg", False), ("ifgo", True)):
        graph, feeds = build("lstm", arrays, layout=layout)
        fitted = rewrite(graph, lambda b, n: trap.rule(b, n) if _is_lstm(n) else None)
        assert (fitted is not graph) == decomposed
        expected, found = (evaluate(g, feeds, wide=True) for g in (graph, fitted))
        np.testing.assert_allclose(found["y0"], expected["y0"], atol=1e-12)
    without = {k: v for k, v in arrays.items() if k != "peephole_weight"}
    graph, _ = build("lstm", without, layout="ifgo")
    assert rewrite(graph, lambda b, n: trap.rule(b, n) if _is_lstm(n) else None) is graph


def _is_lstm(node: Any) -> bool:
    return isinstance(node, OperatorNode) and node.operator.name == "lstm"


@pytest.mark.parametrize(
    ("layout", "sigmoids"), [("iofg", 1), ("ifgo", 2)], ids=["side by side", "apart"]
)
def test_gates_of_an_lstm_that_stand_side_by_side_are_one_operand(
    layout: str, sigmoids: int
) -> None:
    b = GraphBuilder()
    shapes = {"x": [5, 2, 3], "w": [1, 16, 3], "r": [1, 16, 4]}
    x, w, r = (b.input(name, "float32", shape) for name, shape in shapes.items())
    hidden, _ = b.lstm(x, w, r, layout=layout)
    graph = inline_composites(
        b.build({"hidden": hidden}), lambda composite: composite.name == "lstm"
    )
    names = [n.operator.name for n in graph.nodes() if isinstance(n, OperatorNode)]
    assert names.count("sigmoid") == 5 * sigmoids
