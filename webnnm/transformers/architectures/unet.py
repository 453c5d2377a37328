"""The U-Net of latent diffusion: predicts the noise in latents at a timestep, given a text.

Source: R. Rombach et al., "High-resolution image synthesis with latent diffusion models",
arXiv:2112.10752 (2022).
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Form, Part, Reshaped, Transposed
from webnnm.transformers.architectures.diffusion import (
    DOUBLED,
    Body,
    kinds,
    per_level,
    widths,
)
from webnnm.transformers.architectures.model_text import ModelText, layers, statements
from webnnm.transformers.config import Config

ONLY = {
    "center_input_sample": False,
    "downsample_padding": 1,
    "mid_block_type": "UNetMidBlock2DCrossAttn",
    "only_cross_attention": False,
    "mid_block_scale_factor": 1,
    "dual_cross_attention": False,
    "num_attention_heads": None,
    "class_embed_type": None,
    "addition_embed_type": None,
    "encoder_hid_dim_type": None,
    "encoder_hid_dim": None,
    "num_class_embeds": None,
    "resnet_time_scale_shift": "default",
    "resnet_skip_time_act": False,
    "resnet_out_scale_factor": 1.0,
    "time_embedding_type": "positional",
    "time_embedding_act_fn": None,
    "timestep_post_act": None,
    "time_cond_proj_dim": None,
    "reverse_transformer_layers_per_block": None,
    "conv_in_kernel": 3,
    "conv_out_kernel": 3,
    "attention_type": "default",
    "mid_block_only_cross_attention": None,
    "cross_attention_norm": None,
}
"""Keys for features of other networks of the family → the supported value."""
UNUSED = (
    *("upcast_attention", "addition_embed_type_num_heads", "addition_time_embed_dim"),
    *("projection_class_embeddings_input_dim", "class_embeddings_concat", "use_linear_projection"),
)
"""Keys without effect on results: precision, sizes of absent parts, forms of weights."""
SEEING = "CrossAttn{}Block2D"
LONGEST = 10_000
"""The longest wavelength of the time embedding, in steps times 2π."""


class Level(NamedTuple):
    """The sizes of a level: channels, heads and layers of its transformers, height and width."""

    width: int
    heads: int
    depth: int
    height: int
    across: int
    seeing: bool


def write_model(config: Config) -> ModelText:
    """Return the text of the network and its name map."""
    for key, value in ONLY.items():
        config.require(key, value)
    for key in UNUSED:
        config.get(key)
    groups = config.size("norm_num_groups", 32)
    down, up = _levels(config, groups)
    size, input_channels = config.size("out_channels", 4), config.size("in_channels", 4)
    context = config.size("cross_attention_dim", 1280)
    first = down[0]
    body = Body(groups, config.positive("norm_eps", 1e-5))
    time_width = config.size("time_embedding_dim", 4 * first.width)
    activation = config.activation("act_fn", "silu")
    _time(body, time_width, activation, config.flag("flip_sin_to_cos", True))
    body.convolution("begun", "conv_in", first.width, ", node=sample:input, name=skip0")
    count = config.count("layers_per_block", 2)
    skips = _fall(body, down, count)
    _rise(body, up, skips, count + 1)
    body.norm("last_norm", "conv_norm_out")
    body.convolution("last", "conv_out", size)
    rates = _rates(first.width, config.number("freq_shift", 0))
    picture = f"height:{first.height}, width:{first.across}"
    source = statements(
        [
            "model:name unet",
            f"sample:input shape={{channels:{input_channels}, {picture}}}",
            "timestep:input shape=[]",
            f"encoder_hidden_states:input shape=[{context}] sequence=tokens",
            f"sample:param rates shape=[{len(rates)}] lrm=0",
            f"sample:output shape={{channels:{size}, {picture}}}",
            f"sample:layers\n{layers(*body.rows)}",
            *body.blocks(activation, timed=True),
            *_transformer(body),
        ]
    )
    return ModelText(source, body.names, "", {"rates": rates})


def _levels(config: Config, groups: int) -> tuple[list[Level], list[Level]]:
    """Return the levels on the way down and on the way up."""
    channels = widths(config, "block_out_channels", [320, 640, 1280, 1280], groups)
    count = len(channels)
    heads = per_level(config, "attention_head_dim", 8, count)  # of heads, despite the name
    depths = per_level(config, "transformer_layers_per_block", 1, count)
    height, across = config.pair("sample_size", 64)
    factor = 2 ** (count - 1)
    if height % factor or across % factor:
        hint = f"with {count} levels, height and width must be multiples of {factor}"
        raise config.not_supported("sample_size", [height, across], hint)
    for width, number in zip(channels, heads, strict=True):
        if width % number:
            hint = f"{number} heads do not divide {width} channels evenly"
            raise config.not_supported("attention_head_dim", heads, hint)
    paths: list[list[Level]] = []
    for direction, is_up in (("Down", False), ("Up", True)):
        supported = [SEEING.format(direction), f"{direction}Block2D"]
        block_kinds = kinds(config, f"{direction.lower()}_block_types", supported, count)
        levels = [
            Level(*sizes, height >> n, across >> n, seeing=False)
            for n, sizes in enumerate(zip(channels, heads, depths, strict=True))
        ]
        levels = levels[::-1] if is_up else levels
        pairs = zip(levels, block_kinds, strict=True)
        paths.append([level._replace(seeing=kind == supported[0]) for level, kind in pairs])
    return paths[0], paths[1]


def _time(body: Body, size: int, activation: str, cosines_first: bool) -> None:
    """Add the layers that embed a timestep."""
    waves = "cosines, sines" if cosines_first else "sines, cosines"
    body.add(
        "reshape([1], node=timestep)",
        "mul(rates, name=angles)",
        "sin(name=sines)",
        "cos(node=angles, name=cosines)",
        f"concat([{waves}], axis=0)",
        f"matmul(moment, shape=[{size}])",
        "add(moment_b)",
        activation,
        f"matmul(moment, shape=[{size}])",
        "add(moment_b, name=time)",
    )
    body.matrix("moment", "time_embedding.linear_1")
    body.matrix("moment", "time_embedding.linear_2")


def _rates(width: int, shift: float) -> HostArray:
    """Return the increase of each wave's angle per step."""
    half = width // 2
    rates = [math.exp(-math.log(LONGEST) * k / (half - shift)) for k in range(half)]
    return HostArray.of(rates, "float32", [half])


