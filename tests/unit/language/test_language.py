"""What editors are told of texts, finished or not."""

from __future__ import annotations

import pytest

from webnnm import ops
from webnnm.core.errors import WebNNMError
from webnnm.graph.elaboration.expand import COMMON
from webnnm.graph.elaboration.loss_words import LOSSES
from webnnm.graph.elaboration.unknown_initialiser import FORMS
from webnnm.language import answers, words
from webnnm.language.completion import complete
from webnnm.language.formatting import format_text
from webnnm.language.hovering import hover, signature_help
from webnnm.language.problems import diagnose
from webnnm.language.renaming import apply_edits, rename, target_at
from webnnm.language.signatures import choices
from webnnm.notation import parse
from webnnm.notation.declarations import TENSOR_OPTIONS
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import Reference
from webnnm.notation.words import PROPERTIES

IRIS = """\
model:name iris;  # flowers
model:loss CCE;
model:input shape=[4];
model:output shape=[3];
model:layers
  dense(shape=[3], activation=relu, name=hidden),
  dense(shape=[3], activation=softmax);
dense:layers matmul(w), add(b), activation();
"""
MARK = "¦"


def at(marked: str) -> tuple[str, int]:
    """Return a text without its mark, and where that was."""
    return marked.replace(MARK, ""), marked.index(MARK)


def labels(marked: str) -> list[str]:
    found = complete(*at(marked))
    return [each.label for each in found.options] if found else []


# Words.


def test_every_fixed_word_has_a_line_of_help() -> None:
    assert set(words.PROPERTIES) == set(PROPERTIES)
    assert set(words.LAYER_OPTIONS) == set(COMMON)
    assert set(words.TENSOR_OPTIONS) == set(TENSOR_OPTIONS)
    assert set(words.INITIALISERS) == set(FORMS)
    assert all(loss.summary for loss in LOSSES)


def test_options_take_the_words_that_they_name_and_name_those_that_they_take() -> None:
    options = {
        f"{operator.name}.{name}": option
        for operator in ops.registry().values()
        if operator.layer is not None
        for name, option in operator.layer.options.items()
    }
    known = {word for option in options.values() for word in choices(option)}
    for name, option in options.items():
        taken: set[str] = set()
        for word in known | {"anything"}:
            try:
                option.read(Reference((word,)))
            except ValueError:
                continue
            taken.add(word)
        assert taken == {*choices(option)} or "anything" in taken, name


# Completion.


@pytest.mark.parametrize(
    ("marked", "offered"),
    [
        ("¦", ["model"]),
        ("net:input shape=[4]; n¦", ["net"]),
        ("m:¦", list(PROPERTIES)),
        ("m:loss C¦", ["CCE", "categoricalCrossEntropy"]),
        ("m:layers ma¦", ["matmul", "maxPool2d", "abs"]),
        ("m:layers relu(), den¦; dense:layers matmul(w);", ["dense"]),
        ("m:layers clamp(¦", ["minValue", "maxValue", "name", "shape"]),
        ("m:layers matmul(¦); m:param kernel shape=[4];", ["kernel", "y"]),
        ("m:layers relu(name=h), add(¦", ["h", "y"]),
        ("m:layers conv2d(f, padding=s¦", ["same", "valid"]),
        ("m:layers conv2d(f, inputLayout=¦", ["nchw", "nhwc"]),
        ("m:layers resample2d(mode=nearest-n¦", ["nearest-neighbor", "linear"]),
        ("m:layers d(¦); d:layers matmul(w), act();", ["w", "act", "shape"]),
        ("m:layers d(act=¦); d:layers matmul(w), act();", ["relu", "tanh", "softmax"]),
        ("m:layers matmul(w, init=¦", ["he", "glorot"]),
        ("m:layers matmul(w, dataType=¦", ["float32", "float16"]),
        ("m:layers matmul(w, trainable=¦", ["true", "false"]),
        ("m:param w shape=[3] trainable=¦", ["true", "false"]),
        ("m:input ¦", ["shape", "float32", "sequence"]),
        ("m:layers concat([a, ¦b]), relu(name=c)", ["c"]),
    ],
)
def test_completion_offers(marked: str, offered: list[str]) -> None:
    assert set(offered) <= set(labels(marked))


