"""DINOv2: a vision transformer whose layers have scales, with registers or without.

Source: M. Oquab et al., "DINOv2: learning robust visual features without supervision",
arXiv:2304.07193 (2023); T. Darcet et al., "Vision transformers need registers", arXiv:2309.16588
(2023).
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Part, Reshaped, Transposed
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    declared_names,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.architectures.vision_encoder import (
    MODULE_NAMES,
    Encoder,
    LayerNames,
    Names,
    patch_names,
    read_backbone_keys,
    select_token,
)
from webnnm.transformers.config import Config

WITH_REGISTERS = "dinov2_with_registers"
FILES = LayerNames(
    "norm1", "norm2", "mlp.fc1", "mlp.fc2", "layer_scale1.lambda1", "layer_scale2.lambda1"
)
STATES = "last_hidden_state"


def write_model(config: Config) -> ModelText:
    """Return the text of a DINOv2 and its name map."""
    family = str(config.get("model_type", "dinov2"))
    kind = class_suffix(config, "Model", "ForImageClassification", default="Dinov2Model")
    read_backbone_keys(config)
    encoder, registers = read_encoder(config)
    body = [*write_encoder(encoder, registers), "norm(weight=final_norm, bias=final_norm_b"]
    first = 1 + registers
    if kind == "Model":
        block = STATES
        outputs = [
            f"{STATES}:output shape={encoder.shape}",
            f"{STATES}:layers\n{layers(*body)})",
            *output("pooler_output", encoder.width, *select_token(0, STATES), tokens=False),
        ]
    else:
        block, size = "logits", count_classes(config)
        slicing, flatten = select_token(0)
        body[-1] += ", name=states)"
        rows = (
            *(slicing, f"{flatten[:-1]}name=first)"),
            f"slice(node=states, [{first}, 0], [-1, -1])",
            "reduceMean(axes=[0], name=mean)",
            "concat([first, mean], axis=0)",
            *linear_layers("classifier", size),
        )
        outputs = output("logits", size, *body, *rows, tokens=False)
    source = statements(
        [
            f"model:name {family}",
            encoder.seen.input,
            *declare_tokens(encoder, registers, block),
            *outputs,
            *encoder.statements(),
        ]
    )
    names = encoder_names(config, encoder, registers) | norm_names("final_norm1", "layernorm")
    names |= linear_names("classifier1", "classifier") if kind != "Model" else {}
    names |= dict.fromkeys(("classifier.*", "embeddings.mask_token"))
    return ModelText(source, names, f"{family}.", module_names=MODULE_NAMES)


def read_encoder(config: Config, prefix: str = "") -> tuple[Encoder, int]:
    """Return the sizes of an encoder from a config, and the number of registers."""
    config.get("use_mask_token")
    seen = picture(config, patch=14)
    registers = (
        config.size("num_register_tokens", 4) if "with_reg" in str(config.get("model_type")) else 0
    )
    width = config.size("hidden_size", 768)
    inner = int(width * config.positive("mlp_ratio", 4))
    gated = config.flag("use_swiglu_ffn", False)
    encoder = Encoder(
        seen=seen,
        tokens=seen.patches + 1 + registers,
        width=width,
        inner=(int(inner * 2 / 3) + 7) // 8 * 8 if gated else inner,
        heads=config.size("num_attention_heads", 12),
        depth=config.count("num_hidden_layers", 12),
        activation=config.activation("hidden_act", "gelu"),
        epsilon=config.positive("layer_norm_eps", 1e-6),
        biases="qkvo" if config.flag("qkv_bias", True) else "o",
        files=FILES,
        prefix=prefix,
        gated=gated,
    )
    return encoder, registers


def write_encoder(encoder: Encoder, registers: int) -> list[str]:
    """Return the layers from the picture to the states before the last norm."""
    rows = [*encoder.seen.tokens(encoder.width)]
    if registers:
        rows += [
            f"split([1, {encoder.seen.patches}], axis=0, name=part)",
            "concat([part.0, registers, part.1], axis=0)",
        ]
    return [*rows, f"layer(repeat={encoder.depth})"]


def declare_tokens(encoder: Encoder, registers: int, block: str) -> tuple[str, ...]:
    """Return the statements of the parameters of tokens and positions."""
    width = encoder.width
    return (
        *encoder.seen.parameters(block, width),
        f"{block}:param registers shape=[{registers}, {width}]" if registers else "",
    )


def encoder_names(config: Config, encoder: Encoder, registers: int) -> Names:
    """Return the names of the parameters of an encoder, without those of the last norm."""
    width, prefix = encoder.width, encoder.prefix
    names: Names = {
        **patch_names(encoder._replace(tokens=encoder.seen.patches + 1)),
        **encoder.names(),
        "cls_token": Reshaped(f"{prefix}embeddings.cls_token", (1, width)),
    }
    if registers:
        names["registers"] = Reshaped(f"{prefix}embeddings.register_tokens", (registers, width))
    return names | (_gated_names(config, encoder) if encoder.gated else {})


def _gated_names(config: Config, encoder: Encoder) -> Names:
    """Return the names of gated MLPs, whose gates and values are one matrix in most files."""
    mlp = f"{encoder.prefix}encoder.layer.{{n-1}}.mlp"
    names: Names = {}
    apart = f"{mlp}.gate_proj.weight".replace("{n-1}", "0") in (config.tensors or ())
    for index, name in enumerate(("gate", "up")):
        if apart:
            names[f"{name}{{n}}"] = Transposed(f"{mlp}.{name}_proj.weight")
            names |= declared_names(f"{name}_b", f"{mlp}.{name}_proj.bias", encoder.depth)
            continue
        names[f"{name}{{n}}"] = Transposed(Part(f"{mlp}.weights_in.weight", index, 2))
        biases = declared_names(f"{name}_b", f"{mlp}.weights_in.bias", encoder.depth)
        names |= {key: Part(bias, index, 2) for key, bias in biases.items()}
    down = f"{mlp}.{'down_proj' if apart else 'weights_out'}"
    names["down{n}"] = Transposed(f"{down}.weight")
    return names | declared_names("down_b", f"{down}.bias", encoder.depth)
