"""Models that write texts about pictures: an image encoder, and a text decoder that attends to it.

Sources: M. Li et al., "TrOCR: transformer-based optical character recognition with pre-trained
models", arXiv:2109.10282 (2021); G. Kim et al., "OCR-free document understanding transformer"
(Donut), arXiv:2111.15664 (2021).

Not supported: images of sizes other than `image_size`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import suggestion
from webnnm.notation import parse
from webnnm.notation.syntax import NamedShape, Number, Port
from webnnm.transformers.architectures import bart, gpt2, swin, vit
from webnnm.transformers.architectures.encoder_decoder import ENCODED, WriteDecoder
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    linear_layers,
    linear_names,
    output,
    prefix_names,
    statements,
)
from webnnm.transformers.architectures.vision_encoder import Names
from webnnm.transformers.config import Config

ENCODERS = {
    "deit": vit.write_model,
    "donut-swin": swin.write_model,
    "swin": swin.write_model,
    "vit": vit.write_model,
}
"""`model_type` → what writes an encoder whose states are rows of tokens."""
DECODERS: Mapping[str, tuple[WriteDecoder, str, int]] = {
    "gpt2": (gpt2.write_decoder, "n_embd", 768),
    **dict.fromkeys(bart.DECODERS, (bart.write_decoder, "d_model", 1024)),
}
"""`model_type` → what writes a decoder, the key of its width, and the default of that."""
STATES, POOLED, PROJECTED = "last_hidden_state", "pooler_output", "projected"
LAYERS_OF_MODULES = (r"^encoder\.layers?\.(\d+)\.", r"encoder.encoder.layer.\1.")
"""The name of the layers of a vision transformer in the modules of transformers 5."""


class _Encoder(NamedTuple):
    """An encoder: the statement of its input, its other statements, the size of its states."""

    input: str
    statements: list[str]
    tokens: int
    width: int
    names: Names
    constants: Mapping[str, HostArray]
    module_names: Sequence[tuple[str, str]]


def write_model(config: Config) -> ModelText:
    """Return the text of an image encoder with a text decoder, and its name map."""
    class_suffix(config, "VisionEncoderDecoderModel", default="VisionEncoderDecoderModel")
    config.require("is_encoder_decoder", True)
    config.get("tie_word_embeddings")  # those of the decoder count
    encoder = _read_encoder(config)
    part = config.part("decoder")
    write_decoder, key, default = DECODERS[_read_kind(part, DECODERS)]
    part.require("cross_attention_hidden_size", None, encoder.width)
    projects = part.get("cross_attention_hidden_size") is None
    projects = projects and part.size(key, default) != encoder.width
    decoder = write_decoder(part, PROJECTED if projects else ENCODED)
    names = {**encoder.names, **decoder.names}
    projection: tuple[str, ...] = ()
    if projects:
        first, add = linear_layers("projection", f"{encoder.tokens}, {decoder.width}")
        projection = (
            first.replace("(projection", f"(projection, node={ENCODED}"),
            add.replace("_b)", f"_b, name={PROJECTED})"),
        )
        names |= linear_names("projection1", "enc_to_dec_proj", bias=False)
        names["projection_b"] = "enc_to_dec_proj.bias"
    source = statements(
        [
            "model:name vision_encoder_decoder",
            encoder.input,
            *decoder.inputs,
            *decoder.parameters,
            f"logits:param projection_b shape=[{decoder.width}]" if projects else "",
            *output(
                "logits",
                decoder.vocabulary,
                *projection,
                *decoder.rows,
                sequence="decoder_tokens",
            ),
            *encoder.statements,
            *decoder.blocks,
        ]
    )
    return ModelText(
        source,
        names,
        "",
        {**encoder.constants, **decoder.constants},
        decoder.input_rules,
        module_names=(LAYERS_OF_MODULES, *encoder.module_names),
    )


def _read_kind(part: Config, supported: Mapping[str, object]) -> str:
    """Return the `model_type` of a part. Raises `DataError` NNM818 if it is not supported."""
    kind = part.text("model_type", "")
    if kind not in supported:
        hint = suggestion(kind, supported) or f"supported are {', '.join(supported)}"
        raise part.not_supported("model_type", kind, hint)
    return kind


def _read_encoder(config: Config) -> _Encoder:
    """Return the encoder; its output and its blocks have names of their own."""
    part = config.part("encoder", {"architectures": ["Model"]})
    part.get("tie_word_embeddings")
    text = ENCODERS[_read_kind(part, ENCODERS)](part)
    blocks = {*parse(text.source).blocks()} - {"model", "pixel_values", POOLED}
    new_names = {block: f"encoder_{block}" for block in blocks}
    pattern = re.compile(rf"\b({'|'.join(sorted(blocks, key=len, reverse=True))})\b")
    source = pattern.sub(lambda match: new_names[match[0]], text.source)
    input, *kept = [
        statement.strip()
        for statement in source.split(";\n")[1:]
        if statement.strip() and not statement.startswith(("model:", f"{POOLED}:"))
    ]
    tokens, width = _find_sizes(text.source)
    names = {
        name: origin
        for name, origin in text.names.items()
        if origin is None or not str(getattr(origin, "name", origin)).startswith("pooler.")
    }
    names["pooler.*"] = None
    return _Encoder(
        input,
        kept,
        tokens,
        width,
        prefix_names(names, "encoder."),
        text.constants,
        text.module_names,
    )


def _find_sizes(source: str) -> tuple[int, int]:
    """Return the number of tokens of an encoder's states, and that of their features."""
    port = next(
        statement
        for statement in parse(source).statements
        if isinstance(statement, Port) and statement.block == STATES
    )
    assert isinstance(port.shape, NamedShape)
    sizes = [d.size.value for d in port.shape.dimensions if isinstance(d.size, Number)]
    tokens, width = map(int, sizes)
    return tokens, width
