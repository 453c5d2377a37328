"""Models of Hugging Face: small configurations of odd sizes, each with something of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """A class of `transformers`, or of `diffusers`, and the keys of its config.

    Attributes: `batch` and `length` of its inputs; `inputs`, which ones beside `input_ids`; `rows`,
    what pads them: "right", "left", or "" for none; `target`, the length of the target sequence;
    `pictures`, how many there are where texts are compared with them.
    """

    name: str
    architecture: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inputs: tuple[str, ...] = ("attention_mask",)
    batch: int = 3
    length: int = 7
    rows: str = "right"
    target: int = 4
    pictures: int = 2

    def __str__(self) -> str:
        return self.name


LLAMA = {
    "vocab_size": 53,
    "hidden_size": 24,
    "intermediate_size": 37,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
GPT2 = {"vocab_size": 47, "n_positions": 19, "n_embd": 20, "n_layer": 2, "n_head": 4}
OPT = {
    "vocab_size": 47,
    "hidden_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "ffn_dim": 31,
    "max_position_embeddings": 19,
}
BERT = {
    "vocab_size": 41,
    "hidden_size": 18,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 29,
    "max_position_embeddings": 17,
}
DISTILBERT = {
    "vocab_size": 43,
    "dim": 20,
    "n_layers": 2,
    "n_heads": 5,
    "hidden_dim": 33,
    "max_position_embeddings": 21,
}

VIT = {
    "hidden_size": 18,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 31,
    "image_size": 12,
    "patch_size": 4,
}
T5 = {
    "vocab_size": 37,
    "d_model": 20,
    "d_kv": 6,
    "d_ff": 27,
    "num_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 16,
    "relative_attention_max_distance": 20,
}
BART = {
    "vocab_size": 45,
    "d_model": 18,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 25,
    "decoder_ffn_dim": 22,
    "max_position_embeddings": 23,
}
MARIAN = {**BART, "pad_token_id": 44, "decoder_start_token_id": 44, "eos_token_id": 0}
WHISPER = {
    "vocab_size": 51,
    "d_model": 18,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 25,
    "decoder_ffn_dim": 22,
    "max_source_positions": 13,
    "max_target_positions": 9,
    "num_mel_bins": 7,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 3,
}
CLIP_TEXT = {
    "vocab_size": 9,
    "hidden_size": 18,
    "intermediate_size": 29,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "max_position_embeddings": 17,
    "projection_dim": 11,
    "eos_token_id": 5,
}
CLIP_VISION = {**VIT, "projection_dim": 11}
SAM_VISION = {
    "hidden_size": 12,
    "output_channels": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "image_size": 20,
    "patch_size": 4,
    "window_size": 3,
    "global_attn_indexes": [1],
    "num_pos_feats": 8,
    "mlp_dim": 20,
}
SAM = {
    "vision_config": SAM_VISION,
    "prompt_encoder_config": {
        "hidden_size": 16,
        "image_size": 20,
        "patch_size": 4,
        "mask_input_channels": 8,
    },
    "mask_decoder_config": {
        "hidden_size": 16,
        "mlp_dim": 22,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "iou_head_hidden_dim": 14,
    },
}
UNET = {
    "sample_size": 4,
    "block_out_channels": [8, 12],
    "layers_per_block": 1,
    "cross_attention_dim": 18,
    "attention_head_dim": 2,
    "norm_num_groups": 4,
    "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"],
}
VAE = {
    "sample_size": 8,
    "block_out_channels": [8, 12],
    "layers_per_block": 1,
    "norm_num_groups": 4,
    "down_block_types": ["DownEncoderBlock2D"] * 2,
    "up_block_types": ["UpDecoderBlock2D"] * 2,
}
BOTH = ("attention_mask", "decoder_input_ids", "decoder_attention_mask")

CASES = [
    Case("gpt2-plain", "GPT2LMHeadModel", GPT2),
    Case(
        "gpt2-untied",
        "GPT2LMHeadModel",
        {
            **GPT2,
            "n_layer": 3,
            "n_inner": 31,
            "activation_function": "relu",
            "tie_word_embeddings": False,
            "layer_norm_epsilon": 1e-3,
        },
        rows="",
    ),
    Case(
        "gpt2-base-left",
        "GPT2Model",
        {**GPT2, "n_head": 5, "activation_function": "silu"},
        inputs=("attention_mask", "position_ids"),
        rows="left",
    ),
    Case("opt-plain", "OPTForCausalLM", OPT, inputs=("attention_mask", "position_ids")),
    Case("opt-left", "OPTForCausalLM", {**OPT, "num_attention_heads": 5}, rows="left"),
    Case(
        "opt-projected",
        "OPTForCausalLM",
        {
            **OPT,
            "word_embed_proj_dim": 13,
            "do_layer_norm_before": False,
            "num_hidden_layers": 3,
            "activation_function": "gelu",
        },
        rows="left",
    ),
    Case(
        "opt-untied",
        "OPTForCausalLM",
        {**OPT, "enable_bias": False, "tie_word_embeddings": False},
        rows="",
    ),
    Case(
        "opt-base",
        "OPTModel",
        {**OPT, "word_embed_proj_dim": 23, "_remove_final_layer_norm": True},
        rows="",
        batch=2,
    ),
    Case("llama-plain", "LlamaForCausalLM", LLAMA),
    Case(
        "llama-left",
        "LlamaForCausalLM",
        {**LLAMA, "num_key_value_heads": 3},
        inputs=("attention_mask", "position_ids"),
        rows="left",
    ),
    Case(
        "llama-biases",
        "LlamaForCausalLM",
        {
            **LLAMA,
            "head_dim": 10,
            "attention_bias": True,
            "mlp_bias": True,
            "tie_word_embeddings": True,
            "rms_norm_eps": 1e-3,
            "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
        },
        rows="left",
    ),
    Case(
        "llama-base",
        "LlamaModel",
        {**LLAMA, "num_hidden_layers": 3, "num_key_value_heads": 1, "hidden_act": "gelu"},
        length=1,
        rows="",
    ),
    Case(
        "llama-llama3",
        "LlamaForCausalLM",
        {
            **LLAMA,
            "head_dim": 8,
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 300.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 32,
            },
        },
        length=13,
        batch=1,
        rows="",
    ),
    Case(
        "llama-dynamic",
        "LlamaForCausalLM",
        {**LLAMA, "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}},
    ),
    Case(
        "llama-longrope",
        "LlamaForCausalLM",
        {
            **LLAMA,
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 1e4,
                "short_factor": [1.1, 2.5],
                "long_factor": [3.0, 7.0],
                "original_max_position_embeddings": 16,
            },
        },
    ),
    Case(
        "llama-linear",
        "LlamaForCausalLM",
        {**LLAMA, "rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 3.0}},
        batch=1,
        rows="",
    ),
    Case(
        "qwen3-yarn",
        "Qwen3ForCausalLM",
        {
            **LLAMA,
            "head_dim": 8,
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 300.0,
                "factor": 4.0,
                "original_max_position_embeddings": 16,
                "beta_fast": 8,
            },
        },
        length=13,
        batch=1,
        rows="",
    ),
    Case(
        "qwen2-mixed",
        "Qwen2ForCausalLM",
        {
            **LLAMA,
            "num_hidden_layers": 3,
            "use_sliding_window": True,
            "sliding_window": 3,
            "max_window_layers": 2,
        },
        batch=1,
        rows="",
    ),
    Case("mistral-window", "MistralForCausalLM", {**LLAMA, "sliding_window": 3}),
    Case(
        "mistral-full",
        "MistralForCausalLM",
        {**LLAMA, "sliding_window": None, "head_dim": 8, "num_key_value_heads": 6},
    ),
    Case("mistral-default", "MistralModel", {**LLAMA, "num_key_value_heads": 3}),
    Case("qwen2-plain", "Qwen2ForCausalLM", {**LLAMA, "tie_word_embeddings": True}),
    Case(
        "qwen2-window",
        "Qwen2ForCausalLM",
        {**LLAMA, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0},
        rows="left",
    ),
    Case("qwen3-plain", "Qwen3ForCausalLM", {**LLAMA, "head_dim": 8}),
    Case(
        "qwen3-biases",
        "Qwen3Model",
        {**LLAMA, "head_dim": 6, "attention_bias": True, "num_key_value_heads": 3},
        rows="",
    ),
    Case("gemma-plain", "GemmaForCausalLM", {**LLAMA, "head_dim": 12}),
    Case(
        "gemma-untied",
        "GemmaForCausalLM",
        {**LLAMA, "head_dim": 4, "num_key_value_heads": 6, "tie_word_embeddings": False},
    ),
    Case("bert-base", "BertModel", BERT, inputs=("attention_mask", "token_type_ids")),
    Case(
        "bert-classes",
        "BertForSequenceClassification",
        {**BERT, "num_labels": 5, "hidden_act": "relu", "layer_norm_eps": 1e-3},
    ),
    Case(
        "bert-one-score",
        "BertForSequenceClassification",
        {**BERT, "num_labels": 1, "type_vocab_size": 1},
        rows="left",
    ),
    Case("bert-masked", "BertForMaskedLM", {**BERT, "hidden_act": "gelu_new"}),
    Case("bert-tokens", "BertForTokenClassification", {**BERT, "num_labels": 4}, rows=""),
    Case("bert-answers", "BertForQuestionAnswering", BERT, inputs=("token_type_ids",)),
    Case("distilbert-answers", "DistilBertForQuestionAnswering", DISTILBERT),
    Case("distilbert-base", "DistilBertModel", DISTILBERT),
    Case(
        "distilbert-classes",
        "DistilBertForSequenceClassification",
        {**DISTILBERT, "num_labels": 3, "activation": "relu", "n_layers": 1},
        rows="left",
    ),
    Case(
        "distilbert-waves",
        "DistilBertForMaskedLM",
        {**DISTILBERT, "sinusoidal_pos_embds": True, "n_heads": 4},
    ),
    Case("vit-base", "ViTModel", VIT, inputs=()),
    Case(
        "vit-classes",
        "ViTForImageClassification",
        {
            **VIT,
            "num_labels": 4,
            "num_hidden_layers": 1,
            "qkv_bias": False,
            "num_channels": 1,
            "hidden_act": "relu",
            "layer_norm_eps": 1e-3,
        },
        inputs=(),
    ),
    Case(
        "vit-wide",
        "ViTModel",
        {**VIT, "image_size": [8, 20], "num_attention_heads": 2, "pooler_output_size": 11},
        inputs=(),
        batch=1,
    ),
    Case(
        "clip-plain",
        "CLIPModel",
        {"text_config": CLIP_TEXT, "vision_config": CLIP_VISION, "projection_dim": 11},
    ),
    Case(
        "clip-highest",
        "CLIPModel",
        {
            "text_config": {**CLIP_TEXT, "eos_token_id": 2, "hidden_act": "gelu"},
            "vision_config": {**CLIP_VISION, "num_channels": 1, "layer_norm_eps": 1e-3},
            "projection_dim": 7,
        },
        rows="",
        pictures=1,
    ),
    Case("clip-text", "CLIPTextModel", CLIP_TEXT),
    Case("clip-text-projected", "CLIPTextModelWithProjection", CLIP_TEXT, rows=""),
    Case("clip-vision", "CLIPVisionModel", CLIP_VISION, inputs=()),
    Case(
        "clip-vision-projected",
        "CLIPVisionModelWithProjection",
        {**CLIP_VISION, "image_size": 20, "hidden_act": "relu", "num_hidden_layers": 1},
        inputs=(),
        batch=1,
    ),
    Case("sam-plain", "SamModel", SAM, inputs=(), batch=2),
    Case(
        "sam-other",
        "SamModel",
        {
            "vision_config": {
                **SAM_VISION,
                "image_size": 24,
                "num_hidden_layers": 2,
                "global_attn_indexes": [],
                "qkv_bias": False,
                "use_abs_pos": False,
            },
            "prompt_encoder_config": {
                **SAM["prompt_encoder_config"],
                "image_size": 24,
                "layer_norm_eps": 1e-3,
            },
            "mask_decoder_config": {
                **SAM["mask_decoder_config"],
                "num_hidden_layers": 1,
                "num_multimask_outputs": 2,
                "iou_head_depth": 2,
                "layer_norm_eps": 1e-3,
            },
        },
        inputs=(),
        batch=1,
    ),
    Case(
        "sam-vision",
        "SamVisionModel",
        {**SAM_VISION, "use_rel_pos": False, "global_attn_indexes": [0, 1]},
        inputs=(),
        batch=1,
    ),
    Case("unet-plain", "UNet2DConditionModel", UNET, inputs=(), batch=2),
    Case(
        "unet-deep",
        "UNet2DConditionModel",
        {
            **UNET,
            "layers_per_block": 2,
            "block_out_channels": [8, 8],
            "attention_head_dim": [2, 4],
            "transformer_layers_per_block": 2,
            "use_linear_projection": True,
            "flip_sin_to_cos": False,
            "freq_shift": 1,
            "norm_eps": 1e-3,
        },
        inputs=(),
        batch=1,
    ),
    Case("vae-plain", "AutoencoderKL", VAE, inputs=(), batch=2),
    Case(
        "vae-bare",
        "AutoencoderKL",
        {
            **VAE,
            "latent_channels": 3,
            "use_post_quant_conv": False,
            "use_quant_conv": False,
            "mid_block_add_attention": False,
        },
        inputs=(),
        batch=1,
    ),
    Case("t5-plain", "T5ForConditionalGeneration", T5, inputs=BOTH, target=6),
    Case(
        "t5-gated",
        "T5ForConditionalGeneration",
        {
            **T5,
            "feed_forward_proj": "gated-gelu",
            "tie_word_embeddings": False,
            "num_decoder_layers": 3,
            "relative_attention_num_buckets": 8,
            "relative_attention_max_distance": 12,
        },
        inputs=BOTH,
        length=21,
        target=17,
        rows="left",
    ),
    Case("t5-base", "T5Model", {**T5, "num_heads": 3}, inputs=BOTH, rows="", batch=2),
    Case("bart-plain", "BartForConditionalGeneration", BART, inputs=BOTH),
    Case(
        "bart-base",
        "BartModel",
        {
            **BART,
            "encoder_layers": 3,
            "decoder_layers": 1,
            "encoder_attention_heads": 3,
            "decoder_ffn_dim": 13,
            "scale_embedding": True,
            "activation_function": "relu",
        },
        inputs=BOTH,
        rows="left",
    ),
    Case(
        "bart-untied",
        "BartForConditionalGeneration",
        {**BART, "encoder_layers": 1, "tie_word_embeddings": False},
        inputs=BOTH,
        batch=2,
    ),
    Case(
        "marian-plain",
        "MarianMTModel",
        {**MARIAN, "activation_function": "swish", "scale_embedding": True},
        inputs=BOTH,
    ),
    Case(
        "marian-apart",
        "MarianMTModel",
        {
            **MARIAN,
            "share_encoder_decoder_embeddings": False,
            "decoder_vocab_size": 37,
            "decoder_layers": 1,
            "pad_token_id": 36,
            "decoder_start_token_id": 36,
        },
        inputs=BOTH,
        rows="left",
        batch=2,
    ),
    Case("marian-base", "MarianModel", {**MARIAN, "encoder_layers": 1}, inputs=BOTH, rows=""),
    Case("m2m-plain", "M2M100ForConditionalGeneration", BART, inputs=BOTH),
    Case(
        "m2m-base",
        "M2M100Model",
        {
            **BART,
            "decoder_layers": 3,
            "scale_embedding": False,
            "activation_function": "gelu",
            "pad_token_id": 3,
        },
        inputs=BOTH,
        rows="left",
    ),
    Case(
        "m2m-untied",
        "M2M100ForConditionalGeneration",
        {**BART, "encoder_layers": 1, "tie_word_embeddings": False},
        inputs=BOTH,
        rows="",
        batch=2,
    ),
    Case(
        "whisper-plain",
        "WhisperForConditionalGeneration",
        WHISPER,
        inputs=("input_features", "decoder_input_ids", "decoder_attention_mask"),
    ),
    Case(
        "whisper-base",
        "WhisperModel",
        {
            **WHISPER,
            "encoder_layers": 1,
            "decoder_layers": 3,
            "encoder_attention_heads": 2,
            "activation_function": "relu",
            "num_mel_bins": 5,
        },
        inputs=("input_features", "decoder_input_ids"),
        batch=2,
        rows="",
    ),
]
