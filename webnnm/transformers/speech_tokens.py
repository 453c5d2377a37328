"""The special tokens of Whisper: the start of a transcript, its language, its task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from webnnm.core.errors import DataError, suggestion
from webnnm.transformers.beginning import suppressed
from webnnm.transformers.timestamps import Timestamps
from webnnm.transformers.tokenizer import Tokenizer

TASKS = ("transcribe", "translate")
MULTILINGUAL = 51865
"""The least vocabulary of models for more languages than English."""
_LANGUAGE = re.compile(r"<\|([a-z]{2,3})\|>")
_SILENCE = ("<|nospeech|>", "<|nocaptions|>")


@dataclass(frozen=True, kw_only=True)
class SpeechTokens:
    """Numbers of tokens, and which ones are never chosen.

    `languages` by their codes, such as "en"; none for English-only models. `tasks` likewise.
    """

    start: int
    times: Timestamps
    languages: Mapping[str, int]
    tasks: Mapping[str, int]
    hidden: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Tokenizer, config: Mapping[str, Any], vocabulary: int) -> Self:
        """Return the special tokens of a model, by its vocabulary size and generation config.

        Raises `DataError` NNM718 for a tokenizer without them.
        """
        known: Mapping[str, int] = getattr(tokenizer, "added", {})
        end, start, plain = (
            _number(known, word) for word in ("endoftext", "startoftranscript", "notimestamps")
        )
        silence = next((known[word] for word in _SILENCE if word in known), None)
        if silence is None:
            raise _missing(_SILENCE[0])
        many = config.get("is_multilingual", vocabulary >= MULTILINGUAL)
        tasks = {task: known[f"<|{task}|>"] for task in TASKS if f"<|{task}|>" in known}
        others = [known[word] for word in ("<|startofprev|>", "<|startoflm|>") if word in known]
        found = {match[1]: id for word, id in known.items() if (match := _LANGUAGE.fullmatch(word))}
        hidden = {*suppressed(config), start, silence, plain, *others, *tasks.values()}
        return cls(
            start=start,
            times=Timestamps(first=plain + 1, end=end, silence=silence),
            languages=found if many else {},
            tasks=tasks if many else {},
            hidden=tuple(sorted(token for token in hidden if 0 <= token < vocabulary)),
        )

    def prompt(self, language: str | None, task: str) -> list[int]:
        """Return the tokens that a transcript begins with.

        Raises `DataError` NNM704 for languages and tasks that the model does not know.
        """
        if not self.languages:
            if language not in (None, "en") or task != "transcribe":
                message = f"language={language!r}, task={task!r}: the model knows only English"
                raise DataError("NNM704", message, hint="use a multilingual model")
            return [self.start]
        if language is None:
            return [self.start]
        if task not in self.tasks:
            raise DataError("NNM704", f"task is {task!r}", hint=f"it is {' or '.join(TASKS)}")
        if language not in self.languages:
            hint = (
                suggestion(language, self.languages) or f"supported are {', '.join(self.languages)}"
            )
            raise DataError("NNM704", f"language is {language!r}", hint=hint)
        return [self.start, self.languages[language], self.tasks[task]]


def _number(known: Mapping[str, int], word: str) -> int:
    if f"<|{word}|>" not in known:
        raise _missing(f"<|{word}|>")
    return known[f"<|{word}|>"]


def _missing(word: str) -> DataError:
    message = f"the tokenizer has no token {word}"
    return DataError(
        "NNM718", message, hint="put the tokenizer.json of the model next to its config"
    )
