"""Numbers as messages show them: four significant digits, thousands separated."""

from __future__ import annotations

import math

SEPARATED = 10_000
"""From this number on thousands are separated: years are not."""

MAX_WRITTEN_OUT = 1e9
"""Larger numbers have an exponent."""


def show_number(value: float) -> str:
    """Return a number for a message; whole numbers keep all their digits.

    >>> show_number(0.999998), show_number(450.0), show_number(12345.678), show_number(1e-08)
    ('1', '450', '12,350', '1e-08')
    >>> show_number(2024), show_number(1234567), show_number(float("inf"))
    ('2024', '1,234,567', 'inf')
    """
    if not math.isfinite(value) or abs(value) >= MAX_WRITTEN_OUT:
        return f"{value:.4g}"
    rounded = value if value == int(value) else float(f"{value:.4g}")
    if abs(rounded) >= SEPARATED:
        return f"{rounded:,.0f}"
    return f"{rounded:g}"
