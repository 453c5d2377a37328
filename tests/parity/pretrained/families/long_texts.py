"""Models for long texts: states in place of attention, and attention to windows."""

from __future__ import annotations

from tests.parity.pretrained.case import Case

MAMBA2 = {
    "vocab_size": 31,
    "hidden_size": 6,
    "num_heads": 4,
    "head_dim": 3,
    "n_groups": 2,
    "state_size": 5,
    "num_hidden_layers": 2,
}
LED = {
    "vocab_size": 31,
    "d_model": 12,
    "encoder_layers": 3,
    "decoder_layers": 1,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 14,
    "decoder_ffn_dim": 10,
    "max_encoder_position_embeddings": 24,
    "max_decoder_position_embeddings": 9,
    "attention_window": [4, 4, 8],
}

CASES = [
    Case("mamba2-plain", "Mamba2ForCausalLM", MAMBA2, batch=2, rows="left"),
    Case(
        "mamba2-biased",
        "Mamba2Model",
        {
            **MAMBA2,
            "use_bias": True,
            "use_conv_bias": False,
            "conv_kernel": 2,
            "time_step_limit": [0.4, 0.8],
            "hidden_act": "gelu",
            "num_hidden_layers": 1,
        },
        batch=2,
        rows="",
    ),
    Case(
        "led-plain",
        "LEDForConditionalGeneration",
        LED,
        inputs=("attention_mask", "decoder_input_ids"),
        length=9,
    ),
    Case(
        "led-global",
        "LEDModel",
        {**LED, "encoder_layers": 2, "attention_window": 4},
        inputs=("attention_mask", "global_attention_mask", "decoder_input_ids"),
        batch=2,
        length=8,
    ),
]
