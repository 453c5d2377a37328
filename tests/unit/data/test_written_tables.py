"""Tables as people and programs write them: read to the same values, or asked about."""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from typing import Any

import pytest

from webnnm import DataError, describe_table, read_csv
from webnnm.data.tables.column_reading import read_column

NO_BREAK, NARROW = "\u00a0", "\u202f"

TABLES: dict[str, tuple[str | bytes, dict[str, list[Any]]]] = {
    "a German export of Excel": (
        'sep=;\r\nArtikel;Menge;Preis\r\n"M\u00f6bel; Holz";1.200;1.234,50 \u20ac\r\n'
        "Stuhl;15;49,90 \u20ac\r\nTisch;1.050;199,00 \u20ac\r\n".encode("cp1252"),
        {
            "Artikel": ["M\u00f6bel; Holz", "Stuhl", "Tisch"],
            "Menge": [1200, 15, 1050],
            "Preis": [1234.5, 49.9, 199],
        },
    ),
    "French, with blanks between thousands": (
        f"ville;habitants;part\nParis;2{NARROW}102{NARROW}650;3,1{NO_BREAK}%\n"
        f"Lyon;522{NO_BREAK}250;0,8 %\n",
        {"ville": ["Paris", "Lyon"], "habitants": [2102650, 522250], "part": [3.1, 0.8]},
    ),
    "Swiss": (
        "Ort,Betrag\nBern,1'234.50\nZ\u00fcrich,12\u2019000.00\nChur,950.10\n",
        {"Ort": ["Bern", "Z\u00fcrich", "Chur"], "Betrag": [1234.5, 12000, 950.1]},
    ),
    "Indian": (
        'city,price\nPune,"\u20b912,34,567"\nAgra,"\u20b99,50,000"\nDelhi,"\u20b91,00,000"\n',
        {"city": ["Pune", "Agra", "Delhi"], "price": [1234567, 950000, 100000]},
    ),
    "accounts": (
        'month,result\nMay,"(1,234.50)"\nJune,"2,000.00"\nJuly,-\n',
        {"month": ["May", "June", "July"], "result": [-1234.5, 2000, None]},
    ),
    "SAP, with the sign behind": (
        "Konto|Saldo\n4711|1.234,50-\n4712|17,00\n",
        {"Konto": [4711, 4712], "Saldo": [-1234.5, 17]},
    ),
    "shares": ("a,b\n12%,x\n7.5 %,y\n0,x\n", {"a": [12, 7.5, 0], "b": ["x", "y", "x"]}),
    "dollars": ('a,b\n"$1,200",x\n$900,y\n-$3,x\n', {"a": [1200, 900, -3], "b": ["x", "y", "x"]}),
    "units": ("t,m\n21.5 \u00b0C,70 kg\n-3 \u00b0C,81 kg\n", {"t": [21.5, -3], "m": [70, 81]}),
    "post codes and telephones": (
        "plz,fon,n\n01067,+491701234567,1\n80331,+493012345678,2\n",
        {"plz": ["01067", "80331"], "fon": ["+491701234567", "+493012345678"], "n": [1, 2]},
    ),
    "numbers of accounts beyond float64": (
        "iban,n\n12345678901234567890,1\n12345678901234567891,2\n",
        {"iban": ["12345678901234567890", "12345678901234567891"], "n": [1, 2]},
    ),
    "addresses and versions": (
        "ip,version\n192.168.100.200,1.2.3\n10.0.0.1,1.10.0\n",
        {"ip": ["192.168.100.200", "10.0.0.1"], "version": ["1.2.3", "1.10.0"]},
    ),
    "colours": (
        "colour,n\n#ff0000,1\n#00ff00,2\n#0000ff,3\n",
        {"colour": ["#ff0000", "#00ff00", "#0000ff"], "n": [1, 2, 3]},
    ),
    "numpy.savetxt": (
        "# a,b\n0.000000000000000000e+00,1.5e+00\n3.0e+00,4.0e+00\n",
        {"a": [0, 3], "b": [1.5, 4]},
    ),
    "numpy.savetxt with its own delimiter": (
        "# width height\n1.5 2.5\n3.5 4.5\n",
        {"width": [1.5, 3.5], "height": [2.5, 4.5]},
    ),
    "Excel in UTF-16, with tabs": (
        "Stra\u00dfe\tWert\r\nAllee\t1,5\r\nGasse\t#N/A\r\n".encode("utf-16"),
        {"Stra\u00dfe": ["Allee", "Gasse"], "Wert": [1.5, None]},
    ),
    "UTF-16 without a mark": (
        "kind,n\nred,1\nblue,2\n".encode("utf-16-le"),
        {"kind": ["red", "blue"], "n": [1, 2]},
    ),
    "compressed, of a Mac": (
        gzip.compress("kind,n\rred,1\rblue,2\r".encode("utf-8-sig"), mtime=0),
        {"kind": ["red", "blue"], "n": [1, 2]},
    ),
    "single quotes": (
        "'name','n'\n'O''Hara, J.',1\n'Smith, A.',2\n",
        {"name": ["O'Hara, J.", "Smith, A."], "n": [1, 2]},
    ),
    "delimiters at the ends": ("a;b;\n1;x;\n2;y;\n", {"a": [1, 2], "b": ["x", "y"]}),
    "R's write.csv2": (
        '"";"x";"y"\n"1";1,5;"a"\n"2";2,25;"b"\n',
        {"column_1": [1, 2], "x": [1.5, 2.25], "y": ["a", "b"]},
    ),
}


