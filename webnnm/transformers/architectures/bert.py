"""BERT, and the sentence encoders derived from it (MiniLM).

Source: J. Devlin et al., "BERT", arXiv:1810.04805 (2018).
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
    """Return the text of a BERT and its name map."""
    kind = class_suffix(config, MODEL, CLASSES, MASKED, TOKENS, ANSWERS, default="BertModel")
    config.require("is_decoder", False)
    config.require("add_cross_attention", False)
    config.require("position_embedding_type", "absolute")
    width = config.size("hidden_size", 768)
    tables = {
        "word_embeddings": config.size("vocab_size", 30522),
        "position_embeddings": config.size("max_position_embeddings", 512),
        "token_type_embeddings": config.size("type_vocab_size", 2),
    }
    body = [
        "embedding(token_type_embeddings, node=token_type_ids, name=kinds)",
        "embedding(word_embeddings, node=input_ids)",
        "add(kinds)",
        "positionalEmbedding(position_embeddings)",
        "norm(weight=embedding_norm, bias=embedding_norm_b)",
        f"layer(repeat={config.count('num_hidden_layers', 12)})",
    ]
    outputs, name = _outputs(config, kind, width, body)
    block = write_layer(
        width,
        config.size("num_attention_heads", 12),
        config.size("intermediate_size", 3072),
        config.activation("hidden_act", "gelu"),
    )
    epsilon = config.positive("layer_norm_eps", 1e-12)
    needs_first = "gather(start" in "".join(outputs)
    source = statements(
        [
            "model:name bert",
            *INPUTS,
            START if needs_first else "",
            "token_type_ids:input int32 shape=[] sequence=tokens",
            *(f"{name}:param {table} shape=[{rows}, {width}]" for table, rows in tables.items()),
            *outputs,
            f"layer:layers\n{block}",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
        ]
    )
    return ModelText(source, _names(kind, config.flag("tie_word_embeddings", True)), "bert.")


def _outputs(config: Config, kind: str, width: int, body: Sequence[str]) -> tuple[list[str], str]:
    """Return the statements of all outputs, and the block with the layers of the encoder."""
    pooler = [*linear_layers("pooler", width), "tanh()"]
    if kind == MODEL:
        return [
            *output("last_hidden_state", width, *body),
            *output(
                "pooler_output",
                width,
                write_first_token("last_hidden_state"),
                *pooler,
                tokens=False,
            ),
            *write_pooling(config, width),
        ], "last_hidden_state"
    if kind == MASKED:
        vocabulary = config.size("vocab_size", 30522)
        rows = [
            *linear_layers("transform", width),
            config.activation("hidden_act", "gelu"),
            "norm(weight=transform_norm, bias=transform_norm_b)",
            *write_logits(
                "decoder",
                "word_embeddings",
                vocabulary,
                tied=config.flag("tie_word_embeddings", True),
            ),
        ]
        return output("logits", vocabulary, *body, *rows), "logits"
    if kind == ANSWERS:
        return write_answers(*body), "start_logits"
    size, of_tokens = count_classes(config), kind == TOKENS
    rows = [
        *(() if of_tokens else (write_first_token(), *pooler)),
        *linear_layers("classifier", size),
    ]
    return output("logits", size, *body, *rows, tokens=of_tokens), "logits"


def _names(kind: str, tied: bool) -> dict[str, str | Form | None]:
    layer = "encoder.layer.{n-1}"
    names: dict[str, str | Form | None] = {
        **{
            table: f"embeddings.{table}.weight"
            for table in ("word_embeddings", "position_embeddings", "token_type_embeddings")
        },
        **norm_names("embedding_norm1", "embeddings.LayerNorm"),
        **norm_names("attention_norm{n}", f"{layer}.attention.output.LayerNorm"),
        **norm_names("mlp_norm{n}", f"{layer}.output.LayerNorm"),
        **linear_names("wo{n}", f"{layer}.attention.output.dense"),
        **linear_names("up{n}", f"{layer}.intermediate.dense"),
        **linear_names("down{n}", f"{layer}.output.dense"),
    }
    for parameter, name in (("wq", "query"), ("wk", "key"), ("wv", "value")):
        names |= linear_names(f"{parameter}{{n}}", f"{layer}.attention.self.{name}")
    if kind in (MODEL, CLASSES):
        names |= linear_names("pooler1", "pooler.dense")
    if kind in (CLASSES, TOKENS):
        names |= linear_names("classifier1", "classifier")
    if kind == ANSWERS:
        names |= linear_names("qa_outputs1", "qa_outputs")
    if kind == MASKED:
        names |= linear_names("transform1", "cls.predictions.transform.dense")
        names |= norm_names("transform_norm1", "cls.predictions.transform.LayerNorm")
        decoder = linear_names("decoder1", "cls.predictions.decoder", bias=False)
        names |= {"decoder_b1": "cls.predictions.bias"} | ({} if tied else decoder)
    unused = ("embeddings.position_ids", "pooler.*", "cls.*", "classifier.*")
    return names | dict.fromkeys(unused)
