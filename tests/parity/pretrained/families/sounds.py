"""Models of sounds."""

from __future__ import annotations

from tests.parity.pretrained.case import Case

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

CASES = [
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
