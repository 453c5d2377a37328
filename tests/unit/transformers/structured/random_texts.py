"""Texts of a pattern, drawn byte by byte."""

from __future__ import annotations

import random

from webnnm.transformers.structured.automaton import Automaton, Pattern


def draw_text(automaton: Automaton, rng: random.Random, length: int = 60) -> str:
    """Return a text of a pattern; from a length on, the shortest end is taken."""
    state, data = automaton.start, bytearray()
    while True:
        following = automaton.next_states(state)
        ends = not following or len(data) > length or rng.random() < 0.3
        if automaton.is_end(state) and ends:
            return data.decode()
        values = [*following]
        if len(data) > length:
            distance = automaton.distance(state)
            values = [v for v, after in following.items() if automaton.distance(after) < distance]
        value = rng.choice(values)
        data.append(value)
        state = following[value]


def matches(pattern: Pattern | Automaton, text: str) -> bool:
    """Return whether a text is one of a pattern."""
    automaton = pattern if isinstance(pattern, Automaton) else Automaton(pattern)
    state = automaton.advance(automaton.start, text.encode())
    return state is not None and automaton.is_end(state)
