"""DistilBERT: half the layers of BERT, without token types and without a pooler.

Source: V. Sanh et al., "DistilBERT", arXiv:1910.01108 (2019).
"""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.encoder import (
    ANSWERS,
    CLASSES,
    INPUTS,
    MASKED,
    MODEL,
    START,
    TOKENS,
    write_answers,
    write_first_token,
    write_layer,
    write_logits,
    write_pooling,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    linear_layers,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.config import Config


def write_model(config: Config) -> ModelText:
    """Return the text of a DistilBERT and its name map."""
    kind = class_suffix(config, MODEL, CLASSES, MASKED, TOKENS, ANSWERS, default="DistilBertModel")
    config.flag("sinusoidal_pos_embds")  # says how the table was initialised, which is in the file
    width = config.size("dim", 768)
    tables = {
        "word_embeddings": config.size("vocab_size", 30522),
        "position_embeddings": config.size("max_position_embeddings", 512),
    }
    body = [
        "embedding(word_embeddings, node=input_ids)",
        "positionalEmbedding(position_embeddings)",
        "norm(weight=embedding_norm, bias=embedding_norm_b)",
        f"layer(repeat={config.count('n_layers', 6)})",
    ]
    outputs, name = _outputs(config, kind, width, body)
    block = write_layer(
        width,
        config.size("n_heads", 12),
        config.size("hidden_dim", 3072),
        config.activation("activation", "gelu"),
    )
    needs_first = "gather(start" in "".join(outputs)
    source = statements(
        [
            "model:name distilbert",
            *INPUTS,
            START if needs_first else "",
            *(f"{name}:param {table} shape=[{rows}, {width}]" for table, rows in tables.items()),
            *outputs,
            f"layer:layers\n{block}",
            "norm:layers layerNorm(scale=weight, bias=bias, epsilon=1e-12)",
        ]
    )
    tied = config.flag("tie_word_embeddings", True)
    return ModelText(source, _names(kind, tied), "distilbert.")


def _outputs(config: Config, kind: str, width: int, body: Sequence[str]) -> tuple[list[str], str]:
    """Return the statements of all outputs, and the block with the layers of the encoder."""
    if kind == MODEL:
        hidden = output("last_hidden_state", width, *body)
        return [*hidden, *write_pooling(config, width)], "last_hidden_state"
    if kind == MASKED:
        vocabulary = config.size("vocab_size", 30522)
        rows = [
            *linear_layers("transform", width),
            config.activation("activation", "gelu"),
            "norm(weight=transform_norm, bias=transform_norm_b)",
            *write_logits(
                "projector",
                "word_embeddings",
                vocabulary,
                tied=config.flag("tie_word_embeddings", True),
            ),
        ]
        return output("logits", vocabulary, *body, *rows), "logits"
    if kind == ANSWERS:
        return write_answers(*body), "start_logits"
    size, of_tokens = count_classes(config), kind == TOKENS
    before = (
        ()
        if of_tokens
        else (write_first_token(), *linear_layers("pre_classifier", width), "relu()")
    )
    rows = [*before, *linear_layers("classifier", size)]
    return output("logits", size, *body, *rows, tokens=of_tokens), "logits"


def _names(kind: str, tied: bool) -> dict[str, str | Form | None]:
    layer = "transformer.layer.{n-1}"
    names: dict[str, str | Form | None] = {
        "word_embeddings": "embeddings.word_embeddings.weight",
        "position_embeddings": "embeddings.position_embeddings.weight",
        **norm_names("embedding_norm1", "embeddings.LayerNorm"),
        **norm_names("attention_norm{n}", f"{layer}.sa_layer_norm"),
        **norm_names("mlp_norm{n}", f"{layer}.output_layer_norm"),
        **linear_names("wo{n}", f"{layer}.attention.out_lin"),
        **linear_names("up{n}", f"{layer}.ffn.lin1"),
        **linear_names("down{n}", f"{layer}.ffn.lin2"),
    }
    for letter in "qkv":
        names |= linear_names(f"w{letter}{{n}}", f"{layer}.attention.{letter}_lin")
    if kind == CLASSES:
        names |= linear_names("pre_classifier1", "pre_classifier")
    if kind in (CLASSES, TOKENS):
        names |= linear_names("classifier1", "classifier")
    if kind == ANSWERS:
        names |= linear_names("qa_outputs1", "qa_outputs")
    if kind == MASKED:
        names |= linear_names("transform1", "vocab_transform")
        names |= norm_names("transform_norm1", "vocab_layer_norm")
        projector = linear_names("projector1", "vocab_projector", bias=False)
        names |= {"projector_b1": "vocab_projector.bias"} | ({} if tied else projector)
    return names | dict.fromkeys(("vocab_*", "pre_classifier.*", "classifier.*"))
