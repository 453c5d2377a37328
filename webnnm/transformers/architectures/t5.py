"""T5 and mT5: an encoder and a decoder with relative positions in attention.

Sources: C. Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
transformer", arXiv:1910.10683 (2019); L. Xue et al., "mT5", arXiv:2010.11934 (2020).
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.encoder_decoder import INPUTS
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    last_product,
    layers,
    linear_names,
    output,
    statements,
)
from webnnm.transformers.config import Config

GATED = {"gated-gelu": "gelu_new", "gated-silu": "silu", "gated-relu": "relu"}


class Variant(NamedTuple):
    """The differences between the members of the family: what a config may leave out.

    Attributes: `family`, the prefix of the class names; `scales`, whether what the decoder computes
    is scaled before the product with tied embeddings.
    """

    family: str
    scales: bool
    vocabulary: int
    inner: int
    layers: int
    heads: int
    feed_forward: str


VARIANTS = {
    "t5": Variant("T5", True, 32128, 2048, 6, 8, "relu"),
    "mt5": Variant("MT5", False, 250112, 1024, 8, 6, "gated-gelu"),
}


class Sizes(NamedTuple):
    """The sizes of a model, and the kind of its MLP."""

    vocabulary: int
    width: int
    head_size: int
    heads: int
    inner: int
    distance: int
    activation: str
    gated: bool


def write_model(config: Config) -> ModelText:
    """Return the text of a T5 and its name map."""
    model_type = config.get("model_type")
    variant = VARIANTS[model_type]
    default = f"{variant.family}ForConditionalGeneration"
    kind = class_suffix(config, "ForConditionalGeneration", "T5Model", default=default)
    config.require("is_encoder_decoder", True)
    sizes = _sizes(config, variant)
    depth = config.count("num_layers", variant.layers)
    tied_by_config = config.flag("tie_word_embeddings", True)
    scaled = variant.scales and config.flag("scale_decoder_outputs", tied_by_config)
    tied = tied_by_config if config.tensors is None else "lm_head.weight" not in config.tensors
    in_logits = kind == "ForConditionalGeneration"
    buckets = config.size("relative_attention_num_buckets", 32)
    body = [
        "embedding(shared, node=decoder_input_ids)",
        f"decoder_layer(repeat={config.count('num_decoder_layers', depth)})",
        "norm(weight=decoder_norm)",
    ]
    if in_logits:
        product = "shared, bTranspose=true" if tied else f"lm_head, shape=[{sizes.vocabulary}]"
        body += [f"mul({sizes.width**-0.5})"] if scaled else []
        body += [f"matmul({product})"]
    name, size = ("logits", sizes.vocabulary) if in_logits else ("last_hidden_state", sizes.width)
    encoder = (
        "embedding(shared, node=input_ids)",
        f"encoder_layer(repeat={depth})",
        "norm(weight=encoder_norm)",
    )
    source = statements(
        [
            f"model:name {model_type}",
            *INPUTS,
            f"{name}:param shared shape=[{sizes.vocabulary}, {sizes.width}]",
            f"{name}:param encoder_bias shape=[{buckets}, {sizes.heads}]",
            f"{name}:param decoder_bias shape=[{buckets}, {sizes.heads}]",
            *output(name, size, *body, sequence="decoder_tokens"),
            *output("encoder_last_hidden_state", sizes.width, *encoder),
            f"encoder_layer:layers\n{_layer(sizes, 'encoder')}",
            f"decoder_layer:layers\n{_layer(sizes, 'decoder')}",
            f"mlp:layers\n{_mlp(sizes)}",
            "norm:layers rmsNorm(scale=weight, "
            f"epsilon={config.positive('layer_norm_epsilon', 1e-6)})",
        ]
    )
    names = _names(sizes.gated) | last_product(in_logits and not tied)
    return ModelText(
        source, names, "", float16_problem=f"activations of {model_type} exceed its range"
    )


def _sizes(config: Config, variant: Variant) -> Sizes:
    projection = config.text("feed_forward_proj", variant.feed_forward)
    # Both keys follow from the projection, but count where a config has them.
    gated = config.flag("is_gated_act", projection in GATED)
    key = "dense_act_fn" if "dense_act_fn" in config else "feed_forward_proj"
    config.given["feed_forward_proj"] = GATED.get(projection, projection)
    return Sizes(
        vocabulary=config.size("vocab_size", variant.vocabulary),
        width=config.size("d_model", 512),
        head_size=config.size("d_kv", 64),
        heads=config.size("num_heads", variant.heads),
        inner=config.size("d_ff", variant.inner),
        distance=config.size("relative_attention_max_distance", 128),
        activation=config.activation(key),
        gated=gated,
    )


def _layer(sizes: Sizes, stack: str) -> str:
    """Return the layers of a block of the encoder or the decoder."""
    heads = f"heads={sizes.heads}, headSize={sizes.head_size}, scale=1"
    is_decoder = stack == "decoder"
    own_options = f"relativeBias={stack}_bias, maxDistance={sizes.distance}"
    own_options += (
        ", causal=true, mask=decoder_attention_mask" if is_decoder else ", mask=attention_mask"
    )
    cross = (
        "norm(weight=cross_norm)",
        f"attend(cross_wq, cross_wk, cross_wv, o=cross_wo, {heads}, "
        "to=encoder_last_hidden_state, mask=attention_mask)",
        "residual(to=attended, name=informed)",
    )
    return layers(
        f"norm(weight={stack}_attention_norm)",
        f"attend({stack}_wq, {stack}_wk, {stack}_wv, o={stack}_wo, {heads}, {own_options})",
        "residual(to=input, name=attended)",
        *(cross if is_decoder else ()),
        f"norm(weight={stack}_mlp_norm)",
        f"mlp(up={stack}_up, down={stack}_down{f', gate={stack}_gate' if sizes.gated else ''})",
        f"residual(to={'informed' if is_decoder else 'attended'})",
    )


def _mlp(sizes: Sizes) -> str:
    up = f"matmul(up, node=input, shape=[{sizes.inner}]"
    gate = (f"{up}, name=value)", f"matmul(gate, node=input, shape=[{sizes.inner}])")
    return layers(
        *(gate if sizes.gated else (f"{up})",)),
        sizes.activation,
        "mul(value)" if sizes.gated else "",
        f"matmul(down, shape=[{sizes.width}])",
    )


def _names(gated: bool) -> dict[str, str | Form | None]:
    names: dict[str, str | Form | None] = {
        "shared": "shared.weight",
        "encoder.embed_tokens.weight": None,
        "decoder.embed_tokens.weight": None,
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": None,
    }
    for stack, mlp_index in (("encoder", 1), ("decoder", 2)):
        block = f"{stack}.block.{{n-1}}.layer"
        first = f"{stack}.block.0.layer.0.SelfAttention"
        names |= {
            f"{stack}_bias": f"{first}.relative_attention_bias.weight",
            f"{stack}_attention_norm{{n}}": f"{block}.0.layer_norm.weight",
            f"{stack}_mlp_norm{{n}}": f"{block}.{mlp_index}.layer_norm.weight",
            f"{stack}_norm1": f"{stack}.final_layer_norm.weight",
        }
        names |= _matrix_names({f"{stack}_w{w}": f"{block}.0.SelfAttention.{w}" for w in "qkvo"})
        parameters = {"gate": "wi_0", "up": "wi_1"} if gated else {"up": "wi"}
        layer = f"{block}.{mlp_index}.DenseReluDense"
        names |= _matrix_names({f"{stack}_{w}": f"{layer}.{n}" for w, n in parameters.items()})
        names |= _matrix_names({f"{stack}_down": f"{layer}.wo"})
    cross = "decoder.block.{n-1}.layer.1"
    names["cross_norm{n}"] = f"{cross}.layer_norm.weight"
    return names | _matrix_names({f"cross_w{w}": f"{cross}.EncDecAttention.{w}" for w in "qkvo"})


def _matrix_names(layers_of: dict[str, str]) -> dict[str, str | Form]:
    names: dict[str, str | Form] = {}
    for parameter, layer in layers_of.items():
        names |= linear_names(f"{parameter}{{n}}", layer, bias=False)
    return names
