"""The tokenizer of a `tokenizer.json`, using Hugging Face's packages for Python and for pages."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, cast

from webnnm.backends import pyodide_host
from webnnm.core.errors import BackendError, DataError
from webnnm.core.json_text import parse_json
from webnnm.formats.fields import Fields
from webnnm.transformers.chat_template import ChatTemplate
from webnnm.transformers.tokenizer_growth import AFFIXES, LETTERS, PARTS, check_growth

FOLDER = "tokenizers"
"""The path of the npm package in pages: next to the folder of Pyodide."""
MODULE = "tokenizers.min.mjs"


class JsonTokenizer:
    """A Hugging Face tokenizer, made from two functions; see `Tokenizer`.

    Attributes: `ends` and `template`, from the model that it belongs to; `text` of the file.
    """

    def __init__(
        self,
        encode: Callable[[str, bool], Iterable[int]],
        decode: Callable[[list[int]], str],
        ends: Iterable[int] = (),
        template: ChatTemplate | None = None,
        text: str = "",
    ) -> None:
        self.text = text
        self._encode, self._decode = encode, decode
        self.ends = frozenset(ends)
        self.template = template or ChatTemplate()

    @cached_property
    def added(self) -> Mapping[str, int]:
        """The numbers of control tokens by their words."""
        return read_added_tokens(self.text) if self.text else {}

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; words for control tokens in it become these tokens."""
        return list(self._encode(text, True))

    def encode_rendered(self, text: str) -> list[int]:
        """Return the tokens of a text that a chat template wrote, with its own first token."""
        return list(self._encode(text, False))

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens, without control tokens."""
        return self._decode([*tokens])


async def json_tokenizer(
    text: str, ends: Iterable[int] = (), template: ChatTemplate | None = None
) -> JsonTokenizer:
    """Return the tokenizer of a `tokenizer.json`.

    Raises `BackendError` NNM709 if the package for it is missing, `DataError` NNM718 for an invalid
    tokenizer.
    """
    functions = await _in_page(text) if pyodide_host.in_browser() else _on_desktop(text)
    return JsonTokenizer(*functions, ends, template, text)


def read_added_tokens(text: str) -> dict[str, int]:
    """Return the numbers of the control tokens of a `tokenizer.json` by their words.

    >>> read_added_tokens('{"added_tokens": [{"id": 7, "content": "<|end|>"}]}')
    {'<|end|>': 7}

    Raises `DataError` NNM718 for an invalid tokenizer.
    """
    try:
        value = Fields.of(parse_json(text), "tokenizer.json").get("added_tokens", [])
        token_entries = cast("list[Any]", value) if isinstance(value, list) else [value]
        tokens = [Fields.of(token_entry, 'each of "added_tokens"') for token_entry in token_entries]
        return {token.text("content"): token.integer("id") for token in tokens}
    except (ValueError, DataError) as error:
        raise _wrong(error) from error


def _on_desktop(text: str) -> tuple[Any, Any]:
    try:
        package: Any = importlib.import_module("tokenizers")
    except ImportError as error:
        raise BackendError(
            "NNM709",
            "a tokenizer.json needs the package tokenizers",
            hint="pip install 'webnnm[transformers]'; GGUF files include a tokenizer",
        ) from error
    with _convert_errors():
        tokenizer = package.Tokenizer.from_str(text)
    check_growth(
        {
            **{name: _part(getattr(tokenizer, name)) for name in PARTS},
            "model": {name: getattr(tokenizer.model, name, None) for name in (*AFFIXES, LETTERS)},
        }
    )
    # Files contain the padding of the last batch; callers that batch texts set it again.
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(words: str, special: bool) -> Any:
        with _convert_errors():
            return tokenizer.encode(words, add_special_tokens=special).ids

    def decode(tokens: list[int]) -> str:
        with _convert_errors():
            return tokenizer.decode(tokens)

    return encode, decode


def _part(part: Any) -> Any:
    """Return what a file says of a part of a tokenizer."""
    return None if part is None else json.loads(part.__getstate__())


@contextmanager
def _convert_errors() -> Generator[None]:
    """Turn what the package raises for an inconsistent file into a named error.

    It raises plain `Exception`s, and where its Rust code panics a `BaseException` of its own.
    """
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise _wrong(error) from error


async def _in_page(text: str) -> tuple[Any, Any]:
    address = pyodide_host.beside_pyodide(FOLDER) + MODULE
    module = await pyodide_host.load_module("page/tokenizers")
    try:
        tokenizer = await module.open(address, text)
    except pyodide_host.js_error() as error:
        if "import" in str(getattr(error, "message", error)):
            raise BackendError(
                "NNM709",
                f"a tokenizer.json needs {address}, which cannot be loaded",
                hint="docs/deploying.md says which files a page needs",
            ) from error
        raise _wrong(error) from error

    try:
        check_growth(parse_json(str(tokenizer.parts)))
    except ValueError as error:
        raise _wrong(error) from error

    def encode(words: str, special: bool) -> Any:
        return tokenizer.encode(words, special).to_py()

    def decode(tokens: list[int]) -> str:
        return str(tokenizer.decode(json.dumps(tokens)))

    return encode, decode


def _wrong(error: BaseException) -> DataError:
    message = f"tokenizer.json is not a tokenizer: {str(error)[:200]}"
    return DataError("NNM718", message, hint="download it again")
