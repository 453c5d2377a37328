"""Models of Hugging Face: small configurations of odd sizes, each with something of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """A class of `transformers` and the keys of its config.

    Attributes: `batch` and `length` of its inputs; `inputs`, which ones beside `input_ids`; `rows`,
    what pads them: "right", "left", or "" for none; `target`, the length of the target sequence.
    """

    name: str
    architecture: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inputs: tuple[str, ...] = ("attention_mask",)
    batch: int = 3
    length: int = 7
    rows: str = "right"
    target: int = 4

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
    Case("llama-plain", "LlamaForCausalLM", LLAMA),
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
]
