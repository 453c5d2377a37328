"""The parts that text encoders share: post-norm layers, pooling, outputs."""

from __future__ import annotations

from webnnm.transformers.architectures.model_text import layers, linear_layers, output
from webnnm.transformers.config import Config

INPUTS = (
    "input_ids:input int32 shape=[] sequence=tokens",
    "attention_mask:input int32 shape=[] sequence=tokens",
)

MODEL, CLASSES, MASKED, TOKENS, ANSWERS = (
    "Model",
    "ForSequenceClassification",
    "ForMaskedLM",
    "ForTokenClassification",
    "ForQuestionAnswering",
)
"""The suffixes of class names."""
START = "start int32 [] 0"
"""A constant: the position at which texts begin."""


def write_first_token(node: str = "") -> str:
    """Return the layer that selects the first token of a node, by default of the layer before.

    It represents the whole text.
    """
    return f"gather(start, {node and f'node={node}, '}axis=tokens)"


def write_layer(width: int, heads: int, inner: int, activation: str) -> str:
    """Return the layers of a block with norms after attention and MLP."""
    return layers(
        f"attend(wq, wk, wv, o=wo, bias=true, heads={heads}, mask=attention_mask)",
        "residual(to=input)",
        "norm(weight=attention_norm, bias=attention_norm_b, name=attended)",
        f"matmul(up, shape=[{inner}])",
        "add(up_b)",
        activation,
        f"matmul(down, shape=[{width}])",
        "add(down_b)",
        "residual(to=attended)",
        "norm(weight=mlp_norm, bias=mlp_norm_b)",
    )


def write_logits(parameter: str, table: str, vocabulary: int, *, tied: bool) -> tuple[str, str]:
    """Return the layers that compute logits for all tokens of the vocabulary."""
    product, bias = linear_layers(parameter, vocabulary)
    return f"matmul({table}, bTranspose=true)" if tied else product, bias


def write_answers(*rows: str) -> list[str]:
    """Return the statements of scores for each token to begin and to end an answer.

    `rows` are the layers of the encoder.
    """
    sides = (*linear_layers("qa_outputs", 2), "split([1, 1], axis=features, name=side)")
    return [
        "start_logits:output shape=[] sequence=tokens",
        f"start_logits:layers\n{layers(*rows, *sides, 'reshape([])')}",
        "end_logits:output shape=[] sequence=tokens",
        "end_logits:layers reshape([], node=side.1)",
    ]


def write_pooling(config: Config, width: int) -> list[str]:
    """Return the statements of the embedding of a text, if `pooling` asks for one.

    Source: N. Reimers, I. Gurevych, "Sentence-BERT", arXiv:1908.10084 (2019).
    """
    config.require("pooling", None, "mean", "cls")
    match config.get("pooling"):
        case None:
            return []
        case "cls":
            rows = [write_first_token("last_hidden_state")]
        case _:
            rows = [
                "cast(float32, node=attention_mask)",
                "reshape([1], name=counted)",
                "reduceSum(axes=[tokens], name=count)",
                "mul([last_hidden_state, counted])",
                "reduceSum(axes=[tokens])",
                "div(count)",
            ]
    norm = ("reduceL2(axes=[features], keepDimensions=true, name=length)", "div([vector, length])")
    rows[-1] = f"{rows[-1][:-1]}, name=vector)"
    return output("sentence_embedding", width, *rows, *norm, tokens=False)
