"""Learns the vocabulary of texts, and writes it as a `tokenizer.json`."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise
from typing import Any, Literal

from webnnm.core.errors import DataError
from webnnm.data.texts.token_models import list_ngrams
from webnnm.data.texts.tokenizer import TextTokenizer
from webnnm.data.texts.tokenizer_parts import make_normalizer, make_splitter, spell_bytes

Unit = Literal["words", "ngrams", "letters", "bytes"]
Pair = tuple[str, str]
UNITS: tuple[Unit, ...] = ("words", "ngrams", "letters", "bytes")
NGRAMS = (1, 4)
"""The shortest and the longest n-gram, in letters."""
SIZES: dict[Unit, int] = {"words": 5000, "ngrams": 10_000, "letters": 1000, "bytes": 5000}
"""The most tokens of a vocabulary that is learnt."""
MINIMUM_COUNTS: dict[Unit, int] = {"words": 1, "ngrams": 2, "letters": 1, "bytes": 2}
"""How often a token occurs in the training rows at least."""
PADDING, UNKNOWN = "[PAD]", "[UNK]"
"""The first two tokens: what follows the end of a text, and what the training rows do not have."""
MAX_PIECES = 1 << 6
"""The longest word that byte pairs are learnt from as a whole, in bytes; longer ones are cut."""
_WORDS: dict[str, Any] = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "WhitespaceSplit"},
        {
            "type": "Split",
            "pattern": {"Regex": r"[\p{P}\p{S}]\p{M}*"},
            "behavior": "Isolated",
            "invert": False,
        },
    ],
}
SPLITTERS: dict[str, dict[str, Any]] = {
    "words": _WORDS,
    "ngrams": _WORDS,
    "letters": {
        "type": "Split",
        "pattern": {"Regex": r"\s|\S"},
        "behavior": "Isolated",
        "invert": False,
    },
    "bytes": {
        "type": "ByteLevel",
        "add_prefix_space": True,
        "trim_offsets": True,
        "use_regex": True,
    },
}
"""How texts are cut: at words, punctuation marks and emoji; at characters; at words for bytes."""


def learn_vocabulary(
    texts: Iterable[str],
    unit: Unit,
    *,
    size: int,
    minimum_count: int,
    lowercase: bool,
    ngrams: tuple[int, int] = NGRAMS,
) -> TextTokenizer:
    """Return the tokenizer with the most frequent tokens of texts.

    >>> words = learn_vocabulary(["So good!", "so bad!"], "words", size=9, minimum_count=2,
    ...     lowercase=True)
    >>> list(words.vocabulary), words.encode("So so?")
    (['[PAD]', '[UNK]', '!', 'so'], [3, 3, 1])

    `size` is the most tokens that the vocabulary has, and `minimum_count` how often a token occurs
    at least. The parts of words of `unit="bytes"` are byte pairs: neighbours that occur most often
    together are merged, again and again, starting from the 256 bytes (Gage 1994, "A new algorithm
    for data compression"; Sennrich, Haddow, Birch 2016, "Neural machine translation of rare words
    with subword units"). Those of `unit="ngrams"` are all that `ngrams` letters make, from the
    shortest to the longest number, and the words.
    """
    steps: list[dict[str, Any]] = [{"type": "NFC"}]
    if unit in ("words", "ngrams"):
        steps.append(
            {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": False,
                "lowercase": lowercase,
            }
        )
    elif lowercase:
        steps.append({"type": "Lowercase"})
    normalizer, splitter = {"type": "Sequence", "normalizers": steps}, SPLITTERS[unit]
    normalize, split = make_normalizer(normalizer), make_splitter(splitter)
    counts = Counter(chain.from_iterable(split(normalize(text), True) for text in texts))
    if unit == "bytes":
        model = learn_byte_pairs(counts, size, minimum_count)
    elif unit == "ngrams":
        shortest, longest = ngrams
        vocabulary = _number_frequent(_count_ngrams(counts, shortest, longest), size, minimum_count)
        model = {"type": "NGrams", "vocab": vocabulary, "unk_token": UNKNOWN}
        model |= {"min_length": shortest, "max_length": longest}
    else:
        vocabulary = _number_frequent(counts, size, minimum_count)
        model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN}
    file: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": splitter,
        "post_processor": None,
        "decoder": splitter if unit == "bytes" else None,
        "model": model,
    }
    return TextTokenizer(json.dumps(file, ensure_ascii=False, separators=(",", ":")))


def _count_ngrams(counts: Counter[str], shortest: int, longest: int) -> Counter[str]:
    """Return how often n-grams occur, given how often words do."""
    totals: Counter[str] = Counter()
    for word, count in counts.items():
        for ngram in list_ngrams(word, shortest, longest):
            totals[ngram] += count
    return totals


def _number_frequent(counts: Counter[str], size: int, minimum_count: int) -> dict[str, int]:
    """Return the numbers of the most frequent tokens, after those of padding and unknown words."""
    order = sorted(counts, key=lambda token: (-counts[token], token))
    kept = [token for token in order if counts[token] >= minimum_count][: max(0, size - 2)]
    return _number([PADDING, UNKNOWN, *(one for one in kept if one not in (PADDING, UNKNOWN))])


def _number(tokens: Sequence[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def learn_byte_pairs(counts: Counter[str], size: int, minimum_count: int) -> dict[str, Any]:
    """Return the model of a tokenizer whose tokens are byte pairs, given how often words occur.

    >>> learn_byte_pairs(Counter(abc=2, bc=1), size=259, minimum_count=2)["merges"]
    ['b c', 'a bc']
    """
    tokens = [PADDING, *sorted(spell_bytes())]
    if size < len(tokens):
        raise DataError(
            "NNM704",
            f"vocabulary={size} is less than the {len(tokens)} tokens of all bytes",
            hint='tokens="words" takes any size',
        )
    words, weights = list[list[str]](), list[int]()
    for spelling, count in counts.items():
        parts = [[*spelling[at : at + MAX_PIECES]] for at in range(0, len(spelling), MAX_PIECES)]
        words += parts
        weights += [count] * len(parts)
    totals: Counter[Pair] = Counter()
    users: defaultdict[Pair, set[int]] = defaultdict(set)
    for index, pieces in enumerate(words):
        for pair in pairwise(pieces):
            totals[pair] += weights[index]
            users[pair].add(index)
    queue = [(-total, pair) for pair, total in totals.items()]
    heapify(queue)
    merges: list[str] = []
    while len(tokens) < size and queue:
        negative, best = heappop(queue)
        if totals[best] != -negative:  # it became rarer
            if totals[best] > 0:
                heappush(queue, (-totals[best], best))
            continue
        if totals[best] < minimum_count:
            break
        joined = "".join(best)
        merges.append(" ".join(best))
        tokens.append(joined)
        changed: set[Pair] = set()
        for index in users.pop(best):
            pieces, weight = words[index], weights[index]
            for pair in pairwise(pieces):
                totals[pair] -= weight
            _join(pieces, best, joined)
            for pair in pairwise(pieces):
                totals[pair] += weight
                users[pair].add(index)
                changed.add(pair)
        for pair in changed:
            heappush(queue, (-totals[pair], pair))
    # Two pairs may join to the same token.
    vocabulary = _number([*dict.fromkeys(tokens)])
    return {"type": "BPE", "vocab": vocabulary, "merges": merges, "unk_token": None}


def _join(pieces: list[str], pair: Pair, joined: str) -> None:
    """Replace a pair in a list of pieces, from the left."""
    first, second = pair
    result: list[str] = []
    is_open = False  # the last piece may be the first of a pair
    for piece in pieces:
        if is_open and piece == second:
            result[-1], is_open = joined, False
        else:
            result.append(piece)
            is_open = piece == first
    pieces[:] = result
