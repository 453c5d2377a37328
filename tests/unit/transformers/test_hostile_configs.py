"""Configs of strangers: any value of any key is used, or an error of ours that names it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import CONFIG, pack, weights, write, write_shards
from webnnm import DataError, WebNNMError, parse
from webnnm.core.arrays import HostArray
from webnnm.notation.formatter import format_document
from webnnm.transformers.architectures import ARCHITECTURES, DIFFUSERS, model_text, write_model
from webnnm.transformers.config import TYPES, Config

ODD: tuple[Any, ...] = (
    1,
    0,
    -1,
    1.5,
    -0.0,
    1e-300,
    1e300,
    2**31,
    2**40,
    10**9,
    10**400,
    True,
    False,
    "",
    "text",
    "../..",
    [],
    [1],
    [None],
    ["text"],
    [[]],
    [1.5, "x", {}],
    [2**40] * 3,
    {},
    {"a": 1},
    {"rope_type": 5},
    {"rope_type": "yarn", "factor": 1, "original_max_position_embeddings": 1},
    {"rope_type": "linear", "factor": 1e-300},
    {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4},
    {"rope_type": "longrope", "short_factor": [1e-300] * 3, "factor": "x"},
    {"rope_type": "yarn", "factor": 2, "mscale": "x", "mscale_all_dim": []},
    {"rope_type": "yarn", "factor": 2, "rope_theta": 1},
)
SMALL: dict[str, Mapping[str, Any]] = {
    "clip": {"text_config": {}, "vision_config": {}},
    **{
        key: {"d_model": 16, "max_position_embeddings": 8}
        for key in ("m2m_100", "marian", "pegasus")
    },
    "bloom": {"hidden_size": 8, "n_head": 2},
    "vision-encoder-decoder": {
        "encoder": {"model_type": "vit", "image_size": 32},
        "decoder": {"model_type": "trocr", "is_decoder": True},
    },
    "beit": {"image_size": 32, "use_relative_position_bias": True},
    "depth_anything": {
        "backbone_config": {"model_type": "dinov2", "image_size": 28, "out_indices": [3, 6, 9, 12]}
    },
    "detr": {"d_model": 8, "image_size": 64},
    "maskformer": {
        "image_size": 64,
        "backbone_config": {"depths": [1, 1], "num_heads": [1, 2], "embed_dim": 4},
        "decoder_config": {"d_model": 8},
    },
    **{
        key: {"d_model": 8, "encoder_hidden_dim": 8, "image_size": 32}
        for key in ("rt_detr", "rt_detr_v2")
    },
    **{
        key: {
            "text_config": CONFIG,
            "vision_config": {"hidden_size": 8, "num_attention_heads": 2, "image_size": 64},
        }
        for key in ("idefics3", "smolvlm")
    },
    "swin": {"image_size": 32, "depths": [2, 1], "num_heads": [1, 2], "window_size": 3},
    "timm_wrapper": {"architecture": "mobilenetv3_small_050", "pretrained_cfg": {}},
    "sam": {"vision_config": {}, "prompt_encoder_config": {}, "mask_decoder_config": {}},
    **{
        kind: {k: v for k, v in CONFIG.items() if k not in ("model_type", "architectures")}
        for kind, module in ARCHITECTURES.items()
        if module in ("llama", "phi")
    },
}
SMALL["stablelm"] = {**SMALL["stablelm"], "head_dim": 8}
EXPERTS = {
    **{key: {"num_experts": 8} for key in ("mixtral", "granitemoe", "olmoe")},
    "qwen2_moe": {"moe_intermediate_size": 8, "shared_expert_intermediate_size": 8},
    "qwen3_moe": {"moe_intermediate_size": 8},
}
SMALL |= {kind: {**SMALL[kind], "num_experts": 8, **more} for kind, more in EXPERTS.items()}
SIZES = {
    **{k: v for k, v in CONFIG.items() if k not in ("model_type", "architectures")},
    "num_key_value_heads": 2,
    "q_lora_rank": 4,
    "kv_lora_rank": 4,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 4,
    "v_head_dim": 4,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 8,
}
SMALL |= {"deepseek_v2": SIZES, "deepseek_v3": {**SIZES, "n_group": 2, "topk_group": 1}}
SMALL["phi"] = {**SMALL["phi"], "num_attention_heads": 3, "tie_word_embeddings": False}
KINDS = [*ARCHITECTURES, *DIFFUSERS]
SHARED = 3
"""From this many kinds on that read a key in the same module, each tries a part of the values."""
Keys = tuple[str, ...]
"""A key, after those of the parts that it is in."""


def config_of(kind: str) -> dict[str, Any]:
    """Return a small config of an architecture."""
    key = "model_type" if kind in ARCHITECTURES else "_class_name"
    return {key: kind, **SMALL.get(kind, {})}


@cache
def keys_of(kind: str) -> frozenset[Keys]:
    """Return the keys that an architecture reads, with those of its parts."""
    found: set[Keys] = set()
    get = Config.get

    def record(self: Config, key: str, default: Any = None) -> Any:
        found.add((*self._path.split(".")[:-1], key))
        return get(self, key, default)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Config, "get", record)
        write_model(config_of(kind))
    return frozenset(found | {(key,) for key in TYPES})


@cache
def format_text(text: str) -> str:
    """Return the canonical form of a text; most values lead to one of a few."""
    return format_document(parse(text))


def list_values(kind: str, path: Keys) -> Sequence[Any]:
    """Return the values to try: those that kinds of the same module share are distributed."""
    module = ARCHITECTURES.get(kind)
    kinds = [other for other in ARCHITECTURES if ARCHITECTURES[other] == module]
    readers = [other for other in kinds if path in keys_of(other)]
    if kind not in readers or len(readers) < SHARED:
        return ODD
    return ODD[readers.index(kind) % SHARED :: SHARED]


def replace_item(config: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    if not rest:
        return {**config, first: value}
    return {**config, first: replace_item(config.get(first, {}), tuple(rest), value)}


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_any_type_are_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_text, "parse", lambda text: text)
    monkeypatch.setattr(model_text, "format_document", format_text)
    refused = tried = 0
    for path in sorted(keys_of(kind)):
        for value in list_values(kind, path):
            tried += 1
            try:
                write_model(replace_item(config_of(kind), path, value))
            except WebNNMError as error:
                assert len(str(error)) < 1500
                refused += 1
    assert refused > tried / 4


async def load(folder: Path) -> str:
    try:
        model = await webnnm.from_pretrained(folder, backend="numpy", log=lambda _: None)
    except WebNNMError as error:
        return error.code
    try:
        await model.predict(input_ids=[[1, 2, 0]])
        await model.generate_ids([1, 2], max_new_tokens=2)
    except WebNNMError as error:
        return f"loaded, {error.code}"
    finally:
        model.close()
    return "loaded"


@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
@pytest.mark.parametrize(
    "key", ["architectures", "eos_token_id", "bad_words_ids", "suppress_tokens", "vocab_size"]
)
async def test_values_of_any_type_are_named_when_a_model_is_used(
    tmp_path: Path, file: str, key: str
) -> None:
    write(tmp_path)
    told = dict(CONFIG) if file == "config.json" else {}
    for value in ODD:
        (tmp_path / file).write_text(json.dumps({**told, key: value}))
        await load(tmp_path)


async def test_values_are_named_with_their_file_and_part(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"text_config": {"vocab_size": "x"}}')
    message = r'NNM818: generation_config.json: "text_config.vocab_size" is "x"'
    with pytest.raises(DataError, match=message):
        await webnnm.from_pretrained(tmp_path, backend="numpy", log=lambda _: None)


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"head_dim": 2**40}, "head_dim"),
        ({"hidden_size": 2**40}, "hidden_size"),
        ({"hidden_size": 32}, "hidden_size"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"num_hidden_layers": 21}, "num_hidden_layers"),
        ({"num_attention_heads": 64}, "num_attention_heads"),
        ({"num_key_value_heads": 64}, "num_key_value_heads"),
        ({"vocab_size": 32}, "vocab_size"),
        ({"intermediate_size": 2**20}, "intermediate_size"),
    ],
)
async def test_sizes_are_bounded_by_the_weights(
    tmp_path: Path, more: dict[str, Any], key: str
) -> None:
    """The largest size of a tensor is 31, and there are 20 tensors."""
    for files in ({"model.safetensors": pack(weights())}, write_shards()):
        write(tmp_path, {**CONFIG, **more}, files)
        with pytest.raises(DataError, match=f'NNM818: config.json: "{key}" is') as caught:
            await webnnm.from_pretrained(tmp_path, backend="numpy", log=lambda _: None)
        assert " at most " in caught.value.hint or " to " in caught.value.hint


async def test_tensors_without_numbers_allow_no_sizes(tmp_path: Path) -> None:
    empty = {"x": HostArray("float32", (0, 2**20), b"")}
    write(
        tmp_path,
        {**CONFIG, "intermediate_size": 2**20},
        {"model.safetensors": pack({**weights(), **empty})},
    )
    with pytest.raises(
        DataError, match=r'NNM818: config.json: "intermediate_size" is 1048576'
    ) as caught:
        await webnnm.from_pretrained(tmp_path, backend="numpy", log=lambda _: None)
    assert "at most 31" in caught.value.hint


@pytest.mark.parametrize(
    "kind", ["m2m_100", "marian", "whisper", "sam", "vit", "clip_vision_model"]
)
def test_computed_tables_are_bounded(kind: str) -> None:
    """Tables of positions are computed from sizes that no tensor has."""
    for key in ("max_position_embeddings", "max_source_positions", "d_model", "image_size"):
        config = replace_item(config_of(kind), (key,), 16_000)
        vision = replace_item(config_of(kind), ("vision_config", key), 16_000)
        for each in (config, {**config, "patch_size": 1}, vision):
            try:
                found = write_model(each)
            except DataError as error:
                assert error.code in ("NNM818", "NNM817")
            else:
                assert sum(len(array.data) for array in found.constants.values()) <= 1 << 24
