"""Vision transformers: patches of an image as tokens, and a token for all of them.

Source: A. Dosovitskiy et al., "An image is worth 16x16 words", arXiv:2010.11929 (2020); with a
token for distillation: H. Touvron et al., "Training data-efficient image transformers &
distillation through attention", arXiv:2012.12877 (2020).

Not supported: images of sizes other than `image_size`.
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Reshaped
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

TOKENS = {"vit": ("cls_token",), "deit": ("cls_token", "distillation_token")}
"""`model_type` → the tokens before the patches."""
BASE, CLASSES, TEACHER = "Model", "ForImageClassification", "ForImageClassificationWithTeacher"
STATES = "last_hidden_state"


def write_model(config: Config) -> ModelText:
    """Return the text of a vision transformer and its name map."""
    family = str(config.get("model_type", "vit"))
    first = TOKENS[family]
    supported = (BASE, CLASSES, TEACHER)[: 1 + len(first)]
    kind = class_suffix(config, *supported, default="ViTModel")
    config.get("encoder_stride")
    seen = picture(config)
    encoder = Encoder.of(config, seen, seen.patches + len(first))
    norm = "norm(weight=final_norm, bias=final_norm_b"
    body = (
        *seen.tokens(encoder.width, before=first),
        f"layer(repeat={encoder.depth})",
        f"{norm}, name={STATES})" if kind == TEACHER else f"{norm})",
    )
    block, outputs, names = _outputs(config, kind, encoder, body)
    tokens = dict.fromkeys(first, 1)
    source = statements(
        [
            f"model:name {family}",
            seen.input,
            *seen.parameters(block, encoder.width, tokens=tokens),
            *outputs,
            *encoder.statements(),
        ]
    )
    for token in first:
        names[token] = Reshaped(f"embeddings.{token}", (1, encoder.width))
    names |= {**patch_names(encoder), **encoder.names(), **norm_names("final_norm1", "layernorm")}
    names |= dict.fromkeys(("pooler.*", "*classifier.*", "embeddings.mask_token"))
    module_names = (*MODULE_NAMES, *MLP_MODULE_NAMES)
    return ModelText(source, names, f"{family}.", module_names=module_names)


def _outputs(
    config: Config, kind: str, encoder: Encoder, body: tuple[str, ...]
) -> tuple[str, list[str], Names]:
    """Return the block with the layers of the encoder, the statements of all outputs, and the names
    of their parameters."""
    pooled = config.activation("pooler_act", "tanh")
    size = config.size("pooler_output_size", encoder.width)
    if kind == BASE:
        pooler = (*select_token(0, STATES), *linear_layers("pooler", size), pooled)
        outputs = [
            f"{STATES}:output shape={encoder.shape}",
            f"{STATES}:layers\n{layers(*body)}",
            *output("pooler_output", size, *pooler, tokens=False),
        ]
        return STATES, outputs, Names(linear_names("pooler1", "pooler.dense"))
    size = count_classes(config)
    if kind == CLASSES:
        rows = (*body, *select_token(0), *linear_layers("classifier", size))
        names = Names(linear_names("classifier1", "classifier"))
        return "logits", output("logits", size, *rows, tokens=False), names
    block, outputs, names = "cls_logits", list[str](), Names()
    for number, name in enumerate(("cls", "distillation")):
        rows = (*select_token(number, STATES), *linear_layers(f"{name}_classifier", size))
        rows = (*body, *rows) if number == 0 else rows
        outputs += output(f"{name}_logits", size, *rows, tokens=False)
        names |= linear_names(f"{name}_classifier1", f"{name}_classifier")
    mean = ("add([cls_logits, distillation_logits])", "mul(0.5)")
    return block, [*outputs, *output("logits", size, *mean, tokens=False)], names
