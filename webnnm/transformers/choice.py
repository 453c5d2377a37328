"""The choice of the next token from scores, as a part of the graph that computes them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.errors import DataError
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import is_integer
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.ops.declare.generator import MODULI, advance
from webnnm.transformers.timestamps import NEVER, TIMES, TimestampRules, Timestamps

SEEN = "seen"
"""Which tokens a text has so far, 0/1 `[batch, vocabulary]`: a state of graphs."""
GENERATOR = tuple(f"random/{place}" for place in range(len(MODULI)))
"""The states of the random generator."""
MIN_LOG_SHARE = -30.0
"""The lowest threshold, as the logarithm of a share of the most likely token: tokens below it,
10⁻¹³ of that, are never chosen."""
HALVINGS = 31
"""Steps of a bisection: 30 / 2³¹ is less than the distance between two float32 numbers."""
SUPPRESSED, SUPPRESSED_FIRST = "suppress_tokens", "begin_suppress_tokens"
NGRAMS, MIN_NEW = "no_repeat_ngram_size", "min_new_tokens"
SOURCE_NGRAMS = "encoder_no_repeat_ngram_size"
HISTORY = "history"
"""The last tokens of a text, float32 `[batch, room]`, −1 before the first: a state of graphs."""
PROMPT = "prompt"
"""The tokens of a prompt, float32 `[batch, room]`, −1 before the first: an input of graphs."""
WRITTEN = "written"
"""The number of chosen tokens, float32 `[1, 1]`: a state of graphs."""
ENDS = "ends"
"""A bias for the scores of tokens that end texts, float32 `[1, vocabulary]`."""
ALLOWED = "allowed"
"""Biases for the scores of the next tokens of structured texts, float32 `[batch, vocabulary]`."""
SCORE_RULES = ("repetition_penalty", NGRAMS, SOURCE_NGRAMS, MIN_NEW, SUPPRESSED, SUPPRESSED_FIRST)
"""The settings that lower the scores of some tokens, however the next one is chosen."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The settings of the choice of tokens; those that are None are off.

    >>> Sampling(temperature=0.8, top_p=0.95).kinds()
    ('temperature', 'top_p')

    - `temperature`: scores are divided by it; None or 0 takes the most likely token.
    - `top_k`: only this many of the most likely tokens are kept.
    - `top_p`: only the fewest tokens whose probabilities add up to this share are kept.
    - `min_p`: only tokens that are at least this share as likely as the most likely one are kept.
    - `repetition_penalty`: positive scores of tokens in the text are divided by it, negative ones
      multiplied (N. Keskar et al., "CTRL", arXiv:1909.05858).
    - `no_repeat_ngram_size`: no n-gram of this size occurs twice in a text, prompt included.
    - `encoder_no_repeat_ngram_size`: no n-gram of this size of the text that an encoder reads is
      written, or of the prompt if there is no encoder.
    - `min_new_tokens`: before this many tokens are chosen, none of `ends` is.
    - `suppress_tokens`: tokens that are never chosen; `begin_suppress_tokens`: those that no text
      begins with.
    - `timestamps`: the token numbers that the rules for transcripts need.

    The last seven of these apply first; the filters apply in this order, each to the probabilities
    that are left. Raises `DataError` NNM704 for values out of range.
    """

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    no_repeat_ngram_size: int | None = None
    encoder_no_repeat_ngram_size: int | None = None
    min_new_tokens: int | None = None
    suppress_tokens: Sequence[int] | None = None
    begin_suppress_tokens: Sequence[int] | None = None
    timestamps: Timestamps | None = None
    ends: Sequence[int] = ()

    def __post_init__(self) -> None:
        for name, (expected, fits) in _RANGES.items():
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and not (number and fits(value)):
                raise DataError("NNM704", f"{name} is {value!r}", hint=f"it is {expected}")

    def kinds(self) -> tuple[str, ...]:
        """Return which settings are on; one graph serves all their values, except n-gram sizes."""
        greedy = not self.temperature
        unneeded = {"temperature", "top_k", "top_p", "min_p"} if greedy else set[str]()
        lists = (SUPPRESSED, SUPPRESSED_FIRST, NGRAMS, SOURCE_NGRAMS, MIN_NEW)
        unneeded |= {"ends", *(name for name in lists if not getattr(self, name))}
        if not self.ends:
            unneeded.add(MIN_NEW)
        if self.repetition_penalty == 1:
            unneeded.add("repetition_penalty")
        names = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        sizes = {name: f"{name}={getattr(self, name)}" for name in (NGRAMS, SOURCE_NGRAMS)}
        return tuple(sizes.get(name, name) for name in names if name not in unneeded)

    def values(self, vocabulary: int) -> dict[str, HostArray]:
        """Return the values of the settings that are on."""
        settings = {name: getattr(self, name) for name in self.kinds() if "=" not in name}
        settings.pop(TIMES, None)
        forbidden = {
            name: settings.pop(name) for name in (SUPPRESSED, SUPPRESSED_FIRST) if name in settings
        }
        if MIN_NEW in settings:
            forbidden[ENDS] = self.ends
        values = {name: HostArray.of([float(value)]) for name, value in settings.items()}
        for name, tokens in forbidden.items():
            scores = [0.0] * vocabulary
            for token in tokens:
                if not 0 <= token < vocabulary:
                    message = f"{name}: {token} is not from 0 to {vocabulary - 1}"
                    raise DataError("NNM711", message)
                scores[token] = NEVER
            values[name] = HostArray.of(scores, "float32", [1, vocabulary])
        if MIN_NEW in settings:
            values[WRITTEN] = HostArray.of([[0.0]], "float32")
        return values

    def history(self, rows: Sequence[Sequence[int]], room: int) -> dict[str, HostArray]:
        """Return the initial state of graphs that look for sequences of tokens."""
        if not reads_history(self.kinds()):
            return {}
        padded_rows = [[-1.0] * (room - len(row)) + [float(token) for token in row] for row in rows]
        return {HISTORY: HostArray.of(padded_rows, "float32")}


def ngram_sizes(kinds: Sequence[str], setting: str = NGRAMS) -> list[int]:
    """Return the sizes of n-grams that must not occur twice, or those of another setting.

    >>> ngram_sizes(["top_k", "no_repeat_ngram_size=3"])
    [3]
    """
    return [int(kind.partition("=")[2]) for kind in kinds if kind.startswith(f"{setting}=")]


def reads_history(kinds: Sequence[str]) -> bool:
    """Return whether the choice depends on sequences of tokens of the text so far."""
    return bool(ngram_sizes(kinds) or ngram_sizes(kinds, SOURCE_NGRAMS))


_RANGES: Mapping[str, tuple[str, Callable[[float], bool]]] = {
    "temperature": ("a number from 0", lambda value: 0 <= value < float("inf")),
    "top_k": ("an integer from 1", lambda value: is_integer(value) and value >= 1),
    "top_p": ("above 0, at most 1", lambda value: 0 < value <= 1),
    "min_p": ("from 0 to 1", lambda value: 0 <= value <= 1),
    "repetition_penalty": ("a number above 0", lambda value: 0 < value < float("inf")),
    NGRAMS: ("an integer from 0", lambda value: is_integer(value) and value >= 0),
    SOURCE_NGRAMS: ("an integer from 0", lambda value: is_integer(value) and value >= 0),
    MIN_NEW: ("an integer from 0", lambda value: is_integer(value) and value >= 0),
}


def choose_tokens(
    b: GraphBuilder,
    scores: Operand,
    kinds: tuple[str, ...],
    history: Any = None,
    source: Any = None,
) -> tuple[Operand, dict[str, Operand]]:
    """Return the chosen tokens, int32 `[batch]`, of scores `[batch, vocabulary]`, float32.

    `kinds` are inputs of the graph; `history` are the tokens so far, and `source` those of the
    source, if they are needed. Also returns the states after the choice.
    """
    rules = TimestampRules(b, scores) if TIMES in kinds else None
    seen = b.input(SEEN, "float32", scores.shape) if "repetition_penalty" in kinds else None
    scores, following = process_scores(b, scores, kinds, seen, history, source)
    if rules is not None:
        scores = rules.apply(scores)
    if "temperature" in kinds:
        others = (*SCORE_RULES, TIMES, ALLOWED)
        names = [name for name in kinds if name.partition("=")[0] not in others]
        settings = {name: b.input(name, "float32", [1]) for name in names}
        scores, states = _add_noise(b, scores, settings)
        following |= states
    tokens: Operand = b.arg_max(scores, axis=1, output_data_type="int32")
    if rules is not None:
        following |= rules.following(tokens)
    if seen is not None:
        following[SEEN] = mark_tokens(b, seen, tokens)
    return tokens, following


def process_scores(
    b: GraphBuilder,
    scores: Any,
    kinds: tuple[str, ...],
    seen: Any,
    history: Any = None,
    source: Any = None,
) -> tuple[Any, dict[str, Operand]]:
    """Return scores, lowered for tokens that a text already has or must not have.

    Also returns the next states.
    """
    states: dict[str, Operand] = {}
    if "repetition_penalty" in kinds:
        penalty: Any = b.input("repetition_penalty", "float32", [1])
        penalised = b.where(b.lesser(scores, 0.0), scores * penalty, scores / penalty)
        scores = scores + seen * (penalised - scores)
    for name in (SUPPRESSED, SUPPRESSED_FIRST):
        if name in kinds:
            scores = scores + b.input(name, "float32", [1, scores.shape[1]])
    if ALLOWED in kinds:
        scores = scores + b.input(ALLOWED, "float32", scores.shape)
    for setting, text in ((NGRAMS, history), (SOURCE_NGRAMS, source)):
        for size in ngram_sizes(kinds, setting):
            scores = scores + _find_repeats(b, text, history, size, scores.shape[1]) * NEVER
            states[HISTORY] = history
    if MIN_NEW in kinds:
        count: Any = b.input(WRITTEN, "float32", [1, 1])
        early = b.cast(b.lesser(count, b.input(MIN_NEW, "float32", [1])), type="float32")
        scores = scores + b.input(ENDS, "float32", [1, scores.shape[1]]) * early
        states[WRITTEN] = count + 1.0
    return scores, states


def _find_repeats(b: GraphBuilder, text: Any, history: Any, size: int, vocabulary: int) -> Any:
    """Return 1 for tokens that would repeat an n-gram of a text, `[batch, vocabulary]`.

    `history` are the tokens that the next one follows.
    """
    batch, room = history.shape
    count = max(0, text.shape[1] - size + 1)
    if not count or room < size - 1:
        return b.expand(b.constant(0, "float32"), new_shape=(batch, vocabulary))

    def tokens(text: Any, start: int, amount: int) -> Any:
        return b.slice(text, starts=(0, start), sizes=(batch, amount))

    following = tokens(text, size - 1, count)
    match: Any = b.greater_or_equal(following, 0.0)
    for offset in range(size - 1):
        last = tokens(history, room - size + 1 + offset, 1)
        match = b.logical_and(match, b.equal(tokens(text, offset, count), last))
    # Positions without a match mark a token past the vocabulary.
    marked = b.where(match, following, float(vocabulary))
    nothing = b.expand(b.constant(0, "float32"), new_shape=(batch, vocabulary + 1))
    ones = b.expand(b.constant(1, "float32"), new_shape=(batch, count))
    repeats = b.scatter_elements(nothing, b.cast(marked, type="int32"), ones, axis=1)
    return b.slice(repeats, starts=(0, 0), sizes=(batch, vocabulary))


def append_tokens(b: GraphBuilder, history: Any, tokens: Any) -> Any:
    """Return the tokens so far with one more in each row."""
    batch, room = history.shape
    later = b.slice(history, starts=(0, 1), sizes=(batch, room - 1))
    last = b.cast(b.reshape(tokens, new_shape=(batch, 1)), type="float32")
    return b.concat([later, last], axis=1)


def mark_tokens(b: GraphBuilder, seen: Any, tokens: Any) -> Any:
    """Return which tokens texts have, 0/1 `[batch, vocabulary]`, with one more in each row."""
    batch, size = seen.shape
    numbers = b.constant([*range(size)], "int32", [1, size])
    now = b.equal(numbers, b.reshape(tokens, new_shape=(batch, 1)))
    return b.max(seen, b.cast(now, type="float32"))


def _add_noise(b: GraphBuilder, scores: Any, settings: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return scores whose largest is a fair draw, and the next states of the generator.

    The largest of log p + Gumbel noise is token i with probability pᵢ (E. Gumbel, 1954).
    """
    scores = scores / settings["temperature"]
    scores = scores - b.reduce_max(scores, axes=[1], keep_dimensions=True)
    min_score = _min_score(b, scores, settings)
    states = [b.input(name, "float32", scores.shape) for name in GENERATOR]
    following, uniform = advance(b, states)
    noise: Any = -b.log(-b.log(b.clamp(uniform, min_value=1e-9, max_value=1 - 2**-24)))
    noisy_scores: Any = scores + noise
    if min_score is not None:
        noisy_scores = b.where(b.greater_or_equal(scores, min_score), noisy_scores, NEVER)
    return noisy_scores, dict(zip(GENERATOR, following, strict=True))


