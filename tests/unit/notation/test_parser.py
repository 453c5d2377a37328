"""The tree that texts give."""

from __future__ import annotations

import math

import pytest

from webnnm.core.errors import Span
from webnnm.notation import parse
from webnnm.notation.syntax import (
    Call,
    Constant,
    Declaration,
    Dimension,
    Document,
    GlobalConstant,
    Items,
    Layers,
    LossParameter,
    Name,
    NamedShape,
    Number,
    Option,
    Parameters,
    Percent,
    Port,
    Reference,
    Text,
    Value,
    Version,
)


def option_value(text: str) -> Value:
    """Parse a text as the value of an option."""
    (statement,) = parse(f"m:layers f(v={text});").statements
    assert isinstance(statement, Layers)
    return statement.layers[0].options[0].value


VALUES = [
    ("3", Number(3)),
    ("+3", Number(3)),
    ("-.5", Number(-0.5)),
    ("1.", Number(1.0)),
    ("1e-3", Number(0.001)),
    ("1E+3", Number(1000.0)),
    ("0x1F", Number(31)),
    ("0o17", Number(15)),
    ("0B101", Number(5)),
    ("0010", Number(10)),
    ("0" * 10_000 + "7", Number(7)),
    ("Infinity", Number(math.inf)),
    ("-Infinity", Number(-math.inf)),
    ("50%", Percent(50)),
    ("12.5%", Percent(12.5)),
    ("x", Reference(("x",))),
    ("3d", Reference(("3d",))),
    ("0xg", Reference(("0xg",))),
    ("1e", Reference(("1e",))),
    ("true", Reference(("true",))),
    ("x.0", Reference(("x", "0"))),
    ("call.x.hidden", Reference(("call", "x", "hidden"))),
    ("block:input", Reference(("block",), "input")),
    ("a.b:output", Reference(("a", "b"), "output")),
    ("5:output", Reference(("5",), "output")),
    ("'width'", Reference(("width",))),
    ('"width"', Reference(("width",))),
    ("'5'", Text("5")),
    ("'Infinity'", Text("Infinity")),
    ("'x.0'", Text("x.0")),
    ("''", Text("")),
    (r"'it\'s \n'", Text("it's n")),
    ("'; # // /* '", Text("; # // /* ")),
    ("nearest-neighbor", Text("nearest-neighbor")),
    ("'nearest-neighbor'", Text("nearest-neighbor")),
    ("28-2", Text("28-2")),
    ("[1, [x, 2%], a-b,]", Items((Number(1), Items((Reference(("x",)), Percent(2))), Text("a-b")))),
    ("[]", Items(())),
    ("normal(0.02)", Call(Reference(("normal",)), (Number(0.02),))),
    ("a.b ( 'x' , f(), )", Call(Reference(("a", "b")), (
        Reference(("x",)), Call(Reference(("f",)), ()),
    ))),
    ("{}", NamedShape(())),
    ("{a:2, b, c : -1, d:50%, e:w, f:input, g:0x10,}", NamedShape((
        Dimension("a", Number(2)),
        Dimension("b", None),
        Dimension("c", Number(-1)),
        Dimension("d", Percent(50)),
        Dimension("e", Reference(("w",))),
        Dimension("f", Reference(("input",))),
        Dimension("g", Number(16)),
    ))),
    ("{sequence: half.dimension('sequence')}", NamedShape((
        Dimension("sequence", Call(Reference(("half", "dimension")), (Reference(("sequence",)),))),
    ))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_values(text: str, value: Value) -> None:
    found = option_value(text)
    assert found == value
    if isinstance(value, Number) and isinstance(found, Number):
        assert type(found.value) is type(value.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("m:name free text; m:loss MSE", "free text"),
        ("m:name   two  blanks\t kept  \n;", "two  blanks\t kept"),
        ("m : name /* c */ text // comment", "text"),
        ("m:name\n  next-line 100% of=it: {x}", "next-line 100% of=it: {x}"),
        ("m:name and/or either/", "and/or either/"),
        ("m:name and//or\n;", "and"),
        ("m:name 'with ; and #'", "with ; and #"),
        ('m:name ""', ""),
        ("m:name naïve Ελλάδα 日本", "naïve Ελλάδα 日本"),
        (";name:name name", "name"),
    ],
)
def test_name_texts(text: str, name: str) -> None:
    statement = parse(text).statements[0]
    assert isinstance(statement, Name)
    assert statement.text == name


def test_words_called_name_elsewhere_are_plain_words() -> None:
    text = "m:input shape={a:name, name:2}; m:layers f(name=name, {name:name}); name [] 1;"
    assert len(parse(text).statements) == 3


def test_tensors() -> None:
    document = parse(
        "m:input int32 shape=[ 0010 , ] sequence={words:128};\n"
        "m:output shape={labels:n};"
        "m:param w float16 shape=[4] init=he lrm=0.5, v shape=[];"
    )
    assert document.statements == (
        Port(
            block="m",
            direction="input",
            dtype="int32",
            shape=Items((Number(10),)),
            options=(Option("sequence", NamedShape((Dimension("words", Number(128)),))),),
        ),
        Port(
            block="m",
            direction="output",
            dtype=None,
            shape=NamedShape((Dimension("labels", Reference(("n",))),)),
        ),
        Parameters(
            block="m",
            parameters=(
                Declaration(
                    "w",
                    "float16",
                    Items((Number(4),)),
                    (Option("init", Reference(("he",))), Option("lrm", Number(0.5))),
                ),
                Declaration("v", None, Items(())),
            ),
        ),
    )


def test_constants_and_loss_parameters() -> None:
    document = parse("pi float32[]3.5; m:alpha [0.25, 1]; fill [n, 2] [1, 2, 3]; z {a:2} -0")
    pi, alpha, fill, zero = document.statements
    assert pi == GlobalConstant(constant=Constant("pi", "float32", Items(()), Number(3.5)))
    assert alpha == LossParameter(
        block="m", parameter="alpha", value=Items((Number(0.25), Number(1)))
    )
    assert isinstance(fill, GlobalConstant)
    assert isinstance(zero, GlobalConstant)
    assert zero.constant.data == Number(0)


def test_operands_and_options_keep_their_order_apart() -> None:
    (statement,) = parse("m:layers f(node=m:input, 1, [x], p=2, 'y z')").statements
    assert isinstance(statement, Layers)
    (layer,) = statement.layers
    assert layer.operands == (Number(1), Items((Reference(("x",)),)), Text("y z"))
    assert [option.name for option in layer.options] == ["node", "p"]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("a [] 1", None),
        ("webnnm 1; a [] 1", Version(1)),
        ("/**/webnnm 01.10 ; a [] 1", Version(1, 10)),
        ("webnnm:loss MSE", None),
        ("webnnm float32 [] 1", None),
    ],
)
def test_versions(text: str, version: Version | None) -> None:
    assert parse(text).version == version


