"""How texts become the tokens of a model's input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from webnnm.core.errors import DataError
from webnnm.data.tables.columns import as_table, get_column_keys
from webnnm.data.tables.exchange import convert_frame
from webnnm.data.texts.tokenizer import TextTokenizer


@dataclass(frozen=True, slots=True)
class TextReader:
    """What turns a text into the tokens of an input.

    Attributes: `tokenizer`; `length`, the most tokens of a row, after which texts are cut;
    `column`, the name of the column of texts in a table of several.
    """

    tokenizer: TextTokenizer
    length: int
    column: str = "text"

    def encode(self, where: str, values: Any) -> Any:
        """Return a text, texts or the column of a table as lists of tokens, numbers unchanged.

        Raises `DataError` NNM702 for what is not a text, NNM710 without the column, NNM711 for a
        text without tokens.
        """
        values = convert_frame(values)
        if isinstance(values, str):
            values = [values]
        elif (
            isinstance(values, Mapping) or get_column_keys(values) is not None or _is_dicts(values)
        ):
            values = self._read_column(values)
        elif hasattr(values, "tolist") and str(getattr(values, "dtype", ""))[:1] in "O<s":
            values = values.tolist()
        if not isinstance(values, (list, tuple)):
            return values
        texts = cast("Sequence[Any]", values)
        if not any(isinstance(text, str) for text in texts):
            return texts
        return [self._encode_row(f"{where}, row {row}", text) for row, text in enumerate(texts)]

    def read_units(self, text: str) -> list[tuple[str, list[int]]]:
        """Return the words or other units that are read of a text, with their tokens."""
        units: list[tuple[str, list[int]]] = []
        rest = self.length
        for name, ids in self.tokenizer.encode_units(text):
            if rest > 0:
                units.append((name, ids[:rest]))
            rest -= len(ids)
        return units

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, from which `from_dict` makes it again."""
        file = self.tokenizer.file
        return {"column": self.column, "length": self.length, "tokenizer": file}

    def _read_column(self, values: Any) -> Sequence[Any]:
        if isinstance(values, Mapping) and isinstance(values.get(self.column), str):
            return [values[self.column]]
        table = as_table(values)
        return table.columns[0 if len(table.names) == 1 else table.index(self.column)]

    def _encode_row(self, where: str, text: Any) -> list[int]:
        if not isinstance(text, str):
            raise DataError("NNM702", f"{where} is {text!r:.60}, not a text")
        tokens = self.tokenizer.encode(text)[: self.length]
        if not tokens:
            raise DataError("NNM711", f"{where} is an empty text", hint="leave the row out")
        return tokens


def _is_dicts(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and isinstance(values[0], Mapping)


def from_dict(entry: Mapping[str, Any]) -> TextReader:
    """Return the reader of a JSON. Raises `ValueError`, `KeyError`, `TypeError` or `DataError`."""
    length, column = entry["length"], entry["column"]
    if not isinstance(length, int) or length < 1 or not isinstance(column, str):
        raise ValueError(f"texts of {length!r} tokens in the column {column!r}")
    return TextReader(TextTokenizer(entry["tokenizer"]), length, column)
