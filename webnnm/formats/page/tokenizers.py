"""Writes the tokenizer of a model as a file that pages read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from webnnm.core.errors import DataError
from webnnm.formats.page.folders import digest
from webnnm.formats.page.scripts import find_tokenizer_parts

PARTS = ("normalizer", "pre_tokenizer", "post_processor")
LISTS = ("normalizers", "pretokenizers", "processors")
KEPT = (*PARTS, "added_tokens", "model")
"""What pages read of a `tokenizer.json`."""


@dataclass(frozen=True)
class Texts:
    """Rows of an input that are texts.

    Attributes: `tokenizer`, the text of a `tokenizer.json`; `length`, the tokens after which texts
    are cut, None if longer ones are refused; `column`, the name of the texts in rows with names.
    """

    tokenizer: str
    length: int | None = None
    column: str = ""

    @cached_property
    def file(self) -> tuple[str, bytes]:
        """The name and the content of the file that pages read."""
        return encode_tokenizer(self)


def encode_tokenizer(texts: Texts) -> tuple[str, bytes]:
    """Return the name and the content of a tokenizer's file.

    Raises `DataError` NNM905 for a tokenizer with parts that pages do not have.
    """
    file: dict[str, Any] = json.loads(texts.tokenizer)
    types = {type for part in PARTS for type in _find_types(file.get(part))}
    types.add(file["model"].get("type") or "WordPiece")
    unknown = sorted(types - find_tokenizer_parts())
    if unknown:
        raise DataError(
            "NNM905",
            f'the tokenizer has a "{unknown[0]}", which pages do not have',
            hint="pages have WordLevel, WordPiece and BPE; serve the model in a page with Python",
        )
    kept = {key: file[key] for key in KEPT if file.get(key) is not None}
    content = json.dumps(kept, separators=(",", ":"), ensure_ascii=False).encode()
    return f"tokenizer-{digest(content)}.json", content


def _find_types(part: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the types of a part and of those that it consists of."""
    if part is None:
        return
    yield part["type"]
    for key in LISTS:
        for inner in cast("list[Any]", part.get(key, [])):
            yield from _find_types(inner)
