"""Models that speak."""

from __future__ import annotations

from tests.parity.pretrained.case import Case

VITS = {
    "vocab_size": 31,
    "hidden_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "window_size": 2,
    "ffn_dim": 11,
    "flow_size": 6,
    "spectrogram_bins": 5,
    "upsample_initial_channel": 8,
    "upsample_rates": [4, 2],
    "upsample_kernel_sizes": [8, 4],
    "resblock_kernel_sizes": [3, 5],
    "resblock_dilation_sizes": [[1, 3], [2]],
    "duration_predictor_flow_bins": 4,
    "duration_predictor_num_flows": 3,
    "duration_predictor_filter_channels": 7,
    "depth_separable_num_layers": 2,
    "prior_encoder_num_flows": 2,
    "prior_encoder_num_wavenet_layers": 2,
    "posterior_encoder_num_wavenet_layers": 1,
    "noise_scale": 0.0,
    "noise_scale_duration": 0.0,
}

SPEECHT5 = {
    "vocab_size": 31,
    "hidden_size": 12,
    "encoder_layers": 1,
    "encoder_attention_heads": 3,
    "encoder_ffn_dim": 11,
    "decoder_layers": 2,
    "decoder_ffn_dim": 10,
    "decoder_attention_heads": 2,
    "conv_dim": [6, 8],
    "conv_stride": [3, 2],
    "conv_kernel": [5, 3],
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "encoder_max_relative_position": 4,
    "max_speech_positions": 30,
    "max_text_positions": 20,
}

CASES = [
    Case("vits-plain", "VitsModel", VITS, batch=2),
    Case(
        "vits-one-flow",
        "VitsModel",
        {**VITS, "duration_predictor_num_flows": 1, "prior_encoder_num_flows": 1},
        batch=2,
        length=5,
    ),
    Case(
        "vits-speakers",
        "VitsModel",
        {
            **VITS,
            "num_hidden_layers": 2,
            "window_size": 9,
            "num_speakers": 3,
            "speaker_embedding_size": 4,
            "use_stochastic_duration_prediction": False,
            "use_bias": False,
            "ffn_kernel_size": 2,
            "prior_encoder_num_wavenet_layers": 3,
            "wavenet_dilation_rate": 2,
            "leaky_relu_slope": 0.2,
        },
        batch=2,
    ),
    Case(
        "speecht5-text",
        "SpeechT5ForSpeechToText",
        SPEECHT5,
        inputs=("attention_mask", "decoder_input_ids", "decoder_attention_mask"),
        batch=2,
        length=73,
    ),
]
