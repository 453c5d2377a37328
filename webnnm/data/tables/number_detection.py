"""Finds how the numbers of a column are written, from all its cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from webnnm.data.tables.number_format import NumberFormat, NumberShape, parse_shape

UNITS = frozenset(
    (
        *("%", "‰", "°C", "°F", "°", "K", "g", "kg", "mg", "µg", "t", "lb", "lbs", "oz", "m"),
        *("km", "cm", "mm", "µm", "nm", "mi", "ft", "in", "yd", "l", "L", "ml", "mL", "dl"),
        *("cl", "gal", "m²", "m³", "km²", "cm²", "cm³", "ha", "ac", "sqm", "sqft", "s"),
        *("sec", "ms", "min", "h", "hr", "hrs", "d", "day", "days", "week", "weeks", "month"),
        *("months", "year", "years", "yr", "yrs", "y", "Jahre", "Jahr", "ans", "bar", "mbar"),
        *("Pa", "hPa", "kPa", "psi", "W", "kW", "MW", "GW", "kWh", "Wh", "MWh", "V", "mV"),
        *("kV", "A", "mA", "Ah", "mAh", "Hz", "kHz", "MHz", "GHz", "B", "kB", "KB", "MB"),
        *("GB", "TB", "bit", "px", "pt", "km/h", "kmh", "mph", "m/s", "kn", "kcal", "cal"),
        *("kJ", "J", "mmHg", "bpm", "rpm", "ppm", "ppb", "mol", "mmol", "dB", "hp", "PS"),
        *("cc", "pcs", "Stk", "Stück"),
    )
)
"""Units that may follow each number of a column, however few different ones it has."""

EXTRA_MISSING = frozenset(
    (
        *(
            "-",
            "--",
            "---",
            "\u2013",
            "\u2014",
            ".",
            "..",
            "...",
            "*",
            "#n/a",
            "#na",
            "n.a.",
            "n/a.",
        ),
        *("k.a.", "k.a", "k. a.", "n. a.", "n.v.", "n.d.", "nd", "n.s.", "s.o.", "missing"),
        *("unknown", "\\n", "(null)", "nil", "#null!", "#value!", "#div/0!", "#ref!", "#name?"),
        *("#num!", "tbd", "-nan", "1.#qnan", "1.#ind", "-1.#ind", "not available", "no data"),
    )
)
"""What stands for a missing number if all other cells are numbers, besides `MISSING`."""

POINT_CURRENCIES = frozenset(
    ("$", "US$", "A$", "C$", "HK$", "NZ$", "S$", "£", "¥", "₹", "USD", "GBP", "JPY", "CNY", "INR")
)
"""Money of countries whose decimal mark is the point."""

MANY = 20
"""A column with more different numbers than this is no category, whatever follows the numbers."""

GROUPED = 20
"""So many cells with groups of three digits, beside short whole numbers, are thousands."""

WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
"""Matches a whole number without marks."""

DIGITS_OF_FLOAT64 = 15
"""Longer whole numbers are not exact as float64."""


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found in a column of text.

    Attributes: `number_format`, None if the cells are words; `problem`, why it cannot be decided,
    and `hint`, what would decide it, or ""; `note`, another reading that is possible.
    """

    number_format: NumberFormat | None
    problem: str = ""
    hint: str = ""
    note: str = ""


WORDS = Detection(None)


def detect_numbers(
    cells: Iterable[str], missing: Collection[str], *, decimal: str = "", forced: bool = False
) -> Detection:
    """Find how the numbers in cells are written.

    >>> detect_numbers(["1,5", "22,75"], {""}).number_format
    NumberFormat(decimal=',', thousands='', unit='', currency='', missing=())
    >>> detect_numbers(["1,234", "5,678"], {""}).problem
    '1,234 may be 1234 or 1.234'
    >>> detect_numbers(["red", "12"], {""}).number_format

    `missing` are the words of cells without a value, in lower case; `decimal` is the decimal mark
    of other columns, and overrides what the digits suggest if it is `forced`.
    """
    texts = [text for text in dict.fromkeys(cells) if text.strip().lower() not in missing]
    shapes = {text: parse_shape(text) for text in texts}
    numbers = {text: shape for text, shape in shapes.items() if shape is not None}
    others = {text.strip().lower() for text, shape in shapes.items() if shape is None}
    if not numbers or not _are_numbers(numbers, others):
        return WORDS
    if is_code(numbers):
        return WORDS
    extra = tuple(sorted(others & EXTRA_MISSING))
    marks = _find_affixes(numbers)
    if isinstance(marks, Detection):
        return marks
    unit, currency = marks
    decided = _decide_marks(numbers, decimal, forced=forced, currency=currency)
    if isinstance(decided, Detection):
        return decided
    point, thousands, note = decided
    number_format = NumberFormat(point, thousands, unit, currency, extra)
    return Detection(number_format, note=note)


