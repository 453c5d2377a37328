"""The parts that text encoders share: post-norm layers, heads, pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.model_text import (
    class_suffix,
    count_classes,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
)
from webnnm.transformers.config import Config

INPUTS = (
    "input_ids:input int32 shape=[] sequence=tokens",
    "attention_mask:input int32 shape=[] sequence=tokens",
)
TOKEN_TYPES = "token_type_ids:input int32 shape=[] sequence=tokens"

MODEL, CLASSES, CHOICES, MASKED, TOKENS, ANSWERS = (
    "Model",
    "ForSequenceClassification",
    "ForMultipleChoice",
    "ForMaskedLM",
    "ForTokenClassification",
    "ForQuestionAnswering",
)
"""The suffixes of class names."""
START = "start int32 [] 0"
"""A constant: the position at which texts begin."""
HIDDEN = "last_hidden_state"

Names = dict[str, "str | Form | None"]


class Dense(NamedTuple):
    """A linear layer with an activation, and a normalisation if `norm` is its name in the file.

    Attributes: `parameter`, the name of its weight in the text; `module`, its name in the file;
    `activation`, a layer, or "" for none; `size`, the number of results, 0 for the width of the
    encoder; `bias`, whether it has one; `norm_bias`, whether the normalisation has one.
    """

    parameter: str
    module: str
    activation: str = ""
    norm: str = ""
    size: int = 0
    bias: bool = True
    norm_bias: bool = True

    def layers(self, width: int) -> tuple[str, ...]:
        """Return its layers."""
        product = linear_layers(self.parameter, self.size or width, bias=self.bias)
        weight = f"weight={self.parameter}_norm"
        bias = f", bias={self.parameter}_norm_b" if self.norm_bias else ""
        norm = (f"norm({weight}{bias})",) if self.norm else ()
        return (*product, *filter(None, (self.activation,)), *norm)

    def names(self) -> Names:
        """Return the names of its parameters in the file."""
        names: Names = {**linear_names(f"{self.parameter}1", self.module, bias=self.bias)}
        if self.norm:
            both = norm_names(f"{self.parameter}_norm1", self.norm)
            names |= dict([*both.items()][: 2 if self.norm_bias else 1])
        return names


class Modules(NamedTuple):
    """The names that the modules of a layer have in the file, below `layer`."""

    layer: str
    q: str
    k: str
    v: str
    o: str
    attention_norm: str
    up: str
    down: str
    mlp_norm: str

    def names(self, number: str = "{n}") -> Names:
        """Return the names of the parameters of `write_layer`, which end with a number."""
        layer = self.layer
        names: Names = {
            **norm_names(f"attention_norm{number}", f"{layer}.{self.attention_norm}"),
            **norm_names(f"mlp_norm{number}", f"{layer}.{self.mlp_norm}"),
            **linear_names(f"up{number}", f"{layer}.{self.up}"),
            **linear_names(f"down{number}", f"{layer}.{self.down}"),
        }
        for letter, module in zip("qkvo", (self.q, self.k, self.v, self.o), strict=True):
            names |= linear_names(f"w{letter}{number}", f"{layer}.{module}")
        return names


class Heads(NamedTuple):
    """How the heads of a family compute, and where the file has their weights.

    Attributes: `classes` and `choices`, the layers between the first token and its scores, None
    for none; `pooler`, those of the output `pooler_output`; `masked`, those between each token and
    the logits of the vocabulary; `classifier`, `choice` and `decoder`, the modules of these
    scores; `decoder_bias`, the name of the bias of the logits, "" for none; `unused`, tensors of
    heads that other classes do not need; `tokens`, the layers between each token and its scores,
    None for none; `answers`, the module of scores of answers.
    """

    classes: Dense | None
    choices: Dense | None
    masked: Dense
    decoder: str
    decoder_bias: str
    pooler: Dense | None = None
    classifier: str = "classifier"
    choice: str = "classifier"
    unused: Sequence[str] = ("classifier.*", "qa_outputs.*")
    tokens: Dense | None = None
    answers: str = "qa_outputs"


class Head(NamedTuple):
    """A head: the statements of all outputs, the block with the encoder, and names in the file."""

    statements: list[str]
    block: str
    names: Names


def read_kind(config: Config, family: str) -> str:
    """Return the suffix of the class name of a text encoder, such as "ForMaskedLM"."""
    kinds = (MODEL, CLASSES, CHOICES, MASKED, TOKENS, ANSWERS)
    return class_suffix(config, *kinds, default=f"{family}Model")


def write_first_token(node: str = "") -> str:
    """Return the layer that selects the first token of a node, by default of the layer before.

    It represents the whole text.
    """
    return f"gather(start, {node and f'node={node}, '}axis=tokens)"


def write_attention(heads: int, options: str = "", *, mask: str = "attention_mask") -> str:
    """Return the layer of attention of an encoder."""
    more = f", {options}" if options else ""
    return f"attend(wq, wk, wv, o=wo, bias=true, heads={heads}, mask={mask}{more})"


def write_layer(width: int, inner: int, activation: str, attention: str) -> str:
    """Return the layers of a block with norms after attention and MLP.

    `attention` is the layer of attention.
    """
    return layers(
        attention,
        "residual(to=input)",
        "norm(weight=attention_norm, bias=attention_norm_b, name=attended)",
        *linear_layers("up", inner),
        activation,
        *linear_layers("down", width),
        "residual(to=attended)",
        "norm(weight=mlp_norm, bias=mlp_norm_b)",
    )


def write_head(
    config: Config,
    kind: str,
    heads: Heads,
    width: int,
    vocabulary: int,
    body: Sequence[str],
    *,
    first: Sequence[str] = (write_first_token(),),
) -> Head:
    """Return the outputs of a class of models, by the suffix of its name.

    `body` are the layers of the encoder, `first` those that turn its result into a vector for the
    text. Logits of the vocabulary are products with the table `word_embeddings` if they are tied.
    """
    names: Names = dict.fromkeys(heads.unused)
    tied = config.flag("tie_word_embeddings", True)
    if kind == MODEL:
        statements = output(HIDDEN, width, *body)
        if heads.pooler:
            rows = write_first_token(HIDDEN), *heads.pooler.layers(width)
            statements += output("pooler_output", width, *rows, tokens=False)
            names |= heads.pooler.names()
        return Head([*statements, *write_pooling(config, width)], HIDDEN, names)
    if kind == MASKED:
        rows = (*body, *heads.masked.layers(width))
        names |= heads.masked.names()
        return _write_masked(config, heads, vocabulary, rows, names, tied=tied)
    module, dense, lead = heads.classifier, heads.classes, tuple(first)
    if kind in (TOKENS, ANSWERS):
        module, dense, lead = "classifier", heads.tokens, ()
    elif kind == CHOICES:
        module, dense = heads.choice, heads.choices
    rows = (*body, *lead, *(dense.layers(width) if dense else ()))
    names |= dense.names() if dense else {}
    if kind == ANSWERS:
        names |= linear_names("qa_outputs1", heads.answers)
        return Head(write_answers(*rows), "start_logits", names)
    size = 1 if kind == CHOICES else count_classes(config)
    names |= linear_names("classifier1", module)
    rows = (*rows, *linear_layers("classifier", size))
    return Head(output("logits", size, *rows, tokens=kind == TOKENS), "logits", names)


def _write_masked(
    config: Config,
    heads: Heads,
    vocabulary: int,
    rows: Sequence[str],
    names: Names,
    *,
    tied: bool,
) -> Head:
    """Return the logits of the vocabulary for each token."""
    product, bias = linear_layers("decoder", vocabulary)
    logits = (
        "matmul(word_embeddings, bTranspose=true)" if tied else product,
        bias if heads.decoder_bias else "",
    )
    if heads.decoder_bias:
        own = f"{heads.decoder}.bias"
        untied = not tied and own in (config.tensors or ())
        names = names | {"decoder_b1": own if untied else heads.decoder_bias}
    if not tied:
        names = names | linear_names("decoder1", heads.decoder, bias=False)
    return Head(output("logits", vocabulary, *rows, *logits), "logits", names)


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


def average_tokens(
    node: str, *, mask: str = "attention_mask", sequence: str = "tokens"
) -> list[str]:
    """Return the layers of the mean of the tokens of a node that are not padding."""
    return [
        f"cast(float32, node={mask})",
        "reshape([1], name=counted)",
        f"reduceSum(axes=[{sequence}], name=count)",
        f"mul([{node}, counted])",
        f"reduceSum(axes=[{sequence}])",
        "div(count)",
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
            rows = [write_first_token(HIDDEN)]
        case _:
            rows = average_tokens(HIDDEN)
    norm = ("reduceL2(axes=[features], keepDimensions=true, name=length)", "div([vector, length])")
    rows[-1] = f"{rows[-1][:-1]}, name=vector)"
    return output("sentence_embedding", width, *rows, *norm, tokens=False)
