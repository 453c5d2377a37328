"""The tokenizers in GGUF files: byte-pair encoding, with merges or scores, and unigrams."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

from webnnm.core.errors import DataError
from webnnm.formats.fields import shorten
from webnnm.transformers.chat_template import ChatTemplate

T = TypeVar("T")

CONTROL, DEFINED, BYTE = 3, 4, 6
"""Types of tokens: control tokens, user-defined tokens (never split), single bytes."""
SPACE = "\u2581"
"""The character that SentencePiece writes for a space."""
_CONTRACTIONS = r"'s|'t|'re|'ve|'m|'ll|'d"
_GPT2 = rf"{_CONTRACTIONS}| ?L+| ?N+| ?O+|S+(?!T)|S+"
_LLAMA3 = rf"(?i:{_CONTRACTIONS})|[^\r\nLN]?L+|N{{1,3}}| ?O+[\r\n]*|S*[\r\n]+|S+(?!T)|S+"
PATTERNS: Mapping[str, Sequence[str]] = {
    "default": [_GPT2],
    "gpt-2": [_GPT2],
    "smollm": ["N", _GPT2],
    "llama-bpe": [_LLAMA3],
    "qwen2": [_LLAMA3.replace("N{1,3}", "N")],
}
"""The patterns that split texts into words, one after the other, by `tokenizer.ggml.pre`. L is a
letter, N a number, S a space, O anything else, T anything but a space."""
_CLASSES = {
    "L": r"[A-Za-zé]",
    "N": r"[0-9½]",
    "S": r"[\t-\r \u2003]",
    "O": r"[^\t-\r \u2003A-Za-zé0-9½]",
    "T": r"[^\t-\r \u2003]",
}
_STANDS = {"L": "é", "N": "½", "Z": "\u2003"}
"""One character of a category represents all beyond ASCII, so that `re` needs no categories."""


def tokenizer_of(metadata: Mapping[str, Any]) -> GGUFTokenizer:
    """Return the tokenizer in the metadata of a file.

    >>> metadata = {
    ...     "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": ["a", "b", "ab", "Ġ"],
    ...     "tokenizer.ggml.merges": ["a b"],
    ... }
    >>> found = tokenizer_of(metadata)
    >>> found.encode("ab ba"), found.decode([2, 3, 0])
    ([2, 3, 1, 0], 'ab a')

    Raises `DataError` NNM718 for an unsupported or damaged tokenizer.
    """
    read = _Metadata(metadata)
    kind = read.get_typed("model", str, "")
    if kind not in ("gpt2", "llama", "t5"):
        raise _wrong(f'it is of the kind "{kind[:40]}"; supported are gpt2, llama and t5')
    tokens: list[str] = read.get_list("tokens", str)
    if not tokens:
        raise _wrong("it has no tokens")
    types = read.get_list("token_type", int) or [1] * len(tokens)
    scores = read.get_list("scores", float) or [0.0] * len(tokens)
    if {len(types), len(scores)} != {len(tokens)}:
        raise _wrong(f"{len(tokens)} tokens have {len(types)} types and {len(scores)} scores")
    return GGUFTokenizer(kind, tokens, types, scores, read)


class GGUFTokenizer:
    """A tokenizer in plain Python; see `Tokenizer`."""

    def __init__(
        self,
        kind: str,
        tokens: Sequence[str],
        types: Sequence[int],
        scores: Sequence[float],
        read: _Metadata,
    ) -> None:
        self.tokens = tokens
        self._numbers = {token: number for number, token in enumerate(tokens)}
        self._control = {n for n, type in enumerate(types) if type == CONTROL}
        unsplit = [t for t, type in zip(tokens, types, strict=True) if type in (CONTROL, DEFINED)]
        words = sorted(filter(None, unsplit), key=len, reverse=True)
        self._unsplit = re.compile("(" + "|".join(map(re.escape, words)) + ")") if words else None
        self._first = (
            read.number("bos_token_id")
            if read.get_typed("add_bos_token", bool, kind == "llama")
            else None
        )
        last = read.number("eos_token_id")
        names = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|endoftext|>", "</s>")
        ends = {self._numbers[name] for name in names if name in self._numbers}
        self.ends: frozenset[int] = frozenset(ends if last is None else {*ends, last})
        self.template = _template(read)
        self._unknown = read.number("unknown_token_id")
        self._pieces: Callable[[str], list[int]]
        self._bytes: Callable[[str], bytes]
        if kind == "gpt2":
            self._byte_level(read)
        else:
            self._sentence_piece(
                kind, types, scores, read.get_typed("add_space_prefix", bool, True)
            )

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; words for control tokens in it become these tokens."""
        return self._encode(text, first=True)

    def _encode(self, text: str, *, first: bool) -> list[int]:
        numbers = [self._first] if first and self._first is not None else []
        for part in self._unsplit.split(text) if self._unsplit else [text]:
            number = self._numbers.get(part)
            if number is not None and self._unsplit and self._unsplit.fullmatch(part):
                numbers += (
                    [number] if not first or number != self._first or numbers != [number] else []
                )
            elif part:
                numbers += self._pieces(part)
        return numbers

    def encode_rendered(self, text: str) -> list[int]:
        """Return the tokens of a text that a chat template wrote, with its own first token."""
        return self._encode(text, first=False)

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens, without control tokens."""
        kept = [self.tokens[token] for token in tokens if token not in self._control]
        text = b"".join(map(self._bytes, kept)).decode(errors="replace")
        return text[1:] if self._blank and text.startswith(" ") else text

    def get_bytes(self) -> list[bytes | None]:
        """Return the bytes of each token within a text, None for control tokens."""
        return [
            None if number in self._control else self._bytes(token)
            for number, token in enumerate(self.tokens)
        ]

    _blank = False

    def _byte_level(self, read: _Metadata) -> None:
        """Read a GPT-2 tokenizer: a letter for every byte, and pairs in the order of merging."""
        merges: list[str] = read.get_list("merges", str)
        ranks = {tuple(merge.split(" ", 1)): rank for rank, merge in enumerate(merges)}
        pre = read.get_typed("pre", str, "default")
        if pre not in PATTERNS:
            supported = ", ".join(PATTERNS)
            raise _wrong(f'it splits texts as "{pre[:40]}"; supported are {supported}')
        patterns = [_pattern(text) for text in PATTERNS[pre]]
        letters = get_letters()
        back = {letter: byte for byte, letter in letters.items()}

        @lru_cache(maxsize=1 << 14)
        def word(text: str) -> tuple[int, ...]:
            parts = [letters[byte] for byte in text.encode(errors="replace")]
            merged = _merge_pairs(parts, lambda a, b: ranks.get((a, b)))
            return tuple([number for part in merged for number in self._of_part(part)])

        self._pieces = lambda text: [n for piece in _split(text, patterns) for n in word(piece)]
        self._bytes = lambda token: (
            bytes(back[c] for c in token) if {*token} <= {*back} else token.encode()
        )

    def _of_part(self, part: str) -> list[int]:
        """Return the token of a part, or those of its letters if there is none."""
        if part in self._numbers:
            return [self._numbers[part]]
        numbers = [self._numbers.get(letter, self._unknown) for letter in part]
        return [number for number in numbers if number is not None]

    def _sentence_piece(
        self, kind: str, types: Sequence[int], scores: Sequence[float], prefix: bool
    ) -> None:
        """Read a SentencePiece tokenizer: words with scores, and tokens for bytes."""
        self._blank = prefix
        single = {n: int(self.tokens[n][1:-1], 16) for n, t in enumerate(types) if t == BYTE}
        of_byte = {byte: number for number, byte in single.items()}
        named = {self.tokens[number]: bytes([byte]) for number, byte in single.items()}
        usable = {t: n for t, n in self._numbers.items() if types[n] in (1, DEFINED)}

        def numbers(part: str) -> list[int]:
            if part in usable:
                return [usable[part]]
            tokens_of_bytes = [
                of_byte.get(byte, self._unknown) for byte in part.encode(errors="replace")
            ]
            return [number for number in tokens_of_bytes if number is not None]

        def rank(a: str, b: str) -> float | None:
            number = usable.get(a + b)
            return None if number is None else -scores[number]

        worst = min(scores, default=0.0) - 10
        longest = max(map(len, usable), default=1)

        def parts(text: str) -> list[str]:
            text = (SPACE if prefix else "") + text.replace(" ", SPACE)
            if kind == "llama":
                return _merge_pairs(list(text), rank)
            return _likeliest(
                text, lambda t: scores[usable[t]] if t in usable else None, longest, worst
            )

        self._pieces = lambda text: [n for part in parts(text) for n in numbers(part)]
        self._bytes = lambda token: named.get(token) or token.replace(SPACE, " ").encode()


def _template(read: _Metadata) -> ChatTemplate:
    """Return the chat templates of a file, and the words for its special tokens."""
    lead = "tokenizer.chat_template"
    named = {
        "default" if key == lead else key.removeprefix(f"{lead}."): value
        for key, value in read.metadata.items()
        if (key == lead or key.startswith(f"{lead}.")) and isinstance(value, str) and value
    }
    tokens = read.get("tokens", ())
    keys = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding", "sep": "seperator"}
    special = {
        f"{name}_token": tokens[number]
        for name, key in keys.items()
        if (number := read.number(f"{key}_token_id")) is not None
    }
    return ChatTemplate(named, special)


def _merge_pairs(parts: list[str], rank: Callable[[str, str], float | None]) -> list[str]:
    """Merge all occurrences of the pair with the least rank, until no pair is left."""
    while len(parts) > 1:
        least, first, second = math.inf, "", ""
        for a, b in pairwise(parts):
            rank_of_pair = rank(a, b)
            if rank_of_pair is not None and rank_of_pair < least:
                least, first, second = rank_of_pair, a, b
        if least == math.inf:
            break
        merged: list[str] = []
        index = 0
        while index < len(parts):
            pair = parts[index : index + 2] == [first, second]
            merged.append(first + second if pair else parts[index])
            index += 2 if pair else 1
        parts = merged
    return parts


def _likeliest(
    text: str, score: Callable[[str], float | None], longest: int, unknown: float
) -> list[str]:
    """Return the parts of a text with the greatest sum of scores (A. Viterbi, 1967)."""
    best: list[tuple[float, int]] = [(0.0, 0)] + [(-math.inf, 0)] * len(text)
    for start in range(len(text)):
        for end in range(start + 1, min(start + longest, len(text)) + 1):
            score_of_part = score(text[start:end])
            if score_of_part is None and end == start + 1:
                score_of_part = unknown
            if score_of_part is not None and best[start][0] + score_of_part > best[end][0]:
                best[end] = best[start][0] + score_of_part, start
    parts: list[str] = []
    end = len(text)
    while end:
        start = best[end][1]
        parts.append(text[start:end])
        end = start
    return parts[::-1]


def _pattern(text: str) -> re.Pattern[str]:
    """Return a pattern with its character classes expanded."""
    text = text.replace("[^\\r\\nLN]", r"[^\r\nA-Za-zé0-9½]")
    return re.compile(re.sub(r"\b[LNSOT](?=[+*{)]|\b)", lambda found: _CLASSES[found[0]], text))


def _split(text: str, patterns: Sequence[re.Pattern[str]]) -> list[str]:
    """Return the words of a text, split by one pattern after the other."""
    pieces = [text]
    for pattern in patterns:
        pieces = [part for piece in pieces for part in _cut(piece, pattern)]
    return pieces


def _cut(text: str, pattern: re.Pattern[str]) -> list[str]:
    shadow = text if text.isascii() else "".join(map(_stand, text))
    ends = {end for match in pattern.finditer(shadow) for end in match.span()}
    cuts = sorted({0, *ends, len(text)})
    return [text[start:end] for start, end in pairwise(cuts) if end > start]


@lru_cache(maxsize=1 << 12)
def _stand(letter: str) -> str:
    return letter if letter.isascii() else _STANDS.get(unicodedata.category(letter)[0], "€")


@lru_cache(maxsize=1)
def get_letters() -> dict[int, str]:
    """Return the letter of each byte: itself if it is printable, otherwise one from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable}
    return letters | {byte: chr(256 + index) for index, byte in enumerate(hidden)}


class _Metadata:
    """The metadata of a file about its tokenizer."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.metadata = metadata

    def get(self, key: str, default: Any) -> Any:
        return self.metadata.get(f"tokenizer.ggml.{key}", default)

    def get_typed(self, key: str, kind: type[T], default: T) -> T:
        """Return a value of a type."""
        value = self.get(key, default)
        if not isinstance(value, kind):
            raise _wrong(f'"{key}" is {shorten(value)}, not of type {kind.__name__}')
        return value

    def number(self, key: str) -> int | None:
        """Return the number of a token, None if there is none."""
        number, tokens = self.get(key, None), self.get("tokens", ())
        return number if isinstance(number, int) and 0 <= number < len(tokens) else None

    def get_list(self, key: str, kind: type) -> list[Any]:
        value = self.get(key, [])
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise _wrong(f'"{key}" is not a list')
        items = list(value)
        if not all(isinstance(item, kind) for item in items):
            raise _wrong(f'"{key}" has an item that is not of type {kind.__name__}')
        return items


def _wrong(why: str) -> DataError:
    return DataError(
        "NNM718", f"the tokenizer of the file cannot be used: {why}", hint="use a newer file"
    )
