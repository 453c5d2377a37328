"""CSV text: quotes, line ends, comments, headers, and where something is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.data.tables.csv_table import read_csv


def cells(text: str, **options: Any) -> list[list[str]]:
    """The rows of a text, the header not among them."""
    return [list(row) for row in zip(*read_csv(text, **options).columns, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,4", [["1", "2"], ["3", "4"]]),
        ("1,2\n3,4\n", [["1", "2"], ["3", "4"]]),
        ("1,2\r\n3,4\r\n", [["1", "2"], ["3", "4"]]),
        ("1,2\r3,4\r", [["1", "2"], ["3", "4"]]),
        ("\ufeff1,2\n", [["1", "2"]]),
        ("\n1,2\n\n \t\n3,4\n\n", [["1", "2"], ["3", "4"]]),
        ("# of 1936\n1,2\n#3,4\n", [["1", "2"]]),
        ('"a,b",c\n', [["a,b", "c"]]),
        ('"say ""no""",c\n', [['say "no"', "c"]]),
        ('"",c\n', [["", "c"]]),
        ('"two\nlines",c\n', [["two\nlines", "c"]]),
        ('"two\r\nlines",c\r\n', [["two\r\nlines", "c"]]),
        ('"\n\n# no comment\n",c\nd,e\n', [["\n\n# no comment\n", "c"], ["d", "e"]]),
        ('a, "b, c"\n', [["a", "b, c"]]),
        ("a #1,b\n", [["a #1", "b"]]),
        ("a,\n,b\n", [["a", ""], ["", "b"]]),
        ("only\none\n", [["only"], ["one"]]),
        ("a\x0bb\x1cc\u2028d,e\n", [["a\x0bb\x1cc\u2028d", "e"]]),  # these end no line
        ('5" disk,b\n', [['5" disk', "b"]]),
        ("é,名\n", [["é", "名"]]),
    ],
)
def test_rows_and_cells(text: str, expected: list[list[str]]) -> None:
    assert cells(text, header=False) == expected


@pytest.mark.parametrize(
    ("text", "delimiter", "expected"),
    [
        ("1;2,5\n", ";", [["1", "2,5"]]),
        ("1\t2\n\t\n", "\t", [["1", "2"], ["", ""]]),  # two empty cells are not a blank line
        ("a b\nc d\n", " ", [["a", "b"], ["c", "d"]]),
        ("a|'b'\n", "|", [["a", "'b'"]]),
    ],
)
def test_other_delimiters(text: str, delimiter: str, expected: list[list[str]]) -> None:
    assert cells(text, delimiter=delimiter, header=False) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b\n1,2\n3,4", True),
        ("a,kind\n1,x\n", True),
        ("1,x\n2,y\n", False),
        ("x,y\nz,w\n", False),  # words everywhere: nothing tells the first row apart
        ("1,b\n3,4\n", True),
        ("1,\n3,4\n", False),  # an empty cell is a missing number
        ("a,NaN\nb,4\n", False),
        ("a,b\n1,\n,\n", True),
        ("a,b\n,x\n", False),
        ("a,b\nnull,x\nnull,y\n", True),  # a name above nothing but missing numbers
        ("a,b\n,T\n,T\n,F\n", True),
        ("a;b;\nN/A;-;\nN/A;-;\n", True),
        ("a,b\n1,x\ntwo,x\n3,x\n4,x", True),  # a mistake further down hides no header
        ("1,2\n3,4\n", False),
        ("1,a", False),
        ("-1e3,.5\n+4,Infinity\n", False),
    ],
)
def test_a_header_is_recognised(text: str, found: bool) -> None:
    table = read_csv(text)
    assert (table.first_row == 2) is found
    assert (table.names[1] == "column_2") is not found


def test_names_that_the_caller_knows_tell_a_header() -> None:
    assert read_csv("x,y\nz,w\n", known=["y"]).names == ("x", "y")
    assert read_csv("x,y\nz,w\n", known=["y", "v"]).names == ("column_1", "column_2")
    assert read_csv("x,y\nz,w\n", known=[0, 1]).names == ("column_1", "column_2")


def test_a_header_is_what_the_caller_says() -> None:
    assert read_csv("1,2\n3,4", header=True).names == ("1", "2")
    table = read_csv("a,b\n3,4", header=False)
    assert (table.names, table.row_count) == (("column_1", "column_2"), 2)
    assert read_csv(",b\n0,1", header=True).names == ("column_1", "b")
    assert read_csv(" a , b \n0,1").names == ("a", "b")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "\ufeff"])
def test_a_text_without_rows(text: str) -> None:
    table = read_csv(text, header=True)
    assert (table.names, table.row_count) == ((), 0)


def test_a_header_alone_has_columns_without_cells() -> None:
    table = read_csv("a,b\n", header=True)
    assert (table.names, table.columns, table.row_count) == (("a", "b"), ((), ()), 0)


