"""How much longer a `tokenizer.json` makes texts, bounded before it is used.

Replacements one after the other multiply: thirty that double a letter make gigabytes of one.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, cast

from webnnm.core.errors import DataError
from webnnm.formats.fields import Fields

MAX_GROWTH = 1 << 12
"""How many times as long a tokenizer may make a text, or its tokens."""
MAX_ADDED = 1 << 16
"""How many characters or tokens it may add to a text of any length."""
MAX_AFFIX = 1 << 10
"""The longest beginning or end that it gives to the pieces of a word."""
MAX_LETTERS = 1 << 10
"""The longest word whose pieces are looked up one by one: that takes the square of its length."""
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
AFFIXES = ("continuing_subword_prefix", "end_of_word_suffix")
LETTERS = "max_input_chars_per_word"
_LISTS = ("normalizers", "pretokenizers", "processors", "decoders")
_FILE, _CODE = "tokenizer.json", "NNM718"


def check_growth(parts: Mapping[str, Any]) -> None:
    """Raise `DataError` NNM718 for a tokenizer that makes texts much longer.

    >>> twice = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    >>> check_growth({"normalizer": {"type": "Sequence", "normalizers": [twice] * 30}})
    Traceback (most recent call last):
    webnnm.core.errors.DataError: NNM718: tokenizer.json makes texts up to 1,073,741,824 times \
as long, more than 4,096
    hint: this is no tokenizer of a model for texts

    `parts` are those of the file, `PARTS`; of its "model", `AFFIXES` and `LETTERS`.
    """
    model = Fields.of(parts.get("model", {}), _FILE, _CODE)
    for names in (PARTS[:2], PARTS[2:3], PARTS[3:]):  # what follows on what
        factor, added = 1, 0
        for step in (step for name in names for step in _steps(parts.get(name))):
            times, more = _growth(step)
            factor, added = factor * times, added * times + more
        _limit("makes texts up to {:,} times as long", factor, MAX_GROWTH)
        _limit("adds {:,} characters or tokens to a text", added, MAX_ADDED)
    for key in AFFIXES:
        _limit(f'has a "{key}" of {{:,}} characters', len(model.text(key, "")), MAX_AFFIX)
    letters = model.integer(LETTERS, 0, most=2**63)
    _limit("looks up the pieces of words of up to {:,} letters", letters, MAX_LETTERS)


def _limit(what: str, number: int, limit: int) -> None:
    if number > limit:
        message = f"{_FILE} {what.format(number)}, more than {limit:,}"
        raise DataError(_CODE, message, hint="this is no tokenizer of a model for texts")


def _steps(part: Any) -> Iterator[Fields]:
    """Yield the steps of a part, one after the other."""
    if part is None:
        return
    step = Fields.of(part, _FILE, _CODE)
    if step.get("type") != "Sequence":
        yield step
        return
    for key in _LISTS:
        inner = step.get(key, [])
        for inner_step in cast("list[Any]", inner) if isinstance(inner, list) else [inner]:
            yield from _steps(inner_step)


def _growth(step: Fields) -> tuple[int, int]:
    """Return how many times as long a step makes a text, and how much it adds to that."""
    match step.get("type"):
        case "Replace":
            literal, content = step.object("pattern").get("String"), len(step.text("content", ""))
            if isinstance(literal, str) and literal:
                return max(1, -(-content // len(literal))), 0
            return content + 1, content  # a regular expression may match between all letters
        case "Prepend":
            return 1, len(step.text("prepend", ""))
        case "ByteLevel":
            return 4, 1  # a letter for each byte
        case "Precompiled":
            return _longest(step.text("precompiled_charsmap", "")), 0
        case "TemplateProcessing":
            return _template(step)
        case "BertProcessing" | "RobertaProcessing":
            return 1, 2
        case _:
            return 1, 0


def _longest(charsmap: str) -> int:
    """Return the longest text that SentencePiece's map has for a letter.

    It is a trie with its size before it, then the texts, each with a zero byte at its end.
    """
    try:
        data = base64.b64decode(charsmap)
    except ValueError as error:
        raise DataError(_CODE, f"{_FILE}: its map of letters is not base64: {error}") from error
    texts = data[4 + int.from_bytes(data[:4], "little") :]
    return max(1, *map(len, texts.split(b"\0")))


def _template(step: Fields) -> tuple[int, int]:
    """Return how often a template has the text, and how many tokens it adds."""
    pieces, tokens = step.get("single", []), step.object("special_tokens").items()
    sizes = {key: len(Fields.of(token, _FILE, _CODE).integers("ids", [])) for key, token in tokens}
    texts = added = 0
    for piece in cast("list[Any]", pieces) if isinstance(pieces, list) else []:
        fields = Fields.of(piece, _FILE, _CODE)
        texts += "Sequence" in fields
        added += sizes.get(str(fields.object("SpecialToken").get("id")), 1)
    return texts, added
