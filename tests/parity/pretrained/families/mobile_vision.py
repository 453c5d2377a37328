"""Networks that classify pictures on small devices, and joint ones for pictures of any shape."""

from __future__ import annotations

from functools import partial

from tests.parity.pretrained.case import Case

MOBILEVIT = {
    "hidden_sizes": [8, 12, 16],
    "neck_hidden_sizes": [4, 6, 8, 10, 12, 14, 18],
    "num_attention_heads": 2,
    "expand_ratio": 1.5,
}
MOBILEVIT2 = {
    "width_multiplier": 0.05,
    "n_attn_blocks": [1, 2, 1],
    "base_attn_unit_dims": [160, 320, 480],
}
TOWER = {
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 17,
}
SIGLIP2_TEXT = {**TOWER, "vocab_size": 9, "max_position_embeddings": 7}
SIGLIP2_VISION = {**TOWER, "num_hidden_layers": 1, "num_patches": 9, "patch_size": 2}
see = partial(Case, inputs=(), batch=2)

CASES = [
    see(
        "timm-mobilenet3",
        "TimmWrapperForImageClassification",
        {"architecture": "mobilenetv3_small_050", "num_labels": 3},
        image=(19, 24),
    ),
    see(
        "timm-mobilenet3-same",
        "TimmWrapperModel",
        {"architecture": "tf_mobilenetv3_small_minimal_100", "num_labels": 3},
        batch=1,
        image=(30, 19),
    ),
    see(
        "timm-mobilenet4",
        "TimmWrapperForImageClassification",
        {"architecture": "mobilenetv4_conv_small_035", "num_labels": 3},
        image=(19, 24),
    ),
    see(
        "timm-mobilenet4-hybrid",
        "TimmWrapperForImageClassification",
        {"architecture": "mobilenetv4_hybrid_medium_075", "num_labels": 3},
        batch=1,
        image=(40, 33),
        scale=0.3,
    ),
    see(
        "mobilevit-base",
        "MobileViTModel",
        {**MOBILEVIT, "qkv_bias": False, "num_channels": 1},
        batch=1,
        image=(37, 40),
    ),
    see(
        "mobilevit-segments",
        "MobileViTForSemanticSegmentation",
        {**MOBILEVIT, "output_stride": 8, "aspp_out_channels": 6, "atrous_rates": [1, 2, 3]},
        batch=1,
        image=(24, 28),
    ),
    see(
        "mobilevit2-classes",
        "MobileViTV2ForImageClassification",
        {**MOBILEVIT2, "num_channels": 1},
        batch=1,
        image=(64, 49),
    ),
    Case(
        "siglip2-plain",
        "Siglip2Model",
        {"text_config": SIGLIP2_TEXT, "vision_config": SIGLIP2_VISION},
        patches=((2, 3), (4, 2)),
        batch=2,
    ),
    Case("siglip2-text", "Siglip2TextModel", {**SIGLIP2_TEXT, "num_hidden_layers": 1}, batch=2),
    see("siglip2-vision", "Siglip2VisionModel", SIGLIP2_VISION, patches=((1, 5), (2, 2))),
    see(
        "siglip2-classes",
        "Siglip2ForImageClassification",
        {
            "text_config": SIGLIP2_TEXT,
            "vision_config": {**SIGLIP2_VISION, "num_channels": 1},
            "num_labels": 3,
        },
        patches=((3, 2), (1, 1)),
    ),
]
