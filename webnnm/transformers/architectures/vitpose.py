"""ViTPose: where the joints of a person are, as a map of each from a vision transformer.

Source: Y. Xu et al., "ViTPose: simple vision transformer baselines for human pose estimation",
arXiv:2204.12484 (2022).

Not supported: images of other sizes, `num_experts` other than 1, states of other layers than the
last.
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.conv_net import COUNTERS
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    layers,
    norm_names,
    statements,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.architectures.vision_encoder import (
    Encoder,
    LayerNames,
    patch_names,
    read_backbone_keys,
)
from webnnm.transformers.config import Config

FILES = LayerNames(up="mlp.fc1", down="mlp.fc2")
MAPS, KIND = "heatmaps", "ForPoseEstimation"
REACH = 2
"""How many pixels of zeros surround the picture."""
CHANNELS = 256
"""The channels of the head that computes its enlargement."""
MAX_SCALE = 1 << 6


def write_model(config: Config) -> ModelText:
    """Return the text of a ViTPose and its name map."""
    class_suffix(config, KIND, default=f"VitPose{KIND}")
    for key in ("backbone", "backbone_kwargs"):
        config.require(key, None)
    for key in ("use_pretrained_backbone", "use_timm_backbone"):
        config.require(key, False)
    encoder = _read_encoder(config.part("backbone_config"))
    seen, width = encoder.seen, encoder.width
    height, across = seen.grid
    cut = seen.cut(width).replace("strides=", f"padding={REACH}, strides=")
    rows = [
        cut,
        f"reshape([{width}, {seen.patches}])",
        "transpose([1, 0], name=patches)",
        f"split([1, {seen.patches}], node=position_embeddings, axis=0, name=positions)",
        "add([patches, positions.1])",
        "add(positions.0)",
        f"layer(repeat={encoder.depth})",
        "norm(weight=final_norm, bias=final_norm_b)",
        "transpose([1, 0])",
        f"reshape([{width}, {height}, {across}])",
    ]
    head = ParameterNames()
    scale, head_rows = _write_head(config, head, (height, across))
    labels = count_classes(config)
    kernel, reach = (3, ", padding=1") if scale else (1, "")
    scale = scale or 4
    head.weight("joints", "head.conv")
    rows += [
        *head_rows,
        f"conv2d(joints, filters={labels}, kernel={kernel}{reach}, bias=joints_b)",
    ]
    shape = f"{{labels:{labels}, height:{height * scale}, width:{across * scale}}}"
    table = f"shape=[{encoder.tokens + 1}, {width}]"
    source = statements(
        [
            "model:name vitpose",
            seen.input,
            f"{MAPS}:param position_embeddings {table}",
            f"{MAPS}:output shape={shape}",
            f"{MAPS}:layers\n{layers(*rows)}",
            *encoder.statements(),
        ]
    )
    names = patch_names(encoder) | encoder.names() | head.names | {COUNTERS: None}
    tensor = f"{encoder.prefix}embeddings.position_embeddings"
    names["position_embeddings"] = Reshaped(tensor, (encoder.tokens + 1, width))
    names |= norm_names("final_norm1", f"{encoder.prefix}layernorm")
    return ModelText(source, names, "")


def _read_encoder(config: Config) -> Encoder:
    """Return the sizes of the backbone."""
    config.require("model_type", "vitpose_backbone")
    config.require("num_experts", 1)
    config.get("part_features")
    seen = picture(config, size=[256, 192])
    patch, sides = seen.patch, (seen.height, seen.width)
    grid = tuple(
        (side + 2 * REACH - cut) // cut + 1 for side, cut in zip(sides, patch, strict=True)
    )
    if grid != seen.grid:
        hint = f"with {REACH} pixels around the picture there are other patches than positions"
        raise config.not_supported("patch_size", [*patch], hint)
    width, depth = config.size("hidden_size", 768), config.count("num_hidden_layers", 12)
    config.require("out_indices", [depth], [-1])
    config.require("out_features", [f"stage{depth}"])
    read_backbone_keys(config)
    return Encoder(
        seen=seen,
        tokens=seen.patches,
        width=width,
        inner=int(width * config.positive("mlp_ratio", 4)),
        heads=config.size("num_attention_heads", 12),
        depth=depth,
        activation=config.activation("hidden_act", "gelu"),
        epsilon=config.positive("layer_norm_eps", 1e-12),
        biases="qkvo" if config.flag("qkv_bias", True) else "o",
        files=FILES,
        prefix="backbone.",
    )


def _write_head(
    config: Config, names: ParameterNames, size: tuple[int, int]
) -> tuple[int, list[str]]:
    """Return how many times larger maps become by interpolation, and the layers that do it.

    The number is 0 where convolutions with learned filters make them four times larger.
    """
    scale = config.integer("scale_factor", 4, 1, MAX_SCALE)
    if config.flag("use_simple_decoder", True):
        sizes = f"[{size[0] * scale}, {size[1] * scale}]"
        return scale, ["relu()", f"resample2d(sizes={sizes}, mode=linear)"]
    rows: list[str] = []
    for number in (1, 2):
        names.weight("grow", f"head.deconv{number}", bias=False)
        norm = f"head.batchnorm{number}"
        count = names.weight("batch_norm", norm)
        names.names[f"mean{count}"] = f"{norm}.running_mean"
        names.names[f"variance{count}"] = f"{norm}.running_var"
        rows += [
            f"convTranspose2d(grow, filters={CHANNELS}, kernel=4, strides=2, padding=1)",
            "batchNorm(scale=batch_norm, bias=batch_norm_b)",
            "relu()",
        ]
    return 0, rows