@pytest.mark.parametrize("marked", ["# ma¦", "m:name my mod¦", "m:layers pad('¦", "/* a ¦ */"])
def test_nothing_is_offered_where_no_names_are_expected(marked: str) -> None:
    assert labels(marked) == []


def test_what_completion_inserts_is_understood() -> None:
    found = complete(*at("m:input shape=[4]; m:output shape=[4]; m:layers re¦"))
    assert found is not None
    relu = next(each for each in found.options if each.label == "relu")
    assert (found.start, relu.insert, relu.caret) == (48, "relu()", 6)
    assert relu.help == ops.registry()["relu"].summary
    matmul = next(each for each in found.options if each.label == "matmul")
    assert matmul.insert[: matmul.caret] == "matmul("


def test_a_word_in_the_middle_is_replaced_up_to_the_cursor() -> None:
    found = complete(*at("m:layers so¦ftmax()"))
    assert found is not None and (found.start, found.end) == (9, 11)


# Documentation.


@pytest.mark.parametrize(
    ("marked", "code", "said"),
    [
        (IRIS.replace("matmul", "¦matmul"), "matmul(y", "matmul1: [4] → [3] float32"),
        (IRIS.replace("(w)", "(¦w)"), "w", "w1: [4, 3] float32"),
        (IRIS.replace("dense(", "¦dense(", 1), "dense(w=…, b=…, activation=…)", ""),
        (IRIS.replace("relu", "re¦lu"), "relu", ""),
        (IRIS.replace("CCE", "C¦CE"), "CCE", ""),
        (IRIS.replace("model:input", "model:in¦put"), "model:input", ""),
        (IRIS.replace("model:loss", "mod¦el:loss"), "block model", "input: [4] float32"),
        (IRIS.replace("name=hidden", "na¦me=hidden"), "name=…", ""),
        ("m:layers clamp(min¦Value=", "minValue=-inf", ""),
        ("m:param w shape=[3] tr¦ainable=false", "trainable=…", ""),
        (IRIS.replace("softmax", "sofmax").replace("add", "a¦dd"), "add(y, …)", ""),
    ],
)
def test_hover(marked: str, code: str, said: str) -> None:
    found = hover(*at(marked))
    assert found is not None
    assert found.code.startswith(code)
    assert said in found.facts if said else found.help is not None


def test_nothing_is_said_of_marks_and_comments() -> None:
    assert hover(*at("m:layers relu¦();")) is None
    assert hover(*at("m:layers relu(); # re¦lu")) is None


@pytest.mark.parametrize(
    ("marked", "argument"),
    [
        ("m:layers clamp(maxValue=¦", "maxValue=inf"),
        ("m:layers matmul(¦)", "y"),
        ("m:layers attend(q, ¦", "k"),
        ("m:layers attend(q, k, heads=[¦", "heads=1"),
        ("m:layers d(act=¦); d:layers act();", "act=…"),
        ("m:layers clamp(¦", ""),
    ],
)
def test_signature_help_points_at_the_argument(marked: str, argument: str) -> None:
    found = signature_help(*at(marked))
    assert found is not None
    assert found.code[found.start : found.end] == argument


def test_signature_help_ends_with_the_brackets() -> None:
    assert signature_help(*at("m:layers clamp(minValue=1)¦")) is None
    assert signature_help(*at("m:layers unknown(¦")) is None


# Mistakes.