def _min_score(b: GraphBuilder, scores: Any, settings: Mapping[str, Any]) -> Any:
    """Return the lowest score that may be chosen, `[batch, 1]`, None if there is no limit."""
    bound = None
    if "top_k" in settings:
        bound = _threshold(b, scores, scores * 0.0 + 1.0, settings["top_k"])
    if "top_p" in settings:
        shares = b.exp(scores)
        if bound is not None:
            shares = shares * b.cast(b.greater_or_equal(scores, bound), type="float32")
        total = b.reduce_sum(shares, axes=[1], keep_dimensions=True)
        # Rounded sums must not require more than there is.
        bound = _threshold(b, scores, shares, total * b.min(settings["top_p"], 1 - 1e-6))
    if "min_p" in settings:
        min_p = b.log(b.max(settings["min_p"], 1e-13))
        bound = min_p if bound is None else b.max(bound, min_p)
    return bound


def _threshold(b: GraphBuilder, scores: Any, weights: Any, share: Any) -> Any:
    """Return the largest bound above which weights add up to the wanted share, by bisection."""
    batch = scores.shape[0]
    low = b.expand(b.constant(MIN_LOG_SHARE, "float32"), new_shape=(batch, 1))
    width: float = -MIN_LOG_SHARE
    for _ in range(HALVINGS):
        width /= 2
        middle = low + width
        above = b.cast(b.greater_or_equal(scores, middle), type="float32")
        total = b.reduce_sum(weights * above, axes=[1], keep_dimensions=True)
        low = low + b.cast(b.greater_or_equal(total, share), type="float32") * width
    return low


def generator_states(seed: int, batch: int, vocabulary: int) -> dict[str, HostArray]:
    """Return the initial states of the random generator, 1 … m − 1, one for each row."""
    states: dict[str, HostArray] = {}
    for name, modulus in zip(GENERATOR, MODULI, strict=True):
        rows: list[HostArray] = []
        for row in range(batch):
            stream = Stream(seed, Purpose.RANDOMIZE, "generate", row, name)
            numbers = array("I", stream.bytes(4 * vocabulary))
            first = array("f", [1 + number % (modulus - 1) for number in numbers])
            rows.append(HostArray("float32", [1, vocabulary], first))
        states[name] = concatenate(rows)
    return states
