"""Reads the values of a JSON object by their types, with errors that name the key."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Self, cast

from webnnm.core.errors import DataError

MAX_INTEGER = 2**31 - 1
"""The largest integer of a file: sizes, counts and tokens are below."""
MAX_NUMBER = 1e38
"""The largest number of a file: float32 has no larger ones."""


class Fields:
    """The values of a JSON object; null stands for a missing one.

    >>> Fields({"r": 8, "lora_alpha": "16"}, "adapter_config.json").number("lora_alpha")
    Traceback (most recent call last):
    webnnm.core.errors.DataError: NNM818: adapter_config.json: "lora_alpha" is "16"
    hint: it is a number

    Attributes: `given`, the object; `file`, the name of the file for messages; `code`, that of the
    errors. Every method raises `DataError` for a value of another type, and for a missing one
    without a default. Subclasses see in `_read` which keys were asked for.
    """

    def __init__(
        self, given: Mapping[str, Any], file: str = "config.json", code: str = "NNM818"
    ) -> None:
        self.given = dict(given)
        self.file, self.code = file, code
        self._path = ""
        self._read = set[str]()

    @classmethod
    def of(cls, value: Any, file: str, code: str = "NNM818") -> Self:
        """Return the fields of a value that has to be an object."""
        if not isinstance(value, dict):
            raise DataError(code, f"{file} is not a JSON object", hint="download it again")
        return cls(cast("dict[str, Any]", value), file, code)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value of any type; null stands for the default."""
        self._read.add(key)
        value = self.given.get(key)
        return default if value is None else value

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        value = self.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def texts(self, key: str, default: list[str] | None = None) -> list[str]:
        """Return a list of strings."""
        value = self.get(key, default)
        if not isinstance(value, list) or not all(isinstance(x, str) for x in _any(value)):
            raise self.wrong(key, "a list of strings")
        return cast("list[str]", value)

    def integer(
        self, key: str, default: int | None = None, least: int = 0, most: int = MAX_INTEGER
    ) -> int:
        """Return an integer in a range."""
        value = self.get(key, default)
        if type(value) is not int or not least <= value <= most:
            limit = f" to {most}" if type(value) is int and value > most else ""
            raise self.wrong(key, f"an integer from {least}{limit}")
        return value

    def integers(
        self, key: str, default: list[int] | None = None, least: int = 0, most: int = MAX_INTEGER
    ) -> list[int]:
        """Return a list of integers in a range."""
        value = self.get(key, default)
        good = isinstance(value, list) and all(
            type(x) is int and least <= x <= most for x in _any(value)
        )
        if not good:
            raise self.wrong(key, f"a list of integers from {least}")
        return cast("list[int]", value)

    def tokens(self, key: str) -> list[int]:
        """Return the tokens of a key that has one, several or none."""
        value = self.get(key, [])
        if isinstance(value, list):
            return self.integers(key, [], -1)
        return [self.integer(key, least=-1)]

    def token_lists(self, key: str) -> list[list[int]]:
        """Return a list of lists of tokens, empty if it is missing."""
        value = self.get(key, [])
        if not isinstance(value, list) or not all(map(_are_integers, _any(value))):
            raise self.wrong(key, "a list of lists of tokens")
        return cast("list[list[int]]", value)

    def number(
        self, key: str, default: float | None = None, *, above: float | None = None
    ) -> float:
        """Return a finite number, above another one if that is given."""
        value = self.get(key, default)
        good = type(value) in (int, float) and -MAX_NUMBER <= value <= MAX_NUMBER
        if not good or not math.isfinite(value) or (above is not None and value <= above):
            raise self.wrong(key, "a number" if above is None else f"a number above {above}")
        return int(value) if value == int(value) else value

    def flag(self, key: str, default: bool = False) -> bool:
        """Return true or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def object(self, key: str) -> dict[str, Any]:
        """Return an object, empty if it is missing."""
        value = self.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "an object with keys and values")
        return cast("dict[str, Any]", value)

    def wrong(self, key: str, expected: str) -> DataError:
        """Return the error for a key that is missing or invalid."""
        if self.given.get(key) is None:
            message = f'{self.file} has no "{self._path}{key}"'
            return DataError(self.code, message, hint=expected)
        message = f'{self.file}: "{self._path}{key}" is {shorten(self.given[key])}'
        return DataError(self.code, message, hint=f"it is {expected}")


def shorten(value: Any) -> str:
    """Return a value as JSON, cut after 80 characters."""
    if type(value) is int and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    text = json.dumps(value, default=lambda odd: f"<{type(odd).__name__}>")
    return text if len(text) <= 80 else f"{text[:80]}…"


def _are_integers(value: Any) -> bool:
    return isinstance(value, list) and all(
        type(value_of_list) is int for value_of_list in _any(value)
    )


def _any(values: Any) -> list[Any]:
    return cast("list[Any]", values)
