"""BART and its relatives: an encoder, and a decoder that also attends to the encoder's output.

Sources: M. Lewis et al., "BART", arXiv:1910.13461 (2019); M. Junczys-Dowmunt et al., "Marian",
arXiv:1804.00344 (2018); A. Fan et al., "Beyond English-centric multilingual machine translation"
(M2M100), arXiv:2010.11125 (2020); Y. Liu et al., "Multilingual denoising pre-training for neural
machine translation" (mBART), arXiv:2001.08210 (2020); J. Zhang et al., "PEGASUS", arXiv:1912.08777
(2019); S. Roller et al., "Recipes for building an open-domain chatbot" (Blenderbot),
arXiv:2004.13637 (2020); for LED, `global_attention`.

Not supported by `led`: question answering; scores are computed for all pairs of tokens, also those
that a window hides.
Not supported by `marian`: words of several tokens in `bad_words_ids`.
Not supported by `m2m_100`: texts longer than `max_position_embeddings`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Form, Part, Reshaped, Transposed
from webnnm.transformers.architectures.encoder_decoder import (
    INPUTS,
    POSITIONS,
    TextDecoder,
    pass_states,
)
from webnnm.transformers.architectures.global_attention import (
    INPUT,
    attention_block,
    attention_names,
    call_layers,
    read_windows,
)
from webnnm.transformers.architectures.model_text import (
    InputRules,
    ModelText,
    class_suffix,
    last_product,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    prefix_names,
    projection_names,
    statements,
)
from webnnm.transformers.architectures.waves import halves, halves_from
from webnnm.transformers.config import Config

STACKS = ("encoder", "decoder")


class Variant(NamedTuple):
    """The differences between the members of the family.

    Attributes: `family`, the prefix of the class names; `logits_class`, the suffix of the class
    with logits; `stores_positions`, whether the file has position tables, or they are sinusoidal;
    `embedding_norm`, whether embeddings are normalised; `skips_padding`, whether padding has no
    position; `shift_right`, see `InputRules`; `norm_first`, whether norms come before attention
    and MLP, and a last one after all layers, or after each; `logits_bias`, whether logits have one;
    `scales_embeddings`; `activation`; `position_offset`, the rows of a position table before that
    of the first position; `words_first`, whether the decoder normalises embeddings before it adds
    positions, and does not scale them; `defaults`, sizes that a config may leave out, where they
    are not those of BART; `last_product`, the name of the layer that computes logits; `prefix`,
    that of names in files; `long`, whether tokens of the encoder attend to those near them.
    """

    family: str
    logits_class: str = "ForConditionalGeneration"
    stores_positions: bool = False
    embedding_norm: bool = False
    skips_padding: bool = False
    shift_right: bool = False
    norm_first: bool = False
    logits_bias: bool = True
    scales_embeddings: bool = False
    activation: str = "gelu"
    position_offset: int = 0
    words_first: bool = False
    defaults: Mapping[str, int] = {}
    last_product: str = "lm_head"
    prefix: str = "model."
    long: bool = False


VARIANTS: Mapping[str, Variant] = {
    "bart": Variant(
        "Bart",
        stores_positions=True,
        position_offset=2,
        embedding_norm=True,
        shift_right=True,
    ),
    "mbart": Variant(
        "MBart", stores_positions=True, position_offset=2, embedding_norm=True, norm_first=True
    ),
    "pegasus": Variant("Pegasus", norm_first=True),
    "blenderbot": Variant(
        "Blenderbot",
        stores_positions=True,
        norm_first=True,
        defaults={
            "vocab_size": 8008,
            "max_position_embeddings": 128,
            "d_model": 2560,
            "encoder_layers": 2,
            "decoder_layers": 24,
            "ffn_dim": 10240,
            "attention_heads": 32,
        },
    ),
    "blenderbot-small": Variant(
        "BlenderbotSmall",
        stores_positions=True,
        embedding_norm=True,
        words_first=True,
        defaults={
            "max_position_embeddings": 512,
            "d_model": 512,
            "layers": 8,
            "ffn_dim": 2048,
        },
    ),
    "led": Variant(
        "LED",
        stores_positions=True,
        embedding_norm=True,
        shift_right=True,
        defaults={
            "max_encoder_position_embeddings": 16384,
            "max_decoder_position_embeddings": 1024,
        },
        prefix="led.",
        long=True,
    ),
    "marian": Variant("Marian", "MTModel"),
    "m2m_100": Variant(
        "M2M100",
        skips_padding=True,
        norm_first=True,
        logits_bias=False,
        scales_embeddings=True,
        activation="relu",
    ),
}


class Sizes(NamedTuple):
    """The sizes of a model; those of layers are pairs for encoder and decoder."""

    vocabulary: int
    decoder_vocabulary: int
    width: int
    positions: tuple[int, int]
    padding: int
    layers: tuple[int, int]
    heads: tuple[int, int]
    inner: tuple[int, int]


def write_model(config: Config) -> ModelText:
    """Return the text of a model of the family and its name map."""
    return write_language(config, VARIANTS[config.text("model_type")])


def write_language(
    config: Config,
    variant: Variant,
    *,
    inputs: Sequence[str] = (),
    embedded: Sequence[str] = (),
) -> ModelText:
    """Return the text of a variant and its name map.

    `inputs` are the statements of further inputs, `embedded` layers after the embedding of the
    encoder.
    """
    name = config.text("model_type", "bart")
    if config.tensors is not None and "encoder.embed_positions.weight" in config.tensors:
        variant = variant._replace(stores_positions=True)
    default = variant.family + variant.logits_class
    suffix = class_suffix(config, variant.logits_class, f"{variant.family}Model", default=default)
    config.require("is_encoder_decoder", True)
    depth = variant.defaults.get("encoder_layers", variant.defaults.get("layers", 12))
    config.require("num_hidden_layers", config.get("encoder_layers", depth))
    _check_norms(config, variant)
    tied = config.flag("tie_word_embeddings", True)
    same_vocabulary = config.flag("share_encoder_decoder_embeddings", True)
    same_vocabulary = same_vocabulary or variant.family != "Marian"
    stores_both = "encoder.embed_tokens.weight" in (config.tensors or ())
    shared = same_vocabulary and (tied or not stores_both)
    sizes, in_logits = _sizes(config, variant, same_vocabulary), suffix == variant.logits_class
    scaled = config.flag("scale_embedding", variant.scales_embeddings)
    biased = in_logits and variant.logits_bias
    if config.tensors is not None and "final_logits_bias" not in config.tensors:
        biased = False
    tables = ("shared", "shared" if shared else "decoder_embeddings")
    vocabulary = sizes.decoder_vocabulary
    product = f"{tables[1]}, bTranspose=true" if tied else f"lm_head, shape=[{vocabulary}]"
    logits = (f"matmul({product})", "add(final_logits_bias)" if biased else "")
    block, size = ("logits", vocabulary) if in_logits else ("last_hidden_state", sizes.width)
    windows = read_windows(config, sizes.layers[0]) if variant.long else []
    encoder = _stack(variant, sizes, "encoder", tables[0], scaled, windows, embedded=embedded)
    decoder = _stack(variant, sizes, "decoder", tables[1], scaled)
    activation = config.activation("activation_function", variant.activation)
    waves = _waves(variant, sizes)
    parameters = {
        "shared": [sizes.vocabulary, sizes.width],
        **({} if shared else {"decoder_embeddings": [vocabulary, sizes.width]}),
        **{
            f"{stack}_positions": [rows, sizes.width]
            for stack, rows in zip(STACKS, sizes.positions, strict=True)
            if variant.stores_positions
        },
    }
    # Buffers in transformers: training does not change them.
    buffers = {"final_logits_bias": [vocabulary]} if biased else {}
    buffers |= {buffer: list(array.shape) for buffer, array in waves.items()}
    source = statements(
        [
            f"model:name {name}",
            *INPUTS,
            *(POSITIONS if variant.skips_padding else ()),
            INPUT if variant.long else "",
            *inputs,
            *(
                f"{block}:param {parameter} shape={shape}"
                for parameter, shape in parameters.items()
            ),
            *(f"{block}:param {buffer} shape={shape} lrm=0" for buffer, shape in buffers.items()),
            *output(
                block, size, *decoder, *(logits if in_logits else ()), sequence="decoder_tokens"
            ),
            *output("encoder_last_hidden_state", sizes.width, *encoder),
            f"placed:layers\n{_embed_by_position(sizes, scaled)}" if variant.skips_padding else "",
            *(f"{s}_layer:layers\n{_layer(variant, sizes, s, activation)}" for s in STACKS),
            attention_block(sizes.heads[0], sizes.width) if variant.long else "",
            "norm:layers layerNorm(scale=weight, bias=bias, epsilon=1e-5)",
        ]
    )
    names = _names(variant, sizes, shared) | last_product(in_logits and not tied)
    names["final_logits_bias"] = Reshaped("final_logits_bias", (vocabulary,)) if biased else None
    input_rules = InputRules(
        shift_right=variant.shift_right,
        padding_by="input_ids" if variant.skips_padding else "",
        position_rows="max_position_embeddings" if variant.skips_padding else "",
    )
    return ModelText(source, names, variant.prefix, waves, input_rules)


UNREAD_KEYS = (
    *("normalize_before", "add_final_layer_norm", "normalize_embedding", "add_bias_logits"),
    *("extra_pos_embeddings", "layernorm_variant", "extra_layer_norm"),
    *("do_blenderbot_90_layernorm", "force_bos_token_to_be_generated"),
)
"""Keys from the time when one class computed the whole family: each now has a class of its own."""


def _check_norms(config: Config, variant: Variant) -> None:
    """Raise an error if a config without a class of its own asks for other norms."""
    if variant.defaults or variant.norm_first:
        for key in UNREAD_KEYS:
            config.get(key)
        return
    config.require("normalize_before", False)
    config.require("add_final_layer_norm", False)
    config.require("normalize_embedding", True)


def write_decoder(config: Config, states: str) -> TextDecoder:
    """Return the parts of a decoder that attends to the states of another model."""
    variant = DECODERS[config.text("model_type")]
    config.require("is_decoder", True)
    config.get("add_cross_attention")
    config.require("is_encoder_decoder", False)
    for key in ("num_hidden_layers", *(f"encoder_{key}" for key in ("layers", *PER_STACK))):
        config.get(key)
    config.require("classifier_dropout", 0.0)
    if variant.last_product == OWN_PRODUCT:
        variant = variant._replace(
            embedding_norm=config.flag("layernorm_embedding", True),
            stores_positions=config.flag("use_learned_position_embeddings", True),
        )
        variant = variant._replace(skips_padding=not variant.stores_positions)
    _check_norms(config, variant)
    sizes = _sizes(config, variant, True, STACKS[1:])
    tied, scaled = config.flag("tie_word_embeddings", True), config.flag("scale_embedding", False)
    vocabulary, width, waves = sizes.vocabulary, sizes.width, _waves(variant, sizes)
    activation = config.activation("activation_function", variant.activation)
    product = "words, bTranspose=true" if tied else f"lm_head, shape=[{vocabulary}]"
    parameters = {"words": [vocabulary, width]}
    if variant.stores_positions:
        parameters["decoder_positions"] = [sizes.positions[-1], width]
    names = _names(variant, sizes, True, STACKS[1:])
    del names["shared"], names["decoder.embed_tokens.weight"]
    names = prefix_names({**names, "words": "decoder.embed_tokens.weight"}, "model.")
    name = f"{variant.last_product}.weight"
    names |= {name: None} if tied else {"lm_head1": Transposed(name)}
    return TextDecoder(
        vocabulary,
        width,
        (*INPUTS[2:], *(POSITIONS[1:] if variant.skips_padding else ())),
        (
            *(f"logits:param {name} shape={shape}" for name, shape in parameters.items()),
            *(f"logits:param {name} shape={[*a.shape]} lrm=0" for name, a in waves.items()),
        ),
        (
            *_stack(variant, sizes, "decoder", "words", scaled, arguments=pass_states(states)),
            f"matmul({product})",
        ),
        (
            f"placed:layers\n{_embed_by_position(sizes, scaled)}" if variant.skips_padding else "",
            f"decoder_layer:layers\n{_layer(variant, sizes, 'decoder', activation, states)}",
            "norm:layers layerNorm(scale=weight, bias=bias, epsilon=1e-5)",
        ),
        prefix_names(names, "decoder."),
        waves,
        InputRules(
            padding_by="input_ids" if variant.skips_padding else "",
            position_rows="max_position_embeddings" if variant.skips_padding else "",
        ),
    )


OWN_PRODUCT = "output_projection"
"""The layer of TrOCR that computes logits."""
DECODERS: Mapping[str, Variant] = {
    "mbart": VARIANTS["mbart"],
    "trocr": Variant(
        "TrOCR",
        position_offset=2,
        defaults={"max_position_embeddings": 512},
        last_product=OWN_PRODUCT,
    ),
}
"""`model_type` → the variant, of decoders that attend to the states of other models."""
PER_STACK = ("attention_heads", "ffn_dim")
"""Keys of the config that the encoder and the decoder each have, beside "layers"."""


def _sizes(
    config: Config, variant: Variant, same_vocabulary: bool, stacks: Sequence[str] = STACKS
) -> Sizes:
    """Return the sizes in a config; without an encoder, those of the decoder stand for both."""
    defaults = variant.defaults

    def size_pair(key: str, default: int) -> tuple[int, int]:
        read_size = config.count if key == "layers" else config.size
        sizes = [
            read_size(f"{stack}_{key}", defaults.get(f"{stack}_{key}", defaults.get(key, default)))
            for stack in stacks
        ]
        return sizes[0], sizes[-1]

    vocabulary = config.size("vocab_size", defaults.get("vocab_size", 50265))
    own_vocabulary = config.size("decoder_vocab_size", vocabulary)
    return Sizes(
        vocabulary=vocabulary,
        decoder_vocabulary=vocabulary if same_vocabulary else own_vocabulary,
        width=config.size("d_model", defaults.get("d_model", 1024)),
        positions=_read_positions(config, variant),
        padding=config.integer("pad_token_id", 1),
        layers=size_pair("layers", 12),
        heads=size_pair("attention_heads", 16),
        inner=size_pair("ffn_dim", 4096),
    )


def _read_positions(config: Config, variant: Variant) -> tuple[int, int]:
    """Return how many positions the encoder and the decoder have."""
    defaults, key = variant.defaults, "max_position_embeddings"
    if variant.long:
        keys = (key.replace("max_", f"max_{stack}_") for stack in STACKS)
        encoder, decoder = (config.size(key, defaults[key]) for key in keys)
        return encoder, decoder
    positions = config.size(key, defaults.get(key, 1024))
    return positions, positions


def _waves(variant: Variant, sizes: Sizes) -> dict[str, HostArray]:
    """Return the position table that the file does not have."""
    if variant.stores_positions:
        return {}
    if not variant.skips_padding:
        return {"waves": halves(sizes.positions[-1], sizes.width)}
    return {"waves": halves_from(sizes.positions[-1], sizes.width, sizes.padding + 1)}


def _stack(
    variant: Variant,
    sizes: Sizes,
    stack: str,
    table: str,
    scaled: bool,
    windows: Sequence[int] = (),
    *,
    arguments: str = "",
    embedded: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the layers of the encoder or the decoder; `windows` are what its layers attend to, if
    that is not all, `arguments` those of its blocks, and `embedded` layers after the embedding."""
    prefix = "" if stack == "encoder" else "decoder_"
    scaled = scaled and not (variant.words_first and prefix)
    positions = f"{stack}_positions" if variant.stores_positions else "waves"
    embedding = (
        f"embedding({table}, node={prefix}input_ids)",
        f"mul({sizes.width**0.5})" if scaled else "",
        *embedded,
        f"positionalEmbedding({positions})",
    )
    norm = f"norm(weight={stack}_norm, bias={stack}_norm_b)"
    first_norm = f"norm(weight={stack}_first_norm, bias={stack}_first_norm_b)"
    if not variant.norm_first:
        first_norm = norm
    if variant.words_first and prefix:
        embedding = (*embedding[:-1], first_norm, embedding[-1])
    if variant.skips_padding:
        inputs = f"ids={prefix}input_ids, places={prefix}position_ids"
        embedding = (f"placed(table={table}, {inputs})",)
    return (
        *embedding,
        first_norm if variant.embedding_norm and first_norm not in embedding else "",
        *(
            call_layers(f"{stack}_layer", windows)
            if windows
            else [f"{stack}_layer(repeat={sizes.layers[STACKS.index(stack)]}{arguments})"]
        ),
        norm if variant.norm_first else "",
    )