def same(found: float, value: Any) -> bool:
    """Return whether a number was read, NaN for None."""
    return math.isnan(found) if value is None else math.isclose(found, value)


@pytest.mark.parametrize("name", TABLES)
def test_values_are_read_as_they_were_written(name: str) -> None:
    source, expected = TABLES[name]
    table = read_csv(source)
    assert list(table.names) == list(expected)
    for index, values in enumerate(expected.values()):
        column = read_column(table, index)
        if isinstance(values[0], str):
            assert list(column.words) == values
        else:
            assert column.numbers is not None, column.words
            assert all(map(same, column.numbers, values)), list(column.numbers)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a;b\n1,234;x\n5,678;y\n", "1,234 may be 1234 or 1.234"),
        ("a;b\n1,5;x\n2.5;y\n", "1,5 and 2.5 do not have the same decimal mark"),
        ("a;b\n1.234.567;x\n1.5;y\n", "do not have the same decimal mark"),
        ("a,b\n$5,x\n\u20ac7,y\n", "are in different currencies"),
        ("a,b\n5 kg,x\n700 g,y\n", "are in different units"),
        ("a,b\n1/1/2023,x\n1/2/2024,y\n", 'is "1/2/2024" day/month or month/day?'),
        (
            "a,b\n" + "".join(f"{n}.5,x\nn.b.,x\nn.b.,y\n" for n in range(12)),
            'has 12 different numbers, and "n.b." (24)',
        ),
    ],
)
def test_what_may_be_read_in_two_ways_is_asked(text: str, problem: str) -> None:
    table = read_csv(text)
    described = describe_table(table)[0]
    assert problem in described.problem
    with pytest.raises(DataError) as caught:
        read_column(table, 0)
    assert caught.value.code == "NNM713"
    assert caught.value.hint


def test_the_remedies_of_questions_work() -> None:
    text = "a;b\n1,234;x\n5,678;y\n"
    assert list(read_column(read_csv(text, decimal=","), 0).numbers or ()) == [1.234, 5.678]
    assert list(read_column(read_csv(text, decimal="."), 0).numbers or ()) == [1234, 5678]
    gaps = "a,b\n" + "".join(f"{n}.5,x\nn.b.,x\nn.b.,y\n" for n in range(12))
    column = read_column(read_csv(gaps, missing_values=["n.b."]), 0)
    assert (len(column.missing), column.numbers is not None) == (24, True)
    with pytest.raises(DataError, match="do not have the same decimal mark"):
        read_column(read_csv("a;b\n1,5;x\n2,5;y\n", decimal="."), 0)


def test_other_columns_decide_between_thousands_and_decimals() -> None:
    table = read_csv("a;b\n1,234;1,5\n5,678;2,5\n")
    assert list(read_column(table, 0).numbers or ()) == [1.234, 5.678]
    table = read_csv("a;b\n1.234;1,5\n5.678;2,5\n")
    assert list(read_column(table, 0).numbers or ()) == [1234, 5678]
    table = read_csv('a,b\n"1,234",1.5\n"5,678","2,222.5"\n')
    assert list(read_column(table, 0).numbers or ()) == [1234, 5678]


