"""Every code of the notation: where it points and what it says.

In the texts `¦` marks the place of the error and is taken out before parsing.
"""

from __future__ import annotations

import pytest

from webnnm.core.errors import NotationError
from webnnm.notation import parse

CASES = [
    # NNM101: illegal character
    ("NNM101", "my¦-model:input shape=[4]", "'-' cannot occur in a name"),
    ("NNM101", "m:layers max¦-pool()", "letters, digits and _"),
    ("NNM101", "m:layers add(a¦-b)", "'-' cannot occur in a name"),
    ("NNM101", "m:layers add(a¦-b=3)", "'-' cannot occur in a name"),
    ("NNM101", "m:layers add(x¦..y)", "'.' cannot occur in a name"),
    ("NNM101", "m:layers add(x¦@2)", "'@' cannot occur in a name"),
    ("NNM101", "m:layers relu¦!()", "'!' cannot occur in a name"),
    ("NNM101", "m:loss cross¦-entropy", "'-' cannot occur in a name"),
    ("NNM101", "m¦.input shape=[4]", 'write "m:input"'),
    ("NNM101", "mod¦èle:input shape=[4]", "LATIN SMALL LETTER E WITH GRAVE"),
    ("NNM101", "m:input¦\u00a0shape=[4]", "use an ordinary space"),
    ("NNM101", "m:layers pad(mode=¦\u201cedge\u201d)", 'write "'),
    ("NNM101", "m:layers add(3 ¦\u2212 2)", "write -"),
    ("NNM101", "m:layers add(50 ¦%)", "'%' cannot occur here"),
    ("NNM101", "m:name it¦'s mine", "write the name as a string"),
    ("NNM101", "m:name a ¦/ b", "write the name as a string"),
    ("NNM101", "m:name ¦*", "write the name as a string"),
    ("NNM101", "a [] 1; # bell ¦\a", "U+0007"),
    ("NNM101", "/* nul ¦\0 */", "in a comment"),
    ("NNM101", "m:name 'a¦\tb'", "in a string"),
    ("NNM101", "m:name '¦\ud800'", "U+D800"),
    ("NNM101", "m:input shape=[4];¦\ufeff", "U+FEFF"),
    # NNM102: malformed statement
    ("NNM102", "model ¦input shape=[4]", 'expected \':\' after "model", found "input"'),
    ("NNM102", "model¦", "found the end of the text"),
    ("NNM102", "model ¦= 3", "found '='"),
    ("NNM102", "¦:input shape=[4]", "expected a block or constant"),
    ("NNM102", "¦'model':input shape=[4]", "write model without quotes"),
    ("NNM102", "m:¦;", 'expected a property after "m:", found \';\''),
    ("NNM102", "m:¦:input shape=[4]", "found ':'"),
    ("NNM102", "relu¦()", "layers belong to a block"),
    ("NNM102", "m:delta¦[1]", 'expected a space after "delta"'),
    ("NNM102", "m:input¦: shape=[4]", "expected a space"),
    ("NNM102", "m:name¦'x'", "expected a space"),
    ("NNM102", "m:input shape=[4]¦sequence=true", "expected a space"),
    ("NNM102", "foo¦[3] 1", "expected a space"),
    ("NNM102", "a [] 1; webnnm ¦1.0;", "the header must be the very first statement"),
    # NNM103: value missing
    ("NNM103", "m:layers dropout(p=¦)", 'option "p" has no value'),
    ("NNM103", "m:layers dropout(p=¦, q=1)", 'option "p" has no value'),
    ("NNM103", "m:layers add(1, ¦, 2)", "expected an operand or option, found ','"),
    ("NNM103", "m:layers add([1, ¦, 2])", "expected a value, found ','"),
    ("NNM103", "m:layers add(¦=3)", "found '='"),
    ("NNM103", "m:layers add(¦'p'=3)", "write p without quotes"),
    ("NNM103", "m:layers f(s={a:¦})", 'dimension "a" has no size'),
    ("NNM103", "m:input shape=[4] sequence¦;", "write sequence=…"),
    ("NNM103", "m:name ¦;", '"name" has no text'),
    ("NNM103", "m:name¦", '"name" has no text'),
    ("NNM103", "m:loss¦;", "the name of a loss"),
    ("NNM103", "m:loss ¦= MSE", "found '='"),
    ("NNM103", "m:loss ¦'MSE'", "write MSE without quotes"),
    ("NNM103", "m:delta¦;", '"delta" has no value'),
    ("NNM103", "foo [3]¦;", 'constant "foo" has no values'),
    # NNM104: semicolon missing
    ("NNM104", "m:input shape=[4]\n¦m:output shape=[4]", "';' expected before \"m:output\""),
    ("NNM104", "m:layers relu()\n¦m:output shape=[4]", "before \"m:output\""),
    ("NNM104", "m:layers relu(),\n¦m:output shape=[4]", "before \"m:output\""),
    ("NNM104", "m:layers relu()\n¦foo float32 [] 3", 'before "foo"'),
    ("NNM104", "m:input shape=[4]\n¦foo [2] [1, 2]", 'before "foo"'),
    ("NNM104", "m:input shape=[4]¦, sequence=true", "remove the comma"),
    ("NNM104", "m:name a\n¦m:loss MSE", 'before "m:loss"'),
    ("NNM104", "m:loss MSE ¦MAE", 'before "MAE"'),
    ("NNM104", "webnnm 1.0\n¦m:loss MSE", 'before "m:loss"'),
    # NNM105: malformed number
    ("NNM105", "m:layers add(¦1.2.3)", '"1.2.3" is not a number'),
    ("NNM105", "m:layers add(¦0x1.5)", '"0x1.5" is not a number'),
    ("NNM105", "m:layers add(¦-0x10)", "have no sign"),
    ("NNM105", "m:layers add(¦-x)", '"-x" is not a number'),
    ("NNM105", "m:layers add(p=¦3+4)", '"3+4" is not a number'),
    ("NNM105", "m:layers add(¦50%)", '"50%" is not allowed here'),
    ("NNM105", "m:layers add(¦1e400)", "too large"),
    ("NNM105", "m:layers add(¦" + "9" * 10_000 + ")", "too large"),
    ("NNM105", "m:delta ¦abc", '"abc" is not a number'),
    # NNM106: unknown property
    ("NNM106", "m:¦inputs shape=[4]", 'did you mean "input"?'),
    ("NNM106", "m:¦layer relu()", 'did you mean "layers"?'),
    ("NNM106", "m:¦weights relu()", "properties are name, input, output"),
    ("NNM106", "m:layers add(node=m:¦inptu)", 'did you mean "input"?'),
    # NNM107: property given twice
    ("NNM107", "m:loss MSE;\n\nm:¦loss MAE", '"m:loss" was given in line 1'),
    ("NNM107", "m:name a; m:¦name b", '"m:name" was given'),
    ("NNM107", "m:gamma 1; n:gamma 2; m:¦gamma 3", '"m:gamma" was given'),
    # NNM108: malformed tensor or shape
    ("NNM108", "m:input float32 ¦[4]", 'expected "shape=", found \'[\''),
    ("NNM108", "m:input¦;", 'expected "shape="'),
    ("NNM108", "m:input float32¦", "the end of the text"),
    ("NNM108", "m:input ¦shpae=[4]", 'did you mean "shape"?'),
    ("NNM108", "m:input ¦sequence=true shape=[4]", "the shape comes before"),
    ("NNM108", "m:input shape ¦[4]", "expected '=' after"),
    ("NNM108", "m:input shape=¦4", "shape=[4]"),
    ("NNM108", "m:input shape=¦'[4]'", "without quotes"),
    ("NNM108", "m:input shape=¦(4)", "expected '[' or '{'"),
    ("NNM108", "m:input shape=[4, ¦'a']", "expected a dimension"),
    ("NNM108", "m:input shape={¦[3]}", "the name of a dimension"),
    ("NNM108", "m:param w ¦[3]", 'expected "shape="'),
    ("NNM108", "m:param w shape=[3], init¦=he", "separated by spaces"),
    # NNM109: bad dimension
    ("NNM109", "m:input shape=[4, ¦0]", "dimension must be 1 … 2147483647"),
    ("NNM109", "m:input shape=[¦2147483648]", "dimension must be"),
    ("NNM109", "m:input shape=[¦" + "9" * 10_000 + "]", "dimension must be"),
    ("NNM109", "m:input shape=[¦-1]", "dimension must be"),
    ("NNM109", "m:input shape=[¦1.5]", "dimension must be"),
    ("NNM109", "m:input shape=[¦0x10]", "dimension must be"),
    ("NNM109", "m:input shape=[¦Infinity]", "dimension must be"),
    ("NNM109", "m:input shape={a:¦50%}", "dimension must be"),
    ("NNM109", "m:input shape={¦height, width:2}", '"height" has no size'),
    ("NNM109", "m:input shape={¦2, 3}", "written in [ ]"),
    ("NNM109", "m:input shape=[4] sequence={words:¦0}", "dimension must be"),
    ("NNM109", "m:layers f(shape={a:¦1.5})", "not a whole number"),
    ("NNM109", "m:layers f(shape={a:¦[1]})", "must be a number"),
    ("NNM109", "m:layers f(shape={a:¦'b'})", "must be a number"),
    # NNM110: layer without parentheses
    ("NNM110", "m:layers tanh(), ¦relu;", 'write "relu()"'),
    ("NNM110", "m:layers ¦relu tanh()", 'write "relu()"'),
    ("NNM110", "m:layers ¦add[1]", 'write "add()"'),
    ("NNM110", "m:layers relu(), ¦name=out;", 'write "name=" inside the parentheses of its layer'),
    ("NNM110", "m:layers¦;", '"m:layers" has no layers'),
    ("NNM110", "m:layers ¦n:loss MSE", '"m:layers" has no layers'),
    ("NNM110", "m:layers ¦'relu'()", "expected a layer"),
    ("NNM110", "m:layers relu(), ¦, tanh()", "expected a layer such as relu(), found ','"),
    # NNM111: comma or bracket missing
    ("NNM111", "m:layers add(a ¦b)", "expected ',' or ')', found \"b\""),
    ("NNM111", "m:layers add(a¦;", "'(' at line 1, column 13 is still open"),
    ("NNM111", "m:layers add([1, 2¦)", "expected ',' or ']', found ')'"),
    ("NNM111", "m:layers add(\n¦m:loss MSE;", 'closing bracket before "m:loss"'),
    ("NNM111", "m:layers add(a\n¦m:output shape=[4];", "expected ',' or ')', found \"m\""),
    ("NNM111", "m:layers add(a, m:output ¦shape=[4];", "is still open"),
    ("NNM111", "m:layers relu() ¦tanh()", "expected ',' or ';', found \"tanh\""),
    ("NNM111", "m:layers relu()¦)", "')' has no opening bracket"),
    ("NNM111", "m:layers f(x=1¦=2)", "found '='"),
    ("NNM111", "m:layers f(init=normal(mean¦=2))", "takes values without names"),
    ("NNM111", "m:layers f(shape=[channels¦:3])", "written in { }"),
    ("NNM111", "m:input shape=[channels¦:3]", "written in { }"),
    ("NNM111", "m:input shape=[4 ¦5]", "expected ',' or ']'"),
    ("NNM111", "m:input shape={a:4 ¦b:5}", "expected ',' or '}'"),
    ("NNM111", "m:input shape=[4¦", "found the end of the text"),
    ("NNM111", "m:param a shape=[1] ¦b shape=[2]", "expected ',' or ';'"),
    ("NNM111", "m:constants a [] 1 ¦b [] 2", "expected ',' or ';'"),
    ("NNM111", "m:layers a(" + "[" * 63 + "¦[", "nested deeper than 64 levels"),
    # NNM112: option given twice
    ("NNM112", "m:layers f(a=1, b=2, ¦a=3)", 'option "a" was given twice'),
    ("NNM112", "m:input shape=[] sequence=true ¦sequence=true", '"sequence" was given twice'),
    ("NNM112", "m:param w shape=[] ¦shape=[]", '"shape" was given twice'),
    # NNM113: unknown data type
    ("NNM113", "m:input ¦bfloat16 shape=[4]", 'did you mean "float16"?'),
    ("NNM113", "m:input ¦Float32 shape=[4]", 'did you mean "float32"?'),
    ("NNM113", "m:input ¦double [4]", 'did you mean "float32"'),
    ("NNM113", "m:input ¦float64 [4]", 'did you mean "float32"'),
    ("NNM113", "m:input ¦int [4]", 'did you mean "int32"'),
    ("NNM113", "m:input ¦complex [4]", "data types are float32"),
    ("NNM113", "foo ¦bar [3] 1", 'unknown data type "bar"'),
    ("NNM113", "m:param w ¦flaot32 shape=[4]", 'did you mean "float32"?'),
    # NNM114: dimension name
    ("NNM114", "m:input shape={¦batch:8, a:4}", '"batch" is reserved'),
    ("NNM114", "foo {a:1, ¦sequence:1} 1", '"sequence" is reserved'),
    ("NNM114", "m:input shape={a:8, ¦a:4}", '"a" was given twice'),
    ("NNM114", "m:layers f(kernel={h:3, ¦h:3})", '"h" was given twice'),
    # NNM115: constant or parameter
    ("NNM115", "foo {a:2, b:3} ¦[0, 1, 2, 3, 4]", "6 values expected, 5 found"),
    ("NNM115", "foo [2, 2] ¦[[1, 2], [3]]", "4 values expected, 3 found"),
    ("NNM115", "foo [] ¦[]", "1 value expected, 0 found"),
    ("NNM115", "foo [2] [1, ¦x]", "must be numbers"),
    ("NNM115", "foo [2] ¦'x'", "a number or a list of numbers"),
    ("NNM115", "¦foo float32 3", 'constant "foo" has no shape'),
    ("NNM115", "m:constants ¦foo shape=[2] 1", 'without "shape="'),
    ("NNM115", "m:constants¦;", "expected the name of a constant"),
    ("NNM115", "m:param ¦[3];", "expected the name of a parameter"),
    # NNM116: version
    ("NNM116", "webnnm ¦2.0;", "version 2.0 is not supported"),
    ("NNM116", "webnnm ¦0;", "version 0 is not supported"),
    ("NNM116", "webnnm ¦1.0.0;", 'found "1.0.0"'),
    ("NNM116", "webnnm ¦" + "1" * 10_000 + ";", "expected a version"),
    ("NNM116", "webnnm¦;", "write webnnm 1.0;"),
    # NNM117: empty document
    ("NNM117", "¦", "no statements"),
    ("NNM117", "¦;; # nothing\n", "no statements"),
    ("NNM117", "¦webnnm 1.0;", "no statements"),
    # NNM118: not closed
    ("NNM118", "m:loss MSE; ¦/* the end", "comment is not closed"),
    ("NNM118", "m:loss MSE; ¦/*/", "comment is not closed"),
    ("NNM118", "m:name ¦'a\nb'", "string is not closed"),
    ("NNM118", "m:layers f(a=¦\"b)", "string is not closed"),
    ("NNM118", "m:name ¦'a\\'", "string is not closed"),
    # NNM119: nested layers
    ("NNM119", "m:layers add(¦relu())", "layers cannot be nested"),
    ("NNM119", "m:layers add([x, ¦relu(x)])", 'put "relu" before this layer'),
    ("NNM119", "m:layers add(¦half.dimension('x'))", "layers cannot be nested"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "marked", "fragment"), CASES)
