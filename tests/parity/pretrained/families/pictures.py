"""Models of pictures, alone or with texts."""

from __future__ import annotations

from tests.parity.pretrained.case import Case

VIT = {
    "hidden_size": 18,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 31,
    "image_size": 12,
    "patch_size": 4,
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

CASES = [
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
]
