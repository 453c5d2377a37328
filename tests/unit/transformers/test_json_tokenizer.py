"""Tokenizers of `tokenizer.json`, by the package of Hugging Face for Python."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import CONFIG, write
from tests.unit.transformers.tokenizer_json import TEMPLATE, TEXT, numbers
from webnnm import BackendError, DataError
from webnnm.transformers.json_tokenizer import json_tokenizer

pytestmark = pytest.mark.desktop


async def test_texts_become_tokens_and_come_back() -> None:
    pytest.importorskip("tokenizers")
    tokenizer = await json_tokenizer(TEXT, [2])
    tokens = tokenizer.encode("the bat<|im_end|>")
    assert tokens == numbers("th", "e", "Ġ", "b", "a", "t", "<|im_end|>")
    assert tokenizer.decode(tokens) == "the bat"
    assert tokenizer.ends == {2}
    assert [tokenizer.encode(""), tokenizer.decode([]), tokenizer.decode([999])] == [[], "", ""]


@pytest.mark.parametrize("text", ["", "{}", "[]", TEXT[:-9], '{"model": {"type": "BPE"}}'])
async def test_what_is_not_a_tokenizer_is_refused(text: str) -> None:
    pytest.importorskip("tokenizers")
    with pytest.raises(DataError, match=r"NNM718: tokenizer\.json is not a tokenizer"):
        await json_tokenizer(text)


async def test_a_file_on_which_the_package_panics_is_refused() -> None:
    """Its processor names a token that it does not describe."""
    pytest.importorskip("tokenizers")
    special = {"id": "<s>", "ids": [0], "tokens": ["<s>"]}
    text = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    content = json.loads(TEXT) | {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": text,
            "pair": [*text, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": special},
        }
    }
    assert (await json_tokenizer(json.dumps(content))).encode("a")[0] == 0
    content["post_processor"]["special_tokens"] = {}
    with pytest.raises(DataError, match="NNM718"):
        (await json_tokenizer(json.dumps(content))).encode("a")


async def test_the_package_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def missing(name: str, *words: Any) -> Any:
        if name == "tokenizers":
            raise ImportError(name)
        return real(name, *words)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(BackendError, match="NNM709") as caught:
        await json_tokenizer(TEXT)
    assert "webnnm[transformers]" in caught.value.hint


async def test_a_model_has_other_uses_than_texts(tmp_path: Path) -> None:
    folder = write(tmp_path)
    for text in ("", "{}"):
        if text:
            (folder / "tokenizer.json").write_text(text)
        model = await webnnm.from_pretrained(folder, backend="numpy", log=lambda _: None)
        with pytest.raises(DataError, match="NNM718"):
            model.tokenizer.encode("the bat")
        assert len(await model.generate_ids([1, 2], max_new_tokens=2)) == 4
        model.close()


async def test_a_folder_has_its_tokenizer_and_its_chat_template(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    folder = write(tmp_path, {**CONFIG, "vocab_size": 31, "eos_token_id": 2})
    (folder / "tokenizer.json").write_text(TEXT)
    (folder / "tokenizer_config.json").write_text(TEMPLATE)
    model = await webnnm.from_pretrained(folder, backend="numpy", log=lambda _: None)
    whole = await model.generate("the bat", max_new_tokens=5)
    pieces = [piece async for piece in model.generate("the bat", max_new_tokens=5)]
    assert "".join(pieces) == whole
    tokens = await model.generate_ids(model.tokenizer.encode("the bat"), max_new_tokens=5)
    end = tokens.index(2) if 2 in tokens else len(tokens)
    assert model.tokenizer.decode(tokens[6:end]) == whole
    answer = await model.generate([{"role": "user", "content": "the bat"}], max_new_tokens=3)
    assert isinstance(answer, str)
    model.close()
