"""Language models by `model_type`: one case for each, and one for an option that matters."""

from __future__ import annotations

from typing import Any

from tests.parity.pretrained.case import Case

SMALL = {
    "vocab_size": 31,
    "hidden_size": 16,
    "intermediate_size": 19,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
EXPERTS = {**SMALL, "intermediate_size": 12, "num_experts_per_tok": 2}
DEEPSEEK = {
    **EXPERTS,
    "moe_intermediate_size": 8,
    "num_key_value_heads": 2,
    "n_routed_experts": 6,
    "n_shared_experts": 2,
    "kv_lora_rank": 8,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 6,
    "v_head_dim": 5,
    "first_k_dense_replace": 1,
    "n_group": 3,
}
QWEN = {**EXPERTS, "num_experts": 4, "moe_intermediate_size": 12}
CLASSIC = {
    **{k: v for k, v in SMALL.items() if k != "num_key_value_heads"},
    "hidden_size": 24,
    "num_attention_heads": 3,
}
GPTJ = {"vocab_size": 31, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_inner": 19, "n_positions": 19}
BLOOM = {"vocab_size": 31, "hidden_size": 16, "n_layer": 2, "n_head": 2}
MPT = {"vocab_size": 31, "d_model": 12, "n_layers": 2, "n_heads": 3, "max_seq_len": 64}
MAMBA = {"vocab_size": 31, "hidden_size": 10, "state_size": 3, "num_hidden_layers": 2}
FALCON = {
    "vocab_size": 31,
    "hidden_size": 16,
    "ffn_hidden_size": 19,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}


def _case(name: str, architecture: str, config: dict[str, Any], **settings: Any) -> Case:
    return Case(name, architecture, config, **{"batch": 2, "length": 6, **settings})


CASES = [
    _case("phi3-plain", "Phi3ForCausalLM", {**SMALL, "sliding_window": 4}),
    _case(
        "phi3-partial",
        "Phi3ForCausalLM",
        {
            **SMALL,
            "original_max_position_embeddings": 48,
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 1e4,
                "partial_rotary_factor": 0.75,
                "short_factor": [1.1, 2.5, 1.0],
                "long_factor": [3.0, 7.0, 2.0],
            },
        },
        rows="left",
    ),
    _case(
        "gemma2-plain",
        "Gemma2ForCausalLM",
        {
            **SMALL,
            "head_dim": 6,
            "query_pre_attn_scalar": 7,
            "sliding_window": 3,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 3.0,
        },
    ),
    _case(
        "gemma3-plain",
        "Gemma3ForCausalLM",
        {
            **SMALL,
            "head_dim": 6,
            "query_pre_attn_scalar": 7,
            "sliding_window": 3,
            "layer_types": ["sliding_attention", "full_attention"],
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "rope_theta": 1e5, "factor": 8.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 300.0},
            },
        },
    ),
    _case("smollm3-plain", "SmolLM3ForCausalLM", {**SMALL, "no_rope_layers": [1, 0]}),
    _case(
        "smollm3-window",
        "SmolLM3Model",
        {**SMALL, "no_rope_layers": [0, 1], "use_sliding_window": True, "sliding_window": 3},
    ),
    _case(
        "granite-plain",
        "GraniteForCausalLM",
        {
            **SMALL,
            "embedding_multiplier": 3.0,
            "logits_scaling": 4.0,
            "residual_multiplier": 0.3,
            "attention_multiplier": 0.11,
        },
    ),
    _case("olmo2-plain", "Olmo2ForCausalLM", SMALL),
    _case("stablelm-plain", "StableLmForCausalLM", {**SMALL, "use_qkv_bias": True}),
    _case("stablelm-parallel", "StableLmModel", {**SMALL, "use_parallel_residual": True}),
    _case("cohere-plain", "CohereForCausalLM", SMALL),
    _case("gpt-neox-plain", "GPTNeoXForCausalLM", CLASSIC),
    _case("gpt-neox-sequential", "GPTNeoXModel", {**CLASSIC, "use_parallel_residual": False}),
    _case("phi-plain", "PhiForCausalLM", {**CLASSIC, "num_key_value_heads": 1}),
    _case("starcoder2-plain", "Starcoder2ForCausalLM", {**SMALL, "sliding_window": 4}),
    _case("gptj-plain", "GPTJForCausalLM", {**GPTJ, "rotary_dim": 2}, rows="left"),
    _case("codegen-plain", "CodeGenForCausalLM", {**GPTJ, "rotary_dim": 4}),
    _case(
        "gpt-neo-plain",
        "GPTNeoForCausalLM",
        {
            "vocab_size": 31,
            "hidden_size": 16,
            "num_layers": 2,
            "num_heads": 2,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 3,
            "max_position_embeddings": 19,
        },
    ),
    _case("bigcode-plain", "GPTBigCodeForCausalLM", GPTJ),
    _case("bigcode-heads", "GPTBigCodeModel", {**GPTJ, "multi_query": False}),
    _case("bloom-plain", "BloomForCausalLM", {**BLOOM, "n_head": 3, "hidden_size": 12}),
    _case("bloom-left", "BloomModel", BLOOM, rows="left"),
    _case(
        "mpt-plain",
        "MptForCausalLM",
        {**MPT, "attn_config": {"clip_qkv": 0.4, "softmax_scale": 0.7}},
    ),
    _case("falcon-plain", "FalconForCausalLM", FALCON),
    _case(
        "falcon-new",
        "FalconForCausalLM",
        {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2},
    ),
    _case(
        "falcon-alibi",
        "FalconForCausalLM",
        {**FALCON, "alibi": True, "multi_query": False, "parallel_attn": False, "bias": True},
        rows="left",
    ),
    _case("mixtral-plain", "MixtralForCausalLM", {**EXPERTS, "num_local_experts": 4}),
    _case(
        "qwen2-moe-plain",
        "Qwen2MoeForCausalLM",
        {**QWEN, "shared_expert_intermediate_size": 8},
    ),
    _case(
        "qwen3-moe-plain",
        "Qwen3MoeForCausalLM",
        {**QWEN, "head_dim": 8, "norm_topk_prob": True},
    ),
    _case("olmoe-plain", "OlmoeModel", {**EXPERTS, "num_experts": 4}),
    _case("granite-moe-plain", "GraniteMoeModel", {**EXPERTS, "num_local_experts": 4}),
    _case(
        "gpt-oss-plain",
        "GptOssForCausalLM",
        {**EXPERTS, "num_local_experts": 3, "head_dim": 6, "sliding_window": 3},
        rows="left",
    ),
    _case(
        "deepseek-v2-plain",
        "DeepseekV2ForCausalLM",
        {
            **DEEPSEEK,
            "q_lora_rank": None,
            "topk_method": "group_limited_greedy",
            "topk_group": 1,
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 1e4,
                "factor": 4.0,
                "mscale": 0.707,
                "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 16,
            },
        },
    ),
    _case(
        "deepseek-v3-plain",
        "DeepseekV3ForCausalLM",
        {**DEEPSEEK, "q_lora_rank": 5, "topk_group": 2, "attention_bias": True},
        rows="left",
    ),
    _case(
        "lfm2-plain",
        "Lfm2ForCausalLM",
        {**SMALL, "num_hidden_layers": 3, "full_attn_idxs": [1], "block_multiple_of": 4},
        rows="left",
    ),
    _case("mamba-plain", "MambaForCausalLM", MAMBA, rows="left"),
]
