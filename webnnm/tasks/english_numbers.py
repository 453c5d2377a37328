"""English numbers as words."""

from __future__ import annotations

import re

ONES = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen",
)
TENS = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")
POWERS = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
YEARS = range(1100, 2000)
"""Numbers that are read as years, in two halves."""
MOST_DIGITS = 12
"""Longer numbers are read digit by digit."""


def say_number(text: str) -> list[str]:
    """Return the words of a number.

    >>> " ".join(say_number("1,234.5")), say_number("1984"), say_number("007")
    ('one thousand two hundred thirty four point five', ['nineteen', 'eighty', 'four'], ['zero', \
'zero', 'seven'])
    """
    whole_part, _, fraction = text.replace(",", "").partition(".")
    is_code = len(whole_part) > MOST_DIGITS or (len(whole_part) > 1 and whole_part[0] == "0")
    if is_code:
        words = [ONES[int(digit)] for digit in whole_part]
    elif int(whole_part) in YEARS and not fraction and "," not in text:
        century, year = divmod(int(whole_part), 100)
        rest = ["hundred"] if not year else [*(["oh"] if year < 10 else []), *_say(year)]
        words = [*_say(century), *rest]
    else:
        words = _say(int(whole_part))
    return [*words, *(["point"] if fraction else []), *(ONES[int(digit)] for digit in fraction)]


def _say(number: int) -> list[str]:
    if number < len(ONES):
        return [ONES[number]]
    for power, name in POWERS:
        if number >= power:
            count, rest = divmod(number, power)
            return [*_say(count), name, *(_say(rest) if rest else [])]
    tens, rest = divmod(number, 10)
    return [TENS[tens - 2], *([ONES[rest]] if rest else [])]
