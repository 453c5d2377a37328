"""How errors of the elaboration read: place, caret, hint, chain of calls, the others."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import fails, model
from webnnm.core.errors import ModelError, NotationError
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation import parse


def test_error_as_the_specification_prints_it() -> None:
    text = "model:input shape=[4];\nmodel:output shape=[3];\nmodel:layers\n"
    text += "    matmul(w), add(b), sofmax();"
    with pytest.raises(ModelError) as caught:
        elaborate(parse(text))
    assert str(caught.value).split("\n") == [
        'NNM204 line 4, column 24: unknown operator "sofmax" in block "model"',
        "        matmul(w), add(b), sofmax();",
        "                           ^",
        'hint: did you mean "softmax"?',
    ]


def test_errors_of_meaning_are_not_errors_of_notation() -> None:
    error = fails("NNM204", model("¦sofmax()"))
    assert type(error) is ModelError
    assert not isinstance(error, NotationError)


def test_error_in_a_block_says_by_which_calls() -> None:
    text = model("outer(repeat=2)", "outer:layers inner();", "inner:layers ¦matmul([[1, 2]]);")
    error = fails("NNM404", text)
    assert error.message.endswith("(in m > outer > inner)")


def test_error_in_the_root_block_has_no_chain() -> None:
    assert "(in" not in fails("NNM404", model("¦matmul([[1, 2]])")).message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("m:output shape=[3];\nm:layers tanh();", "NNM201"),
        ("m:input shape=[3];\nm:layers tanh();", "NNM202"),
        ("m:input shape=[3];\nm:¦output shape=[3];", "NNM203"),
        ("m:input shape=[3];\nm:output shape=[3];\nm:layers tanh();\nm:loss ¦MSSE;", "NNM601"),
        ("m:input shape=[3];\nm:output shape=[3];\nm:layers tanh();\nm:loss ¦HL;", "NNM602"),
        (
            "m:input shape=[3];\nm:output shape=[3];\nm:layers tanh();\nm:loss MSE;\nm:delta ¦1;",
            "NNM603",
        ),
        (
            "m:input shape=[3];\nm:output shape=[3];\nm:layers tanh();\nm:loss HUL;\nm:delta ¦0;",
            "NNM603",
        ),
        ("m:input shape=[3];\nm:output shape=[3];\nm:layers tanh();\nn:¦loss MSE;", "NNM603"),
    ],
)
def test_statements_that_do_not_fit(text: str, code: str) -> None:
    fails(code, text)


@pytest.mark.parametrize("word", ["MSE", "meanSquaredError", "cceWithLogits", "FL", "huberLoss"])
def test_losses_have_several_names(word: str) -> None:
    elaborate(parse(model("matmul(w)", f"m:loss {word};")))


def test_tabs_stay_in_front_of_the_caret() -> None:
    with pytest.raises(ModelError) as caught:
        elaborate(parse("m:input shape=[4]; m:output shape=[3];\nm:layers\n\ttanh(p=1);"))
    lines = str(caught.value).split("\n")
    assert lines[2].startswith("    \t") and lines[2].endswith("^")


def test_long_lines_are_cut_around_the_place() -> None:
    text = model("tanh(), " * 60 + "sofmax(), " + "tanh(), " * 60 + "matmul(w)")
    with pytest.raises(ModelError) as caught:
        elaborate(parse(text))
    shown, caret = str(caught.value).split("\n")[1:3]
    assert len(shown) < 120
    assert shown[caret.index("^") :].startswith("sofmax()")


IMAGE = "m:input shape={channels:3, height:8, width:8}; m:output shape=[4]; m:layers "
ROW = "m:input shape=[4]; m:output shape=[4]; m:layers "
IDS = "m:input int32 shape=[]; m:output shape=[4]; m:layers "


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        (IMAGE + "conv2d(k, kernel=3), flatten(), matmul(w);", "NNM403", "filters=8"),
        (IMAGE + "conv2d(k, filters=3), flatten(), matmul(w);", "NNM403", "kernel=3"),
        (IDS + "embedding(t, shape=[4]);", "NNM403", "size=100"),
        (IMAGE + "groupNormalization(), flatten(), matmul(w);", "NNM304", "groups="),
        (ROW + "quantizeLinear();", "NNM304", "scale="),
        (ROW + "relu(slant=1);", "NNM301", "no options of its own"),
        (ROW + "elu(slant=1);", "NNM301", "alpha="),
        (ROW + "gelu(approximate=true);", "NNM301", "geluTanh()"),
        (ROW + "reduceMax([0, 1]);", "NNM308", "0 or -1"),
        (IMAGE + "reduceMax([3]);", "NNM308", "0 … 2"),
        (ROW + "pad(1);", "NNM303", "[1]"),
    ],
)
def test_an_option_that_is_missing_or_wrong_has_a_hint(text: str, code: str, hint: str) -> None:
    assert hint in fails(code, text).hint


def test_what_is_missing_is_told_only_where_it_is() -> None:
    text = IMAGE + "conv2d(k, filters=3, kernel=3), flatten(), matmul(w), matmul(v);"
    assert "shape=" in fails("NNM403", text).hint


@pytest.mark.parametrize(
    ("ports", "code", "hint"),
    [
        ("m:input shape=[4] ¦sequnce=true; m:output shape=[3];", "NNM301", "sequence"),
        ("m:input shape=[4] ¦dtype=float16; m:output shape=[3];", "NNM301", "input float16 shape"),
        ("m:input shape=[4] ¦foo=1; m:output shape=[3];", "NNM301", ""),
        ("m:input shape=[4]; m:output shape=[3] ¦activation=softmax;", "NNM301", "softmax()"),
        ("m:input shape=[4]; m:output shape=[3] ¦loss=MSE;", "NNM301", "m:loss MSE"),
        ("m:input shape=[4] sequence=¦False; m:output shape=[3];", "NNM303", ""),
    ],
)
def test_inputs_and_outputs_have_no_other_options(ports: str, code: str, hint: str) -> None:
    fails(code, f"{ports} m:layers matmul(w), add(b);", hint=hint)
