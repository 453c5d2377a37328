"""Rules for the tokens of a transcript, as a part of the graph that chooses them.

Timestamps come in pairs, the start and end of a text, and never decrease. The first token is a
timestamp, and if timestamps together are likelier than any other token, one of them is chosen.
Source: A. Radford et al., arXiv:2212.04356, and whisper/decoding.py of
https://github.com/openai/whisper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

TIMES = "timestamps"
"""The numbers in `Timestamps`, an input of graphs."""
PROGRESS = "timestamps/progress"
"""A state of graphs, float32 `[batch, 7]`: the number of tokens, whether the last one and the one
before are timestamps, the least timestamp that may follow, whether the transcript continues, the
sum of log probabilities, and the probability of silence."""
NEVER = -1e30
"""The score of tokens that must not be chosen."""


@dataclass(frozen=True, kw_only=True)
class Timestamps:
    """The token numbers that the rules need.

    - `first`: the timestamp 0; all later tokens are timestamps.
    - `end`: ends a transcript; earlier tokens are words.
    - `silence`: means that there is no speech.
    - `latest`: how many timestamps after the first a transcript may begin at most.
    """

    first: int
    end: int
    silence: int
    latest: int = 50

    def values(self, rows: int) -> dict[str, HostArray]:
        """Return the initial state of graphs."""
        facts = [self.first, self.end, self.silence, self.first + self.latest]
        # Before the first token, the state is as if a pair of timestamps had ended.
        start = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]
        return {
            TIMES: HostArray.of([float(fact) for fact in facts], "float32", [1, len(facts)]),
            PROGRESS: HostArray.of(start * rows, "float32", [rows, len(start)]),
        }


class TimestampRules:
    """The rules for scores `[batch, vocabulary]`, and their state after a choice."""

    def __init__(self, b: GraphBuilder, scores: Any) -> None:
        self._b = b
        batch, vocabulary = scores.shape
        self._numbers = b.constant(
            [float(n) for n in range(vocabulary)], "float32", [1, vocabulary]
        )
        facts = b.input(TIMES, "float32", [1, 4])
        self._first, self._end, silence, self._latest = self._columns(facts)
        state = b.input(PROGRESS, "float32", [batch, 7])
        self._count, self._last, self._before, self._least, self._alive, self._sum, quiet = (
            self._columns(state)
        )
        self._is_time = self._flag(b.greater_or_equal(self._numbers, self._first))
        self._begins = self._flag(b.equal(self._count, 0.0))
        is_silence = self._flag(b.equal(self._numbers, silence))
        shares = self._shares(scores)
        shares = b.reduce_sum(shares * is_silence, axes=[1], keep_dimensions=True)
        self._silence = self._begins * shares + (1.0 - self._begins) * quiet

    def apply(self, scores: Any) -> Any:
        """Return scores with which tokens that the rules forbid are never chosen."""
        b, is_time = self._b, self._is_time
        is_text = 1.0 - is_time
        goes_on = 1.0 - self._begins
        ended = goes_on * self._last * self._before
        begun = goes_on * self._last * (1.0 - self._before)
        hidden = ended * is_time
        hidden = hidden + begun * self._flag(b.lesser(self._numbers, self._end))
        hidden = hidden + is_time * self._flag(b.lesser(self._numbers, self._least))
        late = self._flag(b.greater(self._numbers, self._latest))
        hidden = hidden + self._begins * (is_text + late)
        scores = scores + hidden * NEVER
        shares = self._shares(scores)
        times = b.reduce_sum(shares * is_time, axes=[1], keep_dimensions=True)
        best = b.reduce_max(shares * is_text, axes=[1], keep_dimensions=True)
        scores = scores + is_text * self._flag(b.greater(times, best)) * NEVER
        self._allowed: Any = scores
        return scores

    def following(self, tokens: Any) -> dict[str, Operand]:
        """Return the state after a choice, int32 `[batch]`, among the scores of `apply`."""
        b = self._b
        token = b.reshape(b.cast(tokens, type="float32"), new_shape=(tokens.shape[0], 1))
        chosen = self._flag(b.equal(self._numbers, token))
        share = b.reduce_sum(self._shares(self._allowed) * chosen, axes=[1], keep_dimensions=True)
        logarithm = b.log(b.max(share, 1e-30))
        is_time = self._flag(b.greater_or_equal(token, self._first))
        # The timestamp that begins a text may be the one that ended the text before.
        least = is_time * (token + self._last) + (1.0 - is_time) * self._least
        columns = (
            self._count + 1.0,
            is_time,
            self._last,
            least,
            self._alive * (1.0 - self._flag(b.equal(token, self._end))),
            self._sum + self._alive * logarithm,
            self._silence,
        )
        return {PROGRESS: b.concat(list(columns), axis=1)}

    def _shares(self, scores: Any) -> Any:
        return self._b.softmax(scores, axis=1)

    def _flag(self, value: Any) -> Any:
        return self._b.cast(value, type="float32")

    def _columns(self, value: Any) -> list[Any]:
        rows, count = value.shape
        return [self._b.slice(value, (0, index), (rows, 1)) for index in range(count)]
