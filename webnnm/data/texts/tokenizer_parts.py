"""The parts of a `tokenizer.json` that change texts, cut them into words, and frame their tokens.

Each is a function made from its record in the file, as in js_bridge/inference/tokens.js.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.texts.patterns import compile_pattern

Part = Mapping[str, Any]
Normalize = Callable[[str], str]
Split = Callable[[str, bool], list[str]]
"""Cuts a part of a text; the flag says whether it is the first one."""
Finish = Callable[[list[int]], list[int]]

BYTE_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""How GPT-2 cuts texts into words before it looks at their bytes."""
WORDS = r"[\w\u200c\u200d]+|[^\w\u200c\u200d\s]+"
PUNCTUATION = r"[!-/:-@\[-`{-~\p{P}]"
CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


MAX_GROWTH = 1 << 12
"""How many times as long a file may make a text, and the longest text that it may put into one."""
MAX_PIECES = 1 << 6
"""The most pieces of a template, and tokens of each."""
BEHAVIORS = ("Contiguous", "Isolated", "MergedWithNext", "MergedWithPrevious", "Removed")
"""What becomes of the places at which a text is cut."""


class _Letters(dict[int, str]):
    """A table for `str.translate` that a function fills, letter by letter."""

    def __init__(self, change: Callable[[str], str]) -> None:
        super().__init__()
        self._change = change

    def __missing__(self, code: int) -> str:
        self[code] = changed = self._change(chr(code))
        return changed


def _is_space(letter: str) -> bool:
    return letter.isspace() and letter not in "\x1c\x1d\x1e\x1f"


def _clean(letter: str) -> str:
    if letter in "\t\n\r":
        return " "
    if letter in "\0\ufffd" or unicodedata.category(letter) in ("Cc", "Cf", "Co"):
        return ""
    return " " if letter.isspace() else letter


def _space_chinese(letter: str) -> str:
    is_chinese = any(first <= ord(letter) <= last for first, last in CHINESE)
    return f" {letter} " if is_chinese else letter


def _translate(change: Callable[[str], str]) -> Normalize:
    letters = _Letters(change)
    return lambda text: text.translate(letters)


def _without(*categories: str) -> Normalize:
    return _translate(lambda letter: "" if unicodedata.category(letter) in categories else letter)


def spell_bytes() -> str:
    """Return a letter for each byte: printable ones stand for themselves, the others from 256 on.

    >>> spell_bytes()[65], spell_bytes()[32]
    ('A', 'Ġ')
    """
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return "".join(chr(byte if byte in printable else next(others)) for byte in range(256))


_SPELLING = spell_bytes()


def _spell(text: str) -> str:
    return text.encode(errors="replace").decode("latin-1").translate(_SPELLING)


def decode_bytes(token: str) -> str:
    """Return the text of a token whose letters stand for bytes.

    >>> decode_bytes("Ġgood")
    ' good'
    """
    if not {*token} <= {*_SPELLING}:
        return token  # a control token
    return bytes(_SPELLING.index(letter) for letter in token).decode(errors="replace")


def _bert_normalizer(part: Part) -> Normalize:
    strip, lowercase = part.get("strip_accents"), part.get("lowercase", True)
    steps: list[Normalize] = []
    if part.get("clean_text", True):
        steps.append(_translate(_clean))
    if part.get("handle_chinese_chars", True):
        steps.append(_translate(_space_chinese))
    if lowercase if strip is None else strip:
        steps += (partial(unicodedata.normalize, "NFD"), _without("Mn"))
    if lowercase:
        steps.append(_translate(str.lower))
    return _chain(steps)


def _chain(steps: Sequence[Normalize]) -> Normalize:
    def normalize(text: str) -> str:
        limit = MAX_GROWTH * (1 + len(text))
        for step in steps:
            text = step(text)
            # Replacements one after the other multiply.
            check_size(len(text), limit, "letters in a text")
        return text

    return normalize


def check_size(size: int, limit: int, what: str) -> None:
    """Raise `DataError` NNM718 for a file whose texts or tokens become too many."""
    if size > limit:
        message = f"the tokenizer makes {size:,} {what}, more than {limit:,}"
        raise DataError("NNM718", message, hint="this is no tokenizer of a model for texts")


