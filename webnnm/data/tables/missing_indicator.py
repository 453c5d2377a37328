"""The feature that tells in which rows the cell of a column is missing."""

from __future__ import annotations

from array import array

from webnnm.data.tables.column_reading import Column


def name_indicator(column: str, indicator: bool) -> tuple[str, ...]:
    """Return the name of the feature, none without one.

    >>> name_indicator("age", True), name_indicator("age", False)
    (('age missing',), ())
    """
    return (f"{column} missing",) if indicator else ()


def encode_indicator(column: Column, indicator: bool) -> list[array[float]]:
    """Return 1 for rows without a value and 0 for all others, nothing without an indicator."""
    if not indicator:
        return []
    values = array("f", bytes(4 * len(column.numbers or column.words)))
    for row in column.missing:
        values[row] = 1.0
    return [values]
