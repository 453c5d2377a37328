"""Networks that classify pictures, find objects in them and measure their depth."""

from __future__ import annotations

from functools import partial

from tests.parity.pretrained.case import Case

VIT = {
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "image_size": 8,
    "patch_size": 4,
}
DINO = {key: value for key, value in VIT.items() if key != "intermediate_size"}
YOLOS = {**VIT, "image_size": [8, 12], "num_detection_tokens": 3}
RESNET = {"embedding_size": 4, "hidden_sizes": [8, 12], "depths": [1, 2]}
MOBILENET2 = {
    "depth_multiplier": 0.02,
    "depth_divisible_by": 2,
    "min_depth": 2,
    "finegrained_output": False,
    "num_channels": 1,
}
CONVNEXT = {"hidden_sizes": [4, 6], "depths": [1, 2], "num_stages": 2}
EFFICIENTNET = {
    "width_coefficient": 0.05,
    "depth_coefficient": 1.1,
    "depth_divisor": 2,
    "kernel_sizes": [3, 5],
    "in_channels": [32, 80],
    "out_channels": [80, 120],
    "strides": [1, 2],
    "num_block_repeats": [1, 2],
    "expand_ratios": [1, 3],
    "hidden_dim": 64,
}
DETR = {
    "backbone_config": {"model_type": "resnet", **RESNET, "out_features": ["stage2"]},
    "use_timm_backbone": False,
    "backbone": None,
    "d_model": 12,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 14,
    "decoder_ffn_dim": 10,
    "num_queries": 3,
}
see = partial(Case, inputs=(), batch=2)

CASES = [
    see("deit-base", "DeiTModel", VIT),
    see(
        "deit-classes",
        "DeiTForImageClassification",
        {**VIT, "num_labels": 3, "qkv_bias": False, "image_size": [8, 12]},
    ),
    see("deit-teacher", "DeiTForImageClassificationWithTeacher", {**VIT, "num_labels": 3}),
    see("dinov2-base", "Dinov2Model", {**DINO, "use_swiglu_ffn": True}),
    see("dinov2-classes", "Dinov2ForImageClassification", {**DINO, "num_labels": 3}),
    see(
        "dinov2-registers",
        "Dinov2WithRegistersForImageClassification",
        {**DINO, "num_labels": 3, "num_register_tokens": 3, "mlp_ratio": 2},
    ),
    see("resnet-base", "ResNetModel", RESNET, image=(14, 17)),
    see(
        "resnet-classes",
        "ResNetForImageClassification",
        {
            **RESNET,
            "layer_type": "basic",
            "hidden_sizes": [4, 6],
            "downsample_in_first_stage": True,
            "num_labels": 3,
        },
        image=(17, 12),
    ),
    see(
        "mobilenet1-base",
        "MobileNetV1Model",
        {"depth_multiplier": 0.01, "min_depth": 2},
        image=(17, 24),
    ),
    see(
        "mobilenet1-classes",
        "MobileNetV1ForImageClassification",
        {"depth_multiplier": 0.02, "min_depth": 3, "tf_padding": False, "hidden_act": "relu"},
        image=(19, 16),
    ),
    see(
        "mobilenet2-base",
        "MobileNetV2Model",
        {**MOBILENET2, "first_layer_is_expansion": False, "output_stride": 8},
        image=(17, 22),
    ),
    see(
        "mobilenet2-classes",
        "MobileNetV2ForImageClassification",
        {**MOBILENET2, "tf_padding": False, "expand_ratio": 2.0, "output_stride": 8},
        image=(17, 22),
    ),
    see("convnext-base", "ConvNextModel", CONVNEXT, image=(21, 16)),
    see(
        "convnext-classes",
        "ConvNextForImageClassification",
        {**CONVNEXT, "layer_scale_init_value": 0.0, "patch_size": 2, "image_size": 14},
    ),
    see("convnext2-classes", "ConvNextV2ForImageClassification", CONVNEXT, image=(16, 20)),
    see("efficientnet-base", "EfficientNetModel", EFFICIENTNET, image=(14, 18)),
    see(
        "efficientnet-classes",
        "EfficientNetForImageClassification",
        {**EFFICIENTNET, "depthwise_padding": [2], "pooling_type": "max"},
        image=(15, 10),
    ),
    see("beit-base", "BeitModel", {**VIT, "use_relative_position_bias": True, "image_size": 12}),
    see(
        "beit-classes",
        "BeitForImageClassification",
        {
            **VIT,
            "use_shared_relative_position_bias": True,
            "use_absolute_position_embeddings": True,
            "use_mean_pooling": False,
            "layer_scale_init_value": 0.0,
        },
    ),
    see("yolos-base", "YolosModel", {**YOLOS, "use_mid_position_embeddings": False}),
    see("yolos-objects", "YolosForObjectDetection", {**YOLOS, "num_hidden_layers": 3}),
    see("detr-base", "DetrModel", DETR, image=(20, 26)),
    see(
        "detr-objects",
        "DetrForObjectDetection",
        {**DETR, "encoder_layers": 2, "decoder_layers": 2},
        image=(18, 13),
    ),
]
