"""Finite automata over bytes: which bytes may follow in a text, and how far its end is.

Patterns are functions that add states to a nondeterministic automaton (K. Thompson, "Regular
expression search algorithm", 1968); its states are determinised when a text reaches them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property

from webnnm.core.errors import DataError

MAX_STATES = 200_000
"""The largest automaton; a longer pattern is more likely a mistake."""
UNREACHABLE = 1 << 30
"""The distance of states from which no text ends."""

Pattern = Callable[["Automaton", int], int]
"""Adds the states of what a text may contain after a state, and returns the state after it."""


class Automaton:
    """A nondeterministic automaton over bytes, determinised as it is used.

    >>> automaton = Automaton(choice(literal("cat"), literal("cow")))
    >>> state = automaton.advance(automaton.start, b"c")
    >>> [automaton.advance(state, word) is None for word in (b"at", b"o", b"x")]
    [False, False, True]
    >>> automaton.distance(state), automaton.is_end(automaton.advance(state, b"ow"))
    (2, True)

    Attributes: `start`, the state of an empty text.
    """

    def __init__(self, pattern: Pattern) -> None:
        self._bytes: list[list[tuple[frozenset[int], int]]] = []
        self._empty: list[list[int]] = []
        self._end = pattern(self, self.add_state())
        self._numbers: dict[frozenset[int], int] = {}
        self._members: list[frozenset[int]] = []
        self._transitions: list[dict[int, int]] = []
        self.start = self._number({0})

    def add_state(self) -> int:
        """Return a new state. Raises `DataError` NNM704 if there are too many."""
        if len(self._bytes) >= MAX_STATES:
            raise DataError(
                "NNM704",
                f"the pattern of the text has more than {MAX_STATES} states",
                hint="repeat fewer times, or allow fewer choices",
            )
        self._bytes.append([])
        self._empty.append([])
        return len(self._bytes) - 1

    def connect(self, state: int, to: int, values: Iterable[int] | None = None) -> None:
        """Let one of these bytes lead from a state to another; without bytes, nothing is read."""
        if values is None:
            self._empty[state].append(to)
        else:
            self._bytes[state].append((frozenset(values), to))

    def next_states(self, state: int) -> dict[int, int]:
        """Return the states that follow a state of a text, by byte."""
        if not self._transitions[state]:
            reached: dict[int, set[int]] = {}
            for member in self._members[state]:
                for values, to in self._bytes[member]:
                    for value in values:
                        reached.setdefault(value, set()).add(to)
            numbers = {frozenset(to): 0 for to in reached.values()}
            numbers = {to: self._number(to) for to in numbers}
            self._transitions[state] = {
                value: numbers[frozenset(to)]
                for value, to in reached.items()
                if self.distance(numbers[frozenset(to)]) < UNREACHABLE
            }
        return self._transitions[state]

    def advance(self, state: int, text: bytes) -> int | None:
        """Return the state after some bytes, None if they may not follow."""
        for value in text:
            following = self.next_states(state)
            if value not in following:
                return None
            state = following[value]
        return state

    def is_end(self, state: int) -> bool:
        """Return whether a text may end in a state."""
        return self._end in self._members[state]

    def distance(self, state: int) -> int:
        """Return how many bytes are missing at least until a text may end."""
        return min(
            (self._distances[member] for member in self._members[state]), default=UNREACHABLE
        )

    def _number(self, states: Iterable[int]) -> int:
        """Return the number of a set of states and of those that follow without a byte."""
        closure, pending = set(states), [*states]
        while pending:
            for to in self._empty[pending.pop()]:
                if to not in closure:
                    closure.add(to)
                    pending.append(to)
        # Only states that read a byte, and the last one, tell sets apart.
        members = frozenset(s for s in closure if self._bytes[s] or s == self._end)
        if members not in self._numbers:
            self._numbers[members] = len(self._members)
            self._members.append(members)
            self._transitions.append({})
        return self._numbers[members]

    @cached_property
    def _distances(self) -> list[int]:
        """The bytes that are missing from each state to the last one."""
        before: list[list[tuple[int, int]]] = [[] for _ in self._bytes]
        for state, edges in enumerate(self._bytes):
            for values, to in edges:
                if values:
                    before[to].append((state, 1))
            for to in self._empty[state]:
                before[to].append((state, 0))
        distances = [UNREACHABLE] * len(before)
        distances[self._end] = 0
        pending = deque([self._end])
        while pending:
            state = pending.popleft()
            for source, length in before[state]:
                if distances[state] + length < distances[source]:
                    distances[source] = distances[state] + length
                    (pending.append if length else pending.appendleft)(source)
        return distances


def literal(text: str | bytes) -> Pattern:
    """Return the pattern of one text."""
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    return sequence(*(one_of([value]) for value in data))


def one_of(values: Iterable[int]) -> Pattern:
    """Return the pattern of one byte among several."""
    options = frozenset(values)

    def add(automaton: Automaton, state: int) -> int:
        to = automaton.add_state()
        automaton.connect(state, to, options)
        return to

    return add


def sequence(*patterns: Pattern) -> Pattern:
    """Return the pattern of patterns that follow each other."""

    def add(automaton: Automaton, state: int) -> int:
        for pattern in patterns:
            state = pattern(automaton, state)
        return state

    return add


def choice(*patterns: Pattern) -> Pattern:
    """Return the pattern of one pattern among several."""

    def add(automaton: Automaton, state: int) -> int:
        end = automaton.add_state()
        for pattern in patterns:
            # A state of its own: a loop of one alternative must not lead into the others.
            start = automaton.add_state()
            automaton.connect(state, start)
            automaton.connect(pattern(automaton, start), end)
        return end

    return add


def repeat(pattern: Pattern, minimum: int = 0, maximum: int | None = None) -> Pattern:
    """Return the pattern of a pattern several times; `maximum` is None if there is no limit."""

    def add(automaton: Automaton, state: int) -> int:
        for _ in range(minimum):
            state = pattern(automaton, state)
        end = automaton.add_state()
        if maximum is None:
            start = automaton.add_state()
            automaton.connect(state, start)
            automaton.connect(pattern(automaton, start), start)
            automaton.connect(start, end)
            return end
        automaton.connect(state, end)
        for _ in range(maximum - minimum):
            state = pattern(automaton, state)
            automaton.connect(state, end)
        return end

    return add


def optional(pattern: Pattern) -> Pattern:
    """Return the pattern of a pattern that may be left out."""
    return repeat(pattern, 0, 1)
