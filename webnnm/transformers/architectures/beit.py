"""BEiT: a vision transformer whose attention depends on how far patches are apart.

Source: H. Bao et al., "BEiT: BERT pre-training of image transformers", arXiv:2106.08254 (2021).

Not supported: images of other sizes, masked images.
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.grid_distances import MAX_CELLS, measure_distances
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
    MLP_MODULE_NAMES,
    MODULE_NAMES,
    Encoder,
    LayerNames,
    Names,
    patch_names,
    read_backbone_keys,
    select_token,
)
from webnnm.transformers.config import Config

STATES = "last_hidden_state"
SEGMENTATION = (
    *("pool_scales", "use_auxiliary_head", "auxiliary_channels", "auxiliary_num_convs"),
    *("auxiliary_concat_input", "add_fpn", "use_mask_token", "vocab_size"),
)
"""Keys of other classes."""
_TABLE = "relative_position_bias.relative_position_bias_table"
BIAS_MODULE_NAMES = (
    (
        r"(^|\.)layers\.(\d+)\." + _TABLE.replace(".", r"\."),
        rf"\1encoder.layer.\2.attention.attention.{_TABLE}",
    ),
    (r"(^|\.)shared_position_bias\.", r"\1encoder.relative_position_bias."),
)


def write_model(config: Config) -> ModelText:
    """Return the text of a BEiT and its name map."""
    kind = class_suffix(config, "Model", "ForImageClassification", default="BeitModel")
    read_backbone_keys(config)
    for key in SEGMENTATION:
        config.get(key)
    own = config.flag("use_relative_position_bias", False)
    shared = config.flag("use_shared_relative_position_bias", False)
    if own and shared:
        raise config.not_supported(
            "use_shared_relative_position_bias", True, "there are tables of the layers, too"
        )
    scaled = config.number("layer_scale_init_value", 0.1) > 0
    placed = config.flag("use_absolute_position_embeddings", False)
    averages = config.flag("use_mean_pooling", True)
    seen = picture(config)
    if (own or shared) and (seen.grid[0] != seen.grid[1] or seen.patches > MAX_CELLS):
        hint = f"with a bias for distances, pictures are square, of up to {MAX_CELLS:,} patches"
        raise config.not_supported("image_size", [seen.height, seen.width], hint)
    encoder = Encoder(
        seen=seen,
        tokens=seen.patches + 1,
        width=config.size("hidden_size", 768),
        inner=config.size("intermediate_size", 3072),
        heads=config.size("num_attention_heads", 12),
        depth=config.count("num_hidden_layers", 12),
        activation=config.activation("hidden_act", "gelu"),
        epsilon=config.positive("layer_norm_eps", 1e-12),
        biases="qvo",
        files=LayerNames(
            **({"attention_scale": "lambda_1", "mlp_scale": "lambda_2"} if scaled else {})
        ),
        distances="own" if own else "shared" if shared else "",
    )
    width = encoder.width
    body = [
        *(seen.tokens(width) if placed else seen.tokens(width)[:-1]),
        f"layer(repeat={encoder.depth})",
        "" if averages else "norm(weight=final_norm, bias=final_norm_b)",
    ]
    is_model = kind == "Model"
    node = STATES if is_model else ""
    pooling = select_token(0, node)
    if averages:
        rest = f"slice({node and f'node={node}, '}[1, 0], [-1, -1])"
        pooling = (rest, "reduceMean(axes=[0])", "norm(weight=pooled_norm, bias=pooled_norm_b)")
    if is_model:
        block = STATES
        outputs = [
            f"{STATES}:output shape={encoder.shape}",
            f"{STATES}:layers\n{layers(*body)}",
            *output("pooler_output", width, *pooling, tokens=False),
        ]
    else:
        block, size = "logits", count_classes(config)
        rows = (*body, *pooling, *linear_layers("classifier", size))
        outputs = output(block, size, *rows, tokens=False)
    parameters = seen.parameters(block, width)
    source = statements(
        [
            "model:name beit",
            seen.input,
            *(parameters if placed else parameters[:-1]),
            *encoder.declare_distances(block),
            *outputs,
            *encoder.statements(),
        ]
    )
    names = _names(encoder, placed=placed, averages=averages)
    names |= {} if is_model else linear_names("classifier1", "classifier")
    constants = {"distances": measure_distances(seen.grid, classes=True)} if own or shared else {}
    module_names = (*BIAS_MODULE_NAMES, *MODULE_NAMES, *MLP_MODULE_NAMES)
    return ModelText(source, names, "beit.", constants, module_names=module_names)


def _names(encoder: Encoder, *, placed: bool, averages: bool) -> Names:
    """Return the name map, without the names of the classifier."""
    names = patch_names(encoder) | encoder.names()
    if not placed:
        del names["position_embeddings"]
    norm = ("pooled_norm1", "pooler.layernorm") if averages else ("final_norm1", "layernorm")
    names |= norm_names(*norm)
    names["cls_token"] = Reshaped("embeddings.cls_token", (1, encoder.width))
    if encoder.distances == "own":
        table = f"encoder.layer.{{n-1}}.attention.attention.{_TABLE}"
        names |= declared_names("distance_table", table, encoder.depth)
    elif encoder.distances:
        names["distance_table"] = f"encoder.{_TABLE}"
    unused = ("embeddings.mask_token", "*relative_position_index", "classifier.*", "pooler.*")
    return names | dict.fromkeys(unused)
