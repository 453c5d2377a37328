"""Numbers at the limits of what Python reads."""

from __future__ import annotations

import sys

import pytest

from webnnm.notation.numerals import (
    NumberTooLarge,
    read_number,
    read_percent,
    write_number,
    write_percent,
)

LARGEST = 2**1024 - 2**971
"""The largest float64, an integer."""


@pytest.mark.parametrize(
    "text", ["", "+", ".", "1.2.3", "--1", "1e", "0x", "-0x1", "NaN", "\uff11", "1_0"]
)
def test_no_numbers(text: str) -> None:
    assert read_number(text) is None


def test_largest_numbers() -> None:
    assert read_number(str(LARGEST)) == LARGEST
    assert read_number(hex(LARGEST)) == LARGEST
    assert read_number(repr(sys.float_info.max)) == sys.float_info.max


@pytest.mark.parametrize(
    "text",
    [str(2**1024), f"-{2**1024}", hex(2**1024), "1e400", "1" * 100_000, "0x" + "f" * 100_000],
)
def test_numbers_beyond_float64(text: str) -> None:
    with pytest.raises(NumberTooLarge):
        read_number(text)


@pytest.mark.parametrize("value", [0, -7, 10**300, 0.1, 5e-324, sys.float_info.max, 1e16, -2.5e-7])
def test_written_numbers_read_back(value: int | float) -> None:
    found = read_number(write_number(value))
    assert found == value
    assert type(found) is type(value)
    if value >= 0:
        assert read_percent(write_percent(value)) == value
