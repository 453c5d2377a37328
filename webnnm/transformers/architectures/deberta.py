"""DeBERTa in its second and third version: attention of contents and of distances.

Sources: P. He et al., "DeBERTa", arXiv:2006.03654 (2020), and "DeBERTaV3", arXiv:2111.09543 (2021).
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

MODULES = Modules(
    "encoder.layer.{n-1}",
    q="attention.self.query_proj",
    k="attention.self.key_proj",
    v="attention.self.value_proj",
    o="attention.output.dense",
    attention_norm="attention.output.LayerNorm",
    up="intermediate.dense",
    down="output.dense",
    mlp_norm="output.LayerNorm",
)
KINDS = {"c2p": "k", "p2c": "q"}
"""What scores a config asks for: of contents with distances, of distances with contents → the
letter of the projection of distances."""


class Sizes(NamedTuple):
    """The sizes of a model, and the kinds of its attention.

    Attributes: `span`, half of the rows of the table of distances, 0 for none; `letters`, "q" and
    "k" for queries and keys of distances; `shares`, whether those have the projections of tokens;
    `kernel`, the width of the convolution beside the first layer, 0 for none.
    """

    width: int
    embedded: int
    heads: int
    head_size: int
    inner: int
    span: int
    max_distance: int
    letters: str
    shares: bool
    kernel: int


def write_model(config: Config) -> ModelText:
    """Return the text of a DeBERTa and its name map."""
    kind = read_kind(config, "DebertaV2")
    sizes = _read_sizes(config)
    activation = config.activation("hidden_act", "gelu")
    vocabulary = config.size("vocab_size", 128100)
    tables = {"word_embeddings": [vocabulary, sizes.embedded]}
    typed, placed = (
        config.integer("type_vocab_size", 0) > 0,
        config.flag("position_biased_input", True),
    )
    if placed:
        positions = config.size("max_position_embeddings", 512)
        tables["position_embeddings"] = [positions, sizes.embedded]
    if typed:
        tables["token_type_embeddings"] = [config.size("type_vocab_size"), sizes.embedded]
    names: Names = {table: f"embeddings.{table}.weight" for table in tables}
    normed = "layer_norm" in config.text("norm_rel_ebd", "none")
    if sizes.span:
        tables["distances"] = [2 * sizes.span, sizes.width]
        names["distances"] = "encoder.rel_embeddings.weight"
    depth = config.count("num_hidden_layers", 24)
    body = (
        *_embed(sizes, typed=typed, placed=placed, normed=normed),
        *_call_layers(config, sizes, depth),
    )
    head = write_head(
        config, kind, _heads(config, sizes, activation), sizes.width, vocabulary, body
    )
    epsilon = config.positive("layer_norm_eps", 1e-7)
    source = statements(
        [
            "model:name deberta",
            *INPUTS,
            START if "gather(start" in "".join(head.statements) else "",
            TOKEN_TYPES if typed else "",
            *(f"{head.block}:param {table} shape={shape}" for table, shape in tables.items()),
            *head.statements,
            *_write_params(sizes),
            f"layer:layers\n{write_layer(sizes.width, sizes.inner, activation, _attention(sizes))}",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
        ]
    )
    names |= _names(sizes, depth, normed=normed)
    rules = InputRules(has_choices=kind == CHOICES)
    return ModelText(source, names | head.names, "deberta.", input_rules=rules)


def _read_sizes(config: Config) -> Sizes:
    width, heads = config.size("hidden_size", 1536), config.size("num_attention_heads", 24)
    kinds = config.get("pos_att_type") or []
    kinds = kinds.split("|") if isinstance(kinds, str) else config.texts("pos_att_type", [])
    kinds = [kind.strip().lower() for kind in kinds]
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise config.not_supported("pos_att_type", unknown, f"known are {', '.join(KINDS)}")
    has_distances = config.flag("relative_attention")
    if kinds and not has_distances:
        raise config.not_supported("pos_att_type", kinds, "relative_attention has to be true")
    positions = config.size("max_position_embeddings", 512)
    farthest = config.integer("max_relative_positions", -1, -1)
    farthest = farthest if farthest > 0 else positions
    span = config.integer("position_buckets", -1, -1)
    if has_distances and span > 0 and span + 1 >= farthest:
        raise config.not_supported("position_buckets", span, f"fewer than {farthest - 1}")
    span = span if span > 0 else farthest
    return Sizes(
        width=width,
        embedded=config.size("embedding_size", width),
        heads=heads,
        head_size=config.size("attention_head_size", max(1, width // heads)),
        inner=config.size("intermediate_size", 6144),
        span=span if has_distances else 0,
        max_distance=farthest,
        letters="".join(KINDS[kind] for kind in sorted({*kinds})),
        shares=config.flag("share_att_key"),
        kernel=config.integer("conv_kernel_size", 0),
    )


def _embed(sizes: Sizes, *, typed: bool, placed: bool, normed: bool) -> tuple[str, ...]:
    """Return the layers of the embeddings of distances, then of tokens."""
    norm = "norm(node=distances, weight=distance_norm, bias=distance_norm_b, name=relative)"
    distances = norm if normed else "identity(node=distances, name=relative)"
    return (
        distances if sizes.letters else "",
        "embedding(token_type_embeddings, node=token_type_ids, name=types)" if typed else "",
        "embedding(word_embeddings, node=input_ids)",
        "positionalEmbedding(position_embeddings)" if placed else "",
        "add(types)" if typed else "",
        f"matmul(project, shape=[{sizes.width}])" if sizes.embedded != sizes.width else "",
        "norm(weight=embedding_norm, bias=embedding_norm_b)",
    )


def _call_layers(config: Config, sizes: Sizes, depth: int) -> tuple[str, ...]:
    """Return the calls of all layers; the first may have a convolution beside it."""
    if not sizes.kernel:
        return (f"layer(repeat={depth})",)
    groups = config.size("conv_groups", 1)
    options = f"filters={sizes.width}, kernel={sizes.kernel}, padding={(sizes.kernel - 1) // 2}"
    options += f", groups={groups}" if groups > 1 else ""
    return (
        "identity(name=embedded)",
        "cast(float32, node=attention_mask)",
        "reshape([1], name=counted)",
        "mul([embedded, counted])",
        f"conv1d(conv, {options}, bias=conv_b)",
        "mul(counted)",
        config.activation("conv_act", "tanh"),
        "identity(name=convolved)",
        "layer(node=embedded)",
        "add(convolved)",
        "norm(weight=conv_norm, bias=conv_norm_b)",
        f"layer(repeat={depth - 1})" if depth > 1 else "",
    )


def _distance_modules(sizes: Sizes) -> dict[str, str]:
    """Return the projections of distances that a layer declares → their modules.

    Those of tokens that distances share are used twice; biases of others would have numbers for
    each row of the table if they were not declared.
    """
    if sizes.shares:
        modules = {"q": ("wq", MODULES.q), "k": ("wk", MODULES.k)}
    else:
        path = "attention.self.pos_{}_proj"
        modules = {
            "q": ("distance_wq", path.format("query")),
            "k": ("distance_wk", path.format("key")),
        }
    return dict(modules[letter] for letter in sizes.letters)


def _write_params(sizes: Sizes) -> list[str]:
    """Return the statements of the projections that a layer declares."""
    inner = sizes.heads * sizes.head_size
    return [
        f"layer:param {name} shape=[{sizes.width}, {inner}] shared=false, "
        f"{name}_b shape=[{inner}] shared=false"
        for name in _distance_modules(sizes)
    ]


def _attention(sizes: Sizes) -> str:
    """Return the layers of attention."""
    inner = sizes.heads * sizes.head_size
    declared = _distance_modules(sizes)

    def project(parameter: str, node: str, name: str) -> tuple[str, str]:
        shape = "" if parameter in declared else f", shape=[{inner}]"
        return (
            f"matmul({parameter}, node={node}{shape})",
            f"add({parameter}_b, name={name})",
        )

    rows: list[str] = []
    for letter, parameter in zip(sizes.letters, declared, strict=True):
        rows += project(parameter, "relative", f"distance_{letter}")
    for letter in "qkv":
        rows += project(f"w{letter}", "input", letter)
    options = f"heads={sizes.heads}, scale={(sizes.head_size * (1 + len(sizes.letters))) ** -0.5}"
    options += ", relativeKeys=distance_k" if "k" in sizes.letters else ""
    options += ", relativeQueries=distance_q" if "q" in sizes.letters else ""
    options += f", maxDistance={sizes.max_distance}" if sizes.letters else ""
    return layers(
        *rows,
        f"attend(q, k, v, node=q, {options}, mask=attention_mask)",
        *linear_layers("wo", sizes.width),
    )


def _heads(config: Config, sizes: Sizes, activation: str) -> Heads:
    pooler = Dense("pooler", "pooler.dense", config.activation("pooler_hidden_act", "gelu"))
    config.require("pooler_hidden_size", config.get("pooler_hidden_size", sizes.width), sizes.width)
    tensors = config.tensors or ()
    newer = "lm_predictions.lm_head.bias" in tensors and "cls.predictions.bias" not in tensors
    if newer or not config.flag("legacy", True):
        module = "lm_predictions.lm_head"
        transform = Dense("transform", f"{module}.dense", activation, f"{module}.LayerNorm")
        decoder, bias = "", f"{module}.bias"
    else:
        module, size = "cls.predictions.transform", sizes.embedded
        norm = f"{module}.LayerNorm"
        transform = Dense("transform", f"{module}.dense", activation, norm, size)
        decoder, bias = "cls.predictions.decoder", "cls.predictions.bias"
    unused = ("cls.*", "lm_predictions.*", "mask_predictions.*")
    return Heads(
        pooler,
        pooler,
        transform,
        decoder,
        bias,
        unused=(
            *("embeddings.position_ids", "embeddings.position_embeddings.weight", *unused),
            *("pooler.*", "classifier.*", "qa_outputs.*"),
        ),
    )


def _names(sizes: Sizes, depth: int, *, normed: bool) -> Names:
    names: Names = {
        **norm_names("embedding_norm1", "embeddings.LayerNorm"),
        **MODULES.names(),
    }
    if sizes.embedded != sizes.width:
        names |= linear_names("project1", "embeddings.embed_proj", bias=False)
    if normed and sizes.letters:
        names |= norm_names("distance_norm1", "encoder.LayerNorm")
    if sizes.kernel:
        names |= {"conv1": "encoder.conv.conv.weight", "conv_b1": "encoder.conv.conv.bias"}
        names |= norm_names("conv_norm1", "encoder.conv.LayerNorm")
    for parameter, module in _distance_modules(sizes).items():
        path = f"{MODULES.layer}.{module}"
        names |= linear_names(f"{parameter}{{n}}", path) if depth > 1 else {}
        names |= linear_names(parameter, path.replace("{n-1}", "0"))
        if depth == 1:
            names.pop(f"{parameter}{{n}}", None)
            names.pop(f"{parameter}_b{{n}}", None)
    return names
