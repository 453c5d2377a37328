"""BART and its relatives: an encoder, and a decoder that also attends to the encoder's output.

Sources: M. Lewis et al., "BART", arXiv:1910.13461 (2019); M. Junczys-Dowmunt et al., "Marian",
arXiv:1804.00344 (2018); A. Fan et al., "Beyond English-centric multilingual machine translation"
(M2M100), arXiv:2010.11125 (2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Form, Part, Reshaped
from webnnm.transformers.architectures.encoder import linear
from webnnm.transformers.architectures.encoder_decoder import INPUTS, POSITIONS
from webnnm.transformers.architectures.model_text import (
    ModelText,
    head,
    last_product,
    layers,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.architectures.waves import halves, halves_from
from webnnm.transformers.config import Config

OFFSET = 2
"""Rows of the position tables that are never used."""

STACKS = ("encoder", "decoder")


class Variant(NamedTuple):
    """The differences between the members of the family.

    Attributes: `family`, the prefix of the class names; `head`, the suffix of the class with
    logits; `stored`, whether positions are in the file, or sinusoidal; `normed`, whether embeddings
    are normalised; `counted`, whether padding has no position; `first`, whether norms come before
    attention and MLP, and a last one after all layers, or after each; `bias`, whether logits have
    one; `scaled`, whether embeddings are scaled; `activation`.
    """

    family: str
    head: str = "ForConditionalGeneration"
    stored: bool = False
    normed: bool = False
    counted: bool = False
    first: bool = False
    bias: bool = True
    scaled: bool = False
    activation: str = "gelu"


VARIANTS: Mapping[str, Variant] = {
    "bart": Variant("Bart", stored=True, normed=True),
    "marian": Variant("Marian", "MTModel"),
    "m2m_100": Variant(
        "M2M100", counted=True, first=True, bias=False, scaled=True, activation="relu"
    ),
}


class Sizes(NamedTuple):
    """The sizes of a model; those of layers are pairs for encoder and decoder."""

    vocabulary: int
    written: int
    width: int
    positions: int
    padding: int
    layers: tuple[int, int]
    heads: tuple[int, int]
    inner: tuple[int, int]


def write_model(config: Config) -> ModelText:
    """Return the text of a model of the family and its name map."""
    name = config.get("model_type")
    variant = VARIANTS[name]
    if config.tensors is not None and "encoder.embed_positions.weight" in config.tensors:
        variant = variant._replace(stored=True)
    default = variant.family + variant.head
    kind = head(config, variant.head, f"{variant.family}Model", default=default)
    config.only("is_encoder_decoder", True)
    for key in ("num_hidden_layers", "normalize_before", "add_final_layer_norm"):
        config.only(key, config.get("encoder_layers", 12) if key.startswith("num") else False)
    config.only("normalize_embedding", True)
    tied, alike = config.flag("tie_word_embeddings", True), variant.family != "Marian"
    alike = config.flag("share_encoder_decoder_embeddings", True) or alike
    shared = alike and (tied or "encoder.embed_tokens.weight" not in (config.tensors or ()))
    sizes, in_logits = _sizes(config, alike), kind == variant.head
    scale = config.flag("scale_embedding", variant.scaled)
    biased = in_logits and variant.bias
    if config.tensors is not None and "final_logits_bias" not in config.tensors:
        biased = False
    tables = ("shared", "shared" if shared else "decoder_embeddings")
    product = f"{tables[1]}, bTranspose=true" if tied else f"lm_head, shape=[{sizes.written}]"
    last = (f"matmul({product})", "add(final_logits_bias)" if biased else "") if in_logits else ()
    block, size = ("logits", sizes.written) if in_logits else ("last_hidden_state", sizes.width)
    pairs = zip(STACKS, tables, strict=True)
    encoder, decoder = (_stack(variant, sizes, *stack_sizes, scale) for stack_sizes in pairs)
    activation = config.activation("activation_function", variant.activation)
    waves = _waves(variant, sizes)
    parameters = {
        "shared": [sizes.vocabulary, sizes.width],
        **({} if shared else {"decoder_embeddings": [sizes.written, sizes.width]}),
        **{f"{s}_positions": [sizes.positions, sizes.width] for s in STACKS if variant.stored},
    }
    # In transformers they are not parameters: training does not change them.
    kept = {"final_logits_bias": [sizes.written]} if biased else {}
    kept |= {name: list(array.shape) for name, array in waves.items()}
    source = statements(
        [
            f"model:name {name}",
            *INPUTS,
            *(POSITIONS if variant.counted else ()),
            *(
                f"{block}:param {stack_sizes} shape={shape}"
                for stack_sizes, shape in parameters.items()
            ),
            *(
                f"{block}:param {stack_sizes} shape={shape} lrm=0"
                for stack_sizes, shape in kept.items()
            ),
            *output(block, size, *decoder, *last, sequence="decoder_tokens"),
            *output("encoder_last_hidden_state", sizes.width, *encoder),
            f"placed:layers\n{_embed_by_position(sizes, scale)}" if variant.counted else "",
            *(f"{s}_layer:layers\n{_layer(variant, sizes, s, activation)}" for s in STACKS),
            "norm:layers layerNorm(scale=weight, bias=bias, epsilon=1e-5)",
        ]
    )
    names = _names(variant, sizes, shared) | last_product(in_logits and not tied)
    names["final_logits_bias"] = Reshaped("final_logits_bias", (sizes.written,)) if biased else None
    return ModelText(source, names, "model.", waves)


def _sizes(config: Config, alike: bool) -> Sizes:
    def both(key: str, default: int) -> tuple[int, int]:
        read = config.count if key == "layers" else config.size
        return read(f"encoder_{key}", default), read(f"decoder_{key}", default)

    vocabulary = config.size("vocab_size", 50265)
    others = config.size("decoder_vocab_size", vocabulary)
    return Sizes(
        vocabulary=vocabulary,
        written=vocabulary if alike else others,
        width=config.size("d_model", 1024),
        positions=config.size("max_position_embeddings", 1024),
        padding=config.integer("pad_token_id", 1),
        layers=both("layers", 12),
        heads=both("attention_heads", 16),
        inner=both("ffn_dim", 4096),
    )


def _waves(variant: Variant, sizes: Sizes) -> dict[str, HostArray]:
    """Return the position table that the file does not have."""
    if variant.stored:
        return {}
    if not variant.counted:
        return {"waves": halves(sizes.positions, sizes.width)}
    return {"waves": halves_from(sizes.positions, sizes.width, sizes.padding + 1)}


def _stack(variant: Variant, sizes: Sizes, stack: str, table: str, scale: bool) -> tuple[str, ...]:
    """Return the layers of the encoder or the decoder."""
    of = "" if stack == "encoder" else "decoder_"
    positions = f"{stack}_positions" if variant.stored else "waves"
    begun = (
        f"embedding({table}, node={of}input_ids)",
        f"mul({sizes.width**0.5})" if scale else "",
        f"positionalEmbedding({positions})",
    )
    if variant.counted:
        begun = (f"placed(table={table}, ids={of}input_ids, places={of}position_ids)",)
    norm = f"norm(weight={stack}_norm, bias={stack}_norm_b)"
    return (
        *begun,
        norm if variant.normed else "",
        f"{stack}_layer(repeat={sizes.layers[STACKS.index(stack)]})",
        norm if variant.first else "",
    )


def _embed_by_position(sizes: Sizes, scale: bool) -> str:
    """Return the layers of embeddings in which padding has no position."""
    return layers(
        f"notEqual({sizes.padding}, node=ids)",
        "cast(float32)",
        "reshape([1], name=counts)",
        "embedding(table, node=ids)",
        f"mul({sizes.width**0.5 if scale else 1}, name=embedded)",
        "embedding(waves, node=places)",
        "mul(counts)",
        "add(embedded)",
    )


def _layer(variant: Variant, sizes: Sizes, stack: str, activation: str) -> str:
    """Return the layers of a block of the encoder or the decoder."""
    index, is_decoder = STACKS.index(stack), stack == "decoder"
    mask = "causal=true, mask=decoder_attention_mask" if is_decoder else "mask=attention_mask"
    heads = f"bias=true, heads={sizes.heads[index]}"

    def part(norm: str, before: str, after: str, *inner: str) -> tuple[str, ...]:
        """Return layers with a norm before or after them, and a residual connection."""
        name = f", name={after}" if after else ""
        weights = f"weight={norm}, bias={norm}_b"
        if variant.first:
            return f"norm({weights})", *inner, f"residual(to={before}{name})"
        return *inner, f"residual(to={before})", f"norm({weights}{name})"

    def words(part: str) -> str:
        return ", ".join(f"{part}_w{letter}" for letter in "qkv") + f", o={part}_wo"

    own = f"{words(stack)}, {heads}, {mask}"
    cross = f"{words('cross')}, {heads}, to=encoder_last_hidden_state, mask=attention_mask"
    inner = (*linear(f"{stack}_up", sizes.inner[index]), activation)
    return layers(
        *part(
            f"{stack}_attention_norm",
            "input",
            "attended",
            f"attend({own})",
        ),
        *(part("cross_norm", "attended", "informed", f"attend({cross})") if is_decoder else ()),
        *part(
            f"{stack}_mlp_norm",
            "informed" if is_decoder else "attended",
            "",
            *inner,
            *linear(f"{stack}_down", sizes.width),
        ),
    )


def _names(variant: Variant, sizes: Sizes, shared: bool) -> dict[str, str | Form | None]:
    tables: dict[str, str | None] = {"shared": "shared.weight"}
    if not shared:
        tables = {
            "shared": "encoder.embed_tokens.weight",
            "decoder_embeddings": "decoder.embed_tokens.weight",
            "shared.weight": None,
        }
    names: dict[str, str | Form | None] = {
        **tables,
        **norm_names("cross_norm{n}", "decoder.layers.{n-1}.encoder_attn_layer_norm"),
        **_attention("cross", "decoder.layers.{n-1}.encoder_attn"),
    }
    for stack in STACKS:
        layer = f"{stack}.layers.{{n-1}}"
        if shared:
            names[f"{stack}.embed_tokens.weight"] = None
        table = f"{stack}.embed_positions.weight"
        if variant.normed:
            names[f"{stack}_positions"] = Part(table, 1, (OFFSET, sizes.positions))
            names |= norm_names(f"{stack}_norm1", f"{stack}.layernorm_embedding")
        elif variant.stored:
            names[f"{stack}_positions"] = table
        else:
            names[f"{table}s"] = None
        if variant.first:
            names |= norm_names(f"{stack}_norm1", f"{stack}.layer_norm")
        names |= norm_names(f"{stack}_attention_norm{{n}}", f"{layer}.self_attn_layer_norm")
        names |= norm_names(f"{stack}_mlp_norm{{n}}", f"{layer}.final_layer_norm")
        names |= linear_names(f"{stack}_up{{n}}", f"{layer}.fc1")
        names |= linear_names(f"{stack}_down{{n}}", f"{layer}.fc2")
        names |= _attention(stack, f"{layer}.self_attn")
    return names


def _attention(part: str, layer: str) -> dict[str, str | Form]:
    names: dict[str, str | Form] = {}
    for letter, name in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj")):
        names |= linear_names(f"{part}_w{letter}{{n}}", f"{layer}.{name}")
    return names
