"""How texts begin, continue and end: as callers say, otherwise by the config of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.formats.fields import Fields
from webnnm.transformers.beams import Beams
from webnnm.transformers.choice import SOURCE_NGRAMS, Sampling
from webnnm.transformers.generator import Choose
from webnnm.transformers.texts import end_tokens, read_rows

if TYPE_CHECKING:
    from webnnm.transformers.structured.allowed_tokens import AllowedTokens


class Beginning(NamedTuple):
    """The tokens that texts begin with, and how many of these count as written."""

    rows: list[list[int]]
    forced: int = 0


def begin_rows(
    config: Mapping[str, Any],
    count: int,
    decoder_ids: Any = None,
    forced: int | None = None,
    *,
    starts_differ: bool = False,
) -> Beginning:
    """Return the first tokens of a number of decoder texts, as in `transformers`.

    >>> begin_rows({"decoder_start_token_id": 2}, 2, forced=7)
    Beginning(rows=[[2, 7], [2, 7]], forced=1)

    `decoder_ids` are `decoder_input_ids`, to which the config's `decoder_start_token_id` is
    prepended if it is missing, unless `starts_differ` by the task, as those of Donut. `forced` is
    the first token that is written, in place of the config's `forced_bos_token_id`.

    Raises `DataError` NNM818 for a config without the first token, NNM702 for another number of
    texts.
    """
    start = _first_token(config, "decoder_start_token_id", "bos_token_id")
    rows: list[list[int]] = [[] if start is None else [start] for _ in range(count)]
    if decoder_ids is not None:
        decoder_rows, single = read_rows(decoder_ids, name="decoder_input_ids")
        rows = decoder_rows * count if single else decoder_rows
        starts_differ = starts_differ or config.get("model_type") == "whisper"
        lacks_start = all(row[:1] != [start] for row in rows)
        if start is not None and lacks_start and not starts_differ:
            rows = [[start, *row] for row in rows]
    if len(rows) != count:
        raise DataError("NNM702", f"{len(rows)} rows of decoder_input_ids for {count} sources")
    if not all(rows):
        hint = "give decoder_input_ids"
        raise DataError("NNM818", 'the config has no "decoder_start_token_id"', hint=hint)
    forced = _first_token(config, "forced_bos_token_id") if forced is None else forced
    if forced is None or any(len(row) > 1 for row in rows):
        return Beginning(rows)
    return Beginning([[*row, forced] for row in rows], 1)


def choice_settings(
    config: Mapping[str, Any],
    vocabulary: int,
    *,
    num_beams: int = 1,
    num_return_sequences: int = 1,
    more_ends: frozenset[int] = frozenset(),
    length_penalty: float = 1.0,
    early_stopping: bool | Literal["never"] = False,
    seed: int = 0,
    choose: Choose | None = None,
    allowed: AllowedTokens | None = None,
    suppress_tokens: Sequence[int] | None = None,
    encoder_no_repeat_ngram_size: int | None = None,
    context: int | None = None,
    sinks: int | None = None,
    **sampling: Any,
) -> dict[str, Any]:
    """Return the settings of the choice of tokens, as arguments of `generate_tokens`.

    Tokens that the config suppresses are suppressed unless others are given; a config may list some
    that are not in the vocabulary. Its `encoder_no_repeat_ngram_size` applies unless another is
    given. `allowed` finds the tokens that may follow in structured texts; `context` and `sinks` are
    what is seen of texts longer than the model has positions for.
    Raises `DataError` NNM704 for values out of range, and for two of these together: beams, a
    `choose` function, structured texts; and for a context or sinks with beams or structured texts.
    """
    if suppress_tokens is None:
        suppress_tokens = [t for t in list_suppressed_tokens(config) if t < vocabulary]
    if encoder_no_repeat_ngram_size is None:
        encoder_no_repeat_ngram_size = config.get(SOURCE_NGRAMS)
    beams = None
    ways = [
        *([f"num_beams is {num_beams}"] if num_beams != 1 else []),
        *(["choose is a function"] if choose is not None else []),
        *(["the text is structured"] if allowed is not None else []),
    ]
    window = None
    if context is not None or sinks is not None:
        from webnnm.transformers.rolling import read_window

        window = read_window(context, sinks)
        ways += [] if choose else [f"context is {context}, sinks is {sinks}"]
    if len(ways) > 1:
        raise DataError("NNM704", ", and ".join(ways), hint="leave one of them out")
    if num_beams != 1:
        ends = (*sorted(end_tokens(config) | more_ends),)
        beams = Beams(num_beams, length_penalty, early_stopping, ends)
    _check_count(num_return_sequences, num_beams, sampling.get("temperature"))
    at_first = [t for t in _tokens(config, "begin_suppress_tokens") if t < vocabulary]
    chosen = Sampling(
        suppress_tokens=suppress_tokens,
        encoder_no_repeat_ngram_size=encoder_no_repeat_ngram_size,
        begin_suppress_tokens=at_first,
        ends=[*end_tokens(config) | more_ends] if sampling.get("min_new_tokens") else (),
        **sampling,
    )
    return {
        "sampling": chosen,
        "beams": beams,
        "seed": seed,
        "choose": choose,
        "allowed": allowed,
        "returned": num_return_sequences,
        "window": window,
    }


def _check_count(count: int, num_beams: int, temperature: float | None) -> None:
    """Raise `DataError` NNM704 if there are not so many texts for a prompt."""
    if not is_integer(count) or count < 1:
        raise DataError(
            "NNM704", f"num_return_sequences is {count!r}", hint="give an integer from 1"
        )
    if num_beams != 1 and count > num_beams:
        message = f"num_return_sequences is {count}, num_beams is {num_beams}"
        raise DataError("NNM704", message, hint="a search has one text for each beam at most")
    if num_beams == 1 and count > 1 and not temperature:
        message = f"num_return_sequences is {count}, but there is no temperature"
        raise DataError("NNM704", message, hint="all texts would be the same: sample, or use beams")


def last_token(config: Mapping[str, Any]) -> int | None:
    """Return the token that ends texts of the greatest length, if the config names one."""
    return _first_token(config, "forced_eos_token_id")


def list_suppressed_tokens(config: Mapping[str, Any]) -> list[int]:
    """Return the tokens that are never chosen, according to the config.

    >>> list_suppressed_tokens({"suppress_tokens": [1, 2], "bad_words_ids": [[7]]})
    [1, 2, 7]

    Raises `DataError` NNM818 for words of several tokens, and for values that are not tokens.
    """
    tokens = _tokens(config, "suppress_tokens")
    for bad_word in Fields(config, "the config").token_lists("bad_words_ids"):
        if len(bad_word) != 1:
            message = f'the config: "bad_words_ids" has {bad_word}, which is not one token'
            raise DataError("NNM818", message, hint="pass choose=, a function that excludes it")
        tokens += bad_word
    return tokens


def pad_with_mask(
    rows: Sequence[Sequence[int]], padding: int = 0
) -> tuple[list[list[int]], list[list[int]]]:
    """Return rows of equal length, padded at the end, and a mask that is 0 there.

    >>> pad_with_mask([[5, 6], [7]])
    ([[5, 6], [7, 0]], [[1, 1], [1, 0]])
    """
    longest = max(map(len, rows), default=0)
    padded = [[*row] + [padding] * (longest - len(row)) for row in rows]
    return padded, [[1] * len(row) + [0] * (longest - len(row)) for row in rows]


def _tokens(config: Mapping[str, Any], key: str) -> list[int]:
    """Return the tokens that a config lists under a key, none if the key is missing."""
    tokens: Any = config.get(key) or []
    if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):  # pyrefly: ignore[unknown-variable-type]
        message = f'the config: "{key}" is {str(tokens)[:80]}'
        raise DataError("NNM818", message, hint="it is a list of tokens")
    return [*cast("list[int]", tokens)]


def _first_token(config: Mapping[str, Any], *keys: str) -> int | None:
    """Return the first of these tokens that a config has."""
    for key in keys:
        token = config.get(key)
        token = token[0] if isinstance(token, list) and token else token
        if isinstance(token, int):
            return token
    return None
