"""The special tokens of Whisper: the start of a transcript, its language, its task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from webnnm.core.errors import DataError, suggestion
from webnnm.transformers.beginning import list_suppressed_tokens
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
        added: Mapping[str, int] = getattr(tokenizer, "added", {})
        end, start, plain = (
            _number(added, token) for token in ("endoftext", "startoftranscript", "notimestamps")
        )
        silence = next((added[token] for token in _SILENCE if token in added), None)
        if silence is None:
            raise _missing(_SILENCE[0])
        is_multilingual = config.get("is_multilingual", vocabulary >= MULTILINGUAL)
        tasks = {task: added[f"<|{task}|>"] for task in TASKS if f"<|{task}|>" in added}
        others = [added[token] for token in ("<|startofprev|>", "<|startoflm|>") if token in added]
        languages = {
            match[1]: id for token, id in added.items() if (match := _LANGUAGE.fullmatch(token))
        }
        hidden = {*list_suppressed_tokens(config), start, silence, plain, *others, *tasks.values()}
        return cls(
            start=start,
            times=Timestamps(first=plain + 1, end=end, silence=silence),
            languages=languages if is_multilingual else {},
            tasks=tasks if is_multilingual else {},
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


def _number(added: Mapping[str, int], name: str) -> int:
    if f"<|{name}|>" not in added:
        raise _missing(f"<|{name}|>")
    return added[f"<|{name}|>"]


def _missing(token: str) -> DataError:
    message = f"the tokenizer has no token {token}"
    return DataError(
        "NNM718", message, hint="put the tokenizer.json of the model next to its config"
    )
