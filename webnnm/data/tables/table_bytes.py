"""Turns the bytes of a table into text: finds their encoding, unpacks gzip, names other formats."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from webnnm.core.errors import DataError

MAX_BYTES = 1 << 30
"""A text that gzip unpacks to more than this is none that a table is made from."""

GZIP = b"\x1f\x8b"
"""Bytes that gzip packed begin so."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
READ_TABLE = "read_table reads it, or save it as CSV"
_SAVE = "save the sheet as CSV"
_FORMATS = (
    (b"PK\x03\x04", "", ""),
    (b"PK\x05\x06", "an empty zip archive", "give the file in it"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (xls)", _SAVE),
    (b"PAR1", "a Parquet file", READ_TABLE),
    (b"ARROW1", "an Arrow (Feather) file", READ_TABLE),
    (b"ORC", "an ORC file", "pyarrow.orc.read_table reads it: give the table"),
    (b"Obj\x01", "an Avro file", "write its records as CSV"),
    (b"SQLite format 3", "an SQLite database", "pandas.read_sql reads it: give the data frame"),
    (b"\x89HDF", "an HDF5 file", "pandas.read_hdf reads it: give the data frame"),
    (b"\x93NUMPY", "a NumPy array", "numpy.load reads it: Dataset takes arrays"),
    (b"BZh", "a file compressed by bzip2", "unpack it, or compress it by gzip"),
    (b"\xfd7zXZ", "a file compressed by xz", "unpack it, or compress it by gzip"),
    (b"\x28\xb5\x2f\xfd", "a file compressed by zstd", "unpack it, or compress it by gzip"),
    (b"7z\xbc\xaf", "a 7-Zip archive", "give the file in it"),
    (b"Rar!", "a RAR archive", "give the file in it"),
    (b"%PDF", "a PDF document", "save its table as CSV"),
    (b"\x89PNG", "a picture (PNG)", "ImageDataset takes pictures"),
    (b"\xff\xd8\xff", "a picture (JPEG)", "ImageDataset takes pictures"),
    (b"GIF8", "a picture (GIF)", "ImageDataset takes pictures"),
    (b"$FL2", "an SPSS file", "pandas.read_spss reads it: give the data frame"),
    (b"<stata_dta>", "a Stata file", "pandas.read_stata reads it: give the data frame"),
    (b"{\\rtf", "an RTF document", "save its table as CSV"),
)
_ZIPPED = (
    (b"xl/", "an Excel workbook (xlsx)", READ_TABLE),
    (b"opendocument.spreadsheet", "an OpenDocument spreadsheet (ods)", _SAVE),
    (b"word/", "a Word document", "save its table as CSV"),
    (b".npy", "an archive of NumPy arrays", "numpy.load reads it: Dataset takes arrays"),
    (b"data.pkl", "a file of PyTorch", "write its numbers as CSV"),
    (b"", "a zip archive", "give the file in it"),
)
INSIDE_WORDS = "’‘–—·´¨\u00ad"
"""Apostrophes, dashes and the like."""
BEFORE_WORDS = f"{INSIDE_WORDS}“„‚”«‹»›¿¡•…†‡©€°\u00a0"
AFTER_WORDS = f"{INSIDE_WORDS}“”„«‹»›…†‡®™©²³¹°€\u00a0"
ALPHABETS = (
    *("äöüß", "àâæçéèêëîïôœùûüÿ", "áéíóúüñ", "àáâãçéêíóôõú", "àèéìíîòóù", "àçèéíïòóúü·"),
    *("åæøéóäö", "åäöéü", "áðéíóúýþæö", "äëéèêïöüóá", "õäöüšž"),
)
"""Of languages of Western Europe, the letters beyond ASCII; no word mixes those of several."""

SAMPLE = 1 << 20
"""How many characters show whether an encoding was the right one."""
_LETTER = "A-Za-zÀ-ÖØ-öø-ÿŒœŠšŽžŸ"
_WORD = re.compile(rf"[{_LETTER}]*[À-ÖØ-öø-ÿŒœŠšŽžŸ][{_LETTER}]*")
_RUN = re.compile(r"[^\x00-\x7f]{3,}")
_CAPITAL = re.compile(r"(?<=[a-zß-öø-ÿœšž])[À-ÖØ-ÞŒŠŽŸ]|(?<=[A-Za-z])[ŠŽŸ](?=[a-z])")
_SIGNS = (
    (re.compile(rf"(?<=[{_LETTER}])[^\x00-\x7f](?=[{_LETTER}])"), INSIDE_WORDS),
    (re.compile(rf"(?<![{_LETTER}])[^\x00-\x7f](?=[{_LETTER}])"), BEFORE_WORDS),
    (re.compile(rf"(?<=[{_LETTER}])[^\x00-\x7f](?![{_LETTER}])"), AFTER_WORDS),
)
_MARKUP = re.compile(r"\s*<(!doctype html|html|table|head|body)\b", re.IGNORECASE)
_XML = re.compile(r"\s*<\?xml\b", re.IGNORECASE)
JSON = re.compile(r"\s*(\[\s*[\[{]|\{\s*\"(?:[^\"\\\n]|\\.)*\"\s*:)")
"""Matches the beginning of JSON that may hold the rows of a table."""


class Decoded(NamedTuple):
    """A text, the encoding of its bytes, and whether it was unpacked."""

    text: str
    encoding: str
    compressed: bool


def decode_table(data: bytes, encoding: str = "auto") -> Decoded:
    """Return the text of a table, unpacked and decoded.

    >>> decode_table("Köln;1".encode("cp1252"))
    Decoded(text='Köln;1', encoding='cp1252', compressed=False)

    UTF-8, UTF-16 and UTF-32 are recognised, with and without a mark at the beginning; other bytes
    are Windows' code page 1252 if that gives words of Western Europe. Raises `DataError` NNM713 for
    other formats, by their name, and if the encoding is unknown, NNM704 for one that does not
    exist.
    """
    compressed = data.startswith(GZIP)
    if compressed:
        data = decompress(data)
    _check_format(data)
    text, encoding = decode_text(data, encoding)
    check_text(text)
    return Decoded(text, encoding, compressed)


def decode_text(data: bytes, encoding: str = "auto") -> tuple[str, str]:
    """Return the text of bytes and its encoding. Raises what `decode_table` raises for these."""
    if encoding == "auto":
        return _detect_and_decode(data)
    try:
        return data.decode(encoding).removeprefix("\ufeff"), encoding
    except (LookupError, TypeError) as error:
        hint = '"utf-8", "cp1252", "utf-16" …'
        raise DataError("NNM704", f"unknown encoding {encoding!r}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise _undecodable_error(data, error, encoding) from error


def check_text(text: str) -> None:
    """Name a text that is in another format than a table (NNM713)."""
    kind = ("", "")
    if _MARKUP.match(text):
        kind = "an HTML page", "copy its table into a spreadsheet, and save that as CSV"
    elif _XML.match(text):
        kind = "an XML document", "write its records as CSV"
    elif JSON.match(text):
        kind = "JSON", READ_TABLE
    if kind[0]:
        raise DataError("NNM713", f"the table is {kind[0]}, not CSV", hint=kind[1])
    offset = text.find("\0")
    if offset >= 0:
        line = text.count("\n", 0, offset) + 1
        raise DataError(
            "NNM713",
            f"line {line} has a NUL character: this is not the text of a table",
            hint='encoding="utf-16" or another one may read it',
        )


def _check_format(data: bytes) -> None:
    for beginning, name, remedy in _FORMATS:
        if data.startswith(beginning):
            if not name:
                ends = data[:4096] + data[-65536:]
                name, remedy = next((n, r) for mark, n, r in _ZIPPED if mark in ends)
            raise DataError("NNM713", f"the table is {name}, not CSV", hint=remedy)


def decompress(data: bytes) -> bytes:
    """Return what gzip packed. Raises `DataError` NNM713 if it is damaged or too large."""
    import zlib

    parts: list[bytes] = []
    rest, size = data, 0
    try:
        while rest.startswith(GZIP):  # several parts may follow each other
            unpacker = zlib.decompressobj(wbits=31)
            parts.append(unpacker.decompress(rest, max(1, MAX_BYTES - size)))
            size += len(parts[-1])
            if unpacker.unconsumed_tail:
                hint = "train on a part of it, or with StreamDataset"
                problem = f"gzip unpacks the table to more than {MAX_BYTES / 1e9:.0f} GB"
                raise DataError("NNM713", problem, hint=hint)
            if not unpacker.eof:
                raise zlib.error("the end is missing")
            rest = unpacker.unused_data
    except zlib.error as error:
        hint = "fetch it again, or unpack it with gunzip"
        raise DataError("NNM713", f"gzip cannot unpack the table: {error}", hint=hint) from error
    return b"".join(parts)


def _detect_and_decode(data: bytes) -> tuple[str, str]:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            try:
                return data.decode(encoding), encoding
            except UnicodeDecodeError as error:
                raise _undecodable_error(data, error, encoding) from error
    if encoding := _detect_wide(data):
        return data.decode(encoding), encoding
    if data.isascii():
        return data.decode("ascii"), "ascii"
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        if _is_mostly_utf8(data, error):
            raise _undecodable_error(data, error, "utf-8") from error
    for encoding in ("cp1252", "latin-1"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if _is_western(text):
            return text, encoding
        break
    offset = next(offset for offset, byte in enumerate(data) if byte > 127)
    line = data.count(b"\n", 0, offset) + 1
    shown = data[max(0, offset - 8) : offset + 8].decode("ascii", "backslashreplace")
    raise DataError(
        "NNM713",
        f"line {line} has {shown!r}: its encoding is neither UTF-8 nor Windows' cp1252",
        hint='encoding= names it: "cp1250", "cp1251", "mac_roman", "cp850", "shift_jis", "gbk" …',
    )


def _detect_wide(data: bytes) -> str:
    """Return UTF-16 or UTF-32 without a mark: every other byte of Western letters is 0."""
    sample = data[:4096]
    size = len(sample) // 4
    zeros = [sample[offset::4].count(0) for offset in range(4)]
    for encoding, empty in (
        ("utf-32-le", (1, 2, 3)),
        ("utf-32-be", (0, 1, 2)),
        ("utf-16-le", (1, 3)),
        ("utf-16-be", (0, 2)),
    ):
        full = [offset for offset in range(4) if offset not in empty]
        if size and all(zeros[k] > 0.7 * size for k in empty) and not any(zeros[k] for k in full):
            try:
                data.decode(encoding)
            except UnicodeDecodeError:
                continue
            return encoding
    return ""


def _is_mostly_utf8(data: bytes, error: UnicodeDecodeError) -> bool:
    """Return whether more letters than not are UTF-8: a few bytes are damaged."""
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    right = sum([len(run) for run in re.findall(r"[^\x00-\x7f\ufffd]+", text)])
    return right > 3 * wrong


def _is_western(text: str) -> bool:
    """Return whether letters beyond ASCII stand as they do in words of Western Europe."""
    text = text[:SAMPLE]
    strange = len(re.findall(r"[\x80-\x9f]", text))
    # In a foreign encoding, signs touch letters, and capitals are in the middle of words.
    for pattern, usual in _SIGNS:
        strange += sum([not sign.isalpha() and sign not in usual for sign in pattern.findall(text)])
    strange += len(_CAPITAL.findall(text))
    # Words have the accents of several languages, and one follows the other.
    for token in _WORD.findall(text):
        accents = {letter for letter in token.lower() if letter > "\x7f"}
        strange += not any(accents.issubset(alphabet) for alphabet in ALPHABETS)
    long = sum([len(run) for run in _RUN.findall(text) if len({*run}) > 1])
    others = re.findall(r"[^\x00-\x7f]", text)
    return 10 * strange <= len(others) and 2 * long <= len(others)


def _undecodable_error(data: bytes, error: UnicodeDecodeError, encoding: str) -> DataError:
    line = data.count(b"\n", 0, error.start) + 1
    byte = data[error.start]
    return DataError(
        "NNM713",
        f"line {line}: the byte 0x{byte:02x} is not {encoding.removesuffix('-sig')}",
        hint="correct the line, or encoding= names the encoding that the file was written in",
    )
