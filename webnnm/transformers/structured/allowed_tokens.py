"""Which tokens may follow in a text, by the state of its automaton."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from webnnm.transformers.structured.automaton import UNREACHABLE, Automaton
from webnnm.transformers.timestamps import NEVER

FORBIDDEN = 16 * NEVER
"""Added to the scores of tokens that may not follow: no other rule outweighs it."""


class Following(NamedTuple):
    """What may follow in a state.

    Attributes: `biases`, what is added to the score of each token; `transitions`, tokens that may
    follow and the states after them, except `plain` tokens, after which the state is the same;
    `most_needed`, how many tokens the text needs at most after one of them.
    """

    biases: array[float]
    transitions: Sequence[tuple[int, int]]
    plain: Sequence[int]
    most_needed: int


class _Loop(NamedTuple):
    """Tokens for a set of bytes after which the state is the same.

    Attributes: `plain`, those that consist of these bytes; `biases`, which allow only these;
    `rest`, the others by the first byte that is not one of them, with its index.
    """

    plain: Sequence[int]
    biases: array[float]
    rest: dict[int, list[tuple[int, int]]]


class AllowedTokens:
    """Finds the tokens that may follow in a text of an automaton.

    >>> from webnnm.transformers.structured.automaton import choice, literal
    >>> automaton = Automaton(choice(literal("no"), literal("not")))
    >>> allowed = AllowedTokens(automaton, [b"n", b"ot", b"o"])
    >>> state = allowed.advance(automaton.start, 0)
    >>> [bias == 0 for bias in allowed.biases(state, remaining=9)], allowed.tokens_needed(state)
    ([False, True, True], 1)

    `tokens` are the bytes of each token, None for control tokens; `ends` are the tokens that end a
    text. States are looked at when they are reached, and remembered.
    """

    def __init__(
        self, automaton: Automaton, tokens: Sequence[bytes | None], ends: Iterable[int] = ()
    ) -> None:
        self.automaton = automaton
        self.size, self.ends = len(tokens), [*ends]
        self._tokens = [
            (number, data)
            for number, data in enumerate(tokens)
            if data and number not in {*self.ends}
        ]
        self._bytes = dict(self._tokens)
        self._single = frozenset(self._bytes.values())
        self._longest = max(map(len, self._single), default=0)
        self._loops: dict[bytes, _Loop] = {}
        self._following: dict[int, Following] = {}
        self._needed: dict[int, int] = {}

    def advance(self, state: int, token: int) -> int | None:
        """Return the state after a token, None if it may not follow."""
        data = self._bytes.get(token)
        return None if data is None else self.automaton.advance(state, data)

    def biases(self, state: int, remaining: int) -> array[float]:
        """Return what is added to the score of each token if so many tokens may follow.

        Tokens after which the text could not be completed in time may not follow.
        """
        following = self._follow(state)
        if following.most_needed < remaining:
            return following.biases
        left = remaining - 1
        biases = array("f", [FORBIDDEN]) * self.size
        for token, after in following.transitions:
            if self.tokens_needed(after) <= left:
                biases[token] = 0.0
        if self.tokens_needed(state) <= left:
            for token in following.plain:
                biases[token] = 0.0
        self._allow_ends(state, biases)
        return biases

    def tokens_needed(self, state: int) -> int:
        """Return how many tokens complete a text, by one of its shortest continuations."""
        if self.automaton.distance(state) >= UNREACHABLE:
            return UNREACHABLE
        if state not in self._needed:
            data = self._shortest(state)
            counts = [UNREACHABLE] * len(data) + [0]
            for start in range(len(data) - 1, -1, -1):
                ends = range(start + 1, min(len(data), start + self._longest) + 1)
                fitting = (counts[end] for end in ends if data[start:end] in self._single)
                counts[start] = min(fitting, default=UNREACHABLE) + 1
            self._needed[state] = min(counts[0], UNREACHABLE)
        return self._needed[state]

    def _shortest(self, state: int) -> bytes:
        """Return the bytes of one of the shortest continuations."""
        automaton, data = self.automaton, bytearray()
        while automaton.distance(state):
            pairs = automaton.next_states(state).items()
            value, state = min(pairs, key=lambda pair: (automaton.distance(pair[1]), pair[0]))
            data.append(value)
        return bytes(data)

    def _follow(self, state: int) -> Following:
        if state not in self._following:
            following = self.automaton.next_states(state)
            loop = self._loop(bytes(sorted(b for b, after in following.items() if after == state)))
            biases = loop.biases[:]
            transitions: list[tuple[int, int]] = []
            for value, after in following.items():
                for token, index in loop.rest.get(value, ()) if after != state else ():
                    last = self.automaton.advance(after, self._bytes[token][index + 1 :])
                    if last is not None:
                        biases[token] = 0.0
                        transitions.append((token, last))
            self._allow_ends(state, biases)
            states = {after for _, after in transitions} | ({state} if loop.plain else set())
            maximum = max(map(self.tokens_needed, states), default=0)
            self._following[state] = Following(biases, transitions, loop.plain, maximum)
        return self._following[state]

    def _allow_ends(self, state: int, biases: array[float]) -> None:
        if self.automaton.is_end(state):
            for token in self.ends:
                biases[token] = 0.0

    def _loop(self, values: bytes) -> _Loop:
        if values not in self._loops:
            plain: list[int] = []
            biases = array("f", [FORBIDDEN]) * self.size
            rest: dict[int, list[tuple[int, int]]] = {}
            for token, data in self._tokens:
                others = data.translate(None, values) if values else data
                if not others:
                    plain.append(token)
                    biases[token] = 0.0
                else:
                    index = data.index(others[0])
                    rest.setdefault(others[0], []).append((token, index))
            self._loops[values] = _Loop(plain, biases, rest)
        return self._loops[values]
