"""What names mean: order of resolution, dotted names, ports, blocks, loops (spec A.6)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import calls, fails, labels, model, names, network, parameters
from webnnm.graph.elaboration.vertices import ConstantVertex, InputVertex, ParameterVertex


def operand(text: str, label: str) -> object:
    layer = next(layer for layer in network(text).layers if layer.label == label)
    return layer.operands[1].vertex


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # A binding hides everything, `input` included; a layer hides a declared constant's place.
        (model("unit(x=2)", "x [4] 1;", "unit:layers add(x), matmul(w);"), "LiteralVertex"),
        (model("unit()", "x [4] 1;", "unit:layers add(x), matmul(w);"), "ConstantVertex"),
        (model("tanh(name=y), unit()", "unit:layers add(y), matmul(w);"), "LayerVertex"),
        (model("add(input), matmul(w)"), "InputVertex"),
        (model("add(m:input), matmul(w)"), "InputVertex"),
        (model("add(side), matmul(w)", "side:input shape=[4];"), "InputVertex"),
        (
            model("add(side), matmul(w)", "side:input shape=[4];", "side:layers tanh();"),
            "LayerVertex",
        ),
        (model("add(bias), matmul(w)"), "ParameterVertex"),
        (model("add(bias), matmul(w)", "q:param bias shape=[4];"), "ParameterVertex"),
    ],
)
def test_order_of_resolution(text: str, kind: str) -> None:
    assert type(operand(text, "add1")).__name__ == kind


def test_local_names_hide_outer_ones() -> None:
    text = model("tanh(name=x), unit()", "unit:layers sin(name=x), add(x), matmul(w);")
    _, sin, add, _ = network(text).layers
    assert add.operands[1].vertex is sin


def test_forward_references() -> None:
    text = model(
        "add([later, input]), matmul(w)", "side:layers tanh(name=later);", "side:input shape=[4];"
    )
    assert [layer.label for layer in network(text).order] == ["later", "add1", "matmul1"]


def test_local_name_from_outside_by_the_name_of_the_call() -> None:
    text = model(
        "unit(name=first), unit(name=second), add(first.x)",
        "unit:layers matmul(w, shape=[3], name=x), tanh();",
    )
    found = network(text)
    assert found.layers[-1].operands[1].vertex is found.layers[0]


def test_local_names_of_nested_calls() -> None:
    text = model(
        "outer(name=a), add(a.b.x)",
        "outer:layers inner(name=b), tanh();",
        "inner:layers matmul(w, shape=[3], name=x), sin();",
    )
    found = network(text)
    assert labels(text) == ["a.b.x", "sin1", "tanh1", "add1"]
    assert found.layers[-1].operands[1].vertex is found.layers[0]


@pytest.mark.parametrize("place", ["m", "m:output"])
def test_output_of_a_root_block(place: str) -> None:
    text = model("matmul(w), softmax()", "n:output shape=[3];", f"n:layers add([{place}, 1]);")
    found = network(text)
    assert found.outputs[1].source.vertex.operands[0].vertex is found.outputs[0].source.vertex


def test_root_block_without_layers_stands_for_its_input() -> None:
    text = model("add(side), matmul(w)", "side:input shape=[4];")
    assert isinstance(operand(text, "add1"), InputVertex)


def test_macro_block_expanded_once() -> None:
    text = model("unit(), tanh(), add(unit)", "unit:layers matmul(w, shape=[3]), sin();")
    found = network(text)
    assert found.layers[-1].operands[1].vertex is found.layers[1]


def test_constants_and_declared_parameters() -> None:
    text = model("add(c), matmul(p)", "c [4] [1, 2, 3, 4];", "q:param p shape=[4, 3];")
    found = network(text)
    add, matmul = found.layers
    assert isinstance(add.operands[1].vertex, ConstantVertex)
    assert isinstance(matmul.operands[1].vertex, ParameterVertex)
    assert names(found.parameters) == ["p"]


@pytest.mark.parametrize(
    ("layers", "more", "code", "says", "hint"),
    [
        ("residual(¦to=nothing)", [], "NNM205", '"nothing"', ""),
        ("add([¦nothing, 1])", [], "NNM205", '"nothing"', ""),
        ("tanh(name=first), sin(¦node=frist)", [], "NNM205", '"frist"', '"first"'),
        ("where(¦yes, 1)", [], "NNM205", '"yes"', ""),
        ("tanh(), concat(¦yes)", [], "NNM205", '"yes"', ""),
        ("unit(name=a), add(¦a.nothing)", ["unit:layers tanh();"], "NNM205", "a.nothing", ""),
        ("tanh(name=a), add(¦a.x)", [], "NNM205", "a.x", ""),
        ("add(¦n:input)", [], "NNM205", '"n:input"', ""),
        ("tanh(name=x), sin(¦name=x)", [], "NNM206", "is used already", ""),
        ("tanh(¦name=unit)", ["unit:layers sin();"], "NNM206", "is a block", ""),
        ("tanh(¦name=c)", ["c [4] 1;"], "NNM206", "", ""),
        ("tanh()", ["c [4] 1;", "¦c [4] 1;"], "NNM206", "already declared", ""),
        ("tanh()", ["c [4] 1;", "q:param ¦c shape=[4];"], "NNM206", "already declared", ""),
        ("tanh()", ["q:constants ¦m [4] 1;"], "NNM206", "is already a block", ""),
        ("unit(), unit(), add(¦unit)", ["unit:layers tanh();"], "NNM209", "2 times", "name="),
        ("tanh(), add(¦unit)", ["unit:layers tanh();"], "NNM209", "0 times", ""),
    ],
)
def test_errors(layers: str, more: list[str], code: str, says: str, hint: str) -> None:
    fails(code, model(layers, *more, output="shape=[4]"), says=says, hint=hint)


# Loops.


@pytest.mark.parametrize(
    ("layers", "label"),
    [
        ("¦add([input, b], name=a), tanh(name=b), matmul(w)", "a"),
        ("tanh(), ¦add([input, later], name=a), sin(name=later), matmul(w)", "a"),
        ("¦tanh(node=me, name=me), matmul(w)", "me"),
    ],
)
def test_loops_are_refused_at_their_first_layer(layers: str, label: str) -> None:
    error = fails("NNM208", model(layers), hint="break the loop")
    assert label in error.message


def test_behind_a_loop_is_not_in_it() -> None:
    """The layers that only depend on a loop are not blamed, wherever they stand."""
    text = model(
        "matmul(w)",
        "n:output shape=[4];",
        "n:layers tanh(node=b);",
        "k:input shape=[4];",
        "k:layers ¦add([input, b], name=a), sin(name=b);",
    )
    fails("NNM208", text, says='"a"')


def test_blocks_that_feed_each_other_without_a_loop() -> None:
    text = model(
        "add([other, 1]), matmul(w), tanh(name=late)",
        "other:input shape=[4];",
        "other:layers sin();",
        "third:output shape=[3];",
        "third:layers cos(node=late);",
    )
    assert calls(text)[-2:] == ["tanh", "cos"]


def test_block_without_anything_flowing_in() -> None:
    fails("NNM210", model("matmul(w)", "n:output shape=[3];", "n:layers ¦tanh();"), hint="node=")


# New parameters.


def test_new_parameters_are_counted_by_word() -> None:
    text = model("matmul(w, shape=[5]), add(b), matmul(w, shape=[3]), add(c)")
    assert list(parameters(text)) == ["w1", "b1", "w2", "c1"]


def test_numbers_that_are_taken_are_skipped() -> None:
    text = model(
        "matmul(w, shape=[5], name=w2), matmul(w, shape=[3]), add(w1)",
        "q:param w1 shape=[3];",
    )
    assert sorted(parameters(text)) == ["w1", "w3", "w4"]


def test_a_new_parameter_may_look_like_a_counted_one() -> None:
    """`w` and `w1` are different words; their parameters still have different names."""
    text = model("matmul(w, shape=[5]), matmul(w1, shape=[3]), add(w)")
    assert len(set(parameters(text))) == 3


def test_every_expansion_has_parameters_of_its_own() -> None:
    text = model("unit(), unit()", "unit:layers matmul(w, shape=[3]), add(b);")
    assert list(parameters(text)) == ["w1", "b1", "w2", "b2"]


def test_elaboration_order_is_blocks_layers_operands_options() -> None:
    text = model(
        "matmul(w, shape=[3]), gemm(u, c=v, shape=[3])",
        "n:output shape=[2];",
        "n:layers matmul(z, node=m);",
    )
    assert list(parameters(text)) == ["w1", "u1", "v1", "z1"]


@pytest.mark.parametrize(
    "text",
    [
        "m:input shape=[4]; b:output shape=[4]; b:layers relu(node=m), ¦add(b);",
        "m:input shape=[4]; b:output shape=[4]; b:layers matmul(w, node=m), ¦add(b), relu();",
    ],
)
def test_a_parameter_with_the_name_of_its_block_is_told(text: str) -> None:
    error = fails("NNM208", text, says='"b" in "add1" is the block "b", not a new parameter')
    assert error.hint == 'give the parameter or the block "b" another name'
