"""The tokenizer of texts that are classified: a `tokenizer.json`, read without other packages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.data.texts.token_models import Look, make_model
from webnnm.data.texts.tokenizer_parts import (
    Finish,
    Normalize,
    Split,
    decode_bytes,
    make_normalizer,
    make_post_processor,
    make_splitter,
)

WORD = r"\w"
MAX_TOKENS = 1 << 24
"""The most tokens of a vocabulary."""
MAX_DEPTH = 100
"""How deeply the parts of a file are nested at most: deeper ones would end the program in pages."""
BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)
"""Brackets, and strings, in which they mean nothing."""
WRONG = (LookupError, ValueError, TypeError, AttributeError)
"""What is raised where a file does not have what a tokenizer reads."""
Cut = Callable[[str], Iterator[str | int]]
"""Yields parts of a text, and the numbers of tokens whose words stand between them."""


@dataclass(frozen=True)
class TextTokenizer:
    """What turns texts into numbers of tokens: the text of a Hugging Face `tokenizer.json`.

    >>> words = TextTokenizer('{"model": {"type": "WordLevel", "unk_token": "?",'
    ...     ' "vocab": {"?": 0, "good": 1}}, "pre_tokenizer": {"type": "WhitespaceSplit"}}')
    >>> words.encode("good good day"), words.size
    ([1, 1, 0], 2)

    Raises `DataError` NNM718 for a text that is no tokenizer, or has parts that are not known here.
    """

    file: str

    def __post_init__(self) -> None:
        self._steps  # noqa: B018  what is wrong with it is reported now

    @cached_property
    def _content(self) -> dict[str, Any]:
        _check_depth(self.file)
        return json.loads(self.file)

    @cached_property
    def _steps(self) -> tuple[Cut, Cut, Normalize, Split, Look, Finish]:
        try:
            content = self._content
            normalize = make_normalizer(content.get("normalizer"))
            added = content.get("added_tokens") or []
            steps = (
                _make_cutter([token for token in added if not token.get("normalized")], str),
                _make_cutter([token for token in added if token.get("normalized")], normalize),
                normalize,
                make_splitter(content.get("pre_tokenizer")),
                make_model(content["model"]),
                make_post_processor(content.get("post_processor")),
            )
            self._check_numbers(steps[-1]([]))
            return steps
        except DataError:
            raise
        except WRONG as error:
            raise DataError(
                "NNM718",
                f"this is no tokenizer that texts can be read with: {error!s:.200}",
                hint="WordLevel, WordPiece and BPE are read, as tokenizer.json of Hugging Face",
            ) from error

    def _check_numbers(self, ends: Sequence[Any]) -> None:
        """Raise `ValueError` for what is no number of a token, in the file or at `ends`."""
        added = [token["id"] for token in self._content.get("added_tokens") or []]
        for number in chain(self.vocabulary.values(), added, ends):
            if not is_integer(number) or not 0 <= number < MAX_TOKENS:
                raise ValueError(f"{number!r:.40} is no number of a token")
        if max(ends, default=-1) >= max(self.size, 0):
            raise ValueError(f"the token {max(ends)} at the ends of texts is not in the vocabulary")
        self.unknown  # noqa: B018  its name may be no text

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """The numbers of tokens by their words, without `added_tokens`."""
        return self._content["model"]["vocab"]

    @cached_property
    def size(self) -> int:
        """One more than the highest number of a token."""
        added = [token["id"] for token in self._content.get("added_tokens") or []]
        return max([*self.vocabulary.values(), *added], default=-1) + 1

    @cached_property
    def unknown(self) -> int | None:
        """The number of the token of unknown words."""
        model = self._content["model"]
        return self.vocabulary.get(model.get("unk_token") or "")

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the tokens of a text.

        Raises `DataError` NNM718 for one that the tokenizer has no tokens for.
        """
        try:
            return self._encode(text)
        except DataError:
            raise
        except WRONG as error:
            raise DataError(
                "NNM718",
                f"the tokenizer cannot read {text!r:.60}: {error!s:.200}",
                hint="its file names no token of unknown words (unk_token), or one that it lacks",
            ) from error

    def _encode(self, text: str) -> list[int]:
        look, finish = self._steps[-2:]
        ids: list[int] = []
        for word in self._cut(text):
            if isinstance(word, str):
                ids += look(word)
            else:
                ids.append(word)
        return finish(ids)

    def _cut(self, text: str) -> Iterator[str | int]:
        """Yield the words of a text, and the numbers of added tokens."""
        early, late, normalize, split = self._steps[:4]
        is_first = True
        for part in early(text):
            for piece in late(normalize(part)) if isinstance(part, str) else [part]:
                if isinstance(piece, str):
                    yield from split(piece, is_first)
                else:
                    yield piece
                is_first = False

    def encode_units(self, text: str) -> list[tuple[str, list[int]]]:
        """Return what a text consists of for readers, each with the numbers of its tokens.

        >>> words = TextTokenizer('{"model": {"type": "NGrams", "vocab": {"[UNK]": 0, "o": 1},'
        ...     ' "min_length": 1, "max_length": 1}, "pre_tokenizer": {"type": "WhitespaceSplit"}}')
        >>> words.encode_units("good day")
        [('good', [1, 1]), ('day', [0])]

        That is each token, or the words whose n-grams are the tokens.
        """
        if self._content["model"].get("type") != "NGrams":
            ids = self.encode(text)
            return [(name, [id]) for name, id in zip(self.read_tokens(ids), ids, strict=True)]
        look = self._steps[-2]
        return [(word, look(word)) for word in self._cut(text) if isinstance(word, str)]

    def read_tokens(self, tokens: Iterable[int]) -> list[str]:
        """Return the text that each token stands for.

        >>> words = TextTokenizer('{"model": {"type": "WordLevel", "vocab": {"good": 0}}}')
        >>> words.read_tokens([0, 0])
        ['good', 'good']

        Bytes that are only a part of a character are shown as a replacement character.
        """
        spelled = "ByteLevel" in json.dumps(self._content.get("pre_tokenizer"))
        words = {number: token for token, number in self.vocabulary.items()}
        added = self._content.get("added_tokens") or []
        words |= {token["id"]: token["content"] for token in added}
        names = [words.get(token, "") for token in tokens]
        return [decode_bytes(name) for name in names] if spelled else names


