"""The tokenizer of a `tokenizer.json`, by the package `tokenizers` of Hugging Face."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from webnnm.core.errors import BackendError, DataError


class JsonTokenizer:
    """A tokenizer of Hugging Face; see `Tokenizer`.

    Raises `BackendError` NNM709 where the package is missing, `DataError` NNM718 for what is no
    tokenizer.
    """

    def __init__(self, text: str, ends: Iterable[int] = (), template: str = "") -> None:
        try:
            package: Any = importlib.import_module("tokenizers")
        except ImportError as error:
            raise BackendError(
                "NNM709",
                "a tokenizer.json needs the package tokenizers",
                hint="pip install 'webnnm[transformers]'; GGUF files bring a tokenizer along",
            ) from error
        try:
            self._tokenizer: Any = package.Tokenizer.from_str(text)
        except Exception as error:  # the package raises nothing more special
            message = f"tokenizer.json is no tokenizer: {str(error)[:200]}"
            raise DataError("NNM718", message, hint="get it again") from error
        self.ends = frozenset(ends)
        self.template = template

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; words for control tokens in it stand for these."""
        return list(self._tokenizer.encode(text).ids)

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens, control tokens left out."""
        return str(self._tokenizer.decode([*tokens]))
