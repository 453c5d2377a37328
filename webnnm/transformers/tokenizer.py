"""The interface of tokenizers, incremental decoding, and conversations as texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from webnnm.core.errors import DataError

Message = Mapping[str, str]
"""A message of a conversation: `{"role": "user", "content": "Hello"}`."""


class Tokenizer(Protocol):
    """Turns texts into token numbers and back.

    Attributes: `ends`, the tokens that end an answer; `template`, the chat template of the model.
    """

    ends: frozenset[int]
    template: str

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; words for control tokens in it become these tokens."""
        ...

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens, without control tokens."""
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

    `stops` are words at which the text ends, `stopped` is whether one of them ended it.
    """

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._stops = [stop for stop in stops if stop]
        self._tokens: list[int] = []
        self._told = 0
        self._held: str = ""
        self.stopped = False

    def push(self, tokens: Iterable[int]) -> str:
        """Add tokens and return the text that is now final; "" once it has stopped."""
        if self.stopped:
            return ""
        self._tokens += tokens
        before = self._tokenizer.decode(self._tokens[: self._told])
        now = self._tokenizer.decode(self._tokens)
        if now.endswith("\ufffd") and len(self._tokens) - self._told < 8:
            return ""  # within a character
        # The last tokens stay: their text may differ at the beginning of a text.
        self._tokens = self._tokens[self._told :]
        self._told = len(self._tokens)
        return self._released(now[len(before) :])

    def end(self) -> str:
        """Return the text that was held back."""
        before = self._tokenizer.decode(self._tokens[: self._told])
        rest = self._tokenizer.decode(self._tokens)[len(before) :]
        text = "" if self.stopped else self._released(rest) + self._held
        self._tokens = []
        self._held, self._told = "", 0
        return text

    def _released(self, text: str) -> str:
        """Return text up to a stop word, or to what may be the beginning of one."""
        text = self._held + text
        places = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        if places:
            self.stopped, self._held = True, ""
            return text[: min(places)]
        open_ends = (
            size
            for stop in self._stops
            for size in range(min(len(stop) - 1, len(text)), 0, -1)
            if text.endswith(stop[:size])
        )
        kept = len(text) - max(open_ends, default=0)
        self._held = text[kept:]
        return text[:kept]


@dataclass(frozen=True, kw_only=True)
class ChatForm:
    """How the messages of a conversation are written in a text."""

    begin: str = ""
    message: str
    answer: str
    assistant: str = "assistant"


FORMS: Mapping[str, ChatForm] = {
    "<|im_start|>": ChatForm(
        message="<|im_start|>{role}\n{content}<|im_end|>\n", answer="<|im_start|>assistant\n"
    ),
    "<|start_header_id|>": ChatForm(
        begin="<|begin_of_text|>",
        message="<|start_header_id|>{role}<|end_header_id|>\n\n{content}<|eot_id|>",
        answer="<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "<start_of_turn>": ChatForm(
        begin="<bos>",
        message="<start_of_turn>{role}\n{content}<end_of_turn>\n",
        answer="<start_of_turn>model\n",
        assistant="model",
    ),
}
"""Forms of conversations by a word in their templates: ChatML, Llama 3, Gemma. Templates are
programs in a file, which are not executed."""
_SYSTEM = "<|im_start|>system\n"


def conversation(messages: Sequence[Message], template: str) -> str:
    """Return a conversation as a text for the model to continue.

    >>> conversation([{"role": "user", "content": "Hello"}], "… <|im_start|> …")
    '<|im_start|>user\\nHello<|im_end|>\\n<|im_start|>assistant\\n'

    If a ChatML template has a default system message, it comes first in conversations without
    one. Raises `DataError` NNM718 for a template of another form, NNM702 for invalid messages.
    """
    form = next((form for word, form in FORMS.items() if word in template), None)
    if form is None:
        known = "ChatML, Llama 3 and Gemma"
        raise DataError(
            "NNM718",
            f"the model has no chat template of a known form: {known}",
            hint="write the conversation as one text, in the form that the model's page describes",
        )
    told = [_checked(message) for message in messages]
    default = template.partition(_SYSTEM)[2].partition("<|im_end|>")[0]
    if default and "{" not in default and told[:1] and told[0]["role"] != "system":
        told.insert(0, {"role": "system", "content": default})
    text = form.begin
    for message in told:
        role = form.assistant if message["role"] == "assistant" else message["role"]
        text += form.message.format(role=role, content=message["content"])
    return text + form.answer


def _checked(message: Message) -> Message:
    texts = [value for value in message.values() if isinstance(value, str)]
    if {*message} != {"role", "content"} or len(texts) < 2:
        raise DataError(
            "NNM702",
            f"{str(message)[:60]} is not a message",
            hint='write {"role": "user", "content": "…"}',
        )
    return message