def _embed_by_position(sizes: Sizes, scaled: bool) -> str:
    """Return the layers of embeddings in which padding has no position."""
    return layers(
        f"notEqual({sizes.padding}, node=ids)",
        "cast(float32)",
        "reshape([1], name=counts)",
        "embedding(table, node=ids)",
        f"mul({sizes.width**0.5 if scaled else 1}, name=embedded)",
        "embedding(waves, node=places)",
        "mul(counts)",
        "add(embedded)",
    )


def _layer(
    variant: Variant,
    sizes: Sizes,
    stack: str,
    activation: str,
    states: str = "encoder_last_hidden_state, mask=attention_mask",
) -> str:
    """Return the layers of a block of the encoder or the decoder, which attends to `states`."""
    index, is_decoder = STACKS.index(stack), stack == "decoder"
    mask = "causal=true, mask=decoder_attention_mask" if is_decoder else "mask=attention_mask"
    heads = f"bias=true, heads={sizes.heads[index]}"

    def add_norm(norm: str, input: str, name: str, *inner: str) -> tuple[str, ...]:
        """Return layers with a norm before or after them, and a residual connection."""
        option = f", name={name}" if name else ""
        weights = f"weight={norm}, bias={norm}_b"
        if variant.norm_first:
            return f"norm({weights})", *inner, f"residual(to={input}{option})"
        return *inner, f"residual(to={input})", f"norm({weights}{option})"

    def attend(prefix: str, options: str) -> str:
        weights = ", ".join(f"{prefix}_w{letter}" for letter in "qkv")
        return f"attend({weights}, o={prefix}_wo, {heads}, {options})"

    cross = attend("cross", f"to={states}")
    own = attend(stack, mask)
    if variant.long and not is_decoder:
        own = "long_attention(window=window)"
    return layers(
        *add_norm(f"{stack}_attention_norm", "input", "attended", own),
        *(add_norm("cross_norm", "attended", "informed", cross) if is_decoder else ()),
        *add_norm(
            f"{stack}_mlp_norm",
            "informed" if is_decoder else "attended",
            "",
            *linear_layers(f"{stack}_up", sizes.inner[index]),
            activation,
            *linear_layers(f"{stack}_down", sizes.width),
        ),
    )


