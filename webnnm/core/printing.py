"""Arrays as text: their first numbers."""

from __future__ import annotations

from typing import Any

SHOWN = 6
"""The numbers of a row, and the rows, that are printed."""


def show_numbers(values: Any) -> str:
    """Return the first numbers of an array, or a number, as text.

    >>> from webnnm.core.arrays import HostArray
    >>> show_numbers(HostArray.of([[0.1, 2.0]]))
    '[[0.1, 2]]'
    """
    shape = getattr(values, "shape", None)
    if shape:
        rows = [show_numbers(values[row]) for row in range(min(shape[0], SHOWN))]
        return f"[{', '.join([*rows, *['…'] * (shape[0] > SHOWN)])}]"
    number = values if shape is None else values.tolist()
    return f"{number:.6g}" if isinstance(number, float) else str(number)
