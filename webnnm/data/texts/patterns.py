"""Patterns of tokenizers, as Python's `re` reads them."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import chain

ASSIGNED = (range(0x33480), range(0xE0000, 0xE01F0))
"""Where Unicode has characters, apart from those for private use."""
SPACES = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""What Unicode calls white space, as the inside of brackets."""
CIRCLED = r"\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"
"""Letters in circles and squares, which are alphabetic although Unicode calls them symbols."""
FRACTIONS = r"\xb2\xb3\xb9\xbc-\xbe"
"""Numbers that Oniguruma takes for letters."""
CLASSES = {"s": (SPACES,), "d": ("Nd",), "w": ("L", "Nl", "M", "Nd", "Pc", CIRCLED, FRACTIONS)}
"""What escapes stand for: names of categories, or the inside of brackets."""
ESCAPE = re.compile(r"\\p\{(\w+)\}|\\P\{(\w+)\}|\\([sSdDwW])|\\(.)|(\[\^?)|(\])", re.DOTALL)


@cache
def compile_pattern(source: str) -> re.Pattern[str]:
    r"""Return a pattern in which `\p{L}` stands for letters, as in Oniguruma and JavaScript.

    >>> compile_pattern(r"\p{L}+|\p{N}").findall("né 42")
    ['né', '4', '2']

    Raises `ValueError` for a pattern that Python does not read.
    """
    is_inside = False

    def translate(match: re.Match[str]) -> str:
        nonlocal is_inside
        category, other, letter, _, opening, closing = match.groups()
        if opening or closing:
            is_inside = bool(opening)
        if not (category or other or letter):
            return match[0]
        excludes = bool(other) or bool(letter and letter.isupper())
        if is_inside and excludes:
            raise ValueError(f"{match[0]} within brackets")
        names = (category or other,) if category or other else CLASSES[letter.lower()]
        ranges = "".join(name if name.startswith("\\") else find_ranges(name) for name in names)
        return ranges if is_inside else f"[{'^' if excludes else ''}{ranges}]"

    try:
        return re.compile(ESCAPE.sub(translate, source))
    except re.error as error:
        raise ValueError(f"{source!r:.80}: {error}") from error


@cache
def find_ranges(category: str) -> str:
    """Return the characters of a category of Unicode, as the inside of brackets.

    >>> find_ranges("Zl")
    '\\\\U00002028-\\\\U00002028'

    Raises `ValueError` for an unknown one.
    """
    names = [name for name in list_codes() if name.startswith(category)]
    codes = sorted(chain.from_iterable(list_codes()[name] for name in names))
    if not codes:
        raise ValueError(f"no character is in {category!r}")
    starts = [code for before, code in zip([-2, *codes], codes, strict=False) if code != before + 1]
    ends = [code for code, after in zip(codes, [*codes[1:], -2], strict=True) if after != code + 1]
    pairs = zip(starts, ends, strict=True)
    return "".join(f"\\U{start:08x}-\\U{end:08x}" for start, end in pairs)


@cache
def list_codes() -> dict[str, list[int]]:
    """Return the code points of each category of Unicode that are in use."""
    codes: dict[str, list[int]] = {}
    for code in chain(*ASSIGNED):
        codes.setdefault(unicodedata.category(chr(code)), []).append(code)
    del codes["Cn"]
    return codes
