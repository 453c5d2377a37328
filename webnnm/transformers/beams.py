"""Beam search: continues each text in several ways, those with the best scores so far.

The device holds them: rows of its graphs are the beams of all texts, one text after the other. It
returns the best candidates of every step, and the host keeps the texts that have ended. Scores,
their order and the end of the search are those of `transformers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

ORDER = "beams/order"
"""The row whose text each row continues, int32 `[rows]`."""
TOTALS = "beams/totals"
"""The sums of the log probabilities of texts, `[texts, beams]`."""
VALUES, INDICES = "beams/values", "beams/indices"
"""The candidates of the last steps, best first, `[texts, MAX_STEPS, candidates]`: their sums, and
beam · vocabulary + token, int32."""
UNUSED_SCORE = -1e9
"""The score of an unused beam."""
TAKEN_SCORE = -3e38
"""The score of a candidate that has been selected: it is not selected again."""


@dataclass(frozen=True)
class Beams:
    """The settings of a beam search.

    - `count`: the number of texts that are continued in parallel for each prompt.
    - `length_penalty`: scores are divided by the length to this power; above 0 prefers long texts.
    - `early_stopping`: True ends the search once `count` texts have ended, "never" when no text can
      become better, False when no better text is to be expected.
    - `ends`: tokens that end a text.

    Raises `DataError` NNM704 for values out of their range.
    """

    count: int
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False
    ends: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        penalty: Any = self.length_penalty
        number = isinstance(penalty, (int, float)) and not isinstance(penalty, bool)
        if not is_integer(self.count) or self.count < 2:
            raise _wrong("num_beams", self.count, "an integer from 1")
        if not number or abs(penalty) == float("inf") or penalty != penalty:
            raise _wrong("length_penalty", penalty, "a number")
        if self.early_stopping not in (True, False, "never"):
            raise _wrong("early_stopping", self.early_stopping, 'True, False or "never"')

    def initial_states(self, texts: int) -> dict[str, HostArray]:
        """Return the initial states: each text has one beam."""
        totals = [0.0, *[UNUSED_SCORE] * (self.count - 1)] * texts
        return {
            ORDER: HostArray.of([*range(texts * self.count)], "int32"),
            TOTALS: HostArray.of(totals, "float32", [texts, self.count]),
        }


def _wrong(name: str, value: Any, expected: str) -> DataError:
    return DataError("NNM704", f"{name} is {value!r}", hint=f"it is {expected}")


# On the device.


def count_candidates(beams: int, ends: Sequence[int]) -> int:
    """Return the number of candidates per step: some may end, and `count` must continue."""
    return max(2, 1 + len(ends)) * beams


def log_probabilities(b: GraphBuilder, scores: Any) -> Any:
    """Return the log probabilities of scores `[rows, vocabulary]`."""
    scores = scores - b.reduce_max(scores, axes=[1], keep_dimensions=True)
    return scores - b.log(b.reduce_sum(b.exp(scores), axes=[1], keep_dimensions=True))


def step_beams(
    b: GraphBuilder, scores: Any, beams: int, ends: Sequence[int], steps: int
) -> tuple[Any, dict[str, Operand]]:
    """Return the next tokens of all rows, int32, and the states after a step.

    `scores` are log probabilities, `steps` the number of steps that the states hold.
    """
    rows, vocabulary = scores.shape
    texts, width = rows // beams, count_candidates(beams, ends)
    totals = b.input(TOTALS, "float32", [texts, beams])
    scores = scores + b.reshape(totals, new_shape=(rows, 1))
    values, indices = _best(b, b.reshape(scores, new_shape=(texts, beams * vocabulary)), width)
    beam = b.constant(0, "int32")
    for first in range(vocabulary, beams * vocabulary, vocabulary):
        later = b.greater_or_equal(indices, b.constant(first, "int32"))
        beam = beam + b.cast(later, type="int32")
    token = indices - beam * b.constant(vocabulary, "int32")
    open_values = values
    for end in ends:
        ended = b.equal(token, b.constant(end, "int32"))
        open_values = open_values + b.cast(ended, type="float32") * UNUSED_SCORE
    totals, kept = _best(b, open_values, beams)
    row = beam + b.constant([text * beams for text in range(texts)], "int32", [texts, 1])
    chosen = [
        b.reshape(b.gather_elements(candidates_of_step, kept, axis=1), new_shape=(rows,))
        for candidates_of_step in (token, b.expand(row, new_shape=(texts, width)))
    ]
    states = {ORDER: chosen[1], TOTALS: totals}
    for name, value in ((VALUES, values), (INDICES, indices)):
        log = b.input(name, value.dtype, [texts, steps, width])
        later = b.slice(log, starts=(0, 1, 0), sizes=(texts, steps - 1, width))
        last = b.reshape(value, new_shape=(texts, 1, width))
        states[name] = b.concat([later, last], axis=1)
    return chosen[0], states


def _best(b: GraphBuilder, scores: Any, count: int) -> tuple[Any, Any]:
    """Return the largest of scores `[texts, n]` and their indices, int32, in descending order."""
    width = scores.shape[1]
    numbers = b.constant([*range(width)], "int32", [1, width])
    values: list[Any] = []
    indices: list[Any] = []
    for _ in range(count):
        index = b.arg_max(scores, axis=1, keep_dimensions=True, output_data_type="int32")
        values.append(b.reduce_max(scores, axes=[1], keep_dimensions=True))
        indices.append(index)
        scores = b.where(b.equal(numbers, index), b.constant(TAKEN_SCORE, "float32"), scores)
    return b.concat(values, axis=1), b.concat(indices, axis=1)


# On the host.


class Candidate(NamedTuple):
    """A text continued by a token: the beam that it continues, and the sum of its scores."""

    value: float
    beam: int
    token: int


class Search:
    """The search for one text: `tokens` are those of its beams so far, without the prompt.

    Texts have at most `max_length` tokens, of which `forced` are in the prompt; `last`, if given,
    is the last token of a text of that length. `done` is whether the result can no longer change.
    """

    def __init__(
        self,
        beams: Beams,
        vocabulary: int,
        max_length: int,
        forced: int = 0,
        last: int | None = None,
    ) -> None:
        self.done = False
        self._beams, self._vocabulary = beams, vocabulary
        self._max_length, self._last = max_length, last
        self._running: list[tuple[float, list[int]]] = [
            (UNUSED_SCORE if beam else 0.0, []) for beam in range(beams.count)
        ]
        self._ended: list[tuple[float, list[int]]] = []
        self._length = forced

    def step(self, values: Sequence[float], indices: Sequence[int]) -> None:
        """Take the candidates of a step from the device; do nothing once the search is done."""
        if self.done:
            return
        self._length += 1
        continued = [
            Candidate(value, *divmod(index, self._vocabulary))
            for value, index in zip(values, indices, strict=True)
        ]
        full = self._length >= self._max_length
        if full and self._last is not None:
            continued = [Candidate(v, n, self._last) for n, (v, _) in enumerate(self._running)]
        texts = [
            (candidate.value, [*self._running[candidate.beam][1], candidate.token])
            for candidate in continued
        ]
        ends = [full or candidate.token in self._beams.ends for candidate in continued]
        best = zip(texts, ends, range(self._beams.count), strict=False)
        scale = self._length**self._beams.length_penalty
        self._ended += [(value / scale, text) for (value, text), end, _ in best if end]
        self._ended = sorted(self._ended, key=lambda candidate: -candidate[0])[: self._beams.count]
        running = [text for text, end in zip(texts, ends, strict=True) if not end]
        self._running = running[: self._beams.count]
        self.done = full or self._is_over()

    def _is_over(self) -> bool:
        """Return whether no beam is expected to score better than those that have ended."""
        if len(self._ended) < self._beams.count:
            return False
        if self._beams.early_stopping is True:
            return True
        length, penalty = self._length, self._beams.length_penalty
        if self._beams.early_stopping == "never" and penalty > 0:
            length = self._max_length
        return self._running[0][0] / length**penalty <= self._ended[-1][0]

    def best(self, count: int) -> list[list[int]]:
        """Return the tokens of the best texts; those that have ended come first."""
        return [tokens for _, tokens in [*self._ended, *self._running][:count]]


def update_searches(searches: Sequence[Search], logs: Sequence[HostArray], count: int) -> None:
    """Let searches take the last steps from the device, `VALUES` and `PLACES`."""
    values, indices = (array.tolist() for array in logs)
    for search, value_log, index_log in zip(searches, values, indices, strict=True):
        for step in range(len(value_log) - count, len(value_log)):
            search.step(value_log[step], index_log[step])
