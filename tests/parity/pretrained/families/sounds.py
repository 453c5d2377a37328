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
WAV2VEC2 = {
    "vocab_size": 17,
    "hidden_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 11,
    "conv_dim": [6, 8, 8],
    "conv_kernel": [5, 3, 2],
    "conv_stride": [3, 2, 2],
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "classifier_proj_size": 7,
}
STABLE = {
    **WAV2VEC2,
    "num_hidden_layers": 2,
    "feat_extract_norm": "layer",
    "do_stable_layer_norm": True,
    "conv_bias": True,
    "num_conv_pos_embeddings": 5,
    "num_conv_pos_embedding_groups": 3,
}
WAVLM = {**WAV2VEC2, "num_buckets": 8, "max_bucket_distance": 5}
AST = {
    "hidden_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 11,
    "patch_size": 4,
    "frequency_stride": 3,
    "time_stride": 2,
    "max_length": 13,
    "num_mel_bins": 11,
    "num_labels": 3,
}

MOONSHINE = {
    "vocab_size": 31,
    "hidden_size": 12,
    "intermediate_size": 11,
    "encoder_num_hidden_layers": 1,
    "decoder_num_hidden_layers": 2,
    "encoder_num_attention_heads": 2,
    "decoder_num_attention_heads": 2,
    "rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.7},
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
    Case("wav2vec2-letters", "Wav2Vec2ForCTC", WAV2VEC2, length=73),
    Case("wav2vec2-base", "Wav2Vec2Model", STABLE, length=61, batch=2),
    Case("wav2vec2-frames", "Wav2Vec2ForAudioFrameClassification", WAV2VEC2, length=40, batch=2),
    Case(
        "hubert-classes",
        "HubertForSequenceClassification",
        {**WAV2VEC2, "feat_proj_layer_norm": False, "num_labels": 3},
        length=73,
        batch=2,
    ),
    Case("hubert-letters", "HubertForCTC", STABLE, length=50, batch=2, inputs=()),
    Case("wavlm-letters", "WavLMForCTC", {**WAVLM, "num_hidden_layers": 2}, length=73, batch=2),
    Case("wavlm-base", "WavLMModel", {**STABLE, **WAVLM}, length=81, batch=2),
    Case(
        "moonshine-plain",
        "MoonshineForConditionalGeneration",
        MOONSHINE,
        length=2500,
        batch=2,
        inputs=("decoder_input_ids", "decoder_attention_mask"),
    ),
    Case("ast-base", "ASTModel", {**AST, "num_hidden_layers": 2}, inputs=(), batch=2),
    Case(
        "ast-classes",
        "ASTForAudioClassification",
        {**AST, "qkv_bias": False, "hidden_act": "relu"},
        inputs=(),
        batch=2,
    ),
]
