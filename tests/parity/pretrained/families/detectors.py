"""Networks that find what texts name, and detectors of several scales."""

from __future__ import annotations

from functools import partial

from tests.parity.pretrained.case import Case
from tests.parity.pretrained.families.vision import SIGLIP_TEXT, VIT

see = partial(Case, inputs=(), batch=2, outputs=("logits", "pred_boxes", "last_hidden_state"))
OWL = {
    "text_config": {**SIGLIP_TEXT, "hidden_act": "gelu"},
    "vision_config": VIT,
    "projection_dim": 12,
}
RT_DETR = {
    "backbone_config": {
        "model_type": "rt_detr_resnet",
        "embedding_size": 4,
        "hidden_sizes": [4, 6, 8, 12],
        "depths": [1, 2, 1, 1],
        "layer_type": "basic",
        "out_features": ["stage2", "stage3", "stage4"],
    },
    "encoder_hidden_dim": 8,
    "encoder_in_channels": [6, 8, 12],
    "decoder_in_channels": [8, 8, 8],
    "encoder_ffn_dim": 10,
    "encoder_attention_heads": 2,
    "d_model": 12,
    "num_queries": 5,
    "decoder_ffn_dim": 14,
    "decoder_layers": 2,
    "decoder_attention_heads": 3,
    "num_labels": 3,
    "num_denoising": 2,
}
BOTTLENECKS = {
    **RT_DETR["backbone_config"],
    "layer_type": "bottleneck",
    "embedding_size": 6,
    "hidden_sizes": [8, 8, 12, 16],
}
CLIPSEG = {
    **OWL,
    "vision_config": {**VIT, "num_hidden_layers": 3},
    "extract_layers": [0, 1],
    "reduce_dim": 6,
    "decoder_num_attention_heads": 2,
    "decoder_intermediate_size": 9,
}
DRAWN = ("logits", "conditional_embeddings")
OWL_OUTPUTS = ("logits", "pred_boxes", "class_embeds")

CASES = [
    Case("owlvit", "OwlViTForObjectDetection", OWL, pictures=1, outputs=OWL_OUTPUTS),
    Case(
        "owlvit-queries",
        "OwlViTForObjectDetection",
        OWL,
        pictures=2,
        batch=4,
        outputs=OWL_OUTPUTS,
    ),
    Case(
        "owlv2",
        "Owlv2ForObjectDetection",
        {**OWL, "vision_config": {**VIT, "image_size": 12, "hidden_act": "relu"}},
        pictures=1,
        outputs=(*OWL_OUTPUTS, "objectness_logits"),
    ),
    Case("clipseg", "CLIPSegForImageSegmentation", CLIPSEG, pictures=3, outputs=DRAWN),
    Case(
        "clipseg-fine",
        "CLIPSegForImageSegmentation",
        {**CLIPSEG, "use_complex_transposed_convolution": True, "conditional_layer": 1},
        image=(12, 12),
        batch=2,
        outputs=DRAWN,
    ),
    see("rt-detr", "RTDetrForObjectDetection", RT_DETR, image=(32, 64)),
    see(
        "rt-detr-v2",
        "RTDetrV2ForObjectDetection",
        {
            **RT_DETR,
            "backbone_config": BOTTLENECKS,
            "encoder_in_channels": [8, 12, 16],
            "hidden_expansion": 0.5,
            "decoder_offset_scale": 0.7,
            "decoder_n_points": 2,
        },
        image=(32, 32),
    ),
]
