"""Parts of models that make pictures from noise."""

from __future__ import annotations

from tests.parity.pretrained.case import Case

UNET = {
    "sample_size": 4,
    "block_out_channels": [8, 12],
    "layers_per_block": 1,
    "cross_attention_dim": 18,
    "attention_head_dim": 2,
    "norm_num_groups": 4,
    "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"],
}
VAE = {
    "sample_size": 8,
    "block_out_channels": [8, 12],
    "layers_per_block": 1,
    "norm_num_groups": 4,
    "down_block_types": ["DownEncoderBlock2D"] * 2,
    "up_block_types": ["UpDecoderBlock2D"] * 2,
}

CASES = [
    Case("unet-plain", "UNet2DConditionModel", UNET, inputs=(), batch=2),
    Case(
        "unet-deep",
        "UNet2DConditionModel",
        {
            **UNET,
            "layers_per_block": 2,
            "block_out_channels": [8, 8],
            "attention_head_dim": [2, 4],
            "transformer_layers_per_block": 2,
            "use_linear_projection": True,
            "flip_sin_to_cos": False,
            "freq_shift": 1,
            "norm_eps": 1e-3,
        },
        inputs=(),
        batch=1,
    ),
    Case("vae-plain", "AutoencoderKL", VAE, inputs=(), batch=2),
    Case(
        "vae-bare",
        "AutoencoderKL",
        {
            **VAE,
            "latent_channels": 3,
            "use_post_quant_conv": False,
            "use_quant_conv": False,
            "mid_block_add_attention": False,
        },
        inputs=(),
        batch=1,
    ),
]
