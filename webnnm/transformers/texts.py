"""Texts that a model writes: in pieces as they come, or as a whole."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from collections.abc import Generator as Waiting
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import Unfinished
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.transformers.beams import Beams
from webnnm.transformers.chat_template import Message, conversation
from webnnm.transformers.generator import Choose, Generator
from webnnm.transformers.source import repeat_rows
from webnnm.transformers.tokenizer import TextStream, Tokenizer

if TYPE_CHECKING:
    from webnnm.transformers.rolling import Window
    from webnnm.transformers.structured.allowed_tokens import AllowedTokens

Prompt = str | Sequence[Message] | Sequence[str]
LISTS = (list, tuple, range)
PrepareRows = Callable[
    [list[list[int]], int], Awaitable[tuple[list[list[int]], int, dict[str, Any]]]
]
"""Turns the tokens of prompts and `max_new_tokens` into the arguments of the generator."""


class Writing(Unfinished):
    """A text that is being written: iterate over its pieces, or await the whole text.

    For several prompts, a piece is a list with one for each, "" if there is none, and the whole is
    a list of texts. Nothing is computed before it is requested. `settings` are those of
    `generate_tokens`; `prepare` gives the first tokens of models that do not continue prompts, but
    answer them; `chat` are the arguments of `conversation` for messages.
    """

    def __init__(
        self,
        generator: Generator,
        tokenizer: Tokenizer,
        prompt: Prompt,
        max_new_tokens: int,
        *,
        stop: str | Sequence[str],
        ends: frozenset[int],
        settings: Mapping[str, Any],
        prepare: PrepareRows | None = None,
        chat: Mapping[str, Any] | None = None,
    ) -> None:
        self._generator, self._tokenizer = generator, tokenizer
        self._prepare = prepare
        self._rows_of_tokens, self._single = prompt_tokens(prompt, tokenizer, chat or {})
        self._max_new_tokens = max_new_tokens
        self._ends = ends
        self._returned: int = settings["returned"]
        if self._returned > 1:
            self._single = False
        self._stops = [stop] if isinstance(stop, str) else [*stop]
        self._settings = dict(settings)

    def _describe_call(self) -> tuple[str, tuple[type, ...]]:
        return "model.generate(…)", (str, list)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._pieces()

    def __await__(self) -> Waiting[Any, None, Any]:
        return self._whole().__await__()

    async def _whole(self) -> Any:
        texts = [""] * len(self._rows_of_tokens) * self._returned
        async for piece in self._rows():
            texts = [text + more for text, more in zip(texts, piece, strict=True)]
        return texts[0] if self._single else texts

    async def _pieces(self) -> AsyncIterator[Any]:
        async with aclosing(self._rows()) as rows:
            async for piece in rows:
                if any(piece):
                    yield piece[0] if self._single else piece

    async def _rows(self) -> AsyncGenerator[list[str], None]:
        tokens = self._rows_of_tokens
        limit, settings = self._max_new_tokens, {**self._settings}
        if self._prepare is not None:
            tokens, limit, more = await self._prepare(tokens, limit)
            settings = {**settings, **more}
        count = len(self._rows_of_tokens) * self._returned
        context = settings.pop("context", ())
        streams = [TextStream(self._tokenizer, self._stops, context) for _ in range(count)]
        ended = [False] * count
        async with aclosing(generate_tokens(self._generator, tokens, limit, **settings)) as rounds:
            async for new_tokens in rounds:
                pieces: list[str] = []
                for row, tokens_of_row in enumerate(new_tokens):
                    text_tokens = cut_at_end(tokens_of_row, self._ends)
                    piece = "" if ended[row] else streams[row].push(text_tokens)
                    if not ended[row] and (
                        len(text_tokens) < len(tokens_of_row) or streams[row].stopped
                    ):
                        ended[row] = True
                        piece += streams[row].end()
                    pieces.append(piece)
                yield pieces
                if all(ended):
                    return
        yield ["" if done else stream.end() for done, stream in zip(ended, streams, strict=True)]


async def generate_tokens(
    generator: Generator,
    rows: Sequence[Sequence[int]],
    max_new_tokens: int,
    *,
    beams: Beams | None = None,
    seed: int = 0,
    choose: Choose | None = None,
    allowed: AllowedTokens | None = None,
    returned: int = 1,
    forced: int = 0,
    window: Window | None = None,
    **settings: Any,
) -> AsyncGenerator[list[list[int]], None]:
    """Yield the next tokens of all texts: some at a time, or all of them once they are found.

    Each row has `returned` texts, one after the other. With a `window` texts may become longer than
    the model has positions for.
    """
    sampling = settings.get("sampling")
    if forced and sampling is not None and sampling.min_new_tokens:  # forced ones count
        least = max(0, sampling.min_new_tokens - forced)
        settings["sampling"] = replace(sampling, min_new_tokens=least)
    if beams is not None:
        yield await generator.search(
            rows, max_new_tokens, beams, returned=returned, forced=forced, **settings
        )
        return
    if returned > 1:
        rows = [row for row in rows for _ in range(returned)]
        if source := settings.get("source"):
            repeated = {name: repeat_rows(array, returned) for name, array in source.items()}
            settings["source"] = repeated
    if window is not None:
        from webnnm.transformers.rolling import generate_beyond

        settings = {**settings, "seed": seed, "choose": choose}
        async with aclosing(
            generate_beyond(generator, rows, max_new_tokens, window, **settings)
        ) as rounds:
            async for new_tokens in rounds:
                yield new_tokens
        return
    structured = None
    if allowed is not None:
        from webnnm.transformers.structured.output import StructuredTexts

        structured = StructuredTexts(allowed, len(rows))
    rounds = generator.generate(
        rows, max_new_tokens, seed=seed, choose=choose, structured=structured, **settings
    )
    async with aclosing(rounds):
        async for new_tokens in rounds:
            yield new_tokens


def prompt_tokens(
    prompt: Prompt, tokenizer: Tokenizer, chat: Mapping[str, Any]
) -> tuple[list[list[int]], bool]:
    """Return the tokens that a model continues, and whether it is a single text."""
    if isinstance(prompt, str):
        return [tokenizer.encode(prompt)], True
    if not prompt:
        raise DataError(
            "NNM702", "there is no prompt", hint="pass a text, a list of texts, or messages"
        )
    if all(isinstance(entry, str) for entry in prompt):
        return [tokenizer.encode(text) for text in cast("Sequence[str]", prompt)], False
    text = conversation(cast("Sequence[Message]", prompt), tokenizer.template, **chat)
    return [tokenizer.encode_rendered(text)], True


def is_single(prompt: Prompt) -> bool:
    """Return whether a prompt is a text, or the messages of a conversation.

    >>> is_single("a text"), is_single(["a text"]), is_single([{"role": "user"}])
    (True, False, True)
    """
    return isinstance(prompt, str) or any(isinstance(entry, Mapping) for entry in prompt)


def cut_at_end(tokens: Sequence[int], ends: frozenset[int]) -> list[int]:
    """Return the tokens before the first one that ends a text."""
    index = next((index for index, token in enumerate(tokens) if token in ends), len(tokens))
    return [*tokens[:index]]


async def continue_rows(
    generator: Generator,
    rows: Sequence[Sequence[int]],
    max_new_tokens: int,
    ends: frozenset[int],
    settings: dict[str, Any],
) -> list[list[int]]:
    """Return texts of tokens with their continuations, each up to a token that ends it.

    Those of a row follow each other, if the settings ask for several.
    """
    texts = [list(row) for row in rows for _ in range(settings.get("returned", 1))]
    ended = [False for _ in texts]
    async with aclosing(generate_tokens(generator, rows, max_new_tokens, **settings)) as rounds:
        async for new_tokens in rounds:
            for row, more in enumerate(new_tokens):
                if not ended[row]:
                    text_tokens = cut_at_end(more, ends)
                    ended[row] = len(text_tokens) < len(more)
                    texts[row] += more[: len(text_tokens) + ended[row]]
            if all(ended):
                break
    return texts


def align_rows(rows: Sequence[list[int]], starts: Sequence[int], token: int) -> list[list[int]]:
    """Return rows of equal length, whose continuations begin in the same column.

    >>> align_rows([[5, 1], [7, 8, 2, 3]], [1, 2], 0)
    [[0, 5, 1, 0], [7, 8, 2, 3]]

    `starts` are the lengths of what is continued.
    """
    first = max(starts, default=0)
    aligned = [[token] * (first - start) + row for row, start in zip(rows, starts, strict=True)]
    length = max(map(len, aligned), default=0)
    return [row + [token] * (length - len(row)) for row in aligned]


def read_ends(eos_token_id: int | Sequence[int] | None) -> frozenset[int]:
    """Return the tokens of an argument that ends texts.

    Raises `DataError` NNM704 for what is not a token.
    """
    values = eos_token_id if isinstance(eos_token_id, LISTS) else [eos_token_id]
    tokens = [token for token in cast("Sequence[Any]", values) if token is not None]
    for token in tokens:
        if not is_integer(token) or token < 0:
            raise DataError("NNM704", f"eos_token_id has {token!r}", hint="give tokens, integers")
    return frozenset(tokens)


def end_tokens(config: Mapping[str, Any]) -> frozenset[int]:
    """Return the tokens that end texts, according to a config."""
    value: Any = config.get("eos_token_id")
    tokens = cast("list[int | None]", value if isinstance(value, list) else [value])
    return frozenset(token for token in tokens if token is not None)


def read_rows(
    tokens: Any, mask: Any = None, name: str = "input_ids"
) -> tuple[list[list[int]], bool]:
    """Return rows of tokens without padding, and whether a single row was given.

    >>> read_rows([[0, 0, 5], [1, 2, 3]], [[0, 0, 1], [1, 1, 1]])
    ([[5], [1, 2, 3]], False)

    Raises `DataError` NNM702 for what is no list of tokens or of such lists, and for a mask of
    another shape; `name` is that of the argument.
    """
    rows, masks, single = read_masked_rows(tokens, mask, name)
    if masks is None:
        return rows, single
    pairs = [zip(row, mask_row, strict=True) for row, mask_row in zip(rows, masks, strict=True)]
    return [[token for token, counts in pair if counts] for pair in pairs], single


def read_masked_rows(
    tokens: Any, mask: Any = None, name: str = "input_ids"
) -> tuple[list[list[int]], list[list[int]] | None, bool]:
    """Return rows of tokens, those of their mask, and whether a single row was given."""
    rows, single = _integer_rows(tokens, name)
    if mask is None:
        return rows, None, single
    masks, alone = _integer_rows(mask, "attention_mask")
    if alone != single or [*map(len, rows)] != [*map(len, masks)]:
        raise DataError("NNM702", f"{name} and attention_mask differ in shape")
    return rows, masks, single


def _integer_rows(values: Any, name: str) -> tuple[list[list[int]], bool]:
    """Return rows of integers, which may differ in length, and whether a single row was given."""
    items = _to_list(values)
    rows = [_to_list(row) for row in items] if isinstance(items, LISTS) else [items]
    single = not any(isinstance(row, LISTS) for row in rows)
    hint = f"give {name} as a list of integers, or a list of such lists"
    try:
        arrays = [HostArray.of(row, "int32") for row in ([items] if single else rows)]
    except DataError as error:
        raise DataError(error.code, f"{name}: {error.message}", hint=hint) from error
    for array in arrays:
        if len(array.shape) != 1:
            message = f"{name} has {'lists' if array.shape else 'one number'} for a row"
            raise DataError("NNM702", message, hint=hint)
    return [array.tolist() for array in arrays], single


def _to_list(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values
