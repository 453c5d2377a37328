"""DINOv2: a vision transformer whose layers have scales, with registers or without.

Source: M. Oquab et al., "DINOv2: learning robust visual features without supervision",
arXiv:2304.07193 (2023); T. Darcet et al., "Vision transformers need registers", arXiv:2309.16588
(2023).

Not supported: images of other sizes, with registers.
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.core.arrays import HostArray
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
from webnnm.transformers.architectures.stretching import (
    declare_stretching,
    stretching_constants,
    write_stretching,
)
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
    size = config.pair("picture_size", [0, 0]) if "picture_size" in config else None
    dino = read_encoder(config, size=size)
    encoder, registers = dino.encoder, dino.registers
    body = [
        *dino.rows(),
        f"layer(repeat={encoder.depth})",
        "norm(weight=final_norm, bias=final_norm_b",
    ]
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
            *dino.parameters(block),
            *outputs,
            *encoder.statements(),
            dino.stretch_statement(),
        ]
    )
    names = encoder_names(config, dino) | norm_names("final_norm1", "layernorm")
    names |= linear_names("classifier1", "classifier") if kind != "Model" else {}
    names |= dict.fromkeys(("classifier.*", "embeddings.mask_token"))
    return ModelText(source, names, f"{family}.", dino.constants(), module_names=MODULE_NAMES)


class Dino(NamedTuple):
    """An encoder, its number of registers, and the grid of its table of positions.

    Pictures may have another grid: positions are interpolated then.
    """

    encoder: Encoder
    registers: int
    table: tuple[int, int]

    @property
    def stretches(self) -> bool:
        """Whether positions are interpolated."""
        return self.table != self.encoder.seen.grid

    def rows(self) -> list[str]:
        """Return the layers from the picture to the tokens of the first layer."""
        seen = self.encoder.seen
        rows = list(seen.tokens(self.encoder.width))
        if self.stretches:
            call = "stretch_table(table=position_embeddings, name=positions)"
            rows = [call, *rows[:-1], "add(positions)"]
        if self.registers:
            rows += [
                f"split([1, {seen.patches}], axis=0, name=part)",
                "concat([part.0, registers, part.1], axis=0)",
            ]
        return rows

    def parameters(self, block: str) -> tuple[str, ...]:
        """Return the statements of the parameters of tokens and positions."""
        width, grid = self.encoder.width, self.encoder.seen.grid
        table = self.encoder.seen._replace(
            height=self.table[0] * self.encoder.seen.patch[0],
            width=self.table[1] * self.encoder.seen.patch[1],
        )
        return (
            *table.parameters(block, width),
            f"{block}:param registers shape=[{self.registers}, {width}]" if self.registers else "",
            *(declare_stretching(block, self.table, grid) if self.stretches else ()),
        )

    def stretch_statement(self) -> str:
        """Return the statement of the block that interpolates positions."""
        if not self.stretches:
            return ""
        return write_stretching(self.table, self.encoder.seen.grid, self.encoder.width)

    def constants(self) -> dict[str, HostArray]:
        """Return the weights of the interpolation."""
        return stretching_constants(self.table, self.encoder.seen.grid) if self.stretches else {}


def read_encoder(config: Config, prefix: str = "", size: tuple[int, int] | None = None) -> Dino:
    """Return the sizes of an encoder from a config; `size` is that of pictures, if it is another.

    Raises `DataError` NNM818 for invalid sizes.
    """
    config.get("use_mask_token")
    seen = picture(config, patch=14)
    table = seen.grid
    if size is not None:
        seen = seen._replace(height=size[0], width=size[1])
        if not seen.patches or (table[0] != table[1] and seen.grid != table):
            hint = "it is at least a patch, and positions of a square are interpolated alone"
            raise config.not_supported("picture_size", [*size], hint)
    registers = 0
    if config.get("model_type") == WITH_REGISTERS:
        registers = config.size("num_register_tokens", 4)
    width = config.size("hidden_size", 768)
    inner = int(width * config.positive("mlp_ratio", 4))
    gated = config.flag("use_swiglu_ffn", False)
    activation = config.activation("hidden_act", "gelu")
    encoder = Encoder(
        seen=seen,
        tokens=seen.patches + 1 + registers,
        width=width,
        inner=(int(inner * 2 / 3) + 7) // 8 * 8 if gated else inner,
        heads=config.size("num_attention_heads", 12),
        depth=config.count("num_hidden_layers", 12),
        activation="silu()" if gated else activation,
        epsilon=config.positive("layer_norm_eps", 1e-6),
        biases="qkvo" if config.flag("qkv_bias", True) else "o",
        files=FILES,
        prefix=prefix,
        gated=gated,
    )
    return Dino(encoder, registers, table)


def encoder_names(config: Config, dino: Dino) -> Names:
    """Return the names of the parameters of an encoder, without those of the last norm."""
    encoder, registers = dino.encoder, dino.registers
    width, prefix = encoder.width, encoder.prefix
    names: Names = {
        **patch_names(encoder._replace(tokens=dino.table[0] * dino.table[1] + 1)),
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