def _look(body: Body, level: Level, layer: str) -> None:
    """Add transformers over all pixels of a level, which also attend to the text."""
    tokens = level.height * level.across
    body.add(
        f"look(width={level.width}, height={level.height}, across={level.across}, "
        f"tokens={tokens}, inner={4 * level.width}, heads={level.heads}, depth={level.depth})"
    )
    shape = (level.width, level.width, 1, 1)

    def cells(name: str) -> Form:
        return Reshaped(name, shape)

    body.weight("look_norm", f"{layer}.norm")
    body.weight("into", f"{layer}.proj_in", cells)
    body.weight("out_of", f"{layer}.proj_out", cells)
    for number in range(level.depth):
        block = f"{layer}.transformer_blocks.{number}"
        for k, part in enumerate(("own", "cross", "mlp"), 1):
            body.weight(f"{part}_norm", f"{block}.norm{k}")
        for k, part in enumerate(("own", "cross"), 1):
            for letter in "qkv":
                body.matrix(f"{part}_w{letter}", f"{block}.attn{k}.to_{letter}", bias=False)
            body.matrix(f"{part}_wo", f"{block}.attn{k}.to_out.0")
        _mlp(body, f"{block}.ff.net")


def _mlp(body: Body, layer: str) -> None:
    """Record the tensors of an MLP; values and their gates are one matrix there."""
    for part, parameter in enumerate(("up", "gate")):
        body.weight(parameter, f"{layer}.0.proj", partial(_half, part), bias=False)
        body.declare(f"{parameter}_b", f"{layer}.0.proj.bias", partial(Part, index=part, of=2))
    body.matrix("down", f"{layer}.2", bias=False)
    body.declare("down_b", f"{layer}.2.bias")