def _names(
    variant: Variant, sizes: Sizes, shared: bool, stacks: Sequence[str] = STACKS
) -> dict[str, str | Form | None]:
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
        **projection_names("cross_w", "decoder.layers.{n-1}.encoder_attn"),
    }
    for stack in stacks:
        layer = f"{stack}.layers.{{n-1}}"
        if shared:
            names[f"{stack}.embed_tokens.weight"] = None
        table = f"{stack}.embed_positions.weight"
        if variant.embedding_norm:
            part = "first_norm" if variant.norm_first else "norm"
            names |= norm_names(f"{stack}_{part}1", f"{stack}.layernorm_embedding")
        if not variant.stores_positions:
            names[f"{table}s"] = None
        elif variant.position_offset:
            sizes_of_parts = (variant.position_offset, sizes.positions[STACKS.index(stack)])
            names[f"{stack}_positions"] = Part(table, 1, sizes_of_parts)
        else:
            names[f"{stack}_positions"] = table
        if variant.norm_first:
            names |= norm_names(f"{stack}_norm1", f"{stack}.layer_norm")
        names |= norm_names(f"{stack}_attention_norm{{n}}", f"{layer}.self_attn_layer_norm")
        names |= norm_names(f"{stack}_mlp_norm{{n}}", f"{layer}.final_layer_norm")
        names |= linear_names(f"{stack}_up{{n}}", f"{layer}.fc1")
        names |= linear_names(f"{stack}_down{{n}}", f"{layer}.fc2")
        if variant.long and stack == "encoder":
            names |= attention_names(f"{layer}.self_attn")
        else:
            names |= projection_names(f"{stack}_w", f"{layer}.self_attn")
    return names