@pytest.mark.parametrize(
    ("wrong", "mended"),
    [
        (IRIS.replace("activation=softmax", "activation=sofmax"), IRIS),
        (IRIS.replace("matmul", "matmull"), IRIS),
        (IRIS.replace("model:input", "model:inpt"), IRIS),
        (IRIS.replace("loss CCE;", "loss CCE"), IRIS),
        (IRIS.replace("loss CCE", "loss CEE"), IRIS),
        (IRIS.replace("input shape=[4]", "input [4]"), IRIS),
        (IRIS.replace("input shape=[4]", "input shape=4"), IRIS),
        (IRIS.replace("input shape", "input flot32 shape"), IRIS.replace("t s", "t float32 s", 1)),
        (IRIS.replace("model:input", "model input"), IRIS),
        (IRIS.replace("model:input", "model.input"), IRIS),
        (IRIS.replace("model:input", "model：input"), IRIS),  # noqa: RUF001
        (IRIS.replace("loss CCE", "loss\u00a0CCE"), IRIS),
        (IRIS.replace("activation();", "activation(;"), IRIS),
        (IRIS.replace("shape=[3], act", "shapee=[3], act", 1), IRIS),
        ("m:input shape=[2, 2]; m:output shape=[2]; m:layers reduceSum(axes=[wdth]);", ""),
        (
            "m:input shape={width:4}; m:output shape=[]; m:layers reduceSum(axes=widht);",
            "m:input shape={width:4}; m:output shape=[]; m:layers reduceSum(axes=width);",
        ),
    ],
)
def test_quick_fixes(wrong: str, mended: str) -> None:
    first = diagnose(wrong)[0]
    assert first.severity == "error"
    if mended:
        assert first.fix is not None and first.title
        assert apply_edits(wrong, [first.fix]) == mended
    else:
        assert first.fix is None


def test_warnings_have_fixes_too() -> None:
    text = "m:input shape=[4]; m:output shape=[4]; m:layers relu(name=hidden), add(hiden), add(c);"
    found = diagnose(text)
    assert [each.severity for each in found] == ["warning"]
    assert found[0].fix is not None
    assert diagnose(apply_edits(text, [found[0].fix])) == []


def test_places_of_mistakes_can_be_seen() -> None:
    for text in ("", "m", "m:layers", "m:layers relu()"):
        for each in diagnose(text):
            assert 0 <= each.start <= each.end <= len(text)
            assert each.end > each.start or not text


# Names.


@pytest.mark.parametrize(
    ("marked", "name", "expected"),
    [
        (IRIS.replace("dense(", "¦dense(", 1), "unit", IRIS.replace("dense", "unit")),
        (IRIS.replace("add(b)", "add(¦b)"), "bias", IRIS.replace("(b)", "(bias)")),
        (IRIS.replace("activation()", "acti¦vation()"), "act", IRIS.replace("activation", "act")),
        (
            "m:input shape=[4]; m:output shape=[4]; m:layers relu(name=h¦), add(h), mul(m.h);",
            "first",
            None,
        ),
        (
            "m:input shape=[4]; m:output shape=[4]; m:layers matmul(w¦), relu(), matmul(w);"
            " m:param w shape=[4, 4];",
            "shared_w",
            "m:input shape=[4]; m:output shape=[4]; m:layers matmul(shared_w), relu(),"
            " matmul(shared_w); m:param shared_w shape=[4, 4];",
        ),
        (
            "m:input shape=[4]; m:output shape=[4]; m:layers add(c¦); c [4] 1;",
            "one",
            "m:input shape=[4]; m:output shape=[4]; m:layers add(one); one [4] 1;",
        ),
        (
            "m:input shape=[4]; m:output shape=[4]; m:layers u(name=a¦), add(a.x);"
            " u:layers relu(name=x), tanh();",
            "call",
            "m:input shape=[4]; m:output shape=[4]; m:layers u(name=call), add(call.x);"
            " u:layers relu(name=x), tanh();",
        ),
        (
            "m:input shape=[4]; m:output shape=[4]; m:layers u(name=a), add(a.x);"
            " u:layers relu(name=¦x), tanh();",
            "inner",
            "m:input shape=[4]; m:output shape=[4]; m:layers u(name=a), add(a.inner);"
            " u:layers relu(name=inner), tanh();",
        ),
    ],
)
def test_rename(marked: str, name: str, expected: str | None) -> None:
    text, offset = at(marked)
    renamed = apply_edits(text, rename(text, offset, name))
    if expected is None:
        assert "name=first" in renamed and "add(first)" in renamed
    else:
        assert renamed == expected


