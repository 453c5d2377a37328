"""The interface of tokenizers, with incremental decoding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from webnnm.transformers.chat_template import ChatTemplate


class Tokenizer(Protocol):
    """Turns texts into token numbers and back.

    Attributes: `ends`, the tokens that end an answer; `template`, how the model writes
    conversations.
    """

    ends: frozenset[int]
    template: ChatTemplate

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; words for control tokens in it become these tokens."""
        ...

    def encode_rendered(self, text: str) -> list[int]:
        """Return the tokens of a text that a chat template wrote, with its own first token."""
        ...

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens, without control tokens."""
        ...

    def get_bytes(self) -> list[bytes | None]:
        """Return the bytes of each token within a text, None for control tokens."""
        ...


class TextStream:
    """Turns tokens into text as they come; a character of several tokens comes when it is complete.

    >>> class Bytes:
    ...     ends, template = frozenset(), ""
    ...     def encode(self, text): return list(text.encode())
    ...     def decode(self, tokens): return bytes(tokens).decode(errors="replace")
    >>> stream = TextStream(Bytes())
    >>> [stream.push([byte]) for byte in "né".encode()], stream.end()
    (['n', '', 'é'], '')

    `stops` are words at which the text ends, `stopped` is whether one of them ended it. `context`
    are the tokens before the first one: some tokenizers drop the space that a text begins with.
    """

    def __init__(
        self, tokenizer: Tokenizer, stops: Sequence[str] = (), context: Sequence[int] = ()
    ) -> None:
        self._tokenizer = tokenizer
        self._stops = [stop for stop in stops if stop]
        self._tokens = [*context]
        self._decoded = len(context)
        self._held: str = ""
        self.stopped = False

    def push(self, tokens: Iterable[int]) -> str:
        """Add tokens and return the text that is now final; "" once it has stopped."""
        if self.stopped:
            return ""
        self._tokens += tokens
        before = self._tokenizer.decode(self._tokens[: self._decoded])
        now = self._tokenizer.decode(self._tokens)
        if now.endswith("\ufffd") and len(self._tokens) - self._decoded < 8:
            return ""  # within a character
        # The last tokens stay: their text may differ at the beginning of a text.
        self._tokens = self._tokens[self._decoded :]
        self._decoded = len(self._tokens)
        return self._release(now[len(before) :])

    def end(self) -> str:
        """Return the text that was held back."""
        before = self._tokenizer.decode(self._tokens[: self._decoded])
        rest = self._tokenizer.decode(self._tokens)[len(before) :]
        text = "" if self.stopped else self._release(rest) + self._held
        self._tokens = []
        self._held, self._decoded = "", 0
        return text

    def _release(self, text: str) -> str:
        """Return text up to a stop word, or to what may be the beginning of one."""
        text = self._held + text
        stop_indices = [index for stop in self._stops if (index := text.find(stop)) >= 0]
        if stop_indices:
            self.stopped, self._held = True, ""
            return text[: min(stop_indices)]
        open_ends = (
            size
            for stop in self._stops
            for size in range(min(len(stop) - 1, len(text)), 0, -1)
            if text.endswith(stop[:size])
        )
        final_length = len(text) - max(open_ends, default=0)
        self._held = text[final_length:]
        return text[:final_length]
