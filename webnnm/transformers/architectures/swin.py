"""Swin transformers: attention in windows of patches, which every other layer shifts.

Source: Z. Liu et al., "Swin transformer: hierarchical vision transformer using shifted windows",
arXiv:2103.14030 (2021).

Not supported: images of other sizes, stages smaller than a window.
"""

from __future__ import annotations

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.grid_distances import (
    MAX_CELLS,
    count_distances,
    measure_distances,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.patches import Picture, picture
from webnnm.transformers.architectures.vision_encoder import read_backbone_keys
from webnnm.transformers.architectures.windows import ROLL, Windows
from webnnm.transformers.config import MAX_COUNT, Config

STATES, DISTANCES = "last_hidden_state", "distances"
UNUSED = ("*relative_position_index", "*attn_mask")
"""Tensors of files that are computed."""
DONUT = "donut-swin"
"""The `model_type` of the encoders of Donut, which have no last norm."""
_BLOCK = r"(layers\.\d+\.blocks\.\d+\.)"
MODULE_NAMES = (
    (_BLOCK + r"attention\.q_proj\.", r"\1attention.self.query."),
    (_BLOCK + r"attention\.k_proj\.", r"\1attention.self.key."),
    (_BLOCK + r"attention\.v_proj\.", r"\1attention.self.value."),
    (_BLOCK + r"attention\.o_proj\.", r"\1attention.output.dense."),
    (_BLOCK + r"attention\.relative_position_bias\.", r"\1attention.self."),
    (_BLOCK + r"mlp\.fc1\.", r"\1intermediate.dense."),
    (_BLOCK + r"mlp\.fc2\.", r"\1output.dense."),
)
"""Names of the modules of transformers 5: pattern → the published name."""


class SwinBody(ParameterNames):
    """The layers in order, the statements that they call, and tensors that files do not have.

    Attribute `grids`: height, width and features of the results of stages, stage1, stage2, ….
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[str] = []
        self.blocks: list[str] = []
        self.constants: dict[str, HostArray] = {}
        self.grids: list[tuple[int, int, int]] = []

    def parameters(self, block: str) -> list[str]:
        """Return the statements of the constants in a block."""
        return [
            f"{block}:param {name} {'int32 ' * (name == DISTANCES)}shape={[*array.shape]} "
            "trainable=false"
            for name, array in self.constants.items()
        ]


def write_model(config: Config) -> ModelText:
    """Return the text of a Swin transformer and its name map."""
    kind = class_suffix(config, "Model", "ForImageClassification", default="SwinModel")
    read_backbone_keys(config)
    for key in ("encoder_stride", "hidden_size", "num_layers", "path_norm"):
        config.get(key)
    seen = picture(config, patch=4)
    if seen.height % seen.patch[0] or seen.width % seen.patch[1]:
        hint = "height and width must be multiples of patch_size"
        raise config.not_supported("image_size", [seen.height, seen.width], hint)
    placed = config.flag("use_absolute_embeddings", False)
    body = write_body(config, seen, placed=placed)
    height, across, width = body.grids[-1]
    tokens, epsilon = height * across, config.positive("layer_norm_eps", 1e-5)
    names = body.names
    body.rows.append(f"reshape([{tokens}, {width}])")
    if config.get("model_type") != DONUT:
        body.rows.append(f"layerNorm(scale=final_norm, bias=final_norm_b, epsilon={epsilon})")
        names |= norm_names("final_norm1", "layernorm")
    if kind == "Model":
        block = STATES
        outputs = [
            f"{STATES}:output shape={{tokens:{tokens}, features:{width}}}",
            f"{STATES}:layers\n{layers(*body.rows)}",
            *output("pooler_output", width, f"reduceMean(node={STATES}, axes=[0])", tokens=False),
        ]
    else:
        block, size = "logits", count_classes(config)
        rows = (*body.rows, "reduceMean(axes=[0])", *linear_layers("classifier", size))
        outputs = output("logits", size, *rows, tokens=False)
        names |= linear_names("classifier1", "classifier")
    places = f"[{seen.grid[0]}, {seen.grid[1]}, {config.size('embed_dim', 96)}]"
    source = statements(
        [
            "model:name swin",
            seen.input,
            f"{block}:param position_embeddings shape={places}" if placed else "",
            *body.parameters(block),
            *outputs,
            *body.blocks,
        ]
    )
    names |= dict.fromkeys((*UNUSED, "embeddings.mask_token", "classifier.*"))
    return ModelText(source, names, "swin.", body.constants, module_names=MODULE_NAMES)


def write_body(
    config: Config, seen: Picture, *, placed: bool = False, pads_grids: bool = False
) -> SwinBody:
    """Return the layers of a network up to its last stage.

    With `placed`, positions are added to patches. Networks that pad grids shift windows also where
    one covers the grid; others cannot have grids that are smaller.
    """
    width = config.size("embed_dim", 96)
    height, across = seen.grid
    body = SwinBody()
    body.rows = [
        seen.cut(width),
        "transpose([1, 2, 0])",
        "norm(weight=patch_norm, bias=patch_norm_b)",
    ]
    body.weight("patch", "embeddings.patch_embeddings.projection")
    body.weight("patch_norm", "embeddings.norm")
    if placed:
        body.rows.append("add(position_embeddings)")
        sizes = (height, across, width)
        body.names["position_embeddings"] = Reshaped("embeddings.position_embeddings", sizes)
    _write_stages(config, body, (height, across, width), pads_grids=pads_grids)
    return body


def _write_stages(
    config: Config, body: SwinBody, grid: tuple[int, int, int], *, pads_grids: bool
) -> None:
    """Add the layers of all stages."""
    height, across, width = grid
    depths = config.integers("depths", [2, 2, 6, 2], 1, MAX_COUNT)
    heads = config.integers("num_heads", [3, 6, 12, 24], 1)
    if len(heads) != len(depths):
        raise config.wrong("num_heads", f"a list of {len(depths)} integers, one for each stage")
    side, ratio = config.size("window_size", 7), config.positive("mlp_ratio", 4.0)
    if side**2 > MAX_CELLS:
        raise config.not_supported("window_size", side, f"up to {MAX_CELLS:,} cells can be used")
    body.constants[DISTANCES] = measure_distances((side, side))
    kinds: dict[str, Windows] = {}
    for stage, (depth, count) in enumerate(zip(depths, heads, strict=True)):
        if min(height, across) < side and not pads_grids:
            hint = f"the grid of a stage is only {height} x {across}"
            raise config.not_supported("window_size", side, hint)
        for number in range(depth):
            shift = side // 2 if number % 2 and (pads_grids or min(height, across) > side) else 0
            name = f"{'shifted' if shift else 'plain'}{stage + 1}"
            kinds[name] = Windows(height, across, side, shift, width, count)
            body.rows.append(
                f"layer(look={name}, rows={height}, columns={across}, "
                f"width={width}, inner={int(ratio * width)})"
            )
            _record(config, body, f"encoder.layers.{stage}.blocks.{number}")
        body.rows[-1] = f"{body.rows[-1][:-1]}, name=stage{stage + 1})"
        body.grids.append((height, across, width))
        if stage < len(depths) - 1:
            body.rows.append(f"merge{stage + 1}()")
            body.blocks.append(_merge(stage, height, across, width))
            layer = f"encoder.layers.{stage}.downsample"
            body.weight("merge_norm", f"{layer}.norm")
            body.matrix("merge", f"{layer}.reduction", bias=False)
            height, across, width = -(-height // 2), -(-across // 2), 2 * width
    biases = "bias=true" if config.flag("qkv_bias", True) else "bias=[o]"
    body.blocks = [*_blocks(config, kinds, side, biases), *body.blocks]
    for name, windows in kinds.items():
        if windows.shift:
            body.constants[f"hidden_{name}"] = windows.measure_hiding()


def _record(config: Config, body: SwinBody, layer: str) -> None:
    """Record the tensors of a layer."""
    attention, biased = f"{layer}.attention", config.flag("qkv_bias", True)
    body.weight("attention_norm", f"{layer}.layernorm_before")
    body.declare("distance_table", f"{attention}.self.relative_position_bias_table")
    for letter, name in (("q", "query"), ("k", "key"), ("v", "value")):
        body.matrix(f"w{letter}", f"{attention}.self.{name}", bias=biased)
    body.matrix("wo", f"{attention}.output.dense")
    body.weight("mlp_norm", f"{layer}.layernorm_after")
    for parameter, name in (("up", "intermediate"), ("down", "output")):
        body.matrix(parameter, f"{layer}.{name}.dense", bias=False)
        body.declare(f"{parameter}_b", f"{layer}.{name}.dense.bias")


def _merge(stage: int, height: int, across: int, width: int) -> str:
    """Return the statement of the block that joins four cells to one."""
    pads = f"pad([0, 0, 0], [{height % 2}, {across % 2}, 0])" if height % 2 or across % 2 else ""
    rows, columns = -(-height // 2), -(-across // 2)
    return f"merge{stage + 1}:layers\n" + layers(
        pads,
        f"reshape([{rows}, 2, {columns}, 2, {width}])",
        "transpose([0, 2, 3, 1, 4])",
        f"reshape([{rows}, {columns}, {4 * width}])",
        "layerNorm(scale=merge_norm, bias=merge_norm_b)",
        f"matmul(merge, shape=[{rows}, {columns}, {2 * width}])",
    )


def _blocks(config: Config, kinds: dict[str, Windows], side: int, biases: str) -> list[str]:
    """Return the statements of the blocks that the layers call."""
    activation = config.activation("hidden_act", "gelu")
    epsilon = config.positive("layer_norm_eps", 1e-5)
    layer = layers(
        f"layerNorm(scale=attention_norm, bias=attention_norm_b, epsilon={epsilon})",
        "look()",
        "residual(to=input, name=attended)",
        f"layerNorm(scale=mlp_norm, bias=mlp_norm_b, epsilon={epsilon})",
        "matmul(up, shape=[rows, columns, inner])",
        "add(up_b)",
        activation,
        "matmul(down, shape=[rows, columns, width])",
        "add(down_b)",
        "residual(to=attended)",
    )
    nearness = layers("embedding(distance_table, node=distances)", "transpose([2, 0, 1])")
    attend = f"attend(wq, wk, wv, o=wo, node=input, {biases}, heads=heads, mask="
    attention = layers("nearness(name=near)", f"{attend}near)")
    shifted = layers("nearness(name=near)", "add(hidden, name=apart)", f"{attend}apart)")
    rows = count_distances((side, side))
    table = f"nearness:param distance_table shape=[{rows}, heads] shared=false"
    any_shift = any(windows.shift for windows in kinds.values())
    looks = [
        f"{name}:layers\n" + layers(*windows.divide(), _attend(name, windows), *windows.join())
        for name, windows in kinds.items()
    ]
    return [
        *(
            f"layer:param {name} shape=[{size}] shared=false"
            for name, size in (("up_b", "inner"), ("down_b", "width"))
        ),
        f"layer:layers\n{layer}",
        *looks,
        table,
        f"nearness:layers\n{nearness}",
        f"attention:layers\n{attention}",
        *((f"shifted_attention:layers\n{shifted}", ROLL) if any_shift else ()),
        "norm:layers layerNorm(scale=weight, bias=bias)",
    ]


def _attend(name: str, windows: Windows) -> str:
    heads = f"heads={windows.heads}"
    return (
        f"shifted_attention({heads}, hidden=hidden_{name})"
        if windows.shift
        else f"attention({heads})"
    )
