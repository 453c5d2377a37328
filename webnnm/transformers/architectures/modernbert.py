"""ModernBERT: rotary positions, gated MLPs, and attention that sees all tokens or those near by.

Source: B. Warner et al., "Smarter, better, faster, longer: a modern bidirectional encoder"
(ModernBERT), arXiv:2412.13663 (2024).

Not supported: scaled angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from webnnm.snapshots.foreign import Part, Transposed
from webnnm.transformers.architectures.encoder import (
    CHOICES,
    INPUTS,
    START,
    Dense,
    Heads,
    Names,
    average_tokens,
    read_kind,
    write_first_token,
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

FULL, SLIDING = "full_attention", "sliding_attention"
BLOCKS = {FULL: "full", SLIDING: "near"}
"""Kind of attention → its block."""
ROTATIONS = {FULL: ("global_rope_theta", 160000.0), SLIDING: ("local_rope_theta", 10000.0)}
"""Kind of attention → the key of the base of its angles, and the default."""
UNUSED_KEYS = (
    *("layer_norm_eps", "deterministic_flash_attn", "repad_logits_with_grad", "reference_compile"),
    *("sparse_prediction", "sparse_pred_ignore_index", "max_position_embeddings"),
)
"""Keys for training and for kernels; angles need no table of positions."""


class Sizes(NamedTuple):
    """The sizes of a model; `biases` are those of attention, MLP and norms."""

    width: int
    heads: int
    inner: int
    attention_bias: bool
    mlp_bias: bool
    norm_bias: bool


def write_model(config: Config) -> ModelText:
    """Return the text of a ModernBERT and its name map."""
    kind = read_kind(config, "ModernBert")
    config.require("position_embedding_type", "absolute")
    for key in UNUSED_KEYS:
        config.get(key)
    sizes = Sizes(
        width=config.size("hidden_size", 768),
        heads=config.size("num_attention_heads", 12),
        inner=config.size("intermediate_size", 1152),
        attention_bias=config.flag("attention_bias"),
        mlp_bias=config.flag("mlp_bias"),
        norm_bias=config.flag("norm_bias"),
    )
    kinds = _kinds(config, config.count("num_hidden_layers", 22))
    vocabulary = config.size("vocab_size", 50368)
    body = (
        "embedding(word_embeddings, node=input_ids)",
        _norm(sizes, "embedding"),
        f"first(attention={BLOCKS[kinds[0]]})",
        *(f"layer(repeat={count}, attention={BLOCKS[kind]})" for kind, count in _runs(kinds[1:])),
        _norm(sizes, "final"),
    )
    pooling = _pool(config, kind)
    heads = _heads(config, sizes)
    head = write_head(config, kind, heads, sizes.width, vocabulary, body, first=pooling)
    activation = config.activation("hidden_activation", "gelu")
    attentions = _attentions(config, sizes)
    bias = ", bias=bias" if sizes.norm_bias else ""
    epsilon = config.positive("norm_eps", 1e-5)
    source = statements(
        [
            "model:name modernbert",
            *INPUTS,
            START if "gather(start" in "".join(head.statements) else "",
            f"{head.block}:param word_embeddings shape=[{vocabulary}, {sizes.width}]",
            *head.statements,
            f"first:layers\n{_layer(sizes, normed=False)}",
            f"layer:layers\n{_layer(sizes, normed=True)}" if len(kinds) > 1 else "",
            *(f"{BLOCKS[name]}:layers {attentions[name]}" for name in sorted({*kinds})),
            f"mlp:layers\n{_mlp(sizes, activation)}",
            f"norm:layers layerNorm(scale=weight{bias}, epsilon={epsilon})",
        ]
    )
    rules = InputRules(has_choices=kind == CHOICES)
    return ModelText(source, _names(sizes, len(kinds)) | head.names, "model.", input_rules=rules)


def _kinds(config: Config, depth: int) -> list[str]:
    """Return the kind of attention of each layer; older configs say which ones see all tokens."""
    step = config.size("global_attn_every_n_layers", 3)
    listed = config.texts("layer_types", [])
    if not listed:
        return [SLIDING if layer % step else FULL for layer in range(depth)]
    if len(listed) != depth or not {*listed} <= {*BLOCKS}:
        raise config.not_supported("layer_types", listed, f"{depth} of {FULL} or {SLIDING}")
    return listed


def _runs(kinds: Sequence[str]) -> list[tuple[str, int]]:
    return [(kind, len([*run])) for kind, run in groupby(kinds)]


def _norm(sizes: Sizes, part: str) -> str:
    bias = f", bias={part}_norm_b" if sizes.norm_bias else ""
    return f"norm(weight={part}_norm{bias})"


def _layer(sizes: Sizes, *, normed: bool) -> str:
    """Return the layers of a block; the first one reads embeddings, which are normalised."""
    return layers(
        _norm(sizes, "attention") if normed else "",
        "attention()",
        "residual(to=input, name=attended)",
        _norm(sizes, "mlp"),
        "mlp()",
        "residual(to=attended)",
    )


def _attentions(config: Config, sizes: Sizes) -> dict[str, str]:
    """Return the layer of attention by its kind."""
    # `local_attention` counts the tokens on both sides.
    near = config.integer("local_attention", 128) // 2 + 1
    bias = ", bias=true" if sizes.attention_bias else ""
    rotations = config.part("rope_parameters")
    calls: dict[str, str] = {}
    for kind, (key, default) in ROTATIONS.items():
        rope = rotations.part(kind)
        rope.require("rope_type", "default")
        base = rope.positive("rope_theta", config.positive(key, default))
        window = f", window={near}" if kind == SLIDING else ""
        options = f"heads={sizes.heads}, rope={base}{window}{bias}, mask=attention_mask"
        calls[kind] = f"attend(wq, wk, wv, o=wo, {options})"
    return calls


def _mlp(sizes: Sizes, activation: str) -> str:
    bias = sizes.mlp_bias
    return layers(
        f"matmul(gate, node=input, shape=[{sizes.inner}]{'' if bias else ', name=gates'})",
        "add(gate_b, name=gates)" if bias else "",
        f"matmul(up, node=input, shape=[{sizes.inner}])",
        "add(up_b)" if bias else "",
        activation,
        "mul(gates)",
        *linear_layers("down", sizes.width, bias=bias),
    )


def _pool(config: Config, kind: str) -> list[str]:
    """Return the layers that turn all tokens into a vector for the text."""
    config.require("classifier_pooling", "cls", "mean")
    if config.get("classifier_pooling", "cls") == "mean":
        return ["identity(name=encoded)", *average_tokens("encoded")]
    if kind != CHOICES:
        return [write_first_token()]
    return [  # the first token that is not padding
        "identity(name=encoded)",
        "cast(float32, node=attention_mask, name=counted)",
        "cumulativeSum(axis=tokens)",
        "mul(counted)",
        "equal(1)",
        "cast(float32)",
        "reshape([1])",
        "mul(encoded)",
        "reduceSum(axes=[tokens])",
    ]


def _heads(config: Config, sizes: Sizes) -> Heads:
    dense = Dense(
        "head",
        "head.dense",
        config.activation("classifier_activation", "gelu"),
        "head.norm",
        bias=config.flag("classifier_bias"),
        norm_bias=sizes.norm_bias,
    )
    return Heads(
        dense,
        dense,
        dense,
        decoder="decoder",
        decoder_bias="decoder.bias" if config.flag("decoder_bias", True) else "",
        unused=("head.*", "decoder.*", "classifier.*"),
        tokens=dense,
        answers="classifier",
    )


def _names(sizes: Sizes, depth: int) -> Names:
    layer = "layers.{n-1}"

    def norm(parameter: str, module: str) -> Names:
        return dict([*norm_names(parameter, module).items()][: 1 + sizes.norm_bias])

    names: Names = {
        "word_embeddings": "embeddings.tok_embeddings.weight",
        **norm("embedding_norm1", "embeddings.norm"),
        **(norm("attention_norm{n}", "layers.{n}.attn_norm") if depth > 1 else {}),
        **norm("mlp_norm{n}", f"{layer}.mlp_norm"),
        **norm("final_norm1", "final_norm"),
        **linear_names("wo{n}", f"{layer}.attn.Wo", bias=sizes.attention_bias),
        **linear_names("down{n}", f"{layer}.mlp.Wo", bias=sizes.mlp_bias),
    }
    groups = (
        (("wq", "wk", "wv"), "attn.Wqkv", sizes.attention_bias),
        (("up", "gate"), "mlp.Wi", sizes.mlp_bias),
    )
    for parameters, module, bias in groups:
        for index, parameter in enumerate(parameters):
            weight = Part(f"{layer}.{module}.weight", index, len(parameters))
            names[f"{parameter}{{n}}"] = Transposed(weight)
            if bias:
                part = Part(f"{layer}.{module}.bias", index, len(parameters))
                names[f"{parameter}_b{{n}}"] = part
    return names
