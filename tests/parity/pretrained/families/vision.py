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
SIGLIP_TEXT = {
    **{key: value for key, value in VIT.items() if key not in ("image_size", "patch_size")},
    "vocab_size": 9,
    "max_position_embeddings": 7,
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
DETR_MASKS = {
    **DETR,
    "backbone_config": {
        **DETR["backbone_config"],
        "hidden_sizes": [4, 8, 8, 12],
        "depths": [1, 1, 1, 1],
        "out_features": ["stage1", "stage2", "stage3", "stage4"],
    },
    "d_model": 16,
    "encoder_attention_heads": 8,
}
MASKFORMER = {
    "backbone_config": {
        "model_type": "swin",
        "embed_dim": 4,
        "depths": [2, 1, 1, 2],
        "num_heads": [1, 2, 2, 2],
        "window_size": 3,
        "mlp_ratio": 2.0,
    },
    "decoder_config": {
        "model_type": "detr",
        "d_model": 12,
        "decoder_layers": 2,
        "decoder_attention_heads": 2,
        "decoder_ffn_dim": 10,
        "num_queries": 3,
    },
    "fpn_feature_size": 32,
    "mask_feature_size": 6,
}
MASKFORMER_RESNET = {
    **MASKFORMER,
    "backbone_config": {**DETR_MASKS["backbone_config"], "layer_type": "basic"},
}
POSE = {
    "model_type": "vitpose_backbone",
    **DINO,
    "image_size": [10, 15],
    "patch_size": [5, 5],
    "mlp_ratio": 2,
    "out_indices": [2],
}
PVT = {
    "image_size": 24,
    "num_encoder_blocks": 3,
    "depths": [1, 1, 2],
    "sequence_reduction_ratios": [4, 2, 1],
    "hidden_sizes": [4, 6, 8],
    "patch_sizes": [4, 2, 2],
    "strides": [4, 2, 2],
    "num_attention_heads": [1, 2, 2],
    "mlp_ratios": [3, 2, 2],
}
SWIN = {
    "embed_dim": 4,
    "depths": [2, 2],
    "num_heads": [1, 2],
    "window_size": 3,
    "image_size": 14,
    "patch_size": 2,
    "mlp_ratio": 1.5,
}
SEGFORMER = {
    "depths": [1, 1],
    "hidden_sizes": [4, 8],
    "num_attention_heads": [1, 2],
    "sr_ratios": [2, 1],
    "num_encoder_blocks": 2,
    "patch_sizes": [7, 3],
    "strides": [4, 2],
    "mlp_ratios": [2, 3],
    "decoder_hidden_size": 6,
}
NECK = {"reassemble_factors": [2, 0.5], "neck_hidden_sizes": [4, 6], "fusion_hidden_size": 4}
DEPTH_ANYTHING = {
    "backbone_config": {
        "model_type": "dinov2",
        **DINO,
        "num_hidden_layers": 3,
        "out_indices": [1, 3],
        "reshape_hidden_states": False,
    },
    **NECK,
    "reassemble_hidden_size": 12,
    "patch_size": 4,
    "head_hidden_size": 3,
}
DPT = {**VIT, "num_hidden_layers": 3, "backbone_out_indices": [0, 2], **NECK}
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
        {"depth_multiplier": 0.02, "min_depth": 3, "tf_padding": False, "hidden_act": "swish"},
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
    see("detr-masks", "DetrForSegmentation", {**DETR_MASKS, "num_labels": 3}, image=(36, 25)),
    *(
        Case(
            name,
            "MaskFormerForInstanceSegmentation",
            {**config, "num_labels": 3},
            inputs=(),
            batch=1,
            image=image,
            outputs=(
                *("class_queries_logits", "masks_queries_logits"),
                "transformer_decoder_last_hidden_state",
            ),
        )
        for name, config, image in (
            ("maskformer", MASKFORMER, (40, 28)),
            ("maskformer-resnet", MASKFORMER_RESNET, (36, 25)),
        )
    ),
    see("swin-base", "SwinModel", {**SWIN, "use_absolute_embeddings": True, "qkv_bias": False}),
    see("swin-classes", "SwinForImageClassification", {**SWIN, "image_size": [14, 18]}),
    see("segformer-base", "SegformerModel", SEGFORMER, image=(18, 25)),
    see("segformer-classes", "SegformerForImageClassification", SEGFORMER, image=(16, 16)),
    see(
        "segformer-segments",
        "SegformerForSemanticSegmentation",
        {**SEGFORMER, "num_labels": 3, "depths": [2, 1]},
        image=(20, 25),
    ),
    see("depth-anything", "DepthAnythingForDepthEstimation", DEPTH_ANYTHING),
    see(
        "depth-anything-metric",
        "DepthAnythingForDepthEstimation",
        {**DEPTH_ANYTHING, "depth_estimation_type": "metric", "max_depth": 20},
    ),
    see("dpt-project", "DPTForDepthEstimation", DPT),
    see(
        "dpt-add",
        "DPTForDepthEstimation",
        {**DPT, "readout_type": "add", "reassemble_factors": [1, 1]},
    ),
    see("dinov2-stretched", "Dinov2Model", {**DINO, "image_size": 16}, image=(20, 12)),
    see("depth-anything-wide", "DepthAnythingForDepthEstimation", DEPTH_ANYTHING, image=(12, 20)),
    see("dinov3-base", "DINOv3ViTModel", {**VIT, "num_register_tokens": 2}, image=(8, 13)),
    see(
        "dinov3-gated",
        "DINOv3ViTModel",
        {
            **VIT,
            "hidden_size": 16,
            "num_attention_heads": 2,
            "use_gated_mlp": True,
            "mlp_bias": False,
            "key_bias": True,
            "query_bias": False,
            "proj_bias": False,
            "hidden_act": "quick_gelu",
            "rope_theta": 50.0,
        },
    ),
    see(
        "dinov3-convnext",
        "DINOv3ConvNextModel",
        {"hidden_sizes": [4, 6], "depths": [1, 2], "layer_norm_eps": 1e-5},
        image=(21, 16),
    ),
    see("vitpose-simple", "VitPoseForPoseEstimation", {"backbone_config": POSE, "num_labels": 3}),
    see(
        "vitpose-classic",
        "VitPoseForPoseEstimation",
        {"backbone_config": {**POSE, "qkv_bias": False}, "use_simple_decoder": False},
    ),
    see("pvt-base", "PvtModel", {**PVT, "qkv_bias": False}),
    see(
        "pvt-classes",
        "PvtForImageClassification",
        {**PVT, "num_labels": 3, "depths": [2, 1, 1], "layer_norm_eps": 1e-3},
    ),
    Case(
        "siglip-plain",
        "SiglipModel",
        {"text_config": SIGLIP_TEXT, "vision_config": VIT},
        inputs=(),
        batch=3,
    ),
    Case("siglip-text", "SiglipTextModel", {**SIGLIP_TEXT, "projection_size": 5}, batch=2),
    see(
        "siglip-vision", "SiglipVisionModel", {**VIT, "num_hidden_layers": 1, "hidden_act": "gelu"}
    ),
    see(
        "siglip-classes",
        "SiglipForImageClassification",
        {"text_config": SIGLIP_TEXT, "vision_config": VIT, "num_labels": 3},
        batch=2,
    ),
]
