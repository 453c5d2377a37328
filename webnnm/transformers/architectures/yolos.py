"""YOLOS: a vision transformer with tokens for the objects of a picture.

Source: Y. Fang et al., "You only look at one sequence: rethinking transformer in vision through
object detection", arXiv:2106.00666 (2021).

Not supported: `pixel_mask`.
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Part, Reshaped
from webnnm.transformers.architectures.detection import (
    DENSE,
    write_boxes,
    write_scores,
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
from webnnm.transformers.architectures.patches import check_patches, picture
from webnnm.transformers.architectures.stretching import (
    declare_stretching,
    stretching_constants,
    write_stretching,
)
from webnnm.transformers.architectures.vision_encoder import (
    MLP_MODULE_NAMES,
    MODULE_NAMES,
    Encoder,
    Names,
    patch_names,
    select_token,
)
from webnnm.transformers.config import Config

STATES = "last_hidden_state"
_MIDDLE = (r"encoder\.interpolation\.mid_position", "encoder.mid_position")


def write_model(config: Config) -> ModelText:
    """Return the text of a YOLOS and its name map."""
    kind = class_suffix(config, "Model", "ForObjectDetection", default="YolosModel")
    config.get("auxiliary_loss")
    seen = table = picture(config, size=[512, 864])
    if "picture_size" in config:
        height, across = config.pair("picture_size", [0, 0])
        seen = seen._replace(height=height, width=across)
        check_patches(config, "picture_size", seen)
    stretches = seen.grid != table.grid
    count = config.size("num_detection_tokens", 100)
    again = config.flag("use_mid_position_embeddings", True)
    encoder = Encoder.of(config, seen, seen.patches + 1 + count)
    width, tokens, depth = encoder.width, encoder.tokens, encoder.depth
    steps = [f"layer(repeat={depth})"]
    if again and depth > 1:
        steps = [f"placed_layer(repeat={depth - 1})", "layer()"]
    rows = seen.tokens(width, after=("detection_tokens",))
    if stretches:
        call = "stretch_table(table=position_embeddings, name=positions)"
        rows = (call, *rows[:-1], "add(positions)")
    body = [*rows, *steps, "norm(weight=final_norm, bias=final_norm_b)"]
    positions = table.patches + 1 + count
    names = patch_names(encoder._replace(tokens=positions)) | encoder.names()
    names |= norm_names("final_norm1", "layernorm")
    names["cls_token"] = Reshaped("embeddings.cls_token", (1, width))
    names["detection_tokens"] = Reshaped("embeddings.detection_tokens", (count, width))
    heads = ParameterNames()
    outputs = [
        f"{STATES}:output shape={encoder.shape}",
        f"{STATES}:layers\n{layers(*body)}",
    ]
    if kind == "Model":
        pooler = (*select_token(0, STATES), *linear_layers("pooler", width), "tanh()")
        outputs += output("pooler_output", width, *pooler, tokens=False)
        names |= linear_names("pooler1", "pooler.dense")
    else:
        last = f"slice(node={STATES}, [{tokens - count}, 0], [{count}, -1], name=objects)"
        labels = count_classes(config) + 1
        outputs += write_scores(heads, [last], count, width, labels)
        outputs += write_boxes(heads, count, width)
    between = [
        f"placed_layer:param mid_positions shape=[{positions}, {width}] shared=false",
        "placed_layer:layers layer(), add(mid_positions)",
    ]
    if stretches:
        call = "stretch_table(table=mid_positions, name=further)"
        between[1] = f"placed_layer:layers\n{layers(call, 'layer(node=input)', 'add(further)')}"
    source = statements(
        [
            "model:name yolos",
            seen.input,
            *table.parameters(STATES, width, tokens={"cls_token": 1, "detection_tokens": count}),
            *(declare_stretching(STATES, table.grid, seen.grid) if stretches else ()),
            *outputs,
            *(between if len(steps) > 1 else ()),
            *encoder.statements(),
            write_stretching(table.grid, seen.grid, width, count) if stretches else "",
            *(() if kind == "Model" else DENSE),
        ]
    )
    names |= _middle_names(encoder, positions) if len(steps) > 1 else {}
    names |= heads.names | dict.fromkeys(("pooler.*", "*_classifier.*", "bbox_predictor.*"))
    names |= {"encoder.mid_position_embeddings": None}
    module_names = (_MIDDLE, *MODULE_NAMES, *MLP_MODULE_NAMES)
    constants = stretching_constants(table.grid, seen.grid) if stretches else {}
    return ModelText(source, names, "vit.", constants, module_names=module_names)


def _middle_names(encoder: Encoder, positions: int) -> Names:
    """Return the names of the positions that are added after all layers but the last."""
    names: Names = {}
    count, sizes = encoder.depth - 1, (positions, encoder.width)
    for number in range(count):
        part = Part("encoder.mid_position_embeddings", number, count)
        names[f"mid_positions{number + 1 if number else ''}"] = Reshaped(part, sizes)
    return names
