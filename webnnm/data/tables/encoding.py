"""Encoders of columns, fitted to the training rows and applied to all others."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast, get_args

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.data.tables.column_reading import (
    Column,
    Locate,
    locate_cell,
    missing_cell_error,
    read_column,
    read_dates,
)
from webnnm.data.tables.columns import Table, as_number, as_table
from webnnm.data.tables.date_encoding import DateEncoder, encoder_from_dict, encoder_to_dict
from webnnm.data.tables.hashing import hash_word
from webnnm.data.tables.missing_indicator import encode_indicator, name_indicator
from webnnm.data.tables.number_format import PLAIN, NumberFormat, format_from_dict, format_to_dict

Unknown = Literal["error", "zeros"]
"""What happens to a word that no training row has."""

UNKNOWN: tuple[Unknown, ...] = get_args(Unknown)

MAX_CATEGORIES = 1000
"""More distinct words than this are not categories but names or numbers of single rows."""

MAX_LISTED = 8
"""The maximum number of words that a message lists."""


@dataclass(frozen=True, slots=True)
class NumberEncoder:
    """Passes numbers through; replaces missing numbers with `fill`, if it is not None.

    >>> NumberEncoder("age", fill=30.0).encode(Column("age", array("d", [math.nan, 4]), (), [0]))
    [array('d', [30.0, 4.0])]

    Attributes: `name` of the column; `fill`; the `number_format` in which its numbers were written,
    which decides where those of new rows may be read in two ways; `indicator`, whether a second
    feature tells which numbers are missing.
    """

    name: str
    fill: float | None = None
    number_format: NumberFormat = PLAIN
    indicator: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the resulting features."""
        return self.name, *name_indicator(self.name, self.indicator)

    def encode(self, column: Column, locate: Locate | None = None) -> list[array[float]]:
        """Return one number per row. Raises `DataError` NNM713 if one is missing without `fill`."""
        numbers = array("d", column.numbers or ())
        if column.missing and self.fill is None:
            raise missing_cell_error(locate, column)
        for row in column.missing:
            numbers[row] = self.fill or 0.0
        return [numbers, *encode_indicator(column, self.indicator)]

    def with_fill(self, shares: Sequence[float]) -> NumberEncoder:
        """Return the same encoder with the mean of the training rows for missing numbers."""
        return replace(self, fill=shares[0])


