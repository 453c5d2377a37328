"""Language models: decoders of texts."""

from __future__ import annotations

from tests.parity.pretrained.case import Case

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
]
