"""What structured output is asked for, and where each text of a generation is in it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.transformers.structured.allowed_tokens import AllowedTokens
from webnnm.transformers.structured.automaton import (
    UNREACHABLE,
    Automaton,
    Pattern,
    choice,
    literal,
    optional,
    sequence,
)
from webnnm.transformers.structured.json_schema import json_schema_pattern
from webnnm.transformers.structured.regular_expressions import regular_expression
from webnnm.transformers.structured.token_bytes import drops_first_space
from webnnm.transformers.tokenizer import Tokenizer

REMEMBERED = 8
"""How many structured outputs are remembered, with the states that texts have reached."""


def pattern_of(
    choices: Sequence[str] | None = None,
    regex: str | None = None,
    json_schema: Mapping[str, Any] | str | bool | None = None,
) -> Pattern | None:
    """Return the pattern of texts that are one of these; None if there is no limit.

    Raises `DataError` NNM704 for wrong values, and for several of these together.
    """
    limits = {"choices": choices, "regex": regex, "json_schema": json_schema}
    names = [name for name, value in limits.items() if value is not None]
    if len(names) > 1:
        raise DataError("NNM704", f"{' and '.join(names)} are given", hint="leave all but one out")
    if choices is not None:
        if isinstance(choices, str) or not choices or not all(isinstance(c, str) for c in choices):
            hint = 'give a list of texts, such as choices=["yes", "no"]'
            raise DataError("NNM704", f"choices is {choices!r}", hint=hint)
        return choice(*map(literal, choices))
    if regex is not None:
        return regular_expression(regex)
    return None if json_schema is None else json_schema_pattern(json_schema)


class StructuredOutput:
    """The structured outputs of a model: finds the tokens that may follow, and remembers them.

    `tokenizer` turns tokens into text, `vocabulary` is the number of tokens that have scores,
    `ends` are those that end a text.
    """

    def __init__(self, tokenizer: Tokenizer, vocabulary: int, ends: Iterable[int]) -> None:
        self._tokenizer = tokenizer
        self._ends = [token for token in ends if token < vocabulary]
        data = tokenizer.get_bytes()[:vocabulary]
        self._bytes = data + [None] * (vocabulary - len(data))
        self._remembered: dict[str, AllowedTokens] = {}

    def find(
        self,
        choices: Sequence[str] | None,
        regex: str | None,
        json_schema: Mapping[str, Any] | str | bool | None,
    ) -> AllowedTokens | None:
        """Return what finds the tokens that may follow; None if all may.

        Raises `DataError` NNM704 like `pattern_of`, NNM717 if no token of the model ends a text.
        """
        key = repr((choices, regex, json_schema))
        if key not in self._remembered:
            pattern = pattern_of(choices, regex, json_schema)
            if pattern is None:
                return None
            if len(self._remembered) == REMEMBERED:
                self._remembered.pop(next(iter(self._remembered)))
            self._remembered[key] = self._make_allowed_tokens(pattern)
        return self._remembered[key]

    def _make_allowed_tokens(self, pattern: Pattern) -> AllowedTokens:
        if not self._ends:
            hint = 'generation_config.json or config.json has to name it as "eos_token_id"'
            raise DataError("NNM717", "the model has no token that ends texts", hint=hint)
        automaton = Automaton(pattern)
        if drops_first_space(self._tokenizer, self._bytes):
            space = literal(" ")
            needed = ord(" ") in automaton.next_states(automaton.start)
            automaton = Automaton(sequence(space if needed else optional(space), pattern))
        return AllowedTokens(automaton, self._bytes, self._ends)


class StructuredTexts:
    """Texts of which only tokens that fit are chosen.

    >>> allowed = AllowedTokens(Automaton(literal("ab")), [b"a", b"b", b"ab", None], ends=[3])
    >>> texts = StructuredTexts(allowed, 1)
    >>> texts.begin(limit=3)
    >>> texts.advance([[0]])
    >>> [bias == 0 for bias in texts.new_biases().values()], texts.done
    ([False, True, False, False], False)

    Attributes: `done`, whether all texts have ended.
    """

    def __init__(self, allowed: AllowedTokens, rows: int) -> None:
        self._allowed = allowed
        self._states: list[int | None] = [allowed.automaton.start] * rows
        self._remaining = 0
        self._at_end = array("f", [0.0]) * allowed.size
        self._rows: list[array[float]] = []

    @property
    def done(self) -> bool:
        """Whether all texts have ended."""
        return not any(state is not None for state in self._states)

    def begin(self, limit: int) -> None:
        """Begin texts of this many tokens at most.

        Raises `DataError` NNM704 if no text that fits is that short.
        """
        needed = self._allowed.tokens_needed(self._allowed.automaton.start)
        if needed >= UNREACHABLE:
            raise DataError("NNM704", "no text fits", hint="see docs/generation.md")
        if needed > limit:
            message = f"at most {limit} tokens can follow, and the shortest text takes {needed}"
            raise DataError("NNM704", message, hint=f"set max_new_tokens to {needed} or more")
        self._remaining = limit

    def advance(self, new_tokens: Sequence[Sequence[int]]) -> None:
        """Add the tokens that were chosen, the same number for all texts."""
        for row, tokens in enumerate(new_tokens):
            for token in tokens:
                state = self._states[row]
                self._states[row] = None if state is None else self._allowed.advance(state, token)
        self._remaining -= len(new_tokens[0])

    def new_biases(self) -> HostArray | None:
        """Return what is added to the scores of the next tokens, `[texts, vocabulary]`.

        None if it is the same as for the tokens before.
        """
        rows = [
            self._at_end if state is None else self._allowed.biases(state, self._remaining)
            for state in self._states
        ]
        if len(rows) == len(self._rows) and all(map(is_, rows, self._rows)):
            return None
        self._rows = rows
        data = rows[0] if len(rows) == 1 else array("f", b"".join(row.tobytes() for row in rows))
        return HostArray("float32", [len(rows), self._allowed.size], data)