def test_code_place_and_message(code: str, marked: str, fragment: str) -> None:
    start = marked.index("¦")
    text = marked.replace("¦", "")
    with pytest.raises(NotationError) as caught:
        parse(text)
    error = caught.value
    assert error.code == code
    assert error.span is not None
    assert error.span.start == start
    assert fragment in f"{error.message}\n{error.hint}"


def test_every_code_has_cases() -> None:
    assert {code for code, _, _ in CASES} == {f"NNM{number}" for number in range(101, 120)}


def test_first_error_of_a_text_is_the_one_raised() -> None:
    with pytest.raises(NotationError) as caught:
        parse("model input shape=[4];\n/* never closed")
    assert caught.value.code == "NNM102"


def test_error_shows_its_line_with_a_caret() -> None:
    with pytest.raises(NotationError) as caught:
        parse("m:input shape=[4];\n\tm:inputs shape=[4];\n")
    assert str(caught.value).splitlines() == [
        'NNM106 line 2, column 4: unknown property "inputs"',
        "    \tm:inputs shape=[4];",
        "    \t  ^",
        'hint: did you mean "input"?',
    ]


def test_line_ends_count_alike() -> None:
    for line_end in ("\n", "\r\n"):
        with pytest.raises(NotationError) as caught:
            parse(f"# a{line_end}m:loss MSE;{line_end}m:loss MAE;")
        assert (caught.value.line, caught.value.column) == (3, 3)


def test_positions_count_from_behind_the_byte_order_mark() -> None:
    with pytest.raises(NotationError) as caught:
        parse("\ufeffmodel input shape=[4];")
    assert (caught.value.line, caught.value.column) == (1, 7)


def test_columns_are_code_points() -> None:
    with pytest.raises(NotationError) as caught:
        parse("m:name 𝛼𝛽; n:loss;")
    assert (caught.value.line, caught.value.column) == (1, 18)


def test_long_texts_are_refused() -> None:
    with pytest.raises(NotationError, match="16777216 are allowed"):
        parse(" " * (2**24 + 1))
