"""The audio spectrogram transformer: overlapping patches of a spectrogram as tokens.

Source: Y. Gong et al., "AST: Audio spectrogram transformer", arXiv:2104.01778 (2021).

Not supported: spectrograms of other lengths than `max_length`.
"""

from __future__ import annotations

from webnnm.core.errors import DataError
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
from webnnm.transformers.architectures.patches import Picture
from webnnm.transformers.architectures.vision_encoder import (
    MLP_MODULE_NAMES,
    MODULE_NAMES,
    Encoder,
    Names,
    patch_names,
    select_token,
)
from webnnm.transformers.config import Config

FIRST = ("cls_token", "distillation_token")
"""The tokens before the patches, whose mean represents the sound."""
BASE, CLASSES = "Model", "ForAudioClassification"
STATES = "last_hidden_state"


def write_model(config: Config) -> ModelText:
    """Return the text of an audio spectrogram transformer and its name map."""
    kind = class_suffix(config, BASE, CLASSES, default="ASTModel")
    bands, frames = config.size("num_mel_bins", 128), config.size("max_length", 1024)
    patch = config.size("patch_size", 16)
    strides = config.size("frequency_stride", 10), config.size("time_stride", 10)
    if patch > min(bands, frames):
        message = f'config.json: "patch_size" is {patch}: {frames} frames of {bands} bands'
        raise DataError("NNM818", message, hint="a patch is not larger than the spectrogram")
    patches = ((bands - patch) // strides[0] + 1) * ((frames - patch) // strides[1] + 1)
    encoder = Encoder.of(config, Picture(1, bands, frames, (patch, patch)), patches + len(FIRST))
    options = f"kernel=[{patch}, {patch}], strides=[{strides[0]}, {strides[1]}], bias=patch_b"
    body = (
        "transpose([1, 0], node=input_values)",
        f"reshape({{channels:1, height:{bands}, width:{frames}}})",
        f"conv2d(patch, filters={encoder.width}, {options})",
        f"reshape([{encoder.width}, {patches}])",
        "transpose([1, 0], name=patches)",
        f"concat([{', '.join(FIRST)}, patches], axis=0)",
        "positionalEmbedding(position_embeddings)",
        f"layer(repeat={encoder.depth})",
        "norm(weight=final_norm, bias=final_norm_b",
    )
    outputs, names = _outputs(config, kind, encoder, body)
    block = STATES if kind == BASE else "logits"
    sizes = {**dict.fromkeys(FIRST, 1), "position_embeddings": encoder.tokens}
    source = statements(
        [
            "model:name ast",
            f"input_values:input shape={{length:{frames}, bands:{bands}}}",
            *(
                f"{block}:param {name} shape=[{count}, {encoder.width}]"
                for name, count in sizes.items()
            ),
            *outputs,
            *encoder.statements(),
        ]
    )
    names |= {token: Reshaped(f"embeddings.{token}", (1, encoder.width)) for token in FIRST}
    names |= {**patch_names(encoder), **encoder.names(), **norm_names("final_norm1", "layernorm")}
    names |= {"classifier.*": None}
    module_names = (*MODULE_NAMES, *MLP_MODULE_NAMES)
    prefix = "audio_spectrogram_transformer."
    return ModelText(source, names, prefix, module_names=module_names)


def _outputs(
    config: Config, kind: str, encoder: Encoder, body: tuple[str, ...]
) -> tuple[list[str], Names]:
    """Return the statements of all outputs, and the names of the head."""
    node = STATES if kind == BASE else "states"
    last = f"{body[-1]})" if kind == BASE else f"{body[-1]}, name={node})"
    rows = (*body[:-1], last)
    first, second = (select_token(number, node) for number in range(2))
    pooled = (
        *first[:-1],
        "flatten(name=of_class)",
        *second,
        "add(of_class)",
        "mul(0.5)",
    )
    if kind == BASE:
        return [
            f"{STATES}:output shape={encoder.shape}",
            f"{STATES}:layers\n{layers(*rows)}",
            *output("pooler_output", encoder.width, *pooled, tokens=False),
        ], {}
    size = count_classes(config)
    head = (
        "norm(weight=classifier_norm, bias=classifier_norm_b)",
        *linear_layers("classifier", size),
    )
    names: Names = {
        **norm_names("classifier_norm1", "classifier.layernorm"),
        **linear_names("classifier1", "classifier.dense"),
    }
    return output("logits", size, *rows, *pooled, *head, tokens=False), names
