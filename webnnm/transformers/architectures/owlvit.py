"""OWL-ViT: a text tower, and an image tower whose patches each have a box and match texts.

Sources: M. Minderer et al., "Simple open-vocabulary object detection with vision transformers",
arXiv:2205.06230 (2022); "Scaling open-vocabulary object detection", arXiv:2306.09683 (2023).

Not supported: images of sizes other than `image_size`, queries that are images.
"""

from __future__ import annotations

import math

from webnnm.core.arrays import HostArray
from webnnm.transformers.architectures.clip import (
    HIGHEST_TOKEN,
    declare_image,
    image_names,
    read_tower,
    write_image_states,
    write_text_tower,
)
from webnnm.transformers.architectures.detection import DENSE, record_dense
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    output,
    statements,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.patches import Picture, picture
from webnnm.transformers.config import Config

PATCHES = "class_embeds"
"""The output with a vector for each patch, which texts are compared with."""
SMALL = 1e-6
"""Added to lengths before vectors are divided by them."""
OFFSET = 1e-4
"""Added to places and sizes before their logarithms are taken."""


def write_model(config: Config) -> ModelText:
    """Return the text of an OWL-ViT or OWLv2 and its name map."""
    family = config.text("model_type", "owlvit")
    class_suffix(config, "ForObjectDetection", default="OwlViTForObjectDetection")
    size = config.size("projection_dim", 512)
    config.get("logit_scale_init_value")
    # The token that ends a text is the highest one, whatever its config says.
    values = {"eos_token_id": HIGHEST_TOKEN}
    if "max_position_embeddings" not in config.object("text_config"):
        values["max_position_embeddings"] = 16
    text, vision = config.part("text_config", values), config.part("vision_config")
    seen = picture(vision, size=768, patch=16 if family == "owlv2" else 32)
    text_lines, text_names = write_text_tower(text, size, True, False)
    # The queries of patches take the place of CLIP's embeddings of texts.
    text_lines = [line for line in text_lines if not line.startswith("text_embeds:")]
    names = ParameterNames()
    names.names |= text_names
    lines = [
        f"model:name {family}",
        *text_lines,
        "first int32 [] 0",
        *output("query_embeds", size, "unit(node=text_features)", "near_unit()", tokens=False),
        # Texts that begin with padding are none.
        *output(
            "query_present",
            1,
            "gather(first, node=input_ids, axis=tokens)",
            "greater(0)",
            "cast(float32)",
            "reshape([1])",
            tokens=False,
        ),
        *_write_image(vision, seen, names, size, objectness=family == "owlv2"),
        *_unit_blocks(),
        *DENSE,
        "norm:layers layerNorm(scale=weight, bias=bias)",
    ]
    unused = ("logit_scale", "visual_projection.*", "*embeddings.position_ids")
    names.names |= dict.fromkeys(unused)
    constants = {"box_bias": _place_boxes(*seen.grid)}
    return ModelText(statements(lines), names.names, f"{family}.", constants)


def _write_image(
    config: Config, seen: Picture, names: ParameterNames, size: int, *, objectness: bool
) -> list[str]:
    """Return the statements of the image tower and the heads of its patches."""
    config.get("projection_dim")
    count = seen.patches
    tower = read_tower(
        config,
        "image",
        (768, 3072, 12),
        file_prefix="vision_model.",
        projection_size=0,
        with_other=True,
        tokens=count + 1,
    )
    names.names |= image_names(tower, "pre_layernorm")
    names.weight("image_merged_norm", "layer_norm")

    def head(name: str, last: int) -> list[str]:
        calls: list[str] = []
        for number, outputs in enumerate((tower.width, tower.width, last)):
            calls += ["gelu()"] if number else []
            node = "" if number else "node=merged, "
            calls.append(f"dense({node}rows={count}, size={outputs})")
            record_dense(names, f"{name}.dense{number}")
        return calls

    body = [
        *write_image_states(tower, seen),
        tower.norm(""),
        f"split([1, {count}], axis=0, name=part)",
        "mul([part.1, part.0])",
        f"{tower.norm('merged_')[:-1]}, name=merged)",
        f"dense(rows={count}, size={size})",
        "near_unit()",
    ]
    record_dense(names, "class_head.dense0")
    lines = [
        f"{PATCHES}:output shape={{patches:{count}, features:{size}}}",
        f"{PATCHES}:layers\n{layers(*body)}",
    ]
    for name, further in (("shift", ()), ("scale", ("elu()", "add(1)"))):
        rows = layers(f"dense(node=merged, rows={count}, size=1)", *further)
        record_dense(names, f"class_head.logit_{name}")
        lines += [
            f"logit_{name}s:output shape={{patches:{count}, features:1}}",
            f"logit_{name}s:layers\n{rows}",
        ]
    lines += [
        f"pred_boxes:output shape={{patches:{count}, coordinates:4}}",
        f"pred_boxes:param box_bias shape=[{count}, 4] trainable=false",
        f"pred_boxes:layers\n{layers(*head('box_head', 4), 'add(box_bias)', 'sigmoid()')}",
    ]
    if objectness:
        rows = layers(*head("objectness_head", 1), f"reshape([{count}])")
        lines += [
            f"objectness_logits:output shape={{patches:{count}}}",
            f"objectness_logits:layers\n{rows}",
        ]
    return [*declare_image(tower, seen, PATCHES), *lines]


def _unit_blocks() -> list[str]:
    """Return the blocks that make the length of vectors 1, and nearly 1."""
    length = "reduceL2(axes=[features], keepDimensions=true, name=length)"
    near = f"reduceL2(axes=[features], keepDimensions=true), add({SMALL}, name=length)"
    return [
        f"unit:layers {length}, div([input, length])",
        f"near_unit:layers {near}, div([input, length])",
    ]


def _place_boxes(rows: int, columns: int) -> HostArray:
    """Return what is added to boxes: the logits of the place and the size of each patch."""

    def logit(share: float) -> float:
        return math.log(share + OFFSET) - math.log1p(-share + OFFSET)

    sizes = [logit(1 / columns), logit(1 / rows)]
    cells = [
        [logit((column + 1) / columns), logit((row + 1) / rows), *sizes]
        for row in range(rows)
        for column in range(columns)
    ]
    return HostArray.of(cells, "float32", [rows * columns, 4])