@dataclass(frozen=True, slots=True)
class OneHotEncoder:
    """Turns each word into a 1 among zeros, one place for each category.

    >>> colours = OneHotEncoder.fit("colour", ["red", "blue", "red"])
    >>> colours.features
    ('colour=blue', 'colour=red')
    >>> [list(places) for places in colours.encode(Column("colour", None, ["red", "blue"], ()))]
    [[0.0, 1.0], [1.0, 0.0]]

    Attributes: `name` of the column; `categories`, sorted; `unknown`, "error" or "zeros" for other
    words; `fill`, the numbers for a missing word, or () if that is an error; `indicator`, whether a
    further feature tells which words are missing; `others`, how many features stand for the words
    that are no categories: one is 1 for all of them, several share them by their hashes, which
    decide where there is a 1 or -1 (see `hashing`).
    """

    name: str
    categories: tuple[str, ...]
    unknown: Unknown = "zeros"
    fill: tuple[float, ...] = ()
    indicator: bool = False
    others: int = 0

    @classmethod
    def fit(
        cls,
        name: str,
        words: Sequence[str],
        unknown: Unknown = "zeros",
        max_categories: int | None = None,
        others: int = 1,
    ) -> OneHotEncoder:
        """Fit the encoder to the words of the training rows, the most frequent ones if there are
        more than `max_categories`, with `others` features for the rest. Without `max_categories`
        several `others` share all words, if there are more of them.

        Raises `DataError` NNM713 if there are more than 1000 categories, NNM704 for another
        `unknown`.
        """
        if unknown not in UNKNOWN:
            raise DataError("NNM704", f'unknown="{unknown}"', hint=f"one of {', '.join(UNKNOWN)}")
        limit = max_categories
        if limit is None and others > 1 and len({*words}) > others:
            limit = 0
        if limit is not None and len({*words}) > limit:
            # Ties are broken by the words themselves, so that the order of the rows does not count.
            counts = sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))
            frequent = [category for category, _ in counts[:limit]]
            return cls(name, sort_categories(frequent), unknown, others=others)
        categories = sort_categories(words)
        if len(categories) > MAX_CATEGORIES:
            raise DataError(
                "NNM713",
                f"column {name} has {len(categories)} different words, such as "
                f'"{categories[0]}": too many for categories',
                hint="max_categories=50 keeps the most frequent ones, hash_buckets=32 hashes them; "
                "features=[…] leaves the column out",
            )
        return cls(name, categories, unknown)

    @property
    def hashed(self) -> bool:
        """Whether the words that are no categories share several features by their hashes."""
        return self.others > 1

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the resulting features."""
        names = [f"{self.name}={category}" for category in self.categories]
        names += [f"{self.name} other"] if self.others == 1 else []
        names += [f"{self.name} hash {n}" for n in range(self.others)] if self.hashed else []
        return *names, *name_indicator(self.name, self.indicator)

    def encode(self, column: Column, locate: Locate | None = None) -> list[array[float]]:
        """Return for each category 0 or 1 per row, for each hash bucket also -1.

        Raises `DataError` NNM706 for an unknown word if that is an error, NNM713 for a missing
        word.
        """
        if column.missing and not self.fill:
            raise missing_cell_error(locate, column)
        numbers = {category: number for number, category in enumerate(self.categories)}
        width = len(self.categories) + self.others
        result = [array("f", bytes(4 * len(column.words))) for _ in range(width)]
        for row, category in enumerate(column.words):
            if category in numbers:
                result[numbers[category]][row] = 1.0
            elif category is not None and self.hashed:
                bucket, sign = hash_word(category, self.others)
                result[len(numbers) + bucket][row] = sign
            elif category is not None and self.others:
                result[-1][row] = 1.0
            elif category is not None and self.unknown == "error":
                raise _unknown_category_error(
                    locate_cell(locate, row, self.name), category, self.categories
                )
        for row in column.missing:
            for values, share in zip(result, self.fill, strict=True):
                values[row] = share
        return result + encode_indicator(column, self.indicator)

    def with_fill(self, shares: Sequence[float]) -> OneHotEncoder:
        """Return the same encoder with the shares of the categories for missing words."""
        return replace(self, fill=tuple(shares))


Encoder = NumberEncoder | OneHotEncoder | DateEncoder


@dataclass(frozen=True, slots=True)
class LabelEncoder:
    """Numbers classes: names in order, 0 … C−1.

    >>> species = LabelEncoder.fit("species", ["virginica", "setosa"])
    >>> species.classes, species.encode(["virginica"]), species.decode([0])
    (('setosa', 'virginica'), [1], ['setosa'])
    >>> LabelEncoder.fit("digit", ["10", "9", "9"]).classes
    ('9', '10')

    Attributes: `name` of the column; `classes`, sorted as numbers if all of them are, else by code
    point.
    """

    name: str
    classes: tuple[str, ...]

    @classmethod
    def fit(cls, name: str, words: Iterable[str]) -> LabelEncoder:
        """Take the classes. Raises `DataError` NNM706 for a single one, or more than 1000."""
        classes = sort_categories(words)
        if len(classes) < 2:
            raise DataError(
                "NNM706",
                f'column {name} has the same label in all rows, "{"".join(classes)}"',
                hint="label= names the column of the labels",
            )
        if len(classes) > MAX_CATEGORIES:
            raise DataError(
                "NNM706",
                f"column {name} has {len(classes)} different labels: too many for classes",
                hint='set task="regression" to treat numbers as numbers',
            )
        return cls(name, classes)

    def encode(self, labels: Iterable[str], locate: Locate | None = None) -> list[int]:
        """Return the number of each class. Raises `DataError` NNM706 for an unknown word."""
        numbers = {label: number for number, label in enumerate(self.classes)}
        result: list[int] = []
        for row, label in enumerate(labels):
            if label not in numbers:
                raise _unknown_category_error(
                    locate_cell(locate, row, self.name), label, self.classes
                )
            result.append(numbers[label])
        return result

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """Return the names of classes. Raises `DataError` NNM706 for a number without a class."""
        result: list[str] = []
        for number in numbers:
            if not 0 <= number < len(self.classes):
                raise DataError("NNM706", f"class {number} of 0 … {len(self.classes) - 1}")
            result.append(self.classes[number])
        return result


def encode_rows(encoders: Sequence[Encoder], rows: Any) -> HostArray:
    """Return rows of a table, or lists with one cell for each encoder, as float64.

    >>> encode_rows([NumberEncoder("a"), OneHotEncoder("b", ("x", "y"))], [[5, "y"]]).tolist()
    [[5.0, 0.0, 1.0]]

    Raises `DataError` NNM702 for rows of another length, NNM710 for a missing column, and what the
    encoders raise.
    """
    names = tuple(encoder.name for encoder in encoders)
    if isinstance(rows, (list, tuple)):
        items = cast("Sequence[Sequence[Any]]", rows)
        for number, row in enumerate(items):
            if not isinstance(row, (list, tuple)) or len(row) != len(names):
                raise DataError(
                    "NNM702",
                    f"row {number} is {row!r}",
                    hint=f"a row has {len(names)} cells: {', '.join(names)}",
                )
        table = Table(names, tuple(zip(*items, strict=True)) or ((),) * len(names))
    else:
        table = as_table(rows)
    index_by_name = {name: index for index, name in enumerate(table.names)}
    values: list[array[float]] = []
    for encoder in encoders:
        index = index_by_name.get(encoder.name)
        index = table.index(encoder.name) if index is None else index
        column = read_as_fitted(table, index, encoder)
        values += encoder.encode(column, partial(table.place, column=index))
    return stack_columns(values, table.row_count)


def read_as_fitted(table: Table, index: int, encoder: Encoder) -> Column:
    """Return a column of a table, read as the encoder that takes it was fitted.

    >>> table = Table(("a",), (["1", ""],))
    >>> read_as_fitted(table, 0, NumberEncoder("a")).missing
    [1]

    Raises `DataError` NNM713 for a cell that is not a number or a date.
    """
    if isinstance(encoder, NumberEncoder):
        return read_column(table, index, True, encoder.number_format)
    if isinstance(encoder, DateEncoder):
        return read_dates(table, index, encoder.date_format)
    return read_column(table, index, False)


def stack_columns(columns: Sequence[array[float]], rows: int) -> HostArray:
    """Return columns as float64 `[rows, columns]`."""
    flat = array("d", bytes(8 * len(columns) * rows))
    for index, values in enumerate(columns):
        flat[index :: len(columns)] = values if values.typecode == "d" else array("d", values)
    return HostArray("float64", (rows, len(columns)), flat)


def sort_categories(texts: Iterable[str]) -> tuple[str, ...]:
    """Return distinct words in order: numbers by value, other words by code point.

    >>> sort_categories(["b", "a", "b"]), sort_categories(["10", "9"])
    (('a', 'b'), ('9', '10'))
    """
    distinct = sorted(set(texts))
    values = [as_number(text) for text in distinct]
    if all(value is not None and math.isfinite(value) for value in values):
        distinct.sort(key=float)
    return tuple(distinct)


def to_dict(encoder: Encoder | LabelEncoder) -> dict[str, Any]:
    """Return an encoder as JSON values, to be saved with a model.

    >>> to_dict(LabelEncoder("y", ("no", "yes")))
    {'name': 'y', 'classes': ['no', 'yes']}
    """
    if isinstance(encoder, LabelEncoder):
        return {"name": encoder.name, "classes": list(encoder.classes)}
    if isinstance(encoder, DateEncoder):
        return encoder_to_dict(encoder)
    if isinstance(encoder, NumberEncoder):
        written = format_to_dict(encoder.number_format)
        record: dict[str, Any] = {"name": encoder.name, "fill": encoder.fill}
        record |= {"format": written} if written else {}
    else:
        record = {
            "name": encoder.name,
            "categories": list(encoder.categories),
            "unknown": encoder.unknown,
            "fill": list(encoder.fill),
        }
        record |= {"others": encoder.others} if encoder.others else {}
    return record | ({"indicator": True} if encoder.indicator else {})


def from_dict(record: Mapping[str, Any]) -> Encoder | LabelEncoder:
    """Return the encoder that `to_dict` described.

    >>> from_dict({"name": "age", "fill": 30.0}) == NumberEncoder("age", fill=30.0)
    True
    """
    name, indicator = record["name"], bool(record.get("indicator"))
    if "classes" in record:
        return LabelEncoder(name, tuple(record["classes"]))
    if "dates" in record:
        return encoder_from_dict(record)
    if "categories" in record:
        fill, categories = tuple(record["fill"]), tuple(record["categories"])
        others = int(record.get("others", 0))  # True once stood for 1
        return OneHotEncoder(name, categories, record["unknown"], fill, indicator, others)
    number_format = format_from_dict(record.get("format", {}))
    return NumberEncoder(name, record["fill"], number_format, indicator)


def list_words(words: Sequence[str]) -> str:
    """Return words as a message lists them: the first ones, if there are many.

    >>> list_words("abc"), list_words("abcdefghij")
    ('a, b, c', 'a, b, c, d, e, f, g, h … (10 in all)')
    """
    more = f" … ({len(words)} in all)" if len(words) > MAX_LISTED else ""
    return ", ".join(words[:MAX_LISTED]) + more


def _unknown_category_error(where: str, category: str, categories: Sequence[str]) -> DataError:
    shown = list_words(categories)
    return DataError(
        "NNM706",
        f'{where} is "{category}"',
        hint=suggestion(category, categories) or f"known: {shown}",
    )
