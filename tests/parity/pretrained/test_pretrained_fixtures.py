"""Models of Hugging Face give what `transformers` gave, as the committed fixtures have it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from doctest import DocTestParser
from functools import cache
from typing import Any

import numpy as np
import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.case import Case
from tests.parity.pretrained.families import CASES
from tests.parity.pretrained.fixtures import Arrays
from tests.parity.pretrained.outcome import LIMIT, difference, files, outputs
from tools.common import ROOT
from webnnm import PretrainedModel, WebNNMError
from webnnm.core.arrays import HostArray
from webnnm.snapshots.safetensors import chunks, read

recorded = cache(fixtures.read)


def test_fixtures_are_those_of_the_cases() -> None:
    assert list(recorded()) == [str(case) for case in CASES], "`make parity-fixtures` writes them"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_outputs_are_those_of_transformers(case: Case) -> None:
    fixture = recorded()[str(case)]
    assert difference(outputs(fixture, fixtures.SEED), fixture) <= LIMIT


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("gpt2-plain", "n_positions"),
        ("opt-plain", "max_position_embeddings"),
        ("bert-base", "rows"),
        ("roberta-base", "positions"),
    ],
)
def test_more_tokens_than_positions_are_refused(name: str, word: str) -> None:
    long = replace(recorded()[name], inputs={"input_ids": np.zeros((1, 20), np.int64)})
    with pytest.raises(WebNNMError, match="NNM711") as caught:
        outputs(long, fixtures.SEED)
    assert word in str(caught.value)


@pytest.mark.parametrize("name", ["bert-base", "distilbert-base"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_embeddings_are_pooled_from_what_the_encoder_gives(name: str, pooling: str) -> None:
    fixture = recorded()[name]
    found = outputs(fixture, fixtures.SEED, pooling=pooling)["sentence_embedding"]
    hidden, mask = fixture.outputs["last_hidden_state"], fixture.inputs["attention_mask"]
    means = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    wanted = means if pooling == "mean" else hidden[:, 0]
    wanted = wanted / np.linalg.norm(wanted, axis=-1, keepdims=True)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-6)


def _clip(call: Callable[[PretrainedModel, Arrays], Awaitable[Any]], **settings: Any) -> Any:
    fixture = recorded()["clip-plain"]
    given = files(fixture, fixtures.SEED)

    async def called() -> Any:
        model = await webnnm.from_pretrained(
            given, backend="numpy", log=lambda line: None, **settings
        )
        async with model:
            return await call(model, fixture.inputs)

    return asyncio.run(called()), fixture


def test_towers_of_clip_run_alone() -> None:
    async def alone(model: PretrainedModel, inputs: Arrays) -> Any:
        texts = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        one = await model.predict(pixel_values=inputs["pixel_values"])
        return await model.predict(**texts) | one

    found, fixture = _clip(alone)
    assert found.keys() == {"text_embeds", "image_embeds"}
    for name, array in found.items():
        np.testing.assert_allclose(array, fixture.outputs[name], rtol=1e-5, atol=1e-6)


def test_features_of_clip_have_the_direction_of_its_embeddings() -> None:
    async def features(model: PretrainedModel, inputs: Arrays) -> Any:
        return {
            "text_embeds": await model.get_text_features(input_ids=inputs["input_ids"]),
            "image_embeds": await model.get_image_features(pixel_values=inputs["pixel_values"]),
        }

    found, fixture = _clip(features)
    for name, array in found.items():
        assert array.shape == fixture.outputs[name].shape
        length = np.linalg.norm(array, axis=-1, keepdims=True)
        assert not np.allclose(length, 1)
        if name == "image_embeds":  # texts are padded there
            np.testing.assert_allclose(array / length, fixture.outputs[name], rtol=1e-5, atol=1e-6)


def test_a_tower_is_loaded_from_a_folder_of_both() -> None:
    async def states(model: PretrainedModel, inputs: Arrays) -> Any:
        with pytest.raises(WebNNMError, match="NNM710") as caught:
            await model.get_image_features(pixel_values=inputs["pixel_values"])
        assert 'no output "image_features"' in str(caught.value)
        return await model.predict(input_ids=inputs["input_ids"])

    found, fixture = _clip(states, architecture="CLIPTextModel")
    assert found.keys() == {"last_hidden_state", "pooler_output"}
    assert found["pooler_output"].shape == (len(fixture.inputs["input_ids"]), 18)


def test_features_of_the_other_tower_need_its_inputs() -> None:
    async def wrong(model: PretrainedModel, inputs: Arrays) -> Any:
        with pytest.raises(WebNNMError, match="NNM710") as caught:
            await model.get_image_features(input_ids=inputs["input_ids"])
        with pytest.raises(WebNNMError, match="NNM711"):
            await model.get_text_features(input_ids=inputs["input_ids"] + 9)
        return str(caught.value)

    found, _ = _clip(wrong)
    assert "pixel_values is needed" in found


def _rename(name: str, renamed: Callable[[str], str]) -> float:
    """Return how far outputs are where the names in the file are others."""
    fixture = recorded()[name]
    given = files(fixture, fixtures.SEED)
    (place,) = (each for each in given if each.endswith(".safetensors"))
    tensors = {renamed(each): tensor.array() for each, tensor in read(given[place]).tensors.items()}
    given[place] = b"".join(chunks(tensors, {}))

    async def called() -> Arrays:
        model = await webnnm.from_pretrained(given, backend="numpy", log=lambda line: None)
        async with model:
            return await model.predict(**fixture.inputs)

    return difference(asyncio.run(called()), fixture)


def test_names_of_older_files_are_known() -> None:
    assert _rename("clip-text", lambda name: f"text_model.{name}") <= LIMIT
    old = {"to_q": "query", "to_k": "key", "to_v": "value", "to_out.0": "proj_attn"}

    def older(name: str) -> str:
        for word, other in old.items():
            name = name.replace(f".{word}.", f".{other}.")
        return name

    assert _rename("vae-plain", older) <= LIMIT
    norms = {"original0": "weight_g", "original1": "weight_v"}

    def of_wave(name: str) -> str:
        stem, _, part = name.rpartition(".")
        return f"{stem.removesuffix('.parametrizations.weight')}.{norms.get(part, part)}"

    assert _rename("wav2vec2-letters", of_wave) <= LIMIT


def _compute(folder: dict[str, bytes], fixture: Any) -> float:
    """Return how far the outputs of files are from those of a fixture."""

    async def compute() -> Arrays:
        model = await webnnm.from_pretrained(folder, backend="numpy", log=lambda line: None)
        async with model:
            return await model.predict(**fixture.inputs)

    return difference(asyncio.run(compute()), fixture)


NOMIC_MODULES = {
    "emb_ln": "embeddings.LayerNorm",
    "encoder.layers": "layers",
    "attn.out_proj": "self_attn.o_proj",
    "fc11": "up_proj",
    "fc12": "gate_proj",
    "fc2": "down_proj",
    "norm1": "post_attention_layernorm",
    "norm2": "post_mlp_layernorm",
}


def test_modules_of_nomic_bert_have_separate_projections() -> None:
    fixture = recorded()["nomic-base"]
    folder = files(fixture, fixtures.SEED)
    tensors: Arrays = {}
    for name, stored in read(folder["model.safetensors"]).tensors.items():
        for published, module in NOMIC_MODULES.items():
            name = name.replace(published, module)
        array = stored.array()
        if "Wqkv" not in name:
            tensors[name] = array
            continue
        parts = np.split(np.asarray(array.tolist(), np.float32), 3)
        tensors |= {
            name.replace("attn.Wqkv", f"self_attn.{letter}_proj"): HostArray.of(part)
            for letter, part in zip("qkv", parts, strict=True)
        }
    folder["model.safetensors"] = b"".join(chunks(tensors, {}))
    assert _compute(folder, fixture) <= LIMIT


def test_the_first_config_of_nomic_bert_has_other_keys() -> None:
    fixture = recorded()["nomic-base"]
    older = {
        "model_type": "nomic_bert",
        "architectures": ["NomicBertModel"],
        "vocab_size": 31,
        "n_embd": 12,
        "n_head": 2,
        "n_inner": 11,
        "n_layer": 2,
        "n_positions": 8192,
        "activation_function": "swiglu",
        "layer_norm_epsilon": 1e-12,
        "rotary_emb_base": 1000,
        "rotary_emb_fraction": 1.0,
        "qkv_proj_bias": False,
        "use_flash_attn": True,
    }
    assert _compute(files(replace(fixture, config=older), fixtures.SEED), fixture) <= LIMIT
    with pytest.raises(WebNNMError, match="rotary_scaling_factor"):
        scaled = {**older, "rotary_scaling_factor": 2.0}
        _compute(files(replace(fixture, config=scaled), fixtures.SEED), fixture)


def test_one_time_is_that_of_all_rows() -> None:
    fixture = recorded()["unet-plain"]
    inputs = dict(fixture.inputs)
    inputs["timestep"] = inputs["timestep"][:1].repeat(2)
    alike = outputs(replace(fixture, inputs=inputs), fixtures.SEED)["sample"]
    inputs["timestep"] = int(inputs["timestep"][0])
    one = outputs(replace(fixture, inputs=inputs), fixtures.SEED)["sample"]
    np.testing.assert_array_equal(one, alike)


def test_the_loop_of_the_documents_makes_pictures_of_noise() -> None:
    text = (ROOT / "docs" / "transformers.md").read_text(encoding="utf-8")
    sources = [example.source for example in DocTestParser().get_examples(text)]
    (loop,) = (source for source in sources if "def painted" in source)
    space: dict[str, Any] = {}
    exec(loop, space)
    noise = np.random.default_rng(0).normal(size=(1, 4, 4, 4))

    async def paint() -> list[Any]:
        models = [
            await webnnm.from_pretrained(
                files(recorded()[name], fixtures.SEED), backend="numpy", log=lambda line: None
            )
            for name in ("clip-text", "unet-plain", "vae-plain")
        ]
        pictures = [
            await space["painted"](*models, [1, 2, 5], others, noise, 3, guidance)
            for guidance, others in ((1, [1, 3, 5]), (1, [1, 4, 5]), (2, [1, 4, 5]))
        ]
        for model in models:
            model.close()
        return pictures

    one, same, other = asyncio.run(paint())
    assert one.shape == (1, 3, 8, 8) and np.isfinite(one).all()
    np.testing.assert_allclose(one, same, rtol=1e-3, atol=1e-4)  # at 1 the other text is nothing
    assert not np.allclose(same, other, rtol=1e-2)