def find_decimal_mark(cells: Iterable[str], missing: Collection[str]) -> str:
    """Return the decimal mark that numbers surely have, "" if they are words or have none.

    >>> [find_decimal_mark([cell], ()) for cell in ("1,5", "1.234.567", "1,234")]
    [',', ',', '']
    """
    texts = [text for text in dict.fromkeys(cells) if text.strip().lower() not in missing]
    shapes = [parse_shape(text) for text in texts]
    numbers = {text: shape for text, shape in zip(texts, shapes, strict=True) if shape}
    if 2 * len(numbers) <= len(texts) or is_code(numbers):
        return ""
    mark = _prove_mark(_gather_evidence(numbers))
    return mark if isinstance(mark, str) else ""


def _are_numbers(numbers: dict[str, NumberShape], others: Collection[str]) -> bool:
    """Return whether nearly all words beside the numbers may stand for missing ones."""
    texts = [text for text in others if text not in EXTRA_MISSING]
    return len(numbers) > len(texts)


def is_code(texts: Collection[str]) -> bool:
    """Return whether whole numbers are names rather than quantities.

    >>> is_code(["007", "12"]), is_code(["007.5", "12"]), is_code(["+491701234567"])
    (True, False, True)

    They are with leading zeros, like post codes; with more digits than float64 holds; and if each
    begins with a plus sign, like telephone numbers.
    """
    digits = {*map(str.strip, texts)}
    if not all(map(WHOLE, digits)):
        return False
    return (
        any(len(text) > 1 and text[0] == "0" and text.lstrip("0") not in digits for text in digits)
        or any(len(text.lstrip("+-0")) > DIGITS_OF_FLOAT64 for text in digits)
        or all(text[0] == "+" and len(text) > 7 for text in digits)
    )


def _find_affixes(numbers: dict[str, NumberShape]) -> tuple[str, str] | Detection:
    """Return the unit and the currency of all numbers."""
    units = {shape.unit: text for text, shape in numbers.items()}
    nonzero = {shape.unit for shape in numbers.values() if shape.body.strip("0.,")} or {*units}
    currencies = {shape.currency: text for text, shape in numbers.items() if shape.currency}
    if len(currencies) > 1:
        shown = " and ".join(f'"{text.strip()}"' for text in [*currencies.values()][:2])
        return Detection(None, f"{shown} are in different currencies", "bring them to one")
    currency = next(iter(currencies), "")
    if len(nonzero) > 1 and not any(shape.body.strip("0.,") for shape in numbers.values()):
        nonzero -= {""}
    if not nonzero - {""}:
        return "", currency
    if len(nonzero) > 1 or (currency and nonzero != {""}):
        if nonzero <= UNITS | {""}:
            shown = " and ".join(f'"{units[unit].strip()}"' for unit in sorted(nonzero)[:2])
            return Detection(None, f"{shown} are in different units", "bring them to one")
        return WORDS
    (unit,) = nonzero
    return (unit, currency) if unit in UNITS or len(numbers) > MANY else WORDS


@dataclass
class _Examples:
    """Numbers in which a mark is the decimal mark, marks thousands, or may be either."""

    decimal: str = ""
    thousands: str = ""
    either: str = ""


@dataclass
class _Evidence:
    """What the digits of a column say about marks.

    Attributes: examples for `commas` and `points`; `spaced`, the blank or apostrophe that divides
    groups; `short` and `long`, whole numbers without marks below and from 1000; how many have
    groups of three digits that may be decimals (`grouped`); `words`, whether some are no numbers.
    """

    commas: _Examples
    points: _Examples
    spaced: str = ""
    short: str = ""
    long: str = ""
    grouped: int = 0
    words: bool = False


def _gather_evidence(numbers: dict[str, NumberShape]) -> _Evidence:
    """Look at the marks of all numbers."""
    evidence = _Evidence(_Examples(), _Examples())
    by_mark = {",": evidence.commas, ".": evidence.points}
    for text, shape in numbers.items():
        body = shape.body
        marks = [mark for mark in ",.' " if mark in body]
        if not marks:
            if len(body) < 4:
                evidence.short = evidence.short or text
            else:
                evidence.long = evidence.long or text
            continue
        parts = _split_marks(body, marks, bool(shape.exponent))
        if parts is None:
            evidence.words = True
            continue
        point, thousands, either = parts
        if point:
            by_mark[point].decimal = by_mark[point].decimal or text
        if thousands in by_mark:
            by_mark[thousands].thousands = by_mark[thousands].thousands or text
        elif thousands:
            evidence.words = evidence.words or evidence.spaced not in ("", thousands)
            evidence.spaced = thousands
        if either:
            by_mark[either].either = by_mark[either].either or text
            evidence.grouped += 1
    return evidence


