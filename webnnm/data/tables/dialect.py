"""The dialect of a table: how its text is encoded, divided into cells, and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.core.errors import DataError

DELIMITER_NAMES = {"\t": "tabs", " ": "blanks"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the text of a table is written; what was found, or told.

    >>> print(Dialect(encoding="cp1252", delimiter=";", decimal=",", comment="#", comments=2))
    cp1252, cells separated by ";", decimal commas, 2 lines that begin with "#" left out
    >>> from_dict(to_dict(Dialect(delimiter=";"))) == Dialect(delimiter=";")
    True

    Attributes: `encoding` of the bytes, "" for a text; `delimiter` between cells; `quote` around
    cells; `comment`, the sign with which lines begin that are no rows, or ""; `header`, whether the
    first row names the columns; `decimal`, the decimal mark that is told, or that some column
    surely has, or ""; `missing_values`, words that are told to stand for missing cells. Of this
    text alone: `comments`, how many lines were left out, `compressed`, whether it was unpacked,
    `told`, which of these were told rather than found; and `notes` on anything else that was done.
    """

    encoding: str = ""
    delimiter: str = ","
    quote: str = '"'
    comment: str = ""
    header: bool = True
    decimal: str = ""
    missing_values: tuple[str, ...] = ()
    comments: int = 0
    compressed: bool = False
    told: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [self.encoding] if self.encoding else []
        parts += ["unpacked by gzip"] if self.compressed else []
        mark = DELIMITER_NAMES.get(self.delimiter, f'"{self.delimiter}"')
        parts.append(f"cells separated by {mark}")
        parts += [f"quoted by {self.quote}"] if self.quote != '"' else []
        parts += ["decimal commas"] if self.decimal == "," else []
        if self.comments:
            lines = (
                "1 line that begins" if self.comments == 1 else f"{self.comments} lines that begin"
            )
            parts.append(f'{lines} with "{self.comment}" left out')
        if self.missing_values:
            parts.append(f"{', '.join(self.missing_values)} for missing")
        return ", ".join([*parts, *self.notes])

    @property
    def usual(self) -> bool:
        """Whether there is nothing to say about it."""
        usual = self.encoding in ("", "utf-8", "ascii") and self.delimiter == "," and not self.notes
        quiet = self.quote == '"' and not self.comments and not self.compressed
        return usual and quiet and self.decimal != "," and not self.missing_values


def to_dict(dialect: Dialect) -> dict[str, Any]:
    """Return what applies to other texts too as JSON values, to be saved with a model."""
    return {
        "encoding": dialect.encoding,
        "delimiter": dialect.delimiter,
        "quote": dialect.quote,
        "comment": dialect.comment,
        "header": dialect.header,
        "decimal": dialect.decimal,
        "missing_values": list(dialect.missing_values),
        "told": sorted(dialect.told),
    }


def from_dict(record: Mapping[str, Any]) -> Dialect:
    """Return the dialect that `to_dict` described. Raises `ValueError` for anything else."""
    words = {
        name: record[name] for name in ("encoding", "delimiter", "quote", "comment", "decimal")
    }
    header, lists = record["header"], [tuple(record[n]) for n in ("missing_values", "told")]
    texts = [*words.values(), *lists[0], *lists[1]]
    if not isinstance(header, bool) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{record} is not a dialect")
    try:
        check_options(words["delimiter"], words["quote"], words["comment"], words["decimal"])
    except DataError as error:
        raise ValueError(error.message) from error
    return Dialect(**words, header=header, missing_values=lists[0], told=frozenset(lists[1]))


def check_options(delimiter: Any, quote: Any, comment: Any, decimal: Any) -> None:
    """Refuse marks that cannot be told apart (NNM704); "auto" is to be found."""
    letter = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in "\"'\r\n"
    if delimiter != "auto" and not letter:
        raise DataError("NNM704", f"delimiter is {delimiter!r}", hint="one character, such as ';'")
    if quote not in ("auto", '"', "'"):
        raise DataError("NNM704", f"quote is {quote!r}", hint="\"'\" or '\"'")
    if not isinstance(comment, str) or (
        comment and comment[0] in "\"'\r\n" + str(delimiter)[:1] * (len(str(delimiter)) == 1)
    ):
        raise DataError(
            "NNM704", f"comment is {comment!r}", hint='a sign, such as "#", or "" for none'
        )
    if decimal not in ("auto", "", ".", ","):
        raise DataError("NNM704", f"decimal is {decimal!r}", hint='"." or ","')


def check_missing_values(words: Any) -> tuple[str, ...]:
    """Return the words that stand for missing cells; refuse anything but texts (NNM704)."""
    items: Sequence[Any] = [words] if isinstance(words, str) else words
    if not hasattr(items, "__iter__") or not all(isinstance(item, str) for item in items):
        hint = 'a list of words, such as ["-", "k.A."]'
        raise DataError("NNM704", f"missing_values is {words!r}", hint=hint)
    return tuple(items)
