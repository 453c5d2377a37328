"""BERT and its relatives: encoders with norms after attention and MLP.

Sources: J. Devlin et al., "BERT", arXiv:1810.04805 (2018); V. Sanh et al., "DistilBERT",
arXiv:1910.01108 (2019); Y. Liu et al., "RoBERTa", arXiv:1907.11692 (2019); A. Conneau et al.,
"Unsupervised cross-lingual representation learning at scale" (XLM-RoBERTa), arXiv:1911.02116
(2019); L. Martin et al., "CamemBERT", arXiv:1911.03894 (2019); K. Clark et al., "ELECTRA",
arXiv:2003.10555 (2020); K. Song et al., "MPNet", arXiv:2004.09297 (2020).

Not supported by `bert`, `roberta`, `xlm-roberta`, `camembert`, `electra`, `mpnet`: `is_decoder`,
relative positions of `bert`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from webnnm.transformers.architectures.encoder import (
    CHOICES,
    INPUTS,
    START,
    TOKEN_TYPES,
    Dense,
    Heads,
    Modules,
    Names,
    read_kind,
    write_attention,
    write_head,
    write_layer,
)
from webnnm.transformers.architectures.model_text import (
    InputRules,
    ModelText,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    statements,
)
from webnnm.transformers.config import Config

BERT = Modules(
    "encoder.layer.{n-1}",
    q="attention.self.query",
    k="attention.self.key",
    v="attention.self.value",
    o="attention.output.dense",
    attention_norm="attention.output.LayerNorm",
    up="intermediate.dense",
    down="output.dense",
    mlp_norm="output.LayerNorm",
)
MPNET = BERT._replace(
    q="attention.attn.q",
    k="attention.attn.k",
    v="attention.attn.v",
    o="attention.attn.o",
    attention_norm="attention.LayerNorm",
)
DISTILBERT = Modules(
    "transformer.layer.{n-1}",
    q="attention.q_lin",
    k="attention.k_lin",
    v="attention.v_lin",
    o="attention.out_lin",
    attention_norm="sa_layer_norm",
    up="ffn.lin1",
    down="ffn.lin2",
    mlp_norm="output_layer_norm",
)
BUCKETS = 32
"""How many distances of tokens MPNet distinguishes."""
MPNET_PADDING = 1
"""The token that is padding in MPNet, whatever its config says."""
POOLER = Dense("pooler", "pooler.dense", "tanh()")
CLASSIFIER = Dense("classifier_dense", "classifier.dense", "tanh()")


def _heads_of_bert(_: Config, activation: str, width: int) -> Heads:
    transform = "cls.predictions.transform"
    return Heads(
        POOLER,
        POOLER,
        Dense("transform", f"{transform}.dense", activation, f"{transform}.LayerNorm"),
        decoder="cls.predictions.decoder",
        decoder_bias="cls.predictions.bias",
        pooler=POOLER,
        unused=("embeddings.position_ids", "pooler.*", "cls.*", "classifier.*", "qa_outputs.*"),
    )


def _heads_of_roberta(_: Config, activation: str, width: int) -> Heads:
    return Heads(
        CLASSIFIER,
        POOLER,
        Dense("transform", "lm_head.dense", "gelu()", "lm_head.layer_norm"),
        decoder="lm_head.decoder",
        decoder_bias="lm_head.bias",
        pooler=POOLER,
        classifier="classifier.out_proj",
        unused=("embeddings.position_ids", "pooler.*", "lm_head.*", "classifier.*", "qa_outputs.*"),
    )


def _heads_of_electra(config: Config, activation: str, width: int) -> Heads:
    config.require("summary_type", "first")
    config.require("summary_use_proj", True)
    summary = config.activation("summary_activation", "gelu")
    norm = "generator_predictions.LayerNorm"
    return Heads(
        CLASSIFIER._replace(activation="gelu()"),
        Dense("summary", "sequence_summary.summary", summary),
        Dense("transform", "generator_predictions.dense", "gelu()", norm, width),
        decoder="generator_lm_head",
        decoder_bias="generator_lm_head.bias",
        classifier="classifier.out_proj",
        unused=(
            *("embeddings.position_ids", "sequence_summary.*", "generator_*", "discriminator_*"),
            *("classifier.*", "qa_outputs.*"),
        ),
    )


def _heads_of_distilbert(_: Config, activation: str, width: int) -> Heads:
    classes = Dense("pre_classifier", "pre_classifier", "relu()")
    return Heads(
        classes,
        classes,
        Dense("transform", "vocab_transform", activation, "vocab_layer_norm"),
        decoder="vocab_projector",
        decoder_bias="vocab_projector.bias",
        unused=("vocab_*", "pre_classifier.*", "classifier.*", "qa_outputs.*"),
    )


class Variant(NamedTuple):
    """The differences between the members of the family.

    Attributes: `family`, the prefix of the class names; `prefix`, that of names in files; `heads`,
    which returns the heads for a config, an activation and the width of embeddings; `modules`;
    `token_types`, whether tokens have types; `counts_tokens`, whether positions count only tokens
    that are not padding; `own_width`, whether embeddings have a width of their own; `relative`,
    whether attention depends on the distance of tokens; `keys`, keys of the config that have
    another name.
    """

    family: str
    prefix: str
    heads: Callable[[Config, str, int], Heads]
    modules: Modules = BERT
    token_types: bool = True
    counts_tokens: bool = False
    own_width: bool = False
    relative: bool = False
    keys: Mapping[str, str] = {}


ROBERTA = Variant("Roberta", "roberta.", _heads_of_roberta, counts_tokens=True)
VARIANTS: Mapping[str, Variant] = {
    "bert": Variant("Bert", "bert.", _heads_of_bert),
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA._replace(family="XLMRoberta"),
    "camembert": ROBERTA._replace(family="Camembert"),
    "electra": Variant("Electra", "electra.", _heads_of_electra, own_width=True),
    "mpnet": Variant(
        "MPNet",
        "mpnet.",
        _heads_of_roberta,
        MPNET,
        token_types=False,
        counts_tokens=True,
        relative=True,
    ),
    "distilbert": Variant(
        "DistilBert",
        "distilbert.",
        _heads_of_distilbert,
        DISTILBERT,
        token_types=False,
        keys={
            "hidden_size": "dim",
            "num_hidden_layers": "n_layers",
            "num_attention_heads": "n_heads",
            "intermediate_size": "hidden_dim",
            "hidden_act": "activation",
        },
    ),
}
DEFAULTS: Mapping[str, Mapping[str, int]] = {
    "distilbert": {"num_hidden_layers": 6},
    "electra": {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024},
    "mpnet": {"vocab_size": 30527},
    "roberta": {"vocab_size": 50265},
}
"""Sizes that a config may leave out, where they are not those of BERT."""
SIZES = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}


def write_model(config: Config) -> ModelText:
    """Return the text of a model of the family and its name map."""
    name = config.get("model_type")
    variant = VARIANTS[name]
    kind = read_kind(config, variant.family)
    config.require("is_decoder", False)
    config.require("add_cross_attention", False)
    config.require("position_embedding_type", "absolute")
    config.flag("sinusoidal_pos_embds")  # says how the table was initialised, which is in the file
    defaults = {**SIZES, **DEFAULTS.get(name, {})}

    def size(key: str) -> int:
        return config.size(variant.keys.get(key, key), defaults[key])

    width = size("hidden_size")
    embedded = config.size("embedding_size", 128) if variant.own_width else width
    activation = config.activation(variant.keys.get("hidden_act", "hidden_act"), "gelu")
    padding = MPNET_PADDING if variant.relative else config.integer("pad_token_id", 1)
    depth_key = variant.keys.get("num_hidden_layers", "num_hidden_layers")
    vocabulary, positions = size("vocab_size"), size("max_position_embeddings")
    tables = {
        "word_embeddings": [vocabulary, embedded],
        "position_embeddings": [positions, embedded],
    }
    if variant.token_types:
        tables["token_type_embeddings"] = [size("type_vocab_size"), embedded]
    body = (
        *_embed(variant),
        "norm(weight=embedding_norm, bias=embedding_norm_b)",
        *(linear_layers("project", width) if embedded != width else ()),
        f"layer(repeat={config.count(depth_key, defaults['num_hidden_layers'])})",
    )
    heads = variant.heads(config, activation, embedded)
    head = write_head(config, kind, heads, width, vocabulary, body)
    heads_count = size("num_attention_heads")
    if variant.relative:
        config.require("relative_attention_num_buckets", BUCKETS)
        tables["distances"] = [BUCKETS, heads_count]
    attention = write_attention(heads_count, "relativeBias=distances" if variant.relative else "")
    epsilon = config.positive("layer_norm_eps", 1e-12) if not variant.keys else 1e-12
    source = statements(
        [
            f"model:name {name}",
            *INPUTS,
            START if "gather(start" in "".join(head.statements) else "",
            TOKEN_TYPES if variant.token_types else "",
            *(f"{head.block}:param {table} shape={shape}" for table, shape in tables.items()),
            *head.statements,
            f"count_tokens:layers\n{_count_tokens(padding)}" if variant.counts_tokens else "",
            f"layer:layers\n{write_layer(width, size('intermediate_size'), activation, attention)}",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
        ]
    )
    names: Names = {
        **{table: f"embeddings.{table}.weight" for table in tables},
        **norm_names("embedding_norm1", "embeddings.LayerNorm"),
        **variant.modules.names(),
    }
    if embedded != width:
        names |= linear_names("project1", "embeddings_project")
    if variant.relative:
        names["distances"] = "encoder.relative_attention_bias.weight"
    rules = InputRules(
        has_choices=kind == CHOICES,
        max_tokens=max(positions - padding - 1, 1) if variant.counts_tokens else 0,
    )
    return ModelText(source, names | head.names, variant.prefix, input_rules=rules)


def _embed(variant: Variant) -> tuple[str, ...]:
    """Return the layers of the sum of all embeddings of a token."""
    types = "embedding(token_type_embeddings, node=token_type_ids, name=types)"
    positions = ("count_tokens(node=input_ids)", "embedding(position_embeddings, name=positions)")
    return (
        types if variant.token_types else "",
        *(positions if variant.counts_tokens else ()),
        "embedding(word_embeddings, node=input_ids)",
        "add(types)" if variant.token_types else "",
        "add(positions)" if variant.counts_tokens else "positionalEmbedding(position_embeddings)",
    )


def _count_tokens(padding: int) -> str:
    """Return the layers that count the tokens that are not padding, from `padding` on."""
    return layers(
        f"notEqual({padding}, node=input)",
        "cast(float32, name=counted)",
        "cumulativeSum(axis=tokens)",
        "mul(counted)",
        f"add({padding})",
        "cast(int32)",
    )