@pytest.mark.parametrize(
    ("marked", "name", "code"),
    [
        (IRIS.replace("dense(", "¦dense(", 1), "model", "NNM206"),
        (IRIS.replace("dense(", "¦dense(", 1), "two words", "NNM101"),
        (IRIS.replace("dense(", "¦dense(", 1), "1e5", "NNM101"),
        (IRIS.replace("dense(", "¦dense(", 1), "matmul", "NNM206"),
        (IRIS.replace("matmul", "mat¦mul"), "product", "NNM205"),
        (IRIS.replace("CCE", "C¦CE"), "product", "NNM205"),
    ],
)
def test_names_that_cannot_be(marked: str, name: str, code: str) -> None:
    with pytest.raises(WebNNMError) as caught:
        rename(*at(marked), name)
    assert caught.value.code == code


def test_what_is_renamed_is_shown_first() -> None:
    target = target_at(*at(IRIS.replace("name=hidden", "name=hid¦den")))
    assert target is not None and (target.name, target.kind) == ("hidden", "layer")


# Layout.


def test_a_text_without_comments_inside_is_in_canonical_form() -> None:
    assert format_text(IRIS) == format_document(parse(IRIS))


def test_every_comment_stays() -> None:
    text = (
        "webnnm 1; # one\n# two\nm:input  shape = [4];\n"
        "m:layers relu( ), # three\n  tanh();\n// four\nm:output shape=[4]\n# five\n"
    )
    assert format_text(text) == (
        "webnnm 1;\n# one\n# two\nm:input shape=[4];\n"
        "m:layers relu( ), # three\n  tanh();\n// four\nm:output shape=[4];\n# five\n"
    )
    assert parse(format_text(text)) == parse(text)


# Unfinished texts.


def test_no_beginning_of_a_text_is_too_short() -> None:
    for end in range(len(IRIS) + 1):
        text = IRIS[:end]
        complete(text, end)
        hover(text, max(end - 1, 0))
        signature_help(text, end)
        target_at(text, end)
    for text in ("a.b:c", ")", "]]((", "m:layers a)(b", "=,;:", "m:layers ;b", "\ufeffm:"):
        for offset in range(len(text) + 1):
            complete(text, offset)
            hover(text, offset)
            signature_help(text, offset)
            target_at(text, offset)
        diagnose(text)


# Offsets of JavaScript.


def test_offsets_count_utf16_units() -> None:
    text = "# 😀😀\nm:loss CEE; m:input shape=[4]; m:output shape=[4]; m:layers relu();"
    wide = answers.diagnose(text)[0]
    units = text.encode("utf-16-le")
    assert units[2 * wide["from"] : 2 * wide["to"]].decode("utf-16-le") == "CEE"
    edit = wide["fix"]["edits"][0]
    assert (edit["from"], edit["to"]) == (wide["from"], wide["to"])
    found = answers.complete(text, wide["to"])
    assert found is not None and found["from"] == wide["from"]
    said = answers.hover(text.replace("CEE", "CCE"), wide["to"] - 1)
    assert said is not None and said["from"] == wide["from"]


@pytest.mark.parametrize("text", ["", "abc", "😀", "a😀b😀😀c"])
def test_offsets_go_there_and_back(text: str) -> None:
    offsets = answers.Offsets(text)
    for point in range(len(text) + 1):
        unit = offsets.utf16(point)
        assert unit == len(text[:point].encode("utf-16-le")) // 2
        assert offsets.points(unit) == point