def _prove_mark(evidence: _Evidence) -> str | Detection:
    """Return the decimal mark that the digits prove, or ""; a detection if they contradict."""
    commas, points = evidence.commas, evidence.points
    for one in (commas, points):
        if one.decimal and one.thousands:
            return _conflict(one.decimal, one.thousands)
    if commas.decimal and points.decimal:
        return _conflict(commas.decimal, points.decimal)
    if evidence.words or (commas.thousands and points.thousands):
        return WORDS
    if commas.decimal or points.thousands:
        return ","
    if points.decimal or commas.thousands:
        return "."
    return _conflict(commas.either, points.either) if commas.either and points.either else ""


def _decide_marks(
    numbers: dict[str, NumberShape], decimal: str, *, forced: bool, currency: str
) -> tuple[str, str, str] | Detection:
    """Return the decimal mark, the thousands mark and a note."""
    evidence = _gather_evidence(numbers)
    proven = _prove_mark(evidence)
    if isinstance(proven, Detection):
        return proven
    commas, points = evidence.commas, evidence.points
    if forced and proven not in ("", decimal):
        one = commas if proven == "," else points
        other = points if proven == "," else commas
        return _conflict(one.decimal or other.thousands, f'decimal="{decimal}"')
    settled, note = proven or (decimal if forced else ""), ""
    if not settled and (commas.either or points.either):
        choice = _choose_decimal(evidence, decimal, currency)
        if isinstance(choice, Detection):
            return choice
        settled, note = choice
    settled = settled or decimal or "."
    grouping, other = (".", points) if settled == "," else (",", commas)
    if not (other.thousands or other.either):
        return settled, evidence.spaced, note
    return WORDS if evidence.spaced else (settled, grouping, note)


def _choose_decimal(
    evidence: _Evidence, decimal: str, currency: str
) -> tuple[str, str] | Detection:
    """Return the decimal mark of numbers such as 1,234 or 1.234, with a note."""
    mark = "," if evidence.commas.either else "."
    example = (evidence.commas.either or evidence.points.either).strip()
    other = "." if mark == "," else ","
    if evidence.spaced:  # 1 234,567
        return mark, ""
    if decimal:
        return decimal, ""
    if currency in POINT_CURRENCIES:
        meant = "thousands" if mark == "," else "decimals"
        return ".", f'{example} is read as {meant}; decimal="," reads the opposite'
    if not currency and evidence.grouped >= GROUPED and evidence.short and not evidence.long:
        note = f"{example} is read as thousands, since no whole number from 1000 lacks the mark"
        return other, note
    if not currency and mark == ".":
        note = (
            "" if evidence.long else f'{example} is read as decimals; decimal="," reads thousands'
        )
        return ".", note
    shape = parse_shape(example)
    body = shape.body if shape else example
    return Detection(
        None,
        f"{example} may be {body.replace(mark, '')} or {body.replace(mark, '.')}",
        'decimal="," reads 1,234 as 1.234, and decimal="." as 1234',
    )


def _conflict(one: str, other: str) -> Detection:
    same = one.strip(), other.strip()
    return Detection(
        None,
        f"{same[0]} and {same[1]} do not have the same decimal mark",
        "write all numbers of a column in one way",
    )


def _split_marks(body: str, marks: Sequence[str], scaled: bool) -> tuple[str, str, str] | None:
    """Return the decimal mark, the thousands mark and the mark that may be either, of one number.

    None if it is none, such as an address 10.0.0.1 or a date.
    """
    if len(marks) > 2:
        return None
    if len(marks) == 2:
        point = max(marks, key=body.rfind)
        mark = min(marks, key=body.rfind)
        if point not in ",." or body.count(point) > 1 or body.find(point) < body.rfind(mark):
            return None
        return (point, mark, "") if _is_grouped(body.partition(point)[0], mark) else None
    (mark,) = marks
    if mark in "' " or body.count(mark) > 1:
        return ("", mark, "") if _is_grouped(body, mark) else None
    before, _, after = body.partition(mark)
    if scaled or len(after) != 3 or not 0 < len(before) < 4 or before[0] == "0":
        return mark, "", ""
    return "", "", mark


def _is_grouped(digits: str, mark: str) -> bool:
    """Return whether a mark divides digits into groups of three, or as in India: 12,34,567."""
    first, *groups = digits.split(mark)
    if not first or not first.isdigit() or first[0] == "0" or len(first) > 3:
        return False
    sizes = [len(group) for group in groups]
    return sizes[-1] == 3 and (
        all(size == 3 for size in sizes) or (len(first) < 3 and all(n == 2 for n in sizes[:-1]))
    )
