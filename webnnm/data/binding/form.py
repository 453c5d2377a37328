"""The original form of an input's rows, and how they become a field's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError
from webnnm.data.field import Field
from webnnm.data.shaped import as_rows
from webnnm.data.tables.columns import Table, as_table, get_column_keys
from webnnm.data.tables.exchange import is_foreign_frame

if TYPE_CHECKING:
    from webnnm.data.pictures.pixel_scale import Light
    from webnnm.data.series.series_encoder import SeriesEncoder
    from webnnm.data.tables.encoding import Encoder
    from webnnm.data.texts.reading import TextReader


@dataclass(frozen=True, slots=True)
class Form:
    """The form in which a dataset was given an input.

    >>> form = Form(Field((2,), "float32", features=("width", "height")))
    >>> form.rows("input", {"height": 5, "width": 3}).tolist()
    [[3.0, 5.0]]

    Attributes: `field`; `light`, if the rows are pictures; `letters`, the characters that the
    numbers 0, 1, … stand for, if the rows are text; `encoders` of the columns, if they are rows
    of a table; `fit`, how pictures of any size are brought to that of the dataset, or "";
    `series`, if they are windows of a series; `reader`, which turns texts into tokens; `rate`,
    the samples per second of sounds, or 0.
    """

    field: Field
    light: Light | None = None
    letters: Sequence[str] = ()
    encoders: Sequence[Encoder] = ()
    fit: str = ""
    series: SeriesEncoder | None = None
    reader: TextReader | None = None
    rate: int = 0

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns that a table must have, or () if their order decides."""
        if self.reader is not None:
            return [self.reader.column]
        return [encoder.name for encoder in self.encoders] or self.field.features

    def plain(self, where: str, values: Any) -> Any:
        """Return pictures and rows of tables as an array, texts as lists of numbers.

        Anything else is returned unchanged. Raises `DataError` NNM702 for pictures of another size,
        NNM706 for an unknown character or word, NNM710 for a missing column, NNM713 for a cell that
        is empty or not a number.
        """
        if self.reader is not None:
            return self.reader.encode(where, values)
        if self.letters:
            return _encode_texts(where, values, self.letters)
        if self.series is not None:
            return self.series.encode(values) if self.series.is_history(values) else values
        if self.light is not None:
            from webnnm.data.pictures.pixels import read_pictures

            return self.light.of(where, read_pictures(where, values, self.field))
        if _is_series(values) and {*self.columns} <= {*map(str, values.index)} and self.columns:
            values = values.to_dict()
        if self.encoders or is_table(values):
            return self._encode_table(values)
        return values

    def rows(self, where: str, values: Any) -> HostArray:
        """Return the rows of an input without positions, or a single row, as `[rows, …]`."""
        converted = HostArray.of(self.plain(where, values))
        return as_rows(where, converted, self.field.shape, self.field.names)

    def _encode_table(self, values: Any) -> HostArray:
        from webnnm.data.tables.date_encoding import DateEncoder
        from webnnm.data.tables.encoding import NumberEncoder, encode_rows

        table = _as_table(values)
        encoders = self.encoders
        if table is None:
            width = sum(len(encoder.features) for encoder in encoders)
            shape = tuple(getattr(values, "shape", ()))
            dates = any(isinstance(encoder, DateEncoder) for encoder in encoders)
            # Numbers are no dates: they are what `encode` returned.
            is_encoded = len(encoders) != width or (dates and isinstance(values, HostArray))
            if is_encoded and shape[-1:] == (width,):
                return HostArray.of(values)
            rows = values.tolist() if hasattr(values, "tolist") else values
            return encode_rows(encoders, _to_rows(rows))
        by_name = all(name in table.names for name in self.columns)
        if not encoders:
            if self.field.features and (by_name or not _is_unnamed(table)):
                encoders = [NumberEncoder(name) for name in self.field.features]
            else:  # its order decides
                encoders = [NumberEncoder(name) for name in table.names]
        elif not by_name and _is_unnamed(table):
            return encode_rows(encoders, list(zip(*table.columns, strict=True)))
        return encode_rows(encoders, table)


def is_table(value: Any) -> bool:
    """Return whether something is columns with names, or rows of cells with names.

    >>> is_table({"width": [1, 2]}), is_table([{"width": 1}]), is_table([[1, 2]])
    (True, True, False)
    """
    if isinstance(value, (list, tuple)):
        return bool(cast("Sequence[Any]", value)) and isinstance(value[0], Mapping)
    if isinstance(value, (Mapping, Table)):
        return True
    return get_column_keys(value) is not None or is_foreign_frame(value)


def convert_numbers(where: str, values: Any, dtype: DataType | None) -> HostArray:
    """Return numbers as an array of at least one row; errors name the input."""
    try:
        converted = HostArray.of(values, dtype)
    except DataError as error:
        raise DataError(error.code, f"{where}: {error.message}", hint=error.hint) from error
    if converted.shape[:1] == (0,):
        raise DataError("NNM702", f"{where} has no rows", hint="[rows, features…]")
    return converted


def _as_table(value: Any) -> Table | None:
    """Return anything with named columns as a table, None for rows without names."""
    if not is_table(value):
        return None
    if isinstance(value, Mapping) and not any(map(_is_column, cast("Any", value).values())):
        value = [value]
    return as_table(value)


def _is_series(value: Any) -> bool:
    """Return whether something may be a row of a pandas data frame."""
    return hasattr(value, "to_dict") and hasattr(value, "index") and not hasattr(value, "columns")


def _is_column(value: Any) -> bool:
    if isinstance(value, str) or getattr(value, "shape", None) == ():  # a cell
        return False
    return hasattr(value, "__len__") or hasattr(value, "to_py")


def _is_unnamed(table: Table) -> bool:
    """Return whether the columns have only numbers as names, or none at all."""
    return not table.has_header or all(name.isdecimal() for name in table.names)


def _to_rows(rows: Any) -> list[Any]:
    """Return rows of cells; a single row becomes the only one."""
    items: list[Any] = list(rows) if isinstance(rows, (list, tuple)) else [rows]
    plain = [row.tolist() if hasattr(row, "tolist") else row for row in items]
    return [plain] if plain and not isinstance(plain[0], (list, tuple)) else plain


def _encode_texts(where: str, values: Any, letters: Sequence[str]) -> Any:
    """Return texts as lists of the numbers of their characters."""
    texts: Sequence[Any] = [values] if isinstance(values, str) else values
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        return values  # numbers already
    ids = {letter: number for number, letter in enumerate(letters)}
    for row, text in enumerate(texts):
        for position, letter in enumerate(text):
            if letter not in ids:
                raise DataError(
                    "NNM706",
                    f"{where}, row {row}: character {position} {letter!r} is not in the dataset's",
                    hint=f"known characters: {''.join(letters)!r}",
                )
    return [[ids[letter] for letter in text] for text in texts]
