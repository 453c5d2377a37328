"""Tokenizers of Hugging Face in pages."""

from __future__ import annotations

import json
from typing import Any

from tests.browser import tokenizers_in_page
from tests.browser.harness import PyodidePage
from tests.unit.transformers.tokenizer_json import TEXT, numbers


async def test_a_tokenizer_of_a_folder_is_that_of_desktops(pyodide_page: PyodidePage) -> None:
    words = "the bat<|im_end|>"
    found = await pyodide_page.call(tokenizers_in_page.read_and_go_on, words)
    tokens = numbers("th", "e", "Ġ", "b", "a", "t", "<|im_end|>")
    assert found.pop("empty") == [[], "", ""]
    assert found == {"tokens": tokens, "text": "the bat", "same": True, "answer": True}


async def test_what_is_not_a_tokenizer_is_refused(pyodide_page: PyodidePage) -> None:
    for text in ("{}", "[]", "no JSON"):
        error = await pyodide_page.call(tokenizers_in_page.catch_error, text)
        assert error.startswith("NNM718: tokenizer.json is not a tokenizer"), (text, error)


async def test_what_would_fill_the_memory_is_refused(pyodide_page: PyodidePage) -> None:
    twice = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    deep: Any = None
    for _ in range(20):
        deep = {"type": "Sequence", "normalizers": [deep] if deep else []}
    for normalizer, reason in (
        ({"type": "Sequence", "normalizers": [twice] * 28}, "up to 1,073,741,824 times as long"),
        ({"type": "Prepend", "prepend": "a" * 70_000}, "adds 280,001 characters or tokens"),
        (deep, "is not a tokenizer: it is nested too deeply"),
    ):
        text = json.dumps({**json.loads(TEXT), "normalizer": normalizer})
        error = await pyodide_page.call(tokenizers_in_page.catch_error, text)
        assert error.startswith("NNM718: tokenizer.json "), (reason, error)
        assert reason in error
