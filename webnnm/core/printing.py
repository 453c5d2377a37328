"""Arrays as text: their first numbers."""

from __future__ import annotations

from typing import Any

from webnnm.core.arrays import HostArray

SHOWN = 6
"""The numbers of a row, and the rows, that are printed."""


def show_numbers(values: Any) -> str:
    """Return the first numbers of an array as text.

    >>> show_numbers(HostArray.of([[0.1, 2.0]]))
    '[[0.1, 2]]'
    """
    if isinstance(values, HostArray) and values.shape:
        rows = [show_numbers(values[row]) for row in range(min(len(values), SHOWN))]
        return f"[{', '.join([*rows, *['…'] * (len(values) > SHOWN)])}]"
    number = values.tolist() if isinstance(values, HostArray) else values
    return f"{number:.6g}" if isinstance(number, float) else str(number)
