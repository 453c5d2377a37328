"""Patterns accept exactly their texts, and know how far the end of a text is."""

from __future__ import annotations

import random

import pytest

from tests.unit.transformers.structured.random_texts import matches
from webnnm import DataError
from webnnm.transformers.structured.automaton import (
    UNREACHABLE,
    Automaton,
    choice,
    literal,
    one_of,
    optional,
    repeat,
    sequence,
)
from webnnm.transformers.structured.characters import LAST, characters, complement


def test_alternatives_do_not_lead_into_each_other() -> None:
    pattern = choice(repeat(literal("a")), literal("b"))
    assert all(matches(pattern, text) for text in ("", "a", "aaa", "b"))
    assert not any(matches(pattern, text) for text in ("ab", "ba", "bb"))


def test_a_pattern_is_repeated_within_its_limits() -> None:
    pattern = sequence(repeat(literal("ab"), 2, 3), optional(literal("c")))
    accepted = [
        text for text in ("ab", "abab", "ababab", "abababab", "ababc") if matches(pattern, text)
    ]
    assert accepted == ["abab", "ababab", "ababc"]
    endless = repeat(repeat(literal("x"), 1), 2)
    assert not matches(endless, "x") and matches(endless, "xxxxx")


def test_bytes_that_lead_nowhere_do_not_follow() -> None:
    automaton = Automaton(choice(sequence(literal("a"), one_of([])), literal("b")))
    assert [*automaton.next_states(automaton.start)] == [ord("b")]
    assert Automaton(one_of([])).distance(0) == UNREACHABLE


def test_the_distance_is_that_of_the_shortest_end() -> None:
    automaton = Automaton(sequence(literal("a"), choice(literal("bcd"), repeat(literal("ef"), 1))))
    state, distances = automaton.start, []
    for value in b"aef":
        distances.append(automaton.distance(state))
        state = automaton.next_states(state)[value]
    assert distances == [3, 2, 1] and automaton.distance(state) == 0


def test_patterns_of_too_many_states_are_refused() -> None:
    with pytest.raises(DataError, match=r"NNM704.*more than 200000 states"):
        Automaton(repeat(literal("abcdefgh"), 0, 10**6))


def test_characters_are_those_of_their_ranges_in_every_length_of_encodings() -> None:
    rng = random.Random(1)
    for _ in range(25):
        lows = [rng.randrange(rng.choice([0x300, 0x12000, LAST])) for _ in range(2)]
        ranges = [(low, min(LAST, low + rng.choice([3, 70, 5000, 900000]))) for low in lows]
        inside, outside = Automaton(characters(ranges)), Automaton(characters(complement(ranges)))
        edges = [code + step for pair in ranges for code in pair for step in (-1, 0, 1)]
        for code in [*edges, *(rng.randrange(LAST) for _ in range(50))]:
            if 0 <= code <= LAST and not 0xD800 <= code <= 0xDFFF:
                expected = any(low <= code <= high for low, high in ranges)
                assert matches(inside, chr(code)) == expected
                assert matches(outside, chr(code)) != expected