def test_comments_before_statements_are_kept() -> None:
    document = parse(
        "# top\nwebnnm 1 /* in header */; // first  \n;; /* second\r\n */ m:loss # inside\n MSE"
        " /* at its end */ ; # last"
    )
    assert document.version is not None
    assert document.version.comments == ("# top",)
    assert document.statements[0].comments == ("// first", "/* second\r\n */")
    assert document.trailing_comments == ("# last",)


def test_spans_lie_where_errors_point() -> None:
    text = "\ufeffm:layers f(x.0, p = [1, {a:2}]);"
    document = parse(text)
    source = document.source
    assert source == text[1:]
    (statement,) = document.statements
    assert isinstance(statement, Layers)
    (layer,) = statement.layers
    option = layer.options[0]
    assert isinstance(option.value, Items)
    spans = [
        statement.span,
        statement.property_span,
        layer.span,
        layer.operands[0].span,
        option.span,
        option.value.span,
        option.value.items[1].span,
    ]
    assert [source[span.start : span.end] for span in spans] == [
        "m",
        "layers",
        "f",
        "x.0",
        "p",
        "[1, {a:2}]",
        "{a:2}",
    ]


def test_blanks_are_free() -> None:
    dense = parse("m:layers f(a,b=[1,{c:2}]),g();m:loss MSE;c float32[]1")
    loose = parse(
        "\r\n m\t:\nlayers\r\rf ( a /**/ , b # \r = [ 1 , { c : 2 , } , ] , ) , g ( ) , ;"
        "m:loss/**/MSE ; c float32 [ ] 1 ;"
    )
    assert loose == dense


@pytest.mark.alike
def test_documents_of_a_megabyte_are_read() -> None:
    count = 250_000
    document = parse(f"m:constants c [{count}] [{', '.join('7' * count)}];" + "\n" * 250_000)
    assert len(document.statements) == 1
    options = " ".join(f"o{index}=1" for index in range(20_000))
    assert isinstance(parse(f"m:input shape=[] {options}"), Document)


def test_spans_do_not_count_in_comparisons() -> None:
    assert Number(1, span=Span(3, 4)) == Number(1)
