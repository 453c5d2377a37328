"""Files with the names of the modules of transformers 5 are read like published ones."""

from __future__ import annotations

import pytest

from tests.parity.pretrained import fixtures
from webnnm.transformers.architectures import write_model
from webnnm.transformers.tensor_names import publish_names

RECORDED = fixtures.read()
MODULES = [
    ("deit-base", "layers.1.attention.o_proj.bias", "encoder.layer.1.attention.output.dense.bias"),
    ("deit-teacher", "deit.layers.0.mlp.fc2.weight", "deit.encoder.layer.0.output.dense.weight"),
    (
        "dinov2-registers",
        "dinov2_with_registers.encoder.layer.0.attention.k_proj.bias",
        "dinov2_with_registers.encoder.layer.0.attention.attention.key.bias",
    ),
    ("dinov3-base", "model.layer.1.mlp.up_proj.bias", "layer.1.mlp.up_proj.bias"),
    ("dinov3-convnext", "model.stages.1.layers.0.gamma", "stages.1.layers.0.gamma"),
    (
        "beit-classes",
        "beit.layers.1.layernorm_before.bias",
        "beit.encoder.layer.1.layernorm_before.bias",
    ),
    (
        "beit-base",
        "layers.0.relative_position_bias.relative_position_bias_table",
        "encoder.layer.0.attention.attention.relative_position_bias.relative_position_bias_table",
    ),
    (
        "beit-classes",
        "beit.shared_position_bias.relative_position_bias_table",
        "beit.encoder.relative_position_bias.relative_position_bias_table",
    ),
    (
        "yolos-objects",
        "vit.encoder.interpolation.mid_position_embeddings",
        "vit.encoder.mid_position_embeddings",
    ),
    (
        "detr-objects",
        "model.decoder.layers.1.encoder_attn.o_proj.weight",
        "model.decoder.layers.1.encoder_attn.out_proj.weight",
    ),
    ("detr-base", "encoder.layers.0.mlp.fc1.weight", "encoder.layers.0.fc1.weight"),
    (
        "detr-base",
        "backbone.model.embedder.embedder.convolution.weight",
        "backbone.conv_encoder.model.embedder.embedder.convolution.weight",
    ),
    (
        "detr-masks",
        "detr.model.backbone.model.encoder.stages.3.layers.0.shortcut.convolution.weight",
        "detr.model.backbone.conv_encoder.model.encoder.stages.3.layers.0.shortcut.convolution."
        "weight",
    ),
    ("detr-masks", "bbox_attention.q_proj.bias", "bbox_attention.q_linear.bias"),
    ("detr-masks", "mask_head.conv2.norm.weight", "mask_head.gn2.weight"),
    ("detr-masks", "mask_head.fpn_stages.1.refine.conv.bias", "mask_head.lay4.bias"),
    ("detr-masks", "mask_head.fpn_stages.2.fpn_adapter.weight", "mask_head.adapter3.weight"),
    ("detr-masks", "mask_head.output_conv.weight", "mask_head.out_lay.weight"),
    (
        "maskformer",
        "model.transformer_module.decoder.layers.1.self_attn.o_proj.bias",
        "model.transformer_module.decoder.layers.1.self_attn.out_proj.bias",
    ),
    (
        "maskformer",
        "model.transformer_module.decoder.layers.0.mlp.fc2.weight",
        "model.transformer_module.decoder.layers.0.fc2.weight",
    ),
    (
        "swin-classes",
        "swin.encoder.layers.0.blocks.1.attention.relative_position_bias.relative_position_bias_table",
        "swin.encoder.layers.0.blocks.1.attention.self.relative_position_bias_table",
    ),
    (
        "segformer-segments",
        "segformer.stages.0.blocks.1.attention.sequence_reduction.layer_norm.bias",
        "segformer.encoder.block.0.1.attention.self.layer_norm.bias",
    ),
    (
        "segformer-segments",
        "decode_head.linear_projections.1.proj.bias",
        "decode_head.linear_c.1.proj.bias",
    ),
    (
        "depth-anything",
        "backbone.encoder.layer.2.attention.v_proj.weight",
        "backbone.encoder.layer.2.attention.attention.value.weight",
    ),
]


@pytest.mark.parametrize(("case", "module", "published"), MODULES)
def test_names_of_modules_become_published_ones(case: str, module: str, published: str) -> None:
    fixture = RECORDED[case]
    assert published in fixture.shapes
    text = write_model({"image_size": [16, 16], **fixture.config})
    assert publish_names({module: 1}, text.module_names) == {published: 1}
    assert publish_names({published: 1}, text.module_names) == {published: 1}
