"""Datasets of running text, for next-token prediction (spec G.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer, show
from webnnm.data.dataset import Dataset
from webnnm.data.field import Kind
from webnnm.data.intake import ONLY_BLOCK, SEQUENCE


class TextDataset(Dataset):
    """A dataset of text windows for language models: inputs are tokens t, targets tokens t+1.

    >>> text = TextDataset("hello", 2, split=(1, 0, 0))
    >>> inputs, outputs = text.arrays("training")
    >>> inputs["model"].tolist(), outputs["model"].tolist(), text.labels()
    ([[1, 0], [2, 2]], [[0, 2], [2, 3]], ['e', 'h', 'l', 'o'])

    - `tokens`: token ids as a flat list, buffer or NumPy array; or a string, whose characters are
      then the tokens, numbered by code point.
    - `length`: tokens per window.
    - `stride`: tokens from one window to the next, by default `length`.
    - `vocabulary`: the number of tokens, by default the highest token id + 1.
    - `labels`: the strings that the tokens stand for.

    Tokens after the last full window are dropped. If windows overlap, the subsets are contiguous
    parts of the text; otherwise windows are assigned at random. Further options are those of
    `Dataset`.

    Raises `DataError` NNM702 for tokens that are not a flat list of integers, NNM704 for invalid
    options, NNM706 for tokens outside the vocabulary, NNM711 for a text shorter than one window.
    """

    def __init__(
        self,
        tokens: Any,
        length: int,
        *,
        stride: int | None = None,
        vocabulary: int | None = None,
        labels: Sequence[str] | None = None,
        name: str = "text",
        **options: Any,
    ) -> None:
        self.letters: tuple[str, ...] = ()
        if isinstance(tokens, str):
            tokens, labels = _encode_characters(tokens, labels)
            self.letters = tuple(labels)
        values = _to_flat_ids(tokens)
        step = length if stride is None else stride
        for what, size in (("length", length), ("stride", step)):
            if not is_integer(size) or size < 1:
                raise DataError("NNM704", f"{what} is {size!r}", hint="an integer from 1")
        total = len(values)
        if total <= length:
            raise DataError(
                "NNM711",
                f"{total} tokens are too few for a window of {length} and the token after it",
                hint=f"at most length={max(1, total - 1)}",
            )
        label_count = None if labels is None else len(labels)
        token_count = _count_tokens(values.values(), vocabulary or label_count)
        options.setdefault("method", "sequential" if step < length else "random")
        kinds: dict[str, Kind] = {ONLY_BLOCK: "classes"}
        super().__init__(
            _windows(values, length, step, 0),
            _windows(values, length, step, 1),
            name=name,
            labels=labels,
            kinds=kinds,
            length=length,
            **options,
        )
        # The output is also a sequence, even with one position.
        field = replace(
            self.outputs[ONLY_BLOCK], shape=(length,), sequence=SEQUENCE, classes=token_count
        )
        targets = self._outputs[ONLY_BLOCK]
        targets = HostArray(targets.dtype, (len(targets), length), targets.data)
        self.outputs, self._outputs = {ONLY_BLOCK: field}, {ONLY_BLOCK: targets}
        self._unscaled_outputs = replace(
            self._unscaled_outputs, fields=self.outputs, arrays=self._outputs
        )


def _encode_characters(text: str, labels: Sequence[str] | None) -> tuple[list[int], list[str]]:
    """Return the number of every character, and the characters by number."""
    letters = sorted(set(text)) if labels is None else list(labels)
    number = {letter: index for index, letter in enumerate(letters)}
    for position, letter in enumerate(text):
        if letter not in number:
            raise DataError("NNM706", f"character {position} {letter!r} is not in labels")
    return [number[letter] for letter in text], letters


def _count_tokens(tokens: Sequence[int], size: int | None) -> int:
    """Return the vocabulary size, by default the highest token + 1."""
    lowest, highest = min(tokens), max(tokens)
    size = highest + 1 if size is None else size
    if lowest < 0 or highest >= size:
        bad = lowest if lowest < 0 else highest
        index = next(index for index, token in enumerate(tokens) if token == bad)
        raise DataError("NNM706", f"token {index} is {bad}, tokens are 0 … {size - 1}")
    return size


def _to_flat_ids(tokens: Any) -> HostArray:
    hint = "give a flat list of integers"
    try:
        ids = HostArray.of(tokens, "int32")
    except DataError as error:
        raise DataError("NNM702", f"tokens: {error.message}", hint=hint) from error
    if len(ids.shape) != 1:
        raise DataError("NNM702", f"tokens are {show(ids.shape)}", hint=hint)
    return ids


def _windows(values: HostArray, length: int, step: int, first: int) -> HostArray:
    starts = range(first, len(values) - length + first, step)
    data = b"".join([values.data[4 * start : 4 * (start + length)] for start in starts])
    return HostArray("int32", (len(starts), length), data)