def _half(part: int, name: str) -> Form:
    return Transposed(Part(name, part, 2))


def _fall(body: Body, down: list[Level], count: int) -> list[int]:
    """Add the downward path and the middle; return the channels of the skip connections."""
    before, skips = down[0].width, [down[0].width]
    for number, level in enumerate(down):
        for n in range(count):
            body.resnet(f"down_blocks.{number}.resnets.{n}", before, level.width, timed=True)
            before = level.width
            if level.seeing:
                _look(body, level, f"down_blocks.{number}.attentions.{n}")
            body.name_last(f"skip{len(skips)}")
            skips.append(level.width)
        if number < len(down) - 1:
            layer = f"down_blocks.{number}.downsamplers.0.conv"
            body.convolution("halved", layer, level.width, f", strides=2, name=skip{len(skips)}")
            skips.append(level.width)
    last = down[-1]
    body.resnet("mid_block.resnets.0", before, last.width, timed=True)
    _look(body, last, "mid_block.attentions.0")
    body.resnet("mid_block.resnets.1", last.width, last.width, timed=True)
    return skips


def _rise(body: Body, up: list[Level], skips: list[int], count: int) -> None:
    """Add the upward path, each step of which concatenates a skip connection."""
    before = up[0].width
    for number, level in enumerate(up):
        for n in range(count):
            before += skips.pop()
            body.add(f"concat(skip{len(skips)}, axis=0)")
            body.resnet(f"up_blocks.{number}.resnets.{n}", before, level.width, timed=True)
            before = level.width
            if level.seeing:
                _look(body, level, f"up_blocks.{number}.attentions.{n}")
        if number < len(up) - 1:
            body.add(DOUBLED)
            body.convolution("doubled", f"up_blocks.{number}.upsamplers.0.conv", level.width)


def _transformer(body: Body) -> list[str]:
    """Return the statements of the blocks that attend to all pixels and to the text."""
    look = layers(
        f"groupNorm(groups={body.groups}, epsilon=1e-6, scale=look_norm, bias=look_norm_b)",
        "conv2d(into, filters=width, kernel=1, bias=into_b)",
        "reshape([width, tokens])",
        "transpose([1, 0])",
        "transformer(repeat=depth)",
        "transpose([1, 0])",
        "reshape([width, height, across])",
        "conv2d(out_of, filters=width, kernel=1, bias=out_of_b)",
        "residual(to=input)",
    )
    transformer = layers(
        "norm(weight=own_norm, bias=own_norm_b)",
        "attend(own_wq, own_wk, own_wv, o=own_wo, bias=[o], heads=heads)",
        "residual(to=input, name=looked)",
        "norm(weight=cross_norm, bias=cross_norm_b)",
        "attend(cross_wq, cross_wk, cross_wv, o=cross_wo, bias=[o], heads=heads, "
        "to=encoder_hidden_states)",
        "residual(to=looked, name=told)",
        "norm(weight=mlp_norm, bias=mlp_norm_b, name=read)",
        "matmul(up, shape=[tokens, inner])",
        "add(up_b, name=value)",
        "matmul(gate, node=read, shape=[tokens, inner])",
        "add(gate_b)",
        "gelu()",
        "mul(value)",
        "matmul(down, shape=[tokens, width])",
        "add(down_b)",
        "residual(to=told)",
    )
    return [
        f"look:layers\n{look}",
        *(
            f"transformer:param {parameter}_b shape=[{size}] shared=false"
            for parameter, size in (("up", "inner"), ("gate", "inner"), ("down", "width"))
        ),
        f"transformer:layers\n{transformer}",
        "norm:layers layerNorm(scale=weight, bias=bias)",
    ]
