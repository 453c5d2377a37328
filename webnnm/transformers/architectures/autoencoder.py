"""The decoder of the autoencoder of latent diffusion: images from latents.

Source: R. Rombach et al., "High-resolution image synthesis with latent diffusion models",
arXiv:2112.10752 (2022).
"""

from __future__ import annotations

from webnnm.transformers.architectures.diffusion import DOUBLED, Body, kinds, widths
from webnnm.transformers.architectures.model_text import ModelText, layers, statements
from webnnm.transformers.config import Config

ENCODING = (
    *("in_channels", "down_block_types", "use_quant_conv"),
    *("scaling_factor", "shift_factor", "latents_mean", "latents_std", "force_upcast"),
)
"""Keys for the encoder, and for the callers of the decoder."""
ATTENTION = "decoder.mid_block.attentions.0"
OLD = {"to_q": "query", "to_k": "key", "to_v": "value", "to_out.0": "proj_attn"}
"""The names of the attention projections in older files."""


def write_model(config: Config) -> ModelText:
    """Return the text of the decoder and its name map."""
    for key in ENCODING:
        config.get(key)
    groups = config.size("norm_num_groups", 32)
    channels = widths(config, "block_out_channels", [64], groups)
    kinds(config, "up_block_types", ["UpDecoderBlock2D"], len(channels))
    height, width = (size // 2 ** (len(channels) - 1) for size in config.pair("sample_size", 32))
    if not height or not width:
        raise config.wrong(
            "sample_size", f"at least {2 ** (len(channels) - 1)} for this many levels"
        )
    size, image_channels = config.size("latent_channels", 4), config.size("out_channels", 3)
    body = Body(groups, 1e-6)
    has_attention = config.flag("mid_block_add_attention", True)
    _begin(body, config, size, channels[-1], has_attention)
    _grow(body, channels[::-1], config.count("layers_per_block", 1) + 1)
    body.norm("last_norm", "decoder.conv_norm_out")
    body.convolution("last", "decoder.conv_out", image_channels)
    scale = 2 ** (len(channels) - 1)
    activation = config.activation("act_fn", "silu")
    source = statements(
        [
            "model:name autoencoder",
            f"z:input shape={{channels:{size}, height:{height}, width:{width}}}",
            f"sample:output shape={{channels:{image_channels}, height:{height * scale}, "
            f"width:{width * scale}}}",
            f"sample:layers\n{layers(*body.rows)}",
            *body.blocks(activation, timed=False),
            f"look:layers\n{_look(body, channels[-1], height, width)}" if has_attention else "",
        ]
    )
    unused = ("encoder.*", "quant_conv.*", "post_quant_conv.*", f"{ATTENTION}.*")
    return ModelText(source, body.names | dict.fromkeys(unused), "")


def _begin(body: Body, config: Config, size: int, width: int, has_attention: bool) -> None:
    """Add the layers up to the first level."""
    node = ", node=z"
    if config.flag("use_post_quant_conv", True):
        body.add(f"conv2d(unpacked{node}, filters={size}, kernel=1, bias=unpacked_b)")
        body.weight("unpacked", "post_quant_conv")
        node = ""
    body.convolution("begun", "decoder.conv_in", width, node)
    body.resnet("decoder.mid_block.resnets.0", width, width)
    if has_attention:
        body.add("look()")
        body.weight("look_norm", f"{ATTENTION}.group_norm")
        old = f"{ATTENTION}.query.weight" in (config.tensors or ())
        for letter, name in zip("qkvo", OLD, strict=True):
            body.matrix(f"w{letter}", f"{ATTENTION}.{OLD[name] if old else name}")
    body.resnet("decoder.mid_block.resnets.1", width, width)


def _grow(body: Body, channels: list[int], count: int) -> None:
    """Add the levels; each but the last doubles height and width."""
    before = channels[0]
    for level, filters in enumerate(channels):
        for number in range(count):
            body.resnet(f"decoder.up_blocks.{level}.resnets.{number}", before, filters)
            before = filters
        if level < len(channels) - 1:
            body.add(DOUBLED)
            body.convolution("grown", f"decoder.up_blocks.{level}.upsamplers.0.conv", filters)


def _look(body: Body, width: int, height: int, across: int) -> str:
    """Return the layers of attention between all pixels."""
    return layers(
        f"groupNorm(groups={body.groups}, epsilon={body.epsilon}, scale=look_norm, "
        "bias=look_norm_b)",
        f"reshape([{width}, {height * across}])",
        "transpose([1, 0])",
        "attend(wq, wk, wv, o=wo, bias=true)",
        "transpose([1, 0])",
        f"reshape([{width}, {height}, {across}])",
        "residual(to=input)",
    )