def test_a_point_that_may_mark_thousands_is_told() -> None:
    described = describe_table(read_csv("a,b\n1.234,x\n5.678,y\n"))[0]
    assert (described.low, described.note) == (
        1.234,
        '1.234 is read as decimals; decimal="," reads thousands',
    )
    assert describe_table(read_csv("a,b\n1.234,x\n5.6,y\n"))[0].note == ""


def test_how_numbers_are_written_is_described() -> None:
    table = read_csv(TABLES["a German export of Excel"][0])
    assert str(table.dialect) == 'cp1252, cells separated by ";", decimal commas'
    assert str(describe_table(table)[2]) == (
        'Preis: number, 49.9 … 1234.5, decimal commas, thousands marked by "." and "\u20ac"'
    )


# Comments.


def test_rows_are_not_taken_for_comments() -> None:
    for text, rows, comments in [
        ("a,b\n# note\n1,x\n#2,y\n3,z\n", 2, 2),  # a row that was commented out
        ("tag,n\n#one,1\ntwo,2\n# a remark\n#three,3\n", 3, 1),
        ("tag,n\n#one,1\n", 1, 0),
        ('a,b\n"# quoted",1\nx,2\n', 2, 0),
        ('a,b\n"two\n# lines",1\nx,2\n', 2, 0),
    ]:
        table = read_csv(text, header=True)
        assert table.dialect is not None
        assert (table.row_count, table.dialect.comments) == (rows, comments), text


def test_comments_are_told_and_can_be_chosen() -> None:
    table = read_csv("a,b\n% made by hand\n1,x\n")
    assert '1 line that begins with "%" left out' in str(table.dialect)
    assert read_csv("tag,n\n#one,1\n#two,2\n", comment="#", header=True).row_count == 0
    assert read_csv("n,tag\n1,a\n#2,b\n", comment="", header=True).row_count == 2
    assert read_csv("n;tag\n1;a\n! no\n2;b\n", comment="!").row_count == 2