def _read_pattern(pattern: Part) -> Any:
    if "Regex" in pattern:
        return compile_pattern(pattern["Regex"])
    return compile_pattern("".join(f"\\{c}" if not c.isalnum() else c for c in pattern["String"]))


def _replace(part: Part) -> Normalize:
    pattern, content = _read_pattern(part["pattern"]), str(part["content"]).replace("\\", r"\\")
    check_size(len(content), MAX_GROWTH, "letters of one")
    return lambda text: pattern.sub(content, text)


def _prepend(part: Part) -> Normalize:
    beginning = str(part["prepend"])
    check_size(len(beginning), MAX_GROWTH, "letters of none")
    return lambda text: beginning + text if text else text


def _strip(part: Part) -> Normalize:
    left, right = part.get("strip_left", True), part.get("strip_right", True)

    def normalize(text: str) -> str:
        first, last = 0, len(text)
        while left and first < last and _is_space(text[first]):
            first += 1
        while right and first < last and _is_space(text[last - 1]):
            last -= 1
        return text[first:last]

    return normalize


def _unicode_form(part: Part) -> Normalize:
    return partial(unicodedata.normalize, part["type"])


_NORMALIZERS: dict[str, Callable[[Part], Normalize]] = {
    "BertNormalizer": _bert_normalizer,
    "ByteLevel": lambda part: _spell,
    "Lowercase": lambda part: _translate(str.lower),
    **dict.fromkeys(("NFC", "NFD", "NFKC", "NFKD"), _unicode_form),
    "Prepend": _prepend,
    "Replace": _replace,
    "Sequence": lambda part: _chain([make_normalizer(step) for step in part["normalizers"]]),
    "Strip": _strip,
    "StripAccents": lambda part: _without("Mn", "Mc", "Me"),
}


def make_normalizer(part: Part | None) -> Normalize:
    """Return what changes texts before they are cut.

    >>> make_normalizer({"type": "Lowercase"})("ÄB")
    'äb'

    Raises `ValueError` for a type that is not known here, as the other functions do.
    """
    return _find(_NORMALIZERS, part)(part) if part else lambda text: text


def _find(table: Mapping[str, Any], part: Part) -> Any:
    if part.get("type") not in table:
        raise ValueError(f'"{part.get("type")}" is not supported')
    return table[str(part["type"])]


def _cut(pattern: Any, behavior: str, inverted: bool, text: str) -> list[str]:
    """Cut a text at the matches of a pattern, or at what is between them, as `behavior` says."""
    pieces: list[tuple[str, bool]] = []
    end = 0
    for match in pattern.finditer(text):
        start, stop = match.span()
        if start == stop:
            continue
        if start > end:
            pieces.append((text[end:start], inverted))
        pieces.append((text[start:stop], not inverted))
        end = stop
    if end < len(text):
        pieces.append((text[end:], inverted))
    if behavior == "Isolated":
        return [piece for piece, _ in pieces]
    if behavior == "Removed":
        return [piece for piece, matches in pieces if not matches]
    joined: list[str] = []
    before = False
    for index, (piece, matches) in enumerate(pieces):
        joins = {
            "Contiguous": matches == before,
            "MergedWithNext": before and not matches,
            "MergedWithPrevious": matches and not before,
        }[behavior]
        joined = [*joined[:-1], joined[-1] + piece] if index and joins else [*joined, piece]
        before = matches
    return joined


def _cutter(source: str, behavior: str, inverted: bool = False) -> Split:
    pattern = compile_pattern(source)
    return lambda text, is_first: _cut(pattern, behavior, inverted, text)


def _bert_splitter(part: Part) -> Split:
    return _chain_splits([_cutter(r"\s+", "Removed"), _cutter(PUNCTUATION, "Isolated")])


def _byte_splitter(part: Part) -> Split:
    prefix, pattern = part.get("add_prefix_space", True), compile_pattern(BYTE_WORDS)
    use_regex = part.get("use_regex", True)

    def split(text: str, is_first: bool) -> list[str]:
        if prefix and not text.startswith(" "):
            text = f" {text}"
        words = _cut(pattern, "Isolated", False, text) if use_regex else [text]
        return [*map(_spell, words)]

    return split