def test_rows_are_counted_from_the_first_and_lines_as_an_editor_does() -> None:
    table = read_csv('a,b\n1,"x\ny"\n# note\n\n2,z\n')
    assert table.place(0, 1) == "row 2, column b"
    assert table.place(1, 0) == "row 3 (line 6), column a"
    assert read_csv("1,2\n3,4").place(1, 1) == "row 2, column column_2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3\n", "row 3, column b is missing: the row has 1 cell, row 1 has 2"),
        ("a,b\n1,2,3\n", "row 2, column 3 is one too many: the row has 3 cells, row 1 has 2"),
        ("a,b\n#\n\n1,2,3\n", r"row 2 \(line 4\), column 3 is one too many"),
        ("1,2\n3\n", "row 2, column column_2 is missing"),
        ('a,b\n1,"2\n3,4\n', "row 2, column 2: its quote is not closed"),
        ('a,b\n"x","y" z\n', 'row 2, column 2: " " follows the closing quote'),
        ('a,b\n# note\n"x"y,2\n', r'row 2 \(line 3\), column 1: "y" follows the closing quote'),
        ('"a', "row 1, column 1: its quote is not closed"),
        ('1,"a""b","c,""\n', "row 1, column 3: its quote is not closed"),
        ('1,2\n"' + "x" * 200_000, "row 2, column 1: its quote is not closed"),
        ("a,b,a\n1,2,3\n", 'row 1 names columns 1 and 3 "a"'),
    ],
)
def test_what_is_not_a_table_is_refused_with_row_and_column(text: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read_csv(text)
    assert caught.value.code == "NNM713"


def test_long_cells_are_read() -> None:
    long = "x" * 130_000
    assert cells(f'1,"{long}"\n', header=False) == [["1", long]]


@pytest.mark.parametrize(
    "options", [{"header": "yes"}, {"header": 1}, {"delimiter": ""}, {"delimiter": '"'}]
)
def test_options_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DataError) as caught:
        read_csv("1,2", **options)
    assert caught.value.code == "NNM704"


# Headers of tables of words.

SENTENCES = "sentence,mood\nI like it,good\nhow bad,bad\nso fine,good\nno way,bad\n"


def test_a_table_of_words_keeps_its_header() -> None:
    table = read_csv(SENTENCES)
    assert (table.names, table.row_count) == (("sentence", "mood"), 4)
    without = SENTENCES.partition("\n")[2]
    assert read_csv(without).names == ("column_1", "column_2")
    assert read_csv(without).row_count == 4
    assert read_csv(SENTENCES, header=False).row_count == 5


@pytest.mark.parametrize(
    "text",
    [
        "sunny,no\nrain,yes\nrain,yes\nrain,no\nrain,no\n",  # "no" comes again
        "a,b\nc,d\ne,f\n",  # nothing comes again: nobody can tell
        "a,\nc,d\ne,d\nc,d\n",  # a name is missing
        "a,b\nc,d\n",
    ],
)
def test_words_without_a_header(text: str) -> None:
    assert read_csv(text).names == ("column_1", "column_2")


def test_half_a_character_in_a_name() -> None:
    with pytest.raises(DataError, match="row 1, column 1 has an unpaired surrogate"):
        read_csv("a\ud800,b\n1,2\n3,4\n")


@pytest.mark.parametrize("delimiter", [None, 1, "", ",,", [","]])
def test_delimiters_that_are_none(delimiter: Any) -> None:
    with pytest.raises(DataError) as caught:
        read_csv("a,b\n1,2\n", delimiter=delimiter)
    assert caught.value.code == "NNM704"


def test_a_table_of_one_line() -> None:
    with pytest.raises(DataError, match="row 1 has 100,001 cells, more than 100,000") as caught:
        read_csv("1," * 100_000 + "1")
    assert caught.value.code == "NNM713" and "delimiter=" in caught.value.hint


def test_a_wide_table_takes_no_longer_than_its_cells() -> None:
    """Where each name is searched among all others, this takes minutes."""
    width = 60_000
    names = ",".join(f"gene {k}" for k in range(width))
    table = read_csv(f"{names}\n" + ("1," * width)[:-1] + "\n" + ("2," * width)[:-1])
    assert (len(table.names), table.row_count) == (width, 2)


def test_blanks_that_separate_cells_are_not_searched_again() -> None:
    with pytest.raises(DataError, match="follows the closing quote"):
        read_csv(" " * 90_000 + '"a"b', delimiter=" ")


def test_the_name_of_a_file_is_not_its_text() -> None:
    with pytest.raises(DataError, match="is the name of a file") as caught:
        read_csv("folder/rows.csv")
    assert (caught.value.code, caught.value.hint) == ("NNM713", "read_csv(Path('folder/rows.csv'))")
    assert read_csv("a,b\nrows.csv,1\n").row_count == 1
