"""YOLOS: a vision transformer with tokens for the objects of a picture.

Source: Y. Fang et al., "You only look at one sequence: rethinking transformer in vision through
object detection", arXiv:2106.00666 (2021).
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
from webnnm.transformers.architectures.patches import picture
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
    seen = picture(config, size=[512, 864])
    count = config.size("num_detection_tokens", 100)
    again = config.flag("use_mid_position_embeddings", True)
    encoder = Encoder.of(config, seen, seen.patches + 1 + count)
    width, tokens, depth = encoder.width, encoder.tokens, encoder.depth
    steps = [f"layer(repeat={depth})"]
    if again and depth > 1:
        steps = [f"placed_layer(repeat={depth - 1})", "layer()"]
    body = [
        *seen.tokens(width, after=("detection_tokens",)),
        *steps,
        "norm(weight=final_norm, bias=final_norm_b)",
    ]
    names = patch_names(encoder) | encoder.names() | norm_names("final_norm1", "layernorm")
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
    between = f"placed_layer:param mid_positions shape=[{tokens}, {width}] shared=false"
    source = statements(
        [
            "model:name yolos",
            seen.input,
            *seen.parameters(STATES, width, tokens={"cls_token": 1, "detection_tokens": count}),
            *outputs,
            *(
                (between, "placed_layer:layers layer(), add(mid_positions)")
                if len(steps) > 1
                else ()
            ),
            *encoder.statements(),
            *(() if kind == "Model" else DENSE),
        ]
    )
    names |= _middle_names(encoder) if len(steps) > 1 else {}
    names |= heads.names | dict.fromkeys(("pooler.*", "*_classifier.*", "bbox_predictor.*"))
    names |= {"encoder.mid_position_embeddings": None}
    module_names = (_MIDDLE, *MODULE_NAMES, *MLP_MODULE_NAMES)
    return ModelText(source, names, "vit.", module_names=module_names)


def _middle_names(encoder: Encoder) -> Names:
    """Return the names of the positions that are added after all layers but the last."""
    names: Names = {}
    count, sizes = encoder.depth - 1, (encoder.tokens, encoder.width)
    for number in range(count):
        part = Part("encoder.mid_position_embeddings", number, count)
        names[f"mid_positions{number + 1 if number else ''}"] = Reshaped(part, sizes)
    return names
