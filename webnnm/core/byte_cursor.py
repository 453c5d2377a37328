"""A position in a file that is read from its beginning, with every length checked."""

from __future__ import annotations

import struct
from typing import Any

from webnnm.core.errors import DataError

AGAIN = "it was cut off: download it again"


class Cursor:
    """Reads little-endian numbers and bytes one after the other.

    >>> cursor = Cursor(memoryview(b"\\x02\\x00hi!"))
    >>> cursor.number("H", "a length"), bytes(cursor.take(2, "a word")), cursor.position
    (2, b'hi', 4)
    """

    def __init__(self, view: memoryview[int]) -> None:
        self.view = view
        self.position = 0

    def take(self, size: int, what: str) -> memoryview[int]:
        """Return the next bytes. Raises `DataError` NNM801 if the file ends before."""
        self.check(size, 1, what)
        self.position += size
        return self.view[self.position - size : self.position]

    def check(self, number: int, size: int, what: str) -> None:
        """Raise NNM801 if this many items of at least this size cannot follow."""
        if number * size > len(self.view) - self.position:
            message = f"the file ends within {what}: it has {len(self.view)} bytes"
            raise DataError("NNM801", message, hint=AGAIN)

    def number(self, code: str, what: str) -> Any:
        """Return the next number, in a format of `struct`."""
        return struct.unpack(f"<{code}", self.take(struct.calcsize(code), what))[0]