def _check_depth(file: str) -> None:
    """Raise `ValueError` for a JSON that is nested too deeply to be read."""
    if file.count("[") + file.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in BRACKETS.finditer(file):
        depth += bool(match[1]) - bool(match[2])
        if depth > MAX_DEPTH:
            raise ValueError(f"its parts are nested more than {MAX_DEPTH} deep")


def _make_cutter(added: Sequence[Mapping[str, Any]], normalize: Normalize) -> Cut:
    """Return what cuts texts at the words of added tokens."""
    tokens = [(normalize(token["content"]), token) for token in added]
    tokens = [(content, token) for content, token in tokens if content]
    if not tokens:
        return lambda text: iter([text] if text else [])
    tokens.sort(key=lambda pair: -len(pair[0]))
    patterns: list[str] = []
    for content, token in tokens:
        single = token.get("single_word")
        before, after = (rf"(?<!{WORD})", rf"(?!{WORD})") if single else ("", "")
        left, right = (r"\s*" if token.get(side) else "" for side in ("lstrip", "rstrip"))
        patterns.append(f"{left}({before}{re.escape(content)}{after}){right}")
    pattern = re.compile("|".join(patterns))

    def cut(text: str) -> Iterator[str | int]:
        end = 0
        for match in pattern.finditer(text):
            if match.start() > end:
                yield text[end : match.start()]
            yield tokens[(match.lastindex or 1) - 1][1]["id"]
            end = match.end()
        if end < len(text):
            yield text[end:]

    return cut
