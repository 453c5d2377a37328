"""Values of JSON as patterns: strings, numbers in a range, arrays, objects, anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from webnnm.transformers.structured.automaton import (
    Automaton,
    Pattern,
    choice,
    literal,
    one_of,
    optional,
    repeat,
    sequence,
)
from webnnm.transformers.structured.characters import LAST, Ranges, characters, complement
from webnnm.transformers.structured.regular_expressions import regular_expression

DIGITS = 15
"""Integers and fractions have this many digits at most: all are exact in float64."""
ESCAPED = '"\\\b\f\n\r\t'
"""Characters that strings contain with a backslash."""
_PLAIN = complement([(0, 0x1F), (ord('"'), ord('"')), (ord("\\"), ord("\\"))])
NOTHING = one_of([])
"""The pattern of no text at all."""
SPACE = optional(literal(" "))
"""What may follow a comma or a colon."""
COMMA = sequence(literal(","), SPACE)
EVERY: Ranges = [(0, LAST)]


class Property(NamedTuple):
    """A property of objects."""

    name: str
    value: Pattern
    required: bool


def value_of(value: Any) -> Pattern:
    """Return the pattern of one value."""
    return literal(json.dumps(value, ensure_ascii=False))


def json_characters(ranges: Ranges) -> Pattern:
    """Return the pattern of one character in one of these ranges, as strings contain it."""
    plain = [
        (max(low, first), min(high, last))
        for low, high in ranges
        for first, last in _PLAIN
        if max(low, first) <= min(high, last)
    ]
    inside = [c for c in ESCAPED if any(low <= ord(c) <= high for low, high in ranges)]
    escaped = [literal(json.dumps(character)[1:-1]) for character in inside]
    return choice(characters(plain), *escaped)


def string(minimum: int = 0, maximum: int | None = None) -> Pattern:
    """Return the pattern of strings of some lengths, in characters."""
    return sequence(literal('"'), repeat(json_characters(EVERY), minimum, maximum), literal('"'))


def matching_string(pattern: str) -> Pattern:
    """Return the pattern of strings that a regular expression matches somewhere."""
    inside = regular_expression(pattern, json_characters, search=True)
    return sequence(literal('"'), inside, literal('"'))


def integer(minimum: int | None = None, maximum: int | None = None) -> Pattern:
    """Return the pattern of the integers in a range."""
    limit = 10**DIGITS - 1
    low, high = -limit if minimum is None else minimum, limit if maximum is None else maximum
    parts: list[Pattern] = []
    if low < 0:
        parts.append(sequence(literal("-"), _natural(max(1, -high), -low)))
    if high >= 0:
        parts.append(_natural(max(0, low), high))
    return choice(*parts) if low <= high else NOTHING


class Bound(NamedTuple):
    """An end of a range of numbers, and whether it belongs to it."""

    value: int
    inclusive: bool = True


def number(low: Bound | None = None, high: Bound | None = None) -> Pattern:
    """Return the pattern of the numbers in a range; without one, they may have exponents."""
    if low is None and high is None:
        exponent = sequence(one_of(b"eE"), optional(one_of(b"+-")), _digits(1, 2))
        fraction = optional(_fraction())
        return sequence(optional(literal("-")), _natural(), fraction, optional(exponent))
    limit = 10**DIGITS - 1
    low, high = low or Bound(-limit), high or Bound(limit)
    zero = Bound(0)
    positive = _magnitudes(low if low.value >= 0 else zero, high)
    opposite = Bound(-high.value, high.inclusive) if high.value < 0 else Bound(0, False)
    negative = _magnitudes(opposite, Bound(-low.value, low.inclusive))
    return choice(positive, sequence(literal("-"), negative))


def _magnitudes(low: Bound, high: Bound) -> Pattern:
    """Return the pattern of the numbers without a sign in a range."""
    zeros = optional(sequence(literal("."), repeat(literal("0"), 1, DIGITS)))
    parts: list[Pattern] = []
    if low.value < high.value:
        parts.append(sequence(_natural(low.value, low.value), _nonzero_fraction()))
        parts.append(sequence(_natural(low.value + 1, high.value - 1), optional(_fraction())))
        parts += [sequence(_natural(end.value, end.value), zeros) for end in (low, high) if end[1]]
    elif low.value == high.value and low.inclusive and high.inclusive:
        parts.append(sequence(_natural(low.value, low.value), zeros))
    return choice(*parts) if parts else NOTHING


def _nonzero_fraction() -> Pattern:
    """Return the pattern of a fraction that is not zero."""
    zeros = repeat(literal("0"), 0, DIGITS // 2)
    return sequence(literal("."), zeros, one_of(b"123456789"), _digits(0, DIGITS // 2))


def _fraction() -> Pattern:
    return sequence(literal("."), _digits(1, DIGITS))


def _digits(minimum: int, maximum: int) -> Pattern:
    return repeat(one_of(b"0123456789"), minimum, maximum)


def _natural(low: int = 0, high: int | None = None) -> Pattern:
    """Return the pattern of the integers from one to another, without a sign."""
    if high is None:
        high = 10**DIGITS - 1
    parts = [part for first, last in _equal_lengths(low, high) for part in _split(first, last)]
    return choice(*parts) if parts else NOTHING


def _equal_lengths(low: int, high: int) -> Iterator[tuple[str, str]]:
    """Yield ranges of numbers with the same number of digits."""
    while low <= high:
        last = min(high, 10 ** len(str(low)) - 1)
        yield str(low), str(last)
        low = last + 1


def _split(low: str, high: str) -> Iterator[Pattern]:
    """Yield patterns that together are the numbers of one length in a range."""
    if not low:
        yield sequence()
        return
    first, last, rest = low[0], high[0], len(low) - 1
    if first == last:
        yield from (sequence(literal(first), part) for part in _split(low[1:], high[1:]))
        return
    if low[1:] != "0" * rest:
        yield from (sequence(literal(first), part) for part in _split(low[1:], "9" * rest))
        first = chr(ord(first) + 1)
    if high[1:] != "9" * rest:
        yield from (sequence(literal(last), part) for part in _split("0" * rest, high[1:]))
        last = chr(ord(last) - 1)
    if first <= last:
        yield sequence(one_of(range(ord(first), ord(last) + 1)), _digits(rest, rest))


def array(
    items: Pattern, minimum: int = 0, maximum: int | None = None, *, first: Sequence[Pattern] = ()
) -> Pattern:
    """Return the pattern of arrays: some first values, then values of one kind.

    `minimum` and `maximum` count all values.
    """
    counts = range(minimum, min(len(first), len(first) if maximum is None else maximum + 1))
    longer = [_join(first[:count]) for count in counts]  # without all first values
    if maximum is None or maximum >= len(first):
        more = None if maximum is None else maximum - len(first)
        rest = _separate(items, max(0, minimum - len(first)), more, after=bool(first))
        longer.append(sequence(_join(first), rest))
    return sequence(literal("["), choice(*longer), literal("]"))


def _separate(
    items: Pattern, minimum: int = 0, maximum: int | None = None, *, after: bool = False
) -> Pattern:
    """Return the pattern of values with commas between them, or before each if `after` others."""
    if after:
        return repeat(sequence(COMMA, items), minimum, maximum)
    if maximum == 0:
        return sequence()
    if maximum is None and minimum < 2:
        some = _endless(items)
    else:
        left = None if maximum is None else maximum - 1
        some = sequence(items, repeat(sequence(COMMA, items), max(0, minimum - 1), left))
    return some if minimum else optional(some)


def _endless(items: Pattern) -> Pattern:
    """Return the pattern of one value or more, whose states serve all of them."""

    def add(automaton: Automaton, state: int) -> int:
        start = automaton.add_state()
        automaton.connect(state, start)
        end = items(automaton, start)
        automaton.connect(COMMA(automaton, end), start)
        return end

    return add


def _join(patterns: Sequence[Pattern]) -> Pattern:
    parts = [part for pattern in patterns for part in (COMMA, pattern)]
    return sequence(*parts[1:])


def json_object(properties: Sequence[Property]) -> Pattern:
    """Return the pattern of objects with these properties in this order."""

    def add(automaton: Automaton, state: int) -> int:
        # Objects that have no property so far, and those that have: a comma comes before the next.
        empty: int | None = literal("{")(automaton, state)
        filled: int | None = None
        for name, value, required in properties:
            start, after = automaton.add_state(), automaton.add_state()
            if empty is not None:
                automaton.connect(empty, start)
            if filled is not None:
                automaton.connect(COMMA(automaton, filled), start)
            pair = sequence(value_of(name), literal(":"), SPACE, value)
            automaton.connect(pair(automaton, start), after)
            if not required and filled is not None:
                automaton.connect(filled, after)
            empty, filled = None if required else empty, after
        end = automaton.add_state()
        for state_before in (empty, filled):
            if state_before is not None:
                automaton.connect(literal("}")(automaton, state_before), end)
        return end

    return add


def json_map(value: Pattern, minimum: int = 0, maximum: int | None = None) -> Pattern:
    """Return the pattern of objects with properties of any names, all of one kind."""
    pair = sequence(string(), literal(":"), SPACE, value)
    return sequence(literal("{"), _separate(pair, minimum, maximum), literal("}"))


def anything(depth: int = 3) -> Pattern:
    """Return the pattern of any value with this many levels of arrays and objects at most."""
    simple = [string(), number(), *(literal(name) for name in ("true", "false", "null"))]
    if not depth:
        return choice(*simple)
    inner = anything(depth - 1)
    return choice(*simple, array(inner), json_map(inner))