# Bytes and other formats.


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04....[Content_Types].xml....xl/workbook.xml", "an Excel workbook (xlsx)"),
        (b"PK\x03\x04....data.csv", "a zip archive"),
        (b"PAR1....", "a Parquet file"),
        (b"\xd0\xcf\x11\xe0....", "an old Excel workbook"),
        (b"<!DOCTYPE html><html><table>", "an HTML page"),
        (b'[{"a": 1}, {"a": 2}]', "JSON"),
        (b"%PDF-1.7", "a PDF document"),
        (b"BZh9....", "compressed by bzip2"),
        (b"\x1f\x8b\x08\x00damaged", "gzip cannot unpack"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-20], "gzip cannot unpack"),
        (gzip.compress(b"PAR1....", mtime=0), "a Parquet file"),
        (b"a,b\n1,2\n\0\0\0\0", "line 3 has a NUL character"),
        (
            "a;b\n\u00e4\u00f6\u00fc\u00df \u00e9\u00e8;1\nx".encode() + b"\xff;2\n",
            "line 3: the byte 0xff",
        ),
    ],
)
def test_what_is_no_csv_is_named(data: bytes, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_csv(data)
    assert caught.value.code == "NNM713"
    assert words in caught.value.message
    assert caught.value.hint


GERMAN = "Größe;Ort\n3;Köln\n4;Münster\n5;Märzen\n"
POLISH = "nazwa;cena\nŁódź;3\nżółw;4\nGdańsk;5\n"
CZECH = "jméno;cena\nDvořák;3\nžlutý;4\nkůň;5\n"
TURKISH = "isim;fiyat\nÇeşme;3\nığdır;4\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((GERMAN, encoding) for encoding in ("cp437", "cp850", "mac_roman")),
        *(("año;José\nniño;3\nmañana;4\n", encoding) for encoding in ("cp850", "mac_roman")),
        *((POLISH, encoding) for encoding in ("cp1250", "iso8859-2", "cp852")),
        *((CZECH, encoding) for encoding in ("cp1250", "iso8859-2", "cp852")),
        *((TURKISH, encoding) for encoding in ("cp1254", "iso8859-9")),
        *(("имя;цена\nКазань;3\n", encoding) for encoding in ("cp1251", "koi8-r", "cp866")),
        *(("名前;値\n東京;3\n大阪;4\n", encoding) for encoding in ("shift_jis", "euc_jp", "gbk")),
        *((text, "gb18030") for text in ("城;数\n北京;1\n上海;2\n", "性别;数\n男;1\n女;2\n")),
        ("όνομα;τιμή\nΑθήνα;3\n", "iso8859-7"),
    ],
)
def test_other_encodings_are_asked_for(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    with pytest.raises(DataError, match=r"NNM713: line [12] has .* neither UTF-8 nor Windows'"):
        read_csv(data)
    assert read_csv(data, encoding=encoding).names == tuple(text.split("\n")[0].split(";"))


@pytest.mark.parametrize(
    "words",
    [
        ("Größe", "Köln", "GRÜN", "Ärzte"),
        ("Café", "à la carte", "L’Œuvre", "Zoë", "«Bonjour»", "forêt"),
        ("São Paulo", "Malmö", "Tromsø", "Þingvellir", "Córdoba", "Zürich"),
        ("“quoted”", "it’s", "5 €", "20 °C", "10 m²", "½ cup", "Acme™", "¿qué?", "Nº 5", "———"),
        ("Škoda", "Æbleskiver", "Curaçao", "l·l", "Øresund"),
    ],
)
def test_words_of_western_europe_are_cp1252(words: Sequence[str]) -> None:
    text = "\n".join(["w;n", *(f"{word};{k}" for k, word in enumerate(words))])
    table = read_csv(text.encode("cp1252"))
    assert table.columns[0] == tuple(words)


def test_an_encoding_can_be_told() -> None:
    text = "a;b\n\u041a\u0438\u0435\u0432;1\n"
    assert read_csv(text.encode("cp1251"), encoding="cp1251").columns[0] == (
        "\u041a\u0438\u0435\u0432",
    )
    with pytest.raises(DataError, match="NNM704: unknown encoding 'klingon'"):
        read_csv(b"a,b\n", encoding="klingon")
    with pytest.raises(DataError, match="NNM713: line 2: the byte 0x96 is not ascii"):
        read_csv(b"a,b\n1,\x96\n", encoding="ascii")


def test_sources_of_all_kinds(tmp_path: Any) -> None:
    import io

    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,2\n")
    with path.open("rb") as binary, path.open() as text:
        sources = [path, binary, text, bytearray(b"a,b\n1,2\n"), io.StringIO("a,b\n1,2\n")]
        for source in sources:
            assert read_csv(source).columns == (("1",), ("2",))
    with pytest.raises(DataError, match="NNM715"):
        read_csv(tmp_path / "none.csv")
    with pytest.raises(DataError, match="NNM702: int is not the text of a table"):
        read_csv(5)


# Cells without an end.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a,b\n1,"' + "x" * 5_000_000, "row 2, column 2: its quote is not closed"),
        ('a,b\n1,"' + "x,y\n" * 400_000, "row 2, column 2: its quote is not closed"),
        (
            "a,b\n# no\n1," + "x" * 200_000,
            r"row 2 \(line 3\), column 2: the cell has more than 131,072",
        ),
        ("a;b\n1;" + "x" * 200_000, "row 2, column 2: the cell has more than 131,072 characters"),
    ],
)
def test_cells_without_an_end_are_named_with_their_line(text: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read_csv(text)
    assert caught.value.code == "NNM713"


@pytest.mark.parametrize(
    "cells",
    [
        [
            "\u0661\u0662\u066b\u0665",
            "\u0661\u066c\u0660\u0660\u0660\u066b\u0665",
            "\u0663\u066b\u0660",
        ],
        [
            "\uff11\uff12\uff0e\uff15",
            "\uff11\uff0c\uff10\uff10\uff10\uff0e\uff15",
            "\uff13\uff0e\uff10",
        ],
        ['="12.5"', '="1000.5"', '="3.0"'],
    ],
    ids=["Arabic", "full-width", "text of a spreadsheet"],
)
def test_digits_of_other_scripts_and_quoted_formulas_are_numbers(cells: list[str]) -> None:
    text = "a;y\n" + "".join(f"{cell};{row}\n" for row, cell in enumerate(cells))
    table = read_csv(text)
    column = read_column(table, 0)
    assert list(column.numbers or ()) == [12.5, 1000.5, 3.0]


def test_codes_in_quoted_formulas_keep_their_zeros() -> None:
    table = read_csv('a,b\n="007",1\n="012",2\n')
    assert list(table.columns[0]) == ["007", "012"] and read_column(table, 0).numbers is None
