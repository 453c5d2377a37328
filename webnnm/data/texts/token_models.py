"""The models of a `tokenizer.json`: how a word becomes numbers of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from webnnm.core.shapes import is_integer
from webnnm.data.texts.tokenizer_parts import check_size

Look = Callable[[str], list[int]]
MAX_LETTERS = 1 << 10
"""The longest word whose pieces are looked up one by one."""
MAX_MERGED = 1 << 14
"""The most pieces of a word that are merged: what follows is another word."""
MAX_NGRAM = 1 << 5
"""The longest n-gram, in letters."""
MAX_CACHED = 10_000
"""Words whose tokens are kept."""


def _word_level(model: Mapping[str, Any]) -> Look:
    vocabulary: Mapping[str, int] = model["vocab"]
    unknown = vocabulary.get(model.get("unk_token", "<unk>"))

    def look(word: str) -> list[int]:
        token = vocabulary.get(word, unknown)
        if token is None:
            raise ValueError(f'"{word:.40}" is not in the vocabulary, which has no unknown word')
        return [token]

    return look


def _word_piece(model: Mapping[str, Any]) -> Look:
    vocabulary: Mapping[str, int] = model["vocab"]
    prefix = model.get("continuing_subword_prefix", "##")
    longest = model.get("max_input_chars_per_word", 100)
    check_size(longest, MAX_LETTERS, "pieces of a word")  # each is looked up
    unknown = [vocabulary[model.get("unk_token", "[UNK]")]]

    def look(word: str) -> list[int]:
        if len(word) > longest:
            return unknown
        tokens: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = vocabulary.get((prefix if start else "") + word[start:end])
                if piece is not None:
                    tokens.append(piece)
                    start = end
                    break
            else:
                return unknown
        return tokens

    return look


def _byte_pairs(model: Mapping[str, Any]) -> Look:
    vocabulary: Mapping[str, int] = model["vocab"]
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    ranks = {(first, second): rank for rank, (first, second) in enumerate(pairs)}
    prefix = model.get("continuing_subword_prefix") or ""
    for first, second in ranks:
        if first + second[len(prefix) :] not in vocabulary:
            raise ValueError(f'"{first:.40}" and "{second:.40}" merge to no token')
    suffix = model.get("end_of_word_suffix") or ""
    unknown = model.get("unk_token")

    def look(word: str) -> list[int]:
        if model.get("ignore_merges") and word in vocabulary:
            return [vocabulary[word]]
        pieces = [(prefix if index else "") + letter for index, letter in enumerate(word)]
        pieces[-1:] = [piece + suffix for piece in pieces[-1:]]
        tokens: list[int] = []
        mergeable: list[str] = []
        was_unknown = False
        for piece in pieces:
            names = [f"<0x{byte:02X}>" for byte in piece.encode(errors="replace")]
            if piece in vocabulary:
                names = [piece]
            elif not (model.get("byte_fallback") and {*names} <= vocabulary.keys()):
                if unknown is not None and not (was_unknown and model.get("fuse_unk")):
                    tokens += [vocabulary[one] for one in merge(mergeable, ranks, len(prefix))]
                    tokens.append(vocabulary[unknown])
                    mergeable, was_unknown = list[str](), True
                continue
            mergeable += names
            was_unknown = False
            if len(mergeable) >= MAX_MERGED:
                tokens += [vocabulary[one] for one in merge(mergeable, ranks, len(prefix))]
                mergeable = []
        return tokens + [vocabulary[one] for one in merge(mergeable, ranks, len(prefix))]

    return look


def _ngrams(model: Mapping[str, Any]) -> Look:
    vocabulary: Mapping[str, int] = model["vocab"]
    shortest, longest = model["min_length"], model["max_length"]
    if not is_integer(shortest) or not is_integer(longest) or not 1 <= shortest <= longest:
        raise ValueError(f"n-grams of {shortest!r:.40} to {longest!r:.40} letters")
    check_size(longest, MAX_NGRAM, "letters of an n-gram")
    unknown = [vocabulary[model.get("unk_token", "[UNK]")]]

    def look(word: str) -> list[int]:
        ngrams = list_ngrams(word, shortest, longest)
        return [vocabulary[one] for one in ngrams if one in vocabulary] or unknown

    return look


def list_ngrams(word: str, shortest: int, longest: int) -> list[str]:
    """Return the parts of a word of `shortest` to `longest` letters, then the word.

    >>> list_ngrams("no", 2, 3)
    [' n', 'no', 'o ', ' no', 'no ', ' no ']

    The word stands between spaces, which are letters: parts at its ends are others than inside (P.
    Bojanowski, E. Grave, A. Joulin, T. Mikolov, 2017, "Enriching word vectors with subword
    information", section 3.2).
    """
    framed = f" {word} "
    ngrams = [
        framed[start : start + size]
        for size in range(shortest, longest + 1)
        for start in range(len(framed) - size + 1)
    ]
    whole = [framed] if len(framed) > longest else []
    return [ngram for ngram in ngrams if ngram != " "] + whole


def merge(pieces: list[str], ranks: Mapping[tuple[str, str], int], skipped: int = 0) -> list[str]:
    """Merge neighbours, those of the lowest rank first.

    >>> merge(["a", "b", "b"], {("b", "b"): 0, ("a", "bb"): 1})
    ['abb']

    `skipped` are the characters of the second one that are left out.
    """
    pieces, none = [*pieces], len(ranks)
    order = [ranks.get(pair, none) for pair in pairwise(pieces)]
    while order and (rank := min(order)) < none:
        index = order.index(rank)
        pieces[index : index + 2] = [pieces[index] + pieces[index + 1][skipped:]]
        del order[index]
        for near in (index - 1, index):
            if 0 <= near < len(order):
                order[near] = ranks.get((pieces[near], pieces[near + 1]), none)
    return pieces


_MODELS: dict[str, Callable[[Mapping[str, Any]], Look]] = {
    "BPE": _byte_pairs,
    "NGrams": _ngrams,
    "WordLevel": _word_level,
    "WordPiece": _word_piece,
}


def make_model(model: Mapping[str, Any]) -> Look:
    """Return what finds the tokens of a word.

    >>> make_model({"type": "WordLevel", "vocab": {"[UNK]": 0, "good": 1}, "unk_token": "[UNK]"})(
    ...     "good")
    [1]

    Raises `ValueError` for a type that is not known here.
    """
    kind = model.get("type") or "WordPiece"
    if kind not in _MODELS:
        raise ValueError(f'"{kind}" is not supported')
    look, cache = _MODELS[kind](model), dict[str, list[int]]()

    def look_up(word: str) -> list[int]:
        tokens = cache.get(word)
        if tokens is None:
            tokens = look(word)
            if len(cache) < MAX_CACHED:
                cache[word] = tokens
        return tokens

    return look_up