def _metaspace(part: Part) -> Split:
    mark, scheme = str(part["replacement"]), part.get("prepend_scheme", "always")
    is_old = bool(part.get("add_prefix_space", True))
    cutter = _cutter(f"\\{mark}", "MergedWithNext") if part.get("split", True) else None

    def split(text: str, is_first: bool) -> list[str]:
        text = text.replace(" ", mark)
        if (
            (scheme == "always" and is_old) or (scheme == "first" and is_first)
        ) and not text.startswith(mark):
            text = mark + text
        return cutter(text, is_first) if cutter else [text]

    return split


def _split(part: Part) -> Split:
    pattern, inverted = _read_pattern(part["pattern"]), bool(part.get("invert"))
    behavior = _read_behavior(part["behavior"])
    return lambda text, is_first: _cut(pattern, behavior, inverted, text)


def _read_behavior(name: Any) -> str:
    if name not in BEHAVIORS:
        raise ValueError(f"the behavior {name!r:.40} is not among {', '.join(BEHAVIORS)}")
    return name


def _chain_splits(steps: Sequence[Split]) -> Split:
    def split(text: str, is_first: bool) -> list[str]:
        parts = [text]
        for step in steps:
            pieces = [step(part, is_first and not index) for index, part in enumerate(parts)]
            parts = [*chain.from_iterable(pieces)]
        return parts

    return split


_SPLITTERS: dict[str, Callable[[Part], Split]] = {
    "BertPreTokenizer": _bert_splitter,
    "ByteLevel": _byte_splitter,
    "Digits": lambda part: _cutter(
        r"\p{N}", "Isolated" if part.get("individual_digits") else "Contiguous"
    ),
    "Metaspace": _metaspace,
    "Punctuation": lambda part: _cutter(
        PUNCTUATION, _read_behavior(part.get("behavior", "Isolated"))
    ),
    "Sequence": lambda part: _chain_splits([make_splitter(step) for step in part["pretokenizers"]]),
    "Split": _split,
    "Whitespace": lambda part: _cutter(WORDS, "Removed", True),
    "WhitespaceSplit": lambda part: _cutter(r"\s+", "Removed"),
}


def make_splitter(part: Part | None) -> Split:
    """Return what cuts texts into words.

    >>> make_splitter({"type": "Whitespace"})("good, very", True)
    ['good', ',', 'very']
    """
    return _find(_SPLITTERS, part)(part) if part else lambda text, is_first: [text]


def _frame(part: Part) -> Finish:
    first, last = part["cls"][1], part["sep"][1]
    return lambda ids: [first, *ids, last]


def _template(part: Part) -> Finish:
    sizes = [len(token["ids"]) for token in part["special_tokens"].values()]
    check_size(max([len(part["single"]), *sizes]), MAX_PIECES, "pieces of a text")

    def finish(ids: list[int]) -> list[int]:
        result: list[int] = []
        for piece in part["single"]:
            token = piece.get("SpecialToken")
            result += part["special_tokens"][token["id"]]["ids"] if token else ids
        return result

    return finish


def _chain_finishes(part: Part) -> Finish:
    steps = [make_post_processor(step) for step in part["processors"]]

    def finish(ids: list[int]) -> list[int]:
        for step in steps:
            ids = step(ids)
        return ids

    return finish


_POST_PROCESSORS: dict[str, Callable[[Part], Finish]] = {
    "BertProcessing": _frame,
    "ByteLevel": lambda part: lambda ids: ids,
    "RobertaProcessing": _frame,
    "Sequence": _chain_finishes,
    "TemplateProcessing": _template,
}


def make_post_processor(part: Part | None) -> Finish:
    """Return what adds tokens at the ends of a text.

    >>> make_post_processor({"type": "BertProcessing", "cls": ["a", 8], "sep": ["b", 9]})([1])
    [8, 1, 9]
    """
    return _find(_POST_PROCESSORS, part)(part) if part else lambda ids: ids
