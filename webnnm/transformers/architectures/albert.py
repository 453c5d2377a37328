"""ALBERT: an encoder like BERT, whose layers share their weights in groups.

Source: Z. Lan et al., "ALBERT", arXiv:1909.11942 (2019).
"""

from __future__ import annotations

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
    write_head,
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

MODULES = Modules(
    "encoder.albert_layer_groups.{group}.albert_layers.{layer}",
    q="attention.query",
    k="attention.key",
    v="attention.value",
    o="attention.dense",
    attention_norm="attention.LayerNorm",
    up="ffn",
    down="ffn_output",
    mlp_norm="full_layer_layer_norm",
)
UNUSED_KEYS = ("down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks")
"""Keys of published configs that no program reads."""


class Sizes(NamedTuple):
    """The sizes of a model; `groups` of `inner_layers` layers each have their own weights."""

    width: int
    embedded: int
    heads: int
    inner: int
    depth: int
    groups: int
    inner_layers: int


def write_model(config: Config) -> ModelText:
    """Return the text of an ALBERT and its name map."""
    kind = read_kind(config, "Albert")
    config.require("position_embedding_type", "absolute")
    for key in UNUSED_KEYS:
        config.get(key)
    sizes = Sizes(
        width=config.size("hidden_size", 4096),
        embedded=config.size("embedding_size", 128),
        heads=config.size("num_attention_heads", 64),
        inner=config.size("intermediate_size", 16384),
        depth=config.count("num_hidden_layers", 12),
        groups=config.count("num_hidden_groups", 1),
        inner_layers=config.count("inner_group_num", 1),
    )
    activation = config.activation("hidden_act", "gelu_new")
    vocabulary = config.size("vocab_size", 30000)
    tables = {
        "word_embeddings": vocabulary,
        "position_embeddings": config.size("max_position_embeddings", 512),
        "token_type_embeddings": config.size("type_vocab_size", 2),
    }
    body = (
        "embedding(token_type_embeddings, node=token_type_ids, name=types)",
        "embedding(word_embeddings, node=input_ids)",
        "add(types)",
        "positionalEmbedding(position_embeddings)",
        "norm(weight=embedding_norm, bias=embedding_norm_b)",
        *linear_layers("project", sizes.width),
        *_call_groups(sizes),
    )
    pooler = Dense("pooler", "pooler", "tanh()")
    norm = "predictions.LayerNorm"
    heads = Heads(
        pooler,
        pooler,
        Dense("transform", "predictions.dense", activation, norm, sizes.embedded),
        decoder="predictions.decoder",
        decoder_bias="predictions.bias",
        pooler=pooler,
        unused=(
            *("embeddings.position_ids", "pooler.*", "predictions.*", "sop_classifier.*"),
            *("classifier.*", "qa_outputs.*"),
        ),
    )
    head = write_head(config, kind, heads, sizes.width, vocabulary, body)
    blocks, names = _write_groups(sizes, activation)
    epsilon = config.positive("layer_norm_eps", 1e-12)
    source = statements(
        [
            "model:name albert",
            *INPUTS,
            START if "gather(start" in "".join(head.statements) else "",
            TOKEN_TYPES,
            *(
                f"{head.block}:param {table} shape=[{rows}, {sizes.embedded}]"
                for table, rows in tables.items()
            ),
            *head.statements,
            *blocks,
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
        ]
    )
    names |= {
        **{table: f"embeddings.{table}.weight" for table in tables},
        **norm_names("embedding_norm1", "embeddings.LayerNorm"),
        **linear_names("project1", "encoder.embedding_hidden_mapping_in"),
    }
    rules = InputRules(has_choices=kind == CHOICES)
    return ModelText(source, names | head.names, "albert.", input_rules=rules)


def _call_groups(sizes: Sizes) -> list[str]:
    """Return the calls of all layers, one for those of a group."""
    group_of = [int(layer / (sizes.depth / sizes.groups)) for layer in range(sizes.depth)]
    return [
        f"{_name('group', sizes.groups, group)}(repeat={group_of.count(group)})"
        for group in sorted({*group_of})
    ]


def _name(stem: str, count: int, index: int) -> str:
    """Return the name of one of several, which has a number unless it is the only one."""
    return stem if count == 1 else f"{stem}{index + 1}"


def _write_groups(sizes: Sizes, activation: str) -> tuple[list[str], Names]:
    """Return the statements of the blocks of all groups, and the names of their parameters."""
    rows: list[str] = []
    names: Names = {}
    count = sizes.groups * sizes.inner_layers
    for group in range(sizes.groups):
        indices = range(group * sizes.inner_layers, (group + 1) * sizes.inner_layers)
        calls = ", ".join(f"{_name('layer', count, index)}()" for index in indices)
        rows.append(f"{_name('group', sizes.groups, group)}:layers {calls}")
        for inner, index in enumerate(indices):
            number, block = _name("", count, index), _name("layer", count, index)
            rows += _write_shared_layer(sizes, activation, number, block)
            path = MODULES.layer.format(group=group, layer=inner)
            names |= MODULES._replace(layer=path).names(number)
    return rows, names


def _write_shared_layer(sizes: Sizes, activation: str, number: str, block: str) -> list[str]:
    """Return the statements of a layer whose parameters are declared: all its copies share them."""
    width, inner = sizes.width, sizes.inner
    shapes = {f"w{letter}": ([width, width], [width]) for letter in "qkvo"}
    shapes |= {"up": ([width, inner], [inner]), "down": ([inner, width], [width])}
    shapes |= {f"{part}_norm": ([width], [width]) for part in ("attention", "mlp")}

    def linear(name: str, node: str = "", result: str = "") -> tuple[str, str]:
        source, label = (f", node={node}" if node else ""), (f", name={result}" if result else "")
        return f"matmul({name}{number}{source})", f"add({name}_b{number}{label})"

    def norm(part: str, label: str = "") -> str:
        return f"norm(weight={part}_norm{number}, bias={part}_norm_b{number}{label})"

    return [
        *(
            f"{block}:param {name}{number} shape={weight}, {name}_b{number} shape={bias}"
            for name, (weight, bias) in shapes.items()
        ),
        f"{block}:layers\n"
        + layers(
            *(row for letter in "qkv" for row in linear(f"w{letter}", "input", letter)),
            f"attend(q, k, v, node=q, heads={sizes.heads}, mask=attention_mask)",
            *linear("wo"),
            "residual(to=input)",
            norm("attention", ", name=attended"),
            *linear("up"),
            activation,
            *linear("down"),
            "residual(to=attended)",
            norm("mlp"),
        ),
    ]
