"""Adapters of a model of Hugging Face: added, trained alone, kept, merged, taken away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import write
from webnnm import DataError, PretrainedModel
from webnnm.core.arrays import HostArray
from webnnm.formats.peft import CONFIG, WEIGHTS

IDS = [[3, 7, 30, 0], [1, 2, 5, 9]]
TEXTS = [[1, 2, 3, 4, 5, 6], [7, 8, 9], [2, 4, 6, 8], [1, 3, 5, 7, 9, 11, 13]]
pytestmark = pytest.mark.desktop  # in pages: tests/browser/test_adapters.py
QUIET: dict[str, Any] = {"optimizer": "adamw", "progress": "off"}


async def load(folder: Path, **more: Any) -> PretrainedModel:
    """Return a tiny Llama on NumPy."""
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda line: None, **more}  # type: ignore[reportUnknownLambdaType]
    return await webnnm.from_pretrained(write(folder), **settings)


async def logits(model: PretrainedModel) -> list[Any]:
    return HostArray.of((await model.predict(input_ids=IDS))["logits"]).tolist()


def apart(one: Any, other: Any) -> float:
    if isinstance(one, list):
        pairs = zip(one, other, strict=True)  # type: ignore[reportUnknownVariableType]
        return max(apart(a, b) for a, b in pairs)
    return abs(one - other)


def bits(model: PretrainedModel) -> dict[str, bytes]:
    return {name: bytes(array.data) for name, array in model.state.parameters.values().items()}


async def on_device(model: PretrainedModel) -> dict[str, bytes]:
    tensors = model.state.parameters.tensors
    arrays = await model.backend.read(*tensors.values())
    return {name: bytes(array.data) for name, array in zip(tensors, arrays, strict=True)}


async def test_an_adapter_changes_nothing_before_it_is_trained(tmp_path: Path) -> None:
    model = await load(tmp_path)
    before, text, tensors = await logits(model), model.source, dict(model.state.parameters.tensors)
    names = await model.add_lora(rank=3)
    assert names == [f"w{word}{layer}" for layer in (1, 2) for word in "qkvo"]
    assert "lora(weight=wq, a=wq_lora_a, b=wq_lora_b, size=12" in model.source
    assert await logits(model) == before
    assert all(model.state.parameters.tensors[name] is each for name, each in tensors.items())
    drawn = [p for p in model.params() if "_lora_a" in p.name]
    assert len(drawn) == 8 and all(HostArray.of(p.value).values()[0] for p in drawn)
    await model.remove_lora()
    assert model.source == text and await logits(model) == before
    assert dict(model.state.parameters.tensors) == tensors


async def test_only_the_adapter_is_trained(tmp_path: Path) -> None:
    model = await load(tmp_path)
    before = await on_device(model)
    await model.add_lora(rank=2)
    seen: list[dict[str, int]] = []
    history = await model.train_on(
        TEXTS, held_back=0.25, epochs=4, batch_size=2, on_epoch=lambda r: seen.append(kinds(model)),
        **QUIET,
    )  # fmt: skip
    assert history.epochs[-1].loss < history.epochs[0].loss
    assert history.epochs[-1].val_loss is not None
    after = await on_device(model)
    assert {name: after[name] for name in before} == before == {n: bits(model)[n] for n in before}
    assert all(any(after[name]) for name in after.keys() - before)
    adapter = sum(len(after[name]) for name in after.keys() - before)
    # Parameters and two moments, in two buffers and a copy, and the best parameters.
    assert 8 * adapter < seen[0]["training state"] < 13 * adapter
    assert all(each == seen[0] for each in seen)


def kinds(model: PretrainedModel) -> dict[str, int]:
    return dict(model.memory().kinds)


async def test_a_saved_adapter_is_loaded_and_merged(tmp_path: Path) -> None:
    model = await load(tmp_path)
    plain, text = await logits(model), model.source
    await model.add_lora(["wq*", "up*"], rank=2, alpha=3, dropout=0.1)
    await model.train_on(TEXTS, epochs=3, **QUIET)
    trained = await logits(model)
    assert apart(trained, plain) > 1e-3
    told = await model.generate_ids(IDS, max_new_tokens=5)
    data, folder = await model.save_lora(), await model.save_lora(tmp_path / "adapter")
    config = json.loads((tmp_path / "adapter" / CONFIG).read_text())
    assert config["target_modules"] == ["q_proj", "up_proj"] and config["r"] == 2
    assert (tmp_path / "adapter" / WEIGHTS).read_bytes() == data
    await model.remove_lora()
    for source in (data, folder, tmp_path / "adapter" / WEIGHTS):
        assert await model.load_lora(source) == ["wq1", "up1", "wq2", "up2"]
        assert await logits(model) == trained
        assert await model.generate_ids(IDS, max_new_tokens=5) == told
        await model.remove_lora()
    assert await logits(model) == plain
    await model.load_lora(data)
    assert await model.merge_lora() == ["wq1", "up1", "wq2", "up2"]
    assert model.source == text
    assert apart(await logits(model), trained) < 1e-4
    assert await on_device(model) == bits(model)
    await model.train_on(TEXTS, epochs=1, **QUIET)  # everything learns again


async def test_what_cannot_be_done_is_named(tmp_path: Path) -> None:
    model = await load(tmp_path)
    before = bits(model)
    for call in (model.merge_lora, model.remove_lora, model.save_lora):
        with pytest.raises(DataError, match="NNM710: the model has no adapter"):
            await call()
    await model.add_lora()
    data = await model.save_lora()
    with pytest.raises(DataError, match='NNM704: the model has a block "lora"'):
        await model.load_lora(data)
    await model.remove_lora()
    with pytest.raises(DataError, match="NNM715"):
        await model.load_lora(tmp_path / "nowhere")
    with pytest.raises(DataError, match="NNM801"):
        await model.load_lora(data[:-5])
    for old, new, message in (
        (b"q_proj", b"x_proj", 'NNM805: the model has no layer "model.layers.0.self_attn.x_proj"'),
        (b"layers.0", b"layers.7", 'NNM805: the model has no layer "model.layers.7'),
    ):
        with pytest.raises(DataError, match=message):
            await model.load_lora(data.replace(old, new))
    assert bits(model) == before


async def test_targets_count_and_padding_does_not(tmp_path: Path) -> None:
    model = await load(tmp_path)
    data = model.texts([[1, 2, 3, 4], ([5, 6], [7, 8]), [9, 10]], held_back=0)
    inputs, outputs = data.arrays("training")
    assert inputs["input_ids"].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 0, 0]]
    assert inputs["attention_mask"].tolist() == [[1] * 4, [1] * 4, [1, 1, 0, 0]]
    assert outputs["logits"].tolist() == [[2, 3, 4, -1], [-1, 7, 8, -1], [10, -1, -1, -1]]
    cut = model.texts([[1, 2, 3, 4]], length=3).arrays("training")
    assert cut[0]["input_ids"].tolist() == [[1, 2, 3]] and cut[1]["logits"].tolist() == [[2, 3, -1]]


async def test_texts_that_teach_nothing_are_refused(tmp_path: Path) -> None:
    model = await load(tmp_path)
    with pytest.raises(DataError, match="NNM711: text 1 has 1 tokens"):
        model.texts([[1, 2], [3]])
    with pytest.raises(DataError, match="NNM711: text 0 has 5 tokens, 3 of them in the prompt"):
        model.texts([([1, 2, 3], [4, 5])], length=3)
    with pytest.raises(DataError, match="NNM704: length is 1"):
        model.texts([[1, 2]], length=1)
    with pytest.raises(DataError, match="NNM705"):
        model.texts([])


async def test_other_models_do_not_learn_from_texts(tmp_path: Path) -> None:
    model = await load(tmp_path, architecture="LlamaModel")
    with pytest.raises(
        DataError, match="NNM717: the model computes last_hidden_state from input_ids"
    ):
        model.texts([[1, 2]])
