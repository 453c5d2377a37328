"""The tokenizer of a `tokenizer.json`, using Hugging Face's packages for Python and for pages."""

from __future__ import annotations

import importlib
import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol, cast

from webnnm.backends import pyodide_host
from webnnm.core.errors import BackendError, DataError
from webnnm.core.json_text import parse_json
from webnnm.formats.fields import Fields
from webnnm.transformers.chat_template import ChatTemplate
from webnnm.transformers.offsets import OffsetFinder
from webnnm.transformers.tokenizer_growth import AFFIXES, LETTERS, PARTS, check_growth

FOLDER = "tokenizers"
"""The path of the npm package in pages: next to the folder of Pyodide."""
MODULE = "tokenizers.min.mjs"


class Engine(Protocol):
    """A package that encodes and decodes, on a desktop or in a page."""

    def encode(self, text: str, special: bool) -> list[int]:
        """Return the tokens of a text, with the first and last ones of texts if `special`."""
        ...

    def encode_pair(self, text: str, other: str) -> tuple[list[int], list[int]]:
        """Return the tokens of two texts as one row, and the type of each."""
        ...

    def decode(self, tokens: list[int], special: bool) -> str:
        """Return the text of tokens, with or without control tokens."""
        ...

    def get_pieces(self, tokens: list[int]) -> list[str]:
        """Return tokens as the vocabulary writes them, such as "##ing", "Ġday"."""
        ...


class JsonTokenizer:
    """A Hugging Face tokenizer; see `Tokenizer`.

    Attributes: `ends` and `template`, from the model that it belongs to; `text` of the file.
    """

    def __init__(
        self,
        engine: Engine,
        ends: Iterable[int] = (),
        template: ChatTemplate | None = None,
        text: str = "",
    ) -> None:
        self.text = text
        self._engine = engine
        self.ends = frozenset(ends)
        self.template = template or ChatTemplate()

    @cached_property
    def added(self) -> Mapping[str, int]:
        """The numbers of control tokens by their words."""
        return read_added_tokens(self.text) if self.text else {}

    @cached_property
    def offsets(self) -> OffsetFinder:
        """Finds where tokens are in texts."""
        return OffsetFinder.of(self.text)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; words for control tokens in it become these tokens."""
        return self._engine.encode(text, True)

    def encode_pair(self, text: str, other: str) -> tuple[list[int], list[int]]:
        """Return the tokens of two texts as one row, and the type of each: 0, or 1 for the other.

        They have the first, middle and last tokens of the file.
        """
        return self._engine.encode_pair(text, other)

    def encode_rendered(self, text: str) -> list[int]:
        """Return the tokens of a text that a chat template wrote, with its own first token."""
        return self._engine.encode(text, False)

    def decode(self, tokens: Iterable[int], *, special: bool = False) -> str:
        """Return the text of tokens, without control tokens unless `special`."""
        return self._engine.decode([*tokens], special)

    def get_pieces(self, tokens: Iterable[int]) -> list[str]:
        """Return tokens as the vocabulary writes them, such as "##ing", "Ġday"."""
        return self._engine.get_pieces([*tokens])

    def get_bytes(self) -> list[bytes | None]:
        """Return the bytes of each token within a text, None for control tokens."""
        from webnnm.transformers.structured.token_bytes import token_bytes

        return token_bytes(self.text)


async def json_tokenizer(
    text: str, ends: Iterable[int] = (), template: ChatTemplate | None = None
) -> JsonTokenizer:
    """Return the tokenizer of a `tokenizer.json`.

    Raises `BackendError` NNM709 if the package for it is missing, `DataError` NNM718 for an invalid
    tokenizer.
    """
    engine = await _in_page(text) if pyodide_host.in_browser() else _on_desktop(text)
    return JsonTokenizer(engine, ends, template, text)


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


def _on_desktop(text: str) -> Engine:
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
    return _Package(tokenizer)


class _Package:
    """The package for Python."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str, special: bool) -> list[int]:
        with _convert_errors():
            return list(self._tokenizer.encode(text, add_special_tokens=special).ids)

    def encode_pair(self, text: str, other: str) -> tuple[list[int], list[int]]:
        with _convert_errors():
            encoding = self._tokenizer.encode(text, other)
            return list(encoding.ids), list(encoding.type_ids)

    def decode(self, tokens: list[int], special: bool) -> str:
        with _convert_errors():
            return self._tokenizer.decode(tokens, skip_special_tokens=not special)

    def get_pieces(self, tokens: list[int]) -> list[str]:
        return [self._tokenizer.id_to_token(token) or "" for token in tokens]


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


async def _in_page(text: str) -> Engine:
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
    return _PagePackage(tokenizer)


class _PagePackage:
    """The package for pages, behind js_bridge/page/tokenizers.js."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str, special: bool) -> list[int]:
        return list(self._tokenizer.encode(text, special).to_py())

    def encode_pair(self, text: str, other: str) -> tuple[list[int], list[int]]:
        ids, types = self._tokenizer.encodePair(text, other)
        return list(ids.to_py()), list(types.to_py())

    def decode(self, tokens: list[int], special: bool) -> str:
        return str(self._tokenizer.decode(json.dumps(tokens), special))

    def get_pieces(self, tokens: list[int]) -> list[str]:
        return list(json.loads(str(self._tokenizer.pieces(json.dumps(tokens)))))


def _wrong(error: BaseException) -> DataError:
    message = f"tokenizer.json is not a tokenizer: {str(error)[:200]}"
    return DataError("NNM718", message, hint="download it again")
