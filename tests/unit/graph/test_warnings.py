"""What is culled, and the warnings of the notation (spec A.10, B.1)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import codes, labels, model, network, parameters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (model("matmul(w)"), []),
        (model("matmul(w)", "unit:layers tanh();"), ["NNM001"]),
        (model("tanh(), matmul(w, node=m:input)"), ["NNM002"]),
        (model("matmul(w)", "side:input shape=[2];"), ["NNM002"]),
        (model("unit()", "unit:layers matmul(w), activation();"), ["NNM003"]),
        (model("matmul(kernal)", "q:param kernel shape=[4, 3];"), ["NNM004"]),
        (model("matmul(ker)", "q:param kel shape=[4, 3];"), []),
        (model("tanh(name=h), add(hh), matmul(w)"), ["NNM004"]),
        (model("tanh(name=hidden), add(hiddne), matmul(w)"), ["NNM004"]),
        (model("tanh(name=skip), add(Skip), matmul(w)"), ["NNM004"]),
        (model("add(inptu), matmul(w)"), ["NNM004"]),
        (model("unit(), matmul(w)", "unit:layers tanh(name=mid), add(midd);"), ["NNM004"]),
        (model("matmul(scael)", "scale [] 1;"), ["NNM004"]),
        (model("tanh(name=h), matmul(w, shape=[4]), add(b), matmul(w), add(b)"), []),
        (model("tanh(name=h1), add(h2), matmul(w1)"), []),
        (model("tanh(name=k), matmul(kb)"), []),
        (model("matmul(w)", input="shape=[2, 4]", output="shape=[2, 3]"), ["NNM005", "NNM005"]),
        (model("matmul(w)", input="shape={a:2, b:4}", output="shape={a:2, b:3}"), []),
        (model("matmul(w)", "mode:name Test;").replace("m:", "model:"), ["NNM006"]),
        (model("matmul(w)", "other:name Test;").replace("m:", "model:"), []),
        (model("add(1, dataType=float16), matmul(w)", input="int32 shape=[4]"), []),
        (model("add(c), relu()", "c uint32 [3] 1;", input="int32 shape=[3]"), ["NNM007"]),
        (model("add(c), relu()", "c int32 [3] 1;", input="float16 shape=[3]"), ["NNM007"]),
        (model("add(c), relu()", "c int8 [3] 1;", input="float16 shape=[3]"), []),
    ],
    ids=str,
)
def test_warnings(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_a_warning_names_its_place_and_is_given_once() -> None:
    text = model("unit(repeat=3)", "unit:layers matmul(w, shape=[3]), activation();")
    (warning,) = network(text).warnings
    assert text[warning.span.start :].startswith("activation()")
    assert (warning.line, warning.column) == warning.span.position(text)
    assert str(warning).startswith(f"NNM003 line {warning.line}, column {warning.column}: ")


def test_culled_layers_take_their_parameters_along() -> None:
    text = model("matmul(w, shape=[9]), add(b), matmul(w, node=m:input)")
    found = network(text)
    assert labels(text) == ["matmul2"]
    assert parameters(text) == {"w2": (4, 3)}
    (warning,) = found.warnings
    assert "matmul1, add1" in warning.message


def test_culled_inputs_are_named() -> None:
    (warning,) = network(model("matmul(w)", "side:input shape=[2];")).warnings
    assert "side:input" in warning.message


def test_a_layer_that_is_culled_may_have_an_unknown_shape() -> None:
    text = model("matmul(w), tanh(), matmul(w, node=m:input)")
    assert list(parameters(text)) == ["w2"]


def test_values_of_constants_alone_stay() -> None:
    text = model(
        "matmul(w), add(doubled)",
        "c [3] [1, 2, 3];",
        "side:layers mul(2, node=c, name=doubled);",
        "side:output shape=[3];",
    )
    assert "doubled" in labels(text)
