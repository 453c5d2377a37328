"""The canonical form (spec A.11), rule by rule."""

from __future__ import annotations

import pytest

from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import Document, Layer, Layers, Name, Number, Text

RULES = [
    ("header first", "webnnm 01.00 ; a [] 1", "webnnm 1.0;\na [] 1;\n"),
    ("header without minor version", "webnnm 1;a [] 1", "webnnm 1;\na [] 1;\n"),
    ("one statement in a line", "m:loss MSE;;m : gamma 2", "m:loss MSE;\nm:gamma 2;\n"),
    ("no byte-order mark", "\ufeffm:loss MSE\r\n", "m:loss MSE;\n"),
    ("one layer", "m:layers f()", "m:layers\n  f();\n"),
    ("layers", "m:layers f(), g( ),", "m:layers\n  f(),\n  g();\n"),
    ("one constant", "m:constants a [] 1", "m:constants a [] 1;\n"),
    ("constants", "m:constants a [] 1,b []2", "m:constants\n  a [] 1,\n  b [] 2;\n"),
    ("one parameter", "m:param w shape = [ 4 ]  lrm = 2", "m:param w shape=[4] lrm=2;\n"),
    (
        "parameters",
        "m:param w int8 shape=[], v shape=[]",
        "m:param\n  w int8 shape=[],\n  v shape=[];\n",
    ),
    ("operands before options", "m:layers f(p=1,x,q=2,y)", "m:layers\n  f(x, y, p=1, q=2);\n"),
    ("integers in decimal", "m:layers f(0x10, +3, 0007)", "m:layers\n  f(16, 3, 7);\n"),
    (
        "shortest decimals",
        "m:layers f(-.50, 16.0e0, 0.00001, 1e+16, 1.5E-07, -Infinity)",
        "m:layers\n  f(-0.5, 16.0, 1e-5, 1e16, 1.5e-7, -Infinity);\n",
    ),
    (
        "percentages without exponent",
        "m:layers f(p=050%, q=0.00000010%)",
        "m:layers\n  f(p=50%, q=0.0000001%);\n",
    ),
    ("strings as words", "m:layers f('x', a='width')", "m:layers\n  f(x, a=width);\n"),
    ("numbers in strings", "m:layers f('5', a='1e-5')", 'm:layers\n  f("5", a="1e-5");\n'),
    ("quotes", r"""m:layers f('a "b" \\ \'c\'')""", 'm:layers\n  f("a \\"b\\" \\\\ \'c\'");\n'),
    (
        "hyphenated words",
        "m:layers f('a-b', ['a-b'], m='a-b')",
        'm:layers\n  f("a-b", [a-b], m=a-b);\n',
    ),
    ("references", "m:layers f(a.0, m:input)", "m:layers\n  f(a.0, m:input);\n"),
    ("calls", "m:layers f(i=normal( 0.02 , ))", "m:layers\n  f(i=normal(0.02));\n"),
    ("nested lists", "c [2,2] [[1 ,2],[3,4,],]", "c [2, 2] [[1, 2], [3, 4]];\n"),
    (
        "named shapes",
        "m:input float16 shape={ a : 2 , b:03 , } sequence = true",
        "m:input float16 shape={a:2, b:3} sequence=true;\n",
    ),
    ("names without quotes", "m:name 'plain, text'", "m:name plain, text;\n"),
    ("names with quotes", "m:name 'a; b'", 'm:name "a; b";\n'),
    ("empty names", "m:name ''", 'm:name "";\n'),
    (
        "comments before statements",
        "# a\n  /* b\r\n  c */ m:loss /* d */ MSE; // e",
        "# a\n/* b\n  c */\nm:loss MSE;\n// e\n",
    ),
    ("spellings as written", "m:layers reLU()", "m:layers\n  reLU();\n"),
]


@pytest.mark.parametrize(
    ("text", "canonical"), [rule[1:] for rule in RULES], ids=[rule[0] for rule in RULES]
)
def test_rule(text: str, canonical: str) -> None:
    document = parse(text)
    assert format_document(document) == canonical
    assert parse(canonical) == document
    assert format_document(parse(canonical)) == canonical


@pytest.mark.parametrize("text", ["a\nb", "tab\t'", "\0", "\ud800"])
def test_strings_that_the_notation_cannot_spell(text: str) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        layer = Layer("f", (Text(text),))
        format_document(Document(None, (Layers(block="m", layers=(layer,)),)))
    with pytest.raises(ValueError, match="cannot hold"):
        format_document(Document(None, (Name(block="m", text=f"'{text}"),)))


def test_large_percentages_read_back_as_they_are() -> None:
    text = "m:layers f(p=12345678901234567890.5%)"
    document = parse(text)
    assert parse(format_document(document)) == document


def test_a_tree_without_a_source_can_be_formatted() -> None:
    layers = Layers(block="m", layers=(Layer("add", (Number(1),)),))
    assert format_document(Document(None, (layers,))) == "m:layers\n  add(1);\n"
