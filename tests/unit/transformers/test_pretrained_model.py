"""Models of Hugging Face from folders: files in all forms, calls, errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import CONFIG, bfloat16, pack, weights, write, write_shards
from webnnm import DataError, PretrainedModel
from webnnm.core.arrays import HostArray

IDS = [[3, 7, 30, 0], [1, 2, 5, 9]]


def load(folder: Path, **settings: Any) -> PretrainedModel:
    settings = {"backend": "numpy", "log": lambda line: None, **settings}  # type: ignore[reportUnknownLambdaType]
    return asyncio.run(webnnm.from_pretrained(folder, **settings))


def logits(model: PretrainedModel, **inputs: Any) -> list[Any]:
    found = asyncio.run(model.predict(**inputs))
    return HostArray.of(found["logits"]).tolist()


def catch_error(folder: Path, **settings: Any) -> str:
    with pytest.raises(DataError) as caught:
        load(folder, **settings)
    return str(caught.value)


def call_wrongly(model: PretrainedModel, **inputs: Any) -> str:
    with pytest.raises(DataError) as caught:
        asyncio.run(model.predict(**inputs))
    return str(caught.value)


def near(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return all(near(x, y) for x, y in zip(a, b, strict=True))  # type: ignore[reportUnknownVariableType]
    return abs(a - b) <= 1e-5


def test_a_model_tells_what_it_is(tmp_path: Path) -> None:
    with_lines: list[str] = []
    model = load(write(tmp_path), log=with_lines.append)
    assert "layer(repeat=2)" in model.source and model.config["hidden_size"] == 12
    assert model.state.parameters.count == 31 * 12 + 2 * (24 + 12 * (12 + 6 + 6 + 12 + 60)) + 12
    assert "parameters" in with_lines[0] and "NumPy" in model.report()
    assert model.memory() and model.state.trained
    model.close()


def test_inputs_are_arguments_or_a_dict_of_them(tmp_path: Path) -> None:
    model = load(write(tmp_path))
    found = asyncio.run(model.predict({"input_ids": IDS}))
    assert HostArray.of(found["logits"]).tolist() == logits(model, input_ids=IDS)
    model.close()


@pytest.mark.parametrize("name", ["create", "load"])
def test_a_text_or_a_snapshot_alone_makes_none(name: str) -> None:
    with pytest.raises(DataError, match="NNM703") as caught:
        asyncio.run(getattr(PretrainedModel, name)())
    assert "from_pretrained(folder)" in caught.value.hint


@pytest.mark.alike
def test_shards_and_halves_of_numbers_give_the_same(tmp_path: Path) -> None:
    names = ("whole", "shards", "bfloat16", "float16")
    folders = [tmp_path / name for name in names]
    for folder in folders:
        folder.mkdir()
    halves = {name: HostArray.of(array, "float16") for name, array in weights().items()}
    write(folders[0])
    write(folders[1], files=write_shards())
    write(folders[2], files={"model.safetensors": bfloat16(pack(weights()))})
    write(folders[3], files={"model.safetensors": pack(halves)})
    found = [logits(load(folder), input_ids=IDS) for folder in folders]
    assert all(each == found[0] for each in found)


def test_files_without_the_prefix_of_a_head_are_the_same(tmp_path: Path) -> None:
    bare = {name.removeprefix("model."): array for name, array in weights().items()}
    write(tmp_path, files={"model.safetensors": pack(bare)})
    assert logits(load(tmp_path), input_ids=IDS)


def test_the_class_can_be_chosen(tmp_path: Path) -> None:
    model = load(write(tmp_path), architecture="LlamaModel")
    assert model.outputs() == ["last_hidden_state"]


def test_padding_changes_nothing(tmp_path: Path) -> None:
    model = load(write(tmp_path))
    alone = logits(model, input_ids=[IDS[0]])[0]
    right = logits(model, input_ids=[[*IDS[0], 8, 8]], attention_mask=[[1, 1, 1, 1, 0, 0]])[0]
    left = logits(model, input_ids=[[8, *IDS[0]]], attention_mask=[[0, 1, 1, 1, 1]])[0]
    assert near(right[:4], alone) and near(left[1:], alone)


@pytest.mark.alike
def test_sizes_may_change_from_call_to_call(tmp_path: Path) -> None:
    model = load(write(tmp_path))
    first = logits(model, input_ids=IDS)
    for length in range(1, 7):
        assert len(logits(model, input_ids=[[5] * length])[0]) == length
    assert logits(model, input_ids=IDS) == first


@pytest.mark.alike
def test_tensors_do_not_grow_with_calls(tmp_path: Path) -> None:
    model = load(write(tmp_path))
    for length in range(1, 7):
        logits(model, input_ids=[[5] * length])
    before = model.memory()
    for length in range(1, 7):
        logits(model, input_ids=[[5] * length])
    assert model.memory() == before


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({}, "NNM710: input_ids is needed"),
        ({"inputs_ids": IDS}, 'did you mean "input_ids"?'),
        ({"input_ids": [1, 2, 3]}, "NNM702: input_ids is [batch, tokens], but [3] was given"),
        ({"input_ids": [[1, 31]]}, "NNM711: input_ids: 31 is not from 0 to 30"),
        ({"input_ids": [[-1, 3]]}, "NNM711: input_ids: -1 is not from 0 to 30"),
        ({"input_ids": IDS, "attention_mask": [[1, 1]]}, "NNM702: attention_mask is [1, 2]"),
    ],
)
def test_wrong_calls_are_refused(inputs: Any, words: str, tmp_path: Path) -> None:
    assert words in call_wrongly(load(write(tmp_path)), **inputs)


def without(name: str) -> dict[str, HostArray]:
    return {each: array for each, array in weights().items() if each != name}


Q = "model.layers.1.self_attn.q_proj.weight"


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        (without(Q), ["NNM805", "wq2 (layers.1.self_attn.q_proj.weight in the file) missing"]),
        ({**weights(), Q: HostArray.of([0.0] * 72, "float32", (6, 12))}, ["NNM806", "wq2"]),
        ({**weights(), "more": HostArray.of([0.0])}, ["NNM805", "more not in the model"]),
    ],
)
def test_weights_that_are_not_those_of_the_config(
    tensors: Mapping[str, HostArray], words: list[str], tmp_path: Path
) -> None:
    message = catch_error(write(tmp_path, files={"model.safetensors": pack(tensors)}))
    assert all(word in message for word in words), message


def test_untied_models_need_their_last_product(tmp_path: Path) -> None:
    message = catch_error(write(tmp_path, {**CONFIG, "tie_word_embeddings": False}))
    assert "NNM805" in message and "lm_head.weight" in message


def test_missing_files_are_named(tmp_path: Path) -> None:
    assert "config.json" in catch_error(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    message = catch_error(tmp_path)
    assert message.startswith("NNM715") and "model.safetensors.index.json is not there" in message


def test_missing_shards_are_named(tmp_path: Path) -> None:
    write(tmp_path, files=write_shards())
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    message = catch_error(tmp_path)
    assert "NNM715: shard 2 of 2, model-00002-of-00002.safetensors" in message


def test_shards_that_lack_a_tensor_are_named(tmp_path: Path) -> None:
    files = write_shards()
    files["model-00002-of-00002.safetensors"] = pack({"x": HostArray.of([0.0])})
    message = catch_error(write(tmp_path, files=files))
    assert "NNM805" in message and "is in model-00002-of-00002.safetensors, which lacks" in message


@pytest.mark.parametrize("index", ["[]", "{}", '{"weight_map": {"a": 5}}', "{"])
def test_indices_that_are_none_are_refused(index: str, tmp_path: Path) -> None:
    files = {**write_shards(), "model.safetensors.index.json": index.encode()}
    assert "NNM802: model.safetensors.index.json" in catch_error(write(tmp_path, files=files))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    cut = pack(weights())[:-5]
    assert "NNM801" in catch_error(write(tmp_path, files={"model.safetensors": cut}))
    assert "NNM818" in catch_error(_with_config(tmp_path, "{"))
    assert "NNM818" in catch_error(_with_config(tmp_path, "[1]"))


def _with_config(folder: Path, text: str) -> Path:
    (folder / "config.json").write_text(text)
    return folder
