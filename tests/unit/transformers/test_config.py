"""What a config.json may say, and how its errors name the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from webnnm import DataError, parse
from webnnm.transformers.architectures import write_model
from webnnm.transformers.config import read_config

LLAMA: Mapping[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 31,
    "hidden_size": 12,
    "intermediate_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
GPT2: Mapping[str, Any] = {"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1}


def catch_error(config: Mapping[str, Any]) -> str:
    with pytest.raises(DataError) as caught:
        write_model(config)
    return str(caught.value)


def test_text_is_in_canonical_form() -> None:
    found = write_model(LLAMA)
    assert parse(found.source).source == found.source
    assert "heads=4" in found.source and "kvHeads=2" in found.source


def test_unknown_types_list_those_that_are_known() -> None:
    message = catch_error({"model_type": "lama"})
    assert message.startswith('NNM817: config.json: model_type "lama" is unknown; known: ')
    assert 'did you mean "llama"?' in message
    assert 'NNM817: config.json: there is no "model_type"' in catch_error({})


def test_unknown_classes_list_those_that_are_known() -> None:
    message = catch_error({**LLAMA, "architectures": ["LlamaForQuestionAnswering"]})
    assert "NNM817" in message and "…ForCausalLM, …Model" in message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rope_scaling", {"rope_type": "proportional", "factor": 8.0}),
        ("rope_parameters", {"rope_type": "proportional", "rope_theta": 1e4}),
        ("rope_parameters", {"rope_type": "default", "partial_rotary_factor": 0.5}),
        ("hidden_act", "xielu"),
        ("sliding_window_pattern", 3),
        ("num_local_experts", 8),
        ("quantization_config", {"bits": 4}),
    ],
)
def test_what_no_text_has_is_refused_by_its_key(key: str, value: Any) -> None:
    message = catch_error({**LLAMA, key: value})
    words = [key, *(value if isinstance(value, dict) else ())]
    assert message.startswith("NNM818: config.json: ")
    assert any(f'"{word}" is ' in message for word in words), message


def test_layers_of_several_kinds_call_a_block_of_their_own() -> None:
    full, window = "full_attention", "sliding_attention"
    given = {**LLAMA, "sliding_window": 4, "use_sliding_window": True, "num_hidden_layers": 3}
    source = write_model({**given, "layer_types": [full, window, window]}).source
    assert "layer(repeat=1, attention=full),\n  layer(repeat=2, attention=windowed)" in source
    assert write_model({**given, "max_window_layers": 1}).source == source
    assert "full" not in write_model({**given, "max_window_layers": 0}).source
    for kinds in ([full, window], [full, window, "chunked_attention"]):
        assert '"layer_types" is ' in catch_error({**given, "layer_types": kinds})


@pytest.mark.parametrize(
    ("scaling", "words"),
    [
        ({"rope_type": "linear"}, 'has no "factor"'),
        ({"type": "llama3", "factor": 8.0}, 'has no "low_freq_factor"'),
        ({"rope_type": "yarn"}, 'has no "factor"'),
        ({"rope_type": "dynamic"}, 'has no "factor"'),
        ({"rope_type": "longrope", "short_factor": [1.0]}, '"short_factor" is [1.0]'),
        ({"rope_type": "linear", "factor": 2.0, "odd": 1}, '"odd" is 1'),
    ],
)
def test_scaled_angles_need_their_numbers(scaling: dict[str, Any], words: str) -> None:
    message = catch_error({**LLAMA, "rope_scaling": scaling})
    assert message.startswith("NNM818: ") and words in message


@pytest.mark.parametrize(
    ("key", "value"),
    [("hidden_size", None), ("hidden_size", 0), ("hidden_size", "12"), ("rms_norm_eps", -1)],
)
def test_values_that_make_no_sense_are_refused(key: str, value: Any) -> None:
    message = catch_error({**LLAMA, key: value})
    assert message.startswith("NNM818") and f'"{key}"' in message


@pytest.mark.parametrize("key", ["scale_attn_by_inverse_layer_idx", "add_cross_attention"])
def test_variants_of_gpt2_are_refused(key: str) -> None:
    assert f'"{key}" is true, which is not supported' in catch_error({**GPT2, key: True})


def test_norms_of_opt_have_weights() -> None:
    message = catch_error({"model_type": "opt", "layer_norm_elementwise_affine": False})
    assert '"layer_norm_elementwise_affine" is false, which is not supported' in message


def test_keys_can_be_ignored() -> None:
    assert write_model({**LLAMA, "my_notes": "kept"}, ignore=["my_notes"]).source
    assert 'ignore=["my_notes"]' in catch_error({**LLAMA, "my_notes": "kept"})


def test_empty_keys_and_those_of_training_are_passed_over() -> None:
    more = {"quantization_config": None, "hidden_dropout": 0.1, "bos_token_id": 1}
    assert write_model({**LLAMA, **more}) == write_model(LLAMA)


PRIVATE: Mapping[str, Any] = {
    "_name_or_path": "org/model",
    "_commit_hash": "0c3ae8",
    "_num_labels": 3,
    "_from_auto": True,
    "_from_model_config": True,
    "_attn_implementation": "sdpa",
    "_attn_implementation_autoset": True,
    "_attn_implementation_internal": "eager",
    "_flash_attn_2_enabled": True,
    "_diffusers_version": "0.30.0",
}
"""Private keys that libraries write for themselves."""


@pytest.mark.parametrize("key", PRIVATE)
def test_private_keys_of_libraries_are_passed_over(key: str) -> None:
    assert write_model({**LLAMA, key: PRIVATE[key]}) == write_model(LLAMA)


@pytest.mark.parametrize("key", ["_remove_final_layer_norm", "_sliding_window_pattern", "_new"])
def test_other_private_keys_are_refused_by_name(key: str) -> None:
    assert f'"{key}" is 2, which is not supported' in catch_error({**LLAMA, key: 2})
    assert write_model({**LLAMA, key: None}) == write_model(LLAMA)


REAL: Mapping[str, Mapping[str, Any]] = {
    "gpt2": {"n_ctx": 1024, "task_specific_params": {"text-generation": {"max_length": 50}}},
    "llama": {"pretraining_tp": 1, "is_llama_config": True, "rope_interleaved": False},
    "bert": {"directionality": "bidi", "pooler_type": "first_token_transform"},
    "distilbert": {"tie_weights_": True, "qa_dropout": 0.1, "seq_classif_dropout": 0.2},
    "t5": {"n_positions": 512, "output_past": True, "initializer_factor": 1.0},
    "opt": {"prefix": "</s>", "activation_dropout": 0.0, "layerdrop": 0.0, "init_std": 0.02},
    "bart": {"add_bias_logits": False, "normalize_embedding": True, "save_step": 13},
}
"""Keys of published configs on which nothing depends."""


@pytest.mark.parametrize("kind", REAL)
def test_keys_of_published_configs_are_known(kind: str) -> None:
    sizes = LLAMA if kind == "llama" else {"architectures": None}
    assert write_model({**sizes, "model_type": kind, **REAL[kind]}).source


def test_the_first_configs_of_gemma_mean_the_tanh_form_of_gelu() -> None:
    gemma = {**LLAMA, "model_type": "gemma", "hidden_act": "gelu"}
    assert "geluTanh()" in write_model(gemma).source and "gelu()" not in write_model(gemma).source
    assert "geluTanh()" in write_model({**gemma, "hidden_act": None}).source


def test_windows_become_an_option_of_attention() -> None:
    mistral = {**LLAMA, "model_type": "mistral", "sliding_window": 5}
    assert "window=5" in write_model(mistral).source
    assert "window" not in write_model({**mistral, "sliding_window": None}).source


CLIP: Mapping[str, Any] = {
    "model_type": "clip",
    "text_config": {"vocab_size": 9, "num_hidden_layers": 1},
    "vision_config": {"num_hidden_layers": 1},
}


@pytest.mark.parametrize(
    ("part", "more", "told"),
    [
        ("text_config", {"hidden_act": "xielu"}, '"text_config.hidden_act" is "xielu"'),
        ("vision_config", {"num_experts": 4}, '"vision_config.num_experts" is 4'),
        ("vision_config", {"hidden_size": 0}, '"vision_config.hidden_size" is 0'),
        ("vision_config", {"image_size": 16}, '"image_size" is 16 x 16, smaller than a patch'),
    ],
)
def test_keys_of_parts_are_named_with_their_place(
    part: str, more: Mapping[str, Any], told: str
) -> None:
    message = catch_error({**CLIP, part: {**CLIP[part], **more}})
    assert message.startswith("NNM818") and told in message


def test_keys_of_parts_are_passed_over_by_their_place() -> None:
    told = {**CLIP, "text_config": {**CLIP["text_config"], "num_experts": 4}}
    assert 'ignore=["text_config.num_experts"]' in catch_error(told)
    assert write_model(told, ignore=["text_config.num_experts"]).source


def test_parts_that_are_not_asked_for_may_say_what_they_like() -> None:
    told = {**CLIP, "vision_config": {"num_experts": 4}, "architectures": ["CLIPTextModel"]}
    assert "pixel_values" not in write_model(told).source


def test_a_part_is_an_object() -> None:
    assert '"text_config" is 3' in catch_error({**CLIP, "text_config": 3})


def test_a_tower_alone_has_no_other() -> None:
    message = catch_error({"model_type": "clip_text_model", "architectures": ["CLIPVisionModel"]})
    assert "the folder has only a CLIPTextModel" in message


UNET: Mapping[str, Any] = {
    "_class_name": "UNet2DConditionModel",
    "sample_size": 4,
    "block_out_channels": [8, 12],
    "layers_per_block": 1,
    "cross_attention_dim": 10,
    "attention_head_dim": 2,
    "norm_num_groups": 4,
    "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"],
}
VAE: Mapping[str, Any] = {
    "_class_name": "AutoencoderKL",
    "sample_size": 8,
    "block_out_channels": [8, 12],
    "norm_num_groups": 4,
    "up_block_types": ["UpDecoderBlock2D"] * 2,
}
SAM: Mapping[str, Any] = {"model_type": "sam"}


@pytest.mark.parametrize(
    ("config", "more", "told"),
    [
        (UNET, {"_class_name": "UNet2DModel"}, '_class_name "UNet2DModel" is unknown'),
        (UNET, {"addition_embed_type": "text_time"}, '"addition_embed_type" is "text_time"'),
        (UNET, {"resnet_time_scale_shift": "scale_shift"}, '"resnet_time_scale_shift"'),
        (UNET, {"sample_size": 5}, "height and width must be multiples of 2"),
        (UNET, {"sample_size": "5"}, '"sample_size" is "5"'),
        (UNET, {"attention_head_dim": 5}, "5 heads do not divide 8 channels evenly"),
        (UNET, {"attention_head_dim": [2]}, "an integer from 1, or 2 of them"),
        (UNET, {"block_out_channels": [8, 10]}, "4 groups do not divide evenly"),
        (UNET, {"block_out_channels": []}, '"block_out_channels" is []'),
        (UNET, {"down_block_types": ["DownBlock2D"]}, "2 kinds of blocks, one for each level"),
        (UNET, {"up_block_types": ["UpBlock2D", "AttnUpBlock2D"]}, '"AttnUpBlock2D"'),
        (UNET, {"cross_attention_dim": [10, 10]}, '"cross_attention_dim" is [10, 10]'),
        (VAE, {"up_block_types": ["UpDecoderBlock2D", "AttnUpDecoderBlock2D"]}, "AttnUpDecoder"),
        (VAE, {"sample_size": 1}, "at least 2 for this many levels"),
        (VAE, {"mid_block_add_norm": True}, '"mid_block_add_norm" is true'),
        (SAM, {"vision_config": {"global_attn_indexes": 3}}, '"vision_config.global_attn_indexes"'),
        (SAM, {"vision_config": {"window_size": -1}}, '"vision_config.window_size" is -1'),
        (SAM, {"vision_config": {"image_size": [64, 32]}}, "must be square"),
        (SAM, {"mask_decoder_config": {"hidden_size": 64}}, '"mask_decoder_config.hidden_size"'),
        (SAM, {"mask_decoder_config": {"num_attention_heads": 3}}, "2 times 3 heads"),
        (SAM, {"prompt_encoder_config": {"image_size": 512}}, "only 1024 is supported"),
    ],
)
def test_what_parts_of_pictures_lack_is_named(
    config: Mapping[str, Any], more: Mapping[str, Any], told: str
) -> None:
    message = catch_error({**config, **more})
    assert message.startswith("NNM81") and told in message


def test_sizes_of_the_published_models_are_the_defaults() -> None:
    assert "repeat=2" in write_model(SAM).source and "relativeHeight" in write_model(SAM).source
    large = {key: UNET[key] for key in ("_class_name",)} | {"cross_attention_dim": 768}
    assert "resnet(filters=1280, kept=projected)" in write_model(large).source


def test_configs_may_have_an_infinite_limit() -> None:
    text = '{"model_type": "mamba2", "hidden_size": 8, "num_heads": 2, "head_dim": 8, "n_groups": 1'
    for infinite in ("[0.0, Infinity]", '[0.0, {"__float__": "Infinity"}]'):
        source = write_model(read_config(f'{text}, "time_step_limit": {infinite}}}')).source
        assert "clamp" not in source
    limited = write_model(read_config(f'{text}, "time_step_limit": [0.1, 2]}}')).source
    assert "clamp(minValue=0.1, maxValue=2.0" in limited
    for wrong in ("[2, 1]", "[-1, 1]", "1", '["0", 1]'):
        message = catch_error(read_config(f'{text}, "time_step_limit": {wrong}}}'))
        assert '"time_step_limit" is' in message
    with pytest.raises(DataError, match=r"NNM818.*NaN is not a finite number"):
        read_config(f'{text}, "time_step_limit": [0, NaN]}}')
    assert '"layer_norm_epsilon" is' in catch_error(
        read_config(f'{text}, "layer_norm_epsilon": Infinity}}')
    )


@pytest.mark.parametrize("kind", ["t5", "mt5"])
def test_the_activation_of_t5_is_that_of_its_own_key(kind: str) -> None:
    def write(**config: Any) -> str:
        return write_model({"model_type": kind, "feed_forward_proj": "relu", **config}).source

    assert "relu()" in write() and "mul(value)" not in write()
    assert write(dense_act_fn="relu", is_gated_act=False) == write()
    other = write(dense_act_fn="gelu_new")
    assert other == write().replace("relu()", "geluTanh()") != write()
    assert write(feed_forward_proj="gated-gelu") == write(
        dense_act_fn="gelu_new", is_gated_act=True
    )
    message = catch_error({"model_type": kind, "dense_act_fn": "swiglu"})
    assert '"dense_act_fn" is "swiglu"' in message
