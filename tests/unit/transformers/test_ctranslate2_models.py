"""Whisper in folders of CTranslate2: the weights of a folder of Hugging Face in all their types."""

from __future__ import annotations

import asyncio
import json
import struct
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.tiny_whisper import CONFIG, FOLDER_CONFIG, weights, whole
from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.formats import ctranslate2
from webnnm.snapshots import safetensors
from webnnm.transformers.ctranslate2_model import config_of_ctranslate2

INPUTS: dict[str, Any] = {
    "input_features": HostArray.of(
        [((7 * place) % 11 - 5) / 8 for place in range(6 * 16)], "float32", [1, 6, 16]
    ),
    "decoder_input_ids": [[3, 7, 1]],
}


def scores(folder: Path, **settings: Any) -> list[float]:
    async def compute() -> list[float]:
        quiet: dict[str, Any] = {"backend": "numpy", "log": lambda line: None, **settings}
        async with await webnnm.from_pretrained(folder, **quiet) as model:
            found = await model.predict(**INPUTS)
            return [*HostArray.of(next(iter(found.values()))).values()]

    return asyncio.run(compute())


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    folder = tmp_path_factory.mktemp("hugging_face")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    arrays = {name: HostArray.of(value) for name, value in weights().items()}
    file = b"".join(safetensors.chunks(arrays, {"format": "pt"}))
    (folder / "model.safetensors").write_bytes(file)
    return scores(folder)


def write(folder: Path, data: bytes) -> Path:
    (folder / "config.json").write_text(json.dumps(FOLDER_CONFIG))
    (folder / "model.bin").write_bytes(data)
    return folder


@pytest.mark.parametrize(
    ("code", "tolerance"), [("F32", 1e-6), ("F16", 1e-6), ("BF16", 1e-6), ("I8", 0.1)]
)
def test_scores_are_those_of_the_folder_of_hugging_face(
    code: str, tolerance: float, wanted: list[float], tmp_path: Path
) -> None:
    found = scores(write(tmp_path, whole(code)))
    assert found == pytest.approx(wanted, abs=tolerance)


def test_the_base_model_is_loaded_of_the_same_folder(tmp_path: Path) -> None:
    found = scores(write(tmp_path, whole("F32")), architecture="WhisperModel")
    assert len(found) == 3 * CONFIG["d_model"]


def test_the_config_follows_from_the_tensors() -> None:
    found = config_of_ctranslate2(ctranslate2.read(whole("F32")), FOLDER_CONFIG)
    assert {key: found[key] for key in CONFIG if key in found} == {
        key: value for key, value in CONFIG.items() if key in found
    }
    assert found["suppress_tokens"] == FOLDER_CONFIG["suppress_ids"]


def file_of(spec: str, **numbers: int) -> bytes:
    tensors = {
        f"decoder/{name}": ("I8", [], struct.pack("<b", value)) for name, value in numbers.items()
    }
    return b"".join(ctranslate2.chunks(spec, tensors))


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"\6\0", "NNM801", "the file ends within its version"),
        (file_of("TransformerSpec"), "NNM817", 'models of the kind "TransformerSpec"'),
        (file_of("WhisperSpec", activation=9), "NNM818", "the activation 9 is unknown"),
        (file_of("WhisperSpec", activation=3, alibi=1), "NNM818", "decoder/alibi is not"),
        (file_of("WhisperSpec", activation=3), "NNM818", "post-norm layers"),
        (
            file_of("WhisperSpec", activation=3, pre_norm=1),
            "NNM818",
            "no tensor decoder/embeddings/weight of 2 dimensions",
        ),
        (whole("F32", without="decoder/layer_1/ffn/linear_0/bias"), "NNM805", "decoder_up_b2"),
        (whole("F32", keys=1.0), "NNM818", "a bias for keys is not supported"),
    ],
)
def test_what_is_wrong_is_named(data: bytes, code: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=words) as caught:
        scores(write(tmp_path, data))
    assert caught.value.code == code


def test_a_folder_without_anything_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"config\.json") as caught:
        scores(tmp_path)
    assert caught.value.code == "NNM715"
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(DataError, match='there is no "model_type"'):
        scores(tmp_path)
