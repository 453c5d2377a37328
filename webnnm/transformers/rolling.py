"""Texts longer than a model has positions for: old tokens are dropped, but not the first ones.

Source: G. Xiao et al., "Efficient streaming language models with attention sinks",
arXiv:2309.17453 (2023). The tokens that are kept are computed anew, at their new positions.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, NamedTuple

from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.transformers.generator import Generator


class Window(NamedTuple):
    """The tokens that a model sees of a long text: the first ones, and the last ones.

    >>> Window(7, 1).cut([0, 1, 2, 3, 4, 5, 6])
    [0, 4, 5, 6]

    Attributes: `size`, how many there are at most, `sinks`, how many of them are the first ones.
    """

    size: int
    sinks: int

    def cut(self, text: Sequence[int]) -> list[int]:
        """Return a text that is full without its older half, and any other as it is."""
        if len(text) < self.size:
            return [*text]
        kept = (self.size - self.sinks) // 2
        return [*text[: self.sinks], *text[len(text) - kept :]]


def read_window(context: int | None, sinks: int | None) -> Window:
    """Return the window of these settings, of size 0 for that of the model.

    >>> read_window(None, 4), read_window(512, None)
    (Window(size=0, sinks=4), Window(size=512, sinks=0))

    Raises `DataError` NNM704 for numbers out of range.
    """
    window = Window(0 if context is None else context, 0 if sinks is None else sinks)
    if not is_integer(window.sinks) or window.sinks < 0:
        raise DataError("NNM704", f"sinks is {sinks!r}", hint="give an integer from 0")
    if context is not None and (not is_integer(context) or context < window.sinks + 2):
        hint = f"give an integer from {window.sinks + 2}: there are {window.sinks} sinks"
        raise DataError("NNM704", f"context is {context!r}", hint=hint)
    return window


async def generate_beyond(
    generator: Generator,
    rows: Sequence[Sequence[int]],
    max_new_tokens: int,
    window: Window,
    *,
    seed: int = 0,
    **settings: Any,
) -> AsyncGenerator[list[list[int]], None]:
    """Yield the next tokens of texts of any length, which the model sees through a window.

    `settings` are those of `Generator.generate`. Raises what it raises, and `DataError` NNM704 if
    the model has too few positions for the window.
    """
    window = _fit(window, generator.max_length)
    if not window.size:
        rounds = generator.generate(rows, max_new_tokens, seed=seed, **settings)
        async with aclosing(rounds):
            async for new_tokens in rounds:
                yield new_tokens
        return
    texts = [window.cut(row) for row in rows]
    last, sampling, count = settings.pop("last", None), settings.pop("sampling", None), 0
    while count < max_new_tokens:
        limit = min([max_new_tokens - count, *(window.size - len(text) for text in texts)])
        if sampling is not None and count:  # what holds at the beginning of a text
            least = max(0, (sampling.min_new_tokens or 0) - count) or None
            sampling = replace(sampling, min_new_tokens=least, begin_suppress_tokens=())
        ends = count + limit == max_new_tokens
        rounds = generator.generate(
            texts,
            limit,
            seed=seed + count,
            sampling=sampling,
            last=last if ends else None,
            **settings,
        )
        written = 0
        async with aclosing(rounds):
            async for new_tokens in rounds:
                for text, more in zip(texts, new_tokens, strict=True):
                    text += more
                written += len(new_tokens[0])
                yield new_tokens
        count += written
        if written < limit:  # it was stopped
            return
        texts = [window.cut(text) for text in texts]


def _fit(window: Window, limit: int | None) -> Window:
    """Return a window of the size that the model has positions for, 0 for any."""
    if limit is None:
        return window
    size = min(window.size or limit, limit)
    if size < window.sinks + 2:
        message = f"sinks is {window.sinks}, the model has positions for {limit} tokens"
        raise DataError("NNM704", message, hint="give fewer sinks")
    return window._replace(size=size)
