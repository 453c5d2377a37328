"""Pipelines that write: generation, texts from texts, transcripts."""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.tasks.words import QUIET
from tests.unit.transformers import folders, test_pairs, tiny_whisper
from tests.unit.transformers.tokenizer_json import TEMPLATE, TEXT, WORDS, tokenizer
from webnnm import DataError

pytestmark = pytest.mark.desktop
pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")

MESSAGES = [{"role": "user", "content": "the bat"}]


def write_llama(folder: Path) -> Path:
    (folder / "tokenizer.json").write_text(TEXT)
    (folder / "tokenizer_config.json").write_text(TEMPLATE)
    return folders.write(folder)


async def test_texts_are_continued(tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    async with await webnnm.pipeline("text-generation", folder, **QUIET) as generate:
        more = await generate.model.generate("the", max_new_tokens=5)
        assert await generate("the", max_new_tokens=5) == [{"generated_text": "the" + more}]
        assert await generate("the", max_new_tokens=5, return_full_text=False) == [
            {"generated_text": more}
        ]
        several = await generate(["the", "bat"], max_new_tokens=5)
        assert several[0] == [{"generated_text": "the" + more}] and len(several) == 2
        drawn = {"max_new_tokens": 5, "temperature": 5.0, "seed": 3}
        assert await generate("the", do_sample=False, **drawn) == [{"generated_text": "the" + more}]
        assert await generate("the", do_sample=True, **drawn) == [
            {"generated_text": "the" + await generate.model.generate("the", **drawn)}
        ]


async def test_conversations_are_answered(tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    async with await webnnm.pipeline("text-generation", folder, **QUIET) as generate:
        answer = await generate.model.generate(MESSAGES, max_new_tokens=4)
        (found,) = await generate(MESSAGES, max_new_tokens=4)
        assert found["generated_text"] == [*MESSAGES, {"role": "assistant", "content": answer}]
        both = await generate([MESSAGES, MESSAGES], max_new_tokens=4, return_full_text=False)
        assert both == [[{"generated_text": answer}]] * 2


@pytest.mark.parametrize(
    ("task", "key"),
    [
        ("text2text-generation", "generated_text"),
        ("summarization", "summary_text"),
        ("translation", "translation_text"),
    ],
)
async def test_texts_are_written_for_texts(task: str, key: str, tmp_path: Path) -> None:
    words = tokenizer(WORDS[:13], [0, 1, 2])
    own = {"prefix": "a", "num_beams": 2, "max_length": 6}
    config = test_pairs.CONFIG | {"task_specific_params": {"summarization": own}}
    model = await test_pairs.load(tmp_path, config)
    model.close()
    (tmp_path / "tokenizer.json").write_text(words)
    async with await webnnm.pipeline(task, tmp_path, **QUIET) as write:
        settings: dict[str, Any] = {"max_new_tokens": 5}
        prefix = ""
        if task == "summarization":
            settings, prefix = {"max_new_tokens": 5, "num_beams": 2}, "a"
            assert await write("bc") == await write("bc", **settings)
        texts = [await write.model.generate(prefix + text, **settings) for text in ("bc", "d")]
        assert await write(["bc", "d"], **settings) == [{key: text} for text in texts]
        assert await write("bc", **settings) == [{key: texts[0]}]


async def test_speech_is_written_down() -> None:
    files = tiny_whisper.files()
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}
    samples = [0.1 * (-1) ** (k // 20) for k in range(16000)]
    async with await webnnm.pipeline("automatic-speech-recognition", files, **settings) as listen:
        expected = await listen.model.transcribe(samples, rate=16000)
        assert await listen(samples, rate=16000) == {"text": expected.text}
        assert await listen({"raw": samples, "sampling_rate": 16000}) == {"text": expected.text}
        sound = {"array": array("f", samples), "sampling_rate": 16000, "path": None}
        assert await listen([sound, samples]) == [{"text": expected.text}] * 2
        assert await listen(array("f", samples)) == {"text": expected.text}
        found = await listen(samples, rate=16000, return_timestamps=True)
        assert found["chunks"] == [
            {"timestamp": (one.start, one.end), "text": one.text} for one in expected.segments
        ]
        assert json.dumps(found)
        with pytest.raises(DataError, match="NNM704: return_timestamps is 'word'"):
            await listen(samples, rate=16000, return_timestamps="word")
        with pytest.raises(DataError, match="NNM704: chunk_length_s: Whisper has no such settings"):
            await listen(samples, rate=16000, chunk_length_s=30)
    with pytest.raises(DataError, match="NNM718: the folder has no tokenizer"):
        del files["tokenizer.json"]
        await webnnm.pipeline("automatic-speech-recognition", files, **settings)
