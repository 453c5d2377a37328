"""Runs encoders on texts: tokens, padding, batches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.tasks.batching import fill_batch, split_batches
from webnnm.transformers.hub_model import HubModel
from webnnm.transformers.json_tokenizer import JsonTokenizer

T = TypeVar("T")
SHORTEST = 8
"""Tokens of the shortest rows that there is a graph for."""


class Row(NamedTuple):
    """The tokens of a text or a pair, and the type of each: 0, or 1 in the second text."""

    ids: list[int]
    types: list[int]


class Result(NamedTuple):
    """What a model computed for a row: its outputs by name, and the row."""

    outputs: Mapping[str, HostArray]
    row: Row

    def get_scores(self, name: str, position: int | None = None) -> list[Any]:
        """Return an output as lists, at a position of the row if it has one for each."""
        values = self.outputs[name]
        if position is None:
            return values.tolist()
        return values.part(position, position + 1).tolist()[0]


def as_list(inputs: T | Sequence[T], single: type | tuple[type, ...]) -> tuple[list[T], bool]:
    """Return inputs as a list, and whether there was a single one.

    >>> as_list("so good", str), as_list(["so good"], str)
    ((['so good'], True), (['so good'], False))
    """
    if isinstance(inputs, single):
        return [cast("T", inputs)], True
    return [*cast("Sequence[T]", inputs)], False


def get_tokenizer(model: HubModel) -> JsonTokenizer:
    """Return the tokenizer of a model. Raises `DataError` NNM718 for one of another file."""
    tokenizer = model.tokenizer
    if not isinstance(tokenizer, JsonTokenizer):
        message = "the task needs a tokenizer.json"
        raise DataError("NNM718", message, hint="put it next to config.json")
    return tokenizer


def get_padding(model: HubModel) -> int:
    """Return the token that texts are padded with; 0 if neither tokenizer nor config has one."""
    tokenizer = get_tokenizer(model)
    text = tokenizer.template.special.get("pad_token")
    tokens = tokenizer.encode_rendered(text) if text else []
    return tokens[0] if len(tokens) == 1 else model.config.get("pad_token_id") or 0


def encode_text(model: HubModel, text: str | tuple[str, str], *, truncation: bool | None) -> Row:
    """Return the tokens of a text, or of a pair of texts.

    `truncation` drops the last tokens of a text, or of the first of a pair, beyond the positions
    of the model, or beyond the `model_max_length` of its tokenizer if that is less; with None, the
    row may be longer.

    Raises `DataError` NNM702 for what is no text, NNM711 for a text that is too long, NNM718 if the
    tokenizer cannot encode pairs.
    """
    tokenizer = get_tokenizer(model)
    parts = text if isinstance(text, tuple) else (text,)
    for part in parts:
        if not isinstance(part, str):
            message = f"a {type(part).__name__} is not a text"
            raise DataError("NNM702", message, hint="give a str, or a list of them")
    row = _encode(tokenizer, parts)
    limit = get_limit(model) if truncation else model.max_length
    if truncation is None or limit is None or len(row.ids) <= limit:
        return row
    if not truncation:
        message = f"a text has {len(row.ids):,} tokens, but the model has positions for {limit:,}"
        raise DataError("NNM711", message, hint="truncation=True drops the last ones")
    own = tokenizer.encode_rendered(parts[0])
    first = _find(row.ids, own)
    keep = len(own) - (len(row.ids) - limit)
    if keep < 0:
        raise DataError("NNM711", f"the second text alone has more than {limit:,} tokens")
    end = first + len(own)
    return Row(*(values[: first + keep] + values[end:] for values in row))


def get_limit(model: HubModel) -> int | None:
    """Return the most tokens of a text that is cut, None if there is no limit."""
    limits = (model.max_length, get_tokenizer(model).template.max_length)
    return min((limit for limit in limits if limit is not None), default=None)


def _encode(tokenizer: JsonTokenizer, parts: Sequence[str]) -> Row:
    if len(parts) == 1:
        ids = tokenizer.encode(parts[0])
        return Row(ids, [0] * len(ids))
    return Row(*tokenizer.encode_pair(*parts))


def _find(ids: Sequence[int], own: Sequence[int]) -> int:
    """Return where the tokens of a text begin, after the first tokens of the file."""
    return next(k for k in range(len(ids)) if [*ids[k : k + len(own)]] == [*own])


def find_tokens(
    model: HubModel, text: str, row: Row
) -> Iterator[tuple[int, int, str, tuple[int, int]]]:
    """Yield the tokens of a text in a row, without the first and last tokens of the file.

    Each is its position in the row, its number, its piece, and where it is in the text.
    """
    tokenizer = get_tokenizer(model)
    own = tokenizer.encode_rendered(text)
    first = _find(row.ids, own)
    pieces = tokenizer.get_pieces(own)
    offsets = tokenizer.offsets.find(text, pieces)
    for k, (token, piece, offset) in enumerate(zip(own, pieces, offsets, strict=True)):
        yield first + k, token, piece, offset


async def run_rows(model: HubModel, rows: Iterable[Row], batch_size: int) -> AsyncIterator[Result]:
    """Yield the results of rows, `batch_size` of them computed at once.

    Raises `DataError` NNM704 for an invalid batch size.
    """
    for batch in split_batches(rows, batch_size):
        for result in await _run(model, batch, batch_size):
            yield result


def round_length(longest: int) -> int:
    """Return the length to which rows are padded: each length has a graph of its own.

    >>> [round_length(tokens) for tokens in (1, 9, 13, 16, 17, 25)]
    [8, 12, 16, 16, 24, 32]

    There are two between one power of two and the next, so that at most a third is padding.
    """
    power = 1 << max(0, longest - 1).bit_length()
    middle = 3 * power // 4
    return max(SHORTEST, middle if longest <= middle else power)


async def _run(model: HubModel, rows: list[Row], batch_size: int) -> list[Result]:
    """Return the results of at most `batch_size` rows."""
    longest = max(len(row.ids) for row in rows)
    length = round_length(longest)
    length = max(longest, min(length, model.max_length or length))
    padding = model.config.get("pad_token_id") or 0
    filled = fill_batch(rows, batch_size)
    inputs = {
        "input_ids": [pad(row.ids, length, padding) for row in filled],
        "attention_mask": [pad([1] * len(row.ids), length, 0) for row in filled],
        "token_type_ids": [pad(row.types, length, 0) for row in filled],
    }
    taken = {name: values for name, values in inputs.items() if name in model.inputs()}
    outputs = await model.predict(taken)
    arrays = {name: HostArray.of(values, "float32") for name, values in outputs.items()}
    return [
        Result({name: select_row(values, number) for name, values in arrays.items()}, row)
        for number, row in enumerate(rows)
    ]


def select_row(values: HostArray, number: int) -> HostArray:
    """Return a row of an array, without the dimension of the batch."""
    return HostArray(values.dtype, values.shape[1:], values.part(number, number + 1).data)


def pad_rows(model: HubModel, rows: Sequence[Sequence[int]], length: int) -> dict[str, Any]:
    """Return rows of tokens, filled up to a length, and the mask of those that are of the texts."""
    padding = get_padding(model)
    return {
        "input_ids": [pad(row, length, padding) for row in rows],
        "attention_mask": [pad([1] * len(row), length, 0) for row in rows],
    }


def pad(values: Sequence[int], length: int, value: int) -> list[int]:
    """Return values, filled up to a length.

    >>> pad([5, 8], 4, 0)
    [5, 8, 0, 0]
    """
    return [*values, *[value] * (length - len(values))]
