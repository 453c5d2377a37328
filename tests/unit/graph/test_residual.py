"""The residual layer: to=, skip=, out of range (spec A.9)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import fails, model, network, run

BODY = "add(1), mul(2), sub(3)"


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        # x → x+1 → 2(x+1) → 2(x+1)−3 = 2x − 1 flows in; for x = 5 the values are 5, 6, 12, 9.
        ("skip=0", 18),
        ("skip=1", 21),
        ("skip=2", 15),
        ("skip=3", 14),
        ("to=input", 14),
        ("to=m:input", 14),
    ],
)
def test_what_is_added(option: str, expected: float) -> None:
    text = model(f"{BODY}, residual({option})", input="shape=[1]", output="shape=[1]")
    assert run(text, {"m": [[5]]}) == [[expected]]


def test_to_names_any_layer() -> None:
    text = model("add(1, name=a), mul(2), residual(to=a)", input="shape=[1]", output="shape=[1]")
    assert run(text, {"m": [[5]]}) == [[18]]


def test_skip_of_a_name_means_to() -> None:
    text = model("add(1, name=a), mul(2), residual(skip=a)", input="shape=[1]", output="shape=[1]")
    assert run(text, {"m": [[5]]}) == [[18]]


def test_skip_counts_the_layers_of_the_same_block() -> None:
    """A call is one layer; inside a block the count ends at what enters it."""
    text = model(
        "add(1), unit(), residual(skip=1)",
        "unit:layers mul(2), sub(3), residual(skip=2);",
        input="shape=[1]",
        output="shape=[1]",
    )
    # 5 → 6 → inside: 12, 9, 9 + 6 = 15 → 15 + 6.
    assert run(text, {"m": [[5]]}) == [[21]]


def test_skipped_value_may_broadcast() -> None:
    text = model("matmul(w, shape=[3]), residual(to=one)", "one:input shape=[1];")
    found = run(text, {"m": [[1, 0, 0, 0]], "one": [[2]], "param/w1": [[1, 2, 3]] + [[0] * 3] * 3})
    assert found == [[3, 4, 5]]


def test_unknown_shape_of_the_flow_comes_from_the_result() -> None:
    found = network(model("matmul(w, shape=[3], name=x), matmul(w), residual(to=x)"))
    assert [p.features[0].sizes() for p in found.parameters] == [(4, 3), (3, 3)]


@pytest.mark.parametrize(
    ("layers", "code", "says"),
    [
        ("tanh(), residual(¦skip=2)", "NNM213", "only 1 layer before"),
        ("tanh(), sin(), residual(¦skip=9)", "NNM213", "only 2 layers before"),
        ("residual(¦skip=1)", "NNM213", "only 0 layers before"),
        ("tanh(), residual(¦skip=-1)", "NNM303", "from 0"),
        ("tanh(), residual(¦skip=0.5)", "NNM303", "from 0"),
        ("tanh(), ¦residual()", "NNM304", "to= or skip="),
        ("tanh(), residual(¦too=input)", "NNM301", "too"),
        ("tanh(), ¦residual(input)", "NNM302", "takes 0 operands, 1 given"),
    ],
)
def test_errors(layers: str, code: str, says: str) -> None:
    fails(code, model(layers, output="shape=[4]"), says=says)


def test_shapes_that_do_not_broadcast() -> None:
    fails("NNM401", model("matmul(w, shape=[3]), ¦residual(to=m:input)"))


def test_a_block_without_input_has_nothing_to_skip_to() -> None:
    text = model("tanh(name=x), matmul(w)", "n:output shape=[4];")
    fails("NNM210", text + "n:layers relu(node=x), ¦residual(skip=1);", says="no input")
