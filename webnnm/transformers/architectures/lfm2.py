"""LFM2: short convolutions with gates in most layers, attention in the others.

Source: Liquid AI, "LFM2 technical report", arXiv:2511.23404 (2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from webnnm.snapshots.foreign import Part, Permuted, Reshaped, Transposed
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.decoder_blocks import (
    block_layers,
    call_norm,
    head_size,
    mlp_layers,
)
from webnnm.transformers.architectures.layer_kinds import (
    FULL,
    LayerKind,
    Positions,
    attention_options,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    last_product,
    layers,
    output,
    statements,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.rotary_rates import Usual
from webnnm.transformers.config import Config

CONV = "conv"
BLOCKS = {CONV: "conv", FULL: "attention"}
"""Kind of layer → its block."""
WITHOUT_EFFECT = (
    *("block_dim", "block_norm_eps", "block_mlp_init_scale", "block_out_init_scale", "num_heads"),
    *("block_use_swiglu", "block_use_xavier_init", "conv_dim", "conv_dim_out", "use_pos_enc"),
    *("conv_use_xavier_init", "theta"),
)
"""Keys of the published files that repeat others, or are those of a training."""


def write_model(config: Config) -> ModelText:
    """Return the text of an LFM2 and its name map."""
    suffix = class_suffix(config, "ForCausalLM", "Model", default="Lfm2ForCausalLM")
    for key in WITHOUT_EFFECT:
        config.get(key)
    in_logits = suffix == "ForCausalLM"
    width, heads = config.size("hidden_size", 2560), config.size("num_attention_heads", 32)
    vocabulary, kinds = config.size("vocab_size", 65536), _list_kinds(config)
    tied = config.flag("tie_embedding", config.flag("tie_word_embeddings", True))
    name, size = ("logits", vocabulary) if in_logits else ("last_hidden_state", width)
    product = "embed_tokens, bTranspose=true" if tied else f"lm_head, shape=[{vocabulary}]"
    positions = Positions(Usual(1e6))
    options = attention_options(config, head_size(width, heads), [LayerKind()], positions)
    kernel, bias = config.size("conv_L_cache", 3), config.flag("conv_bias", False)
    blocks = {
        CONV: _convolution(width, kernel, bias),
        FULL: attention(
            width,
            heads,
            biases="",
            kv_heads=config.size("num_key_value_heads", 8),
            options=options[LayerKind()],
            norms="heads",
        ),
    }
    runs = ((kind, len([*run])) for kind, run in groupby(kinds))
    body = (
        "embedding(embed_tokens, node=input_ids)",
        *(f"layer(repeat={count}, mix={BLOCKS[kind]})" for kind, count in runs),
        call_norm("final", bias=False),
        f"matmul({product})" if in_logits else "",
    )
    layer = block_layers("before", lambda *part: call_norm(*part, bias=False))
    source = statements(
        [
            "model:name lfm2",
            "input_ids:input int32 shape=[] sequence=tokens",
            "attention_mask:input int32 shape=[] sequence=tokens",
            "position_ids:input int32 shape=[] sequence=tokens" if FULL in kinds else "",
            f"{name}:param embed_tokens shape=[{vocabulary}, {width}]",
            *output(name, size, *body),
            f"layer:layers\n{layer.replace('attention()', 'mix()')}",
            *(f"{BLOCKS[kind]}:layers\n{text}" for kind, text in blocks.items() if kind in kinds),
            f"mlp:layers\n{mlp_layers(_inner(config), width, 'silu()')}",
            f"norm:layers rmsNorm(scale=weight, epsilon={config.positive('norm_eps', 1e-5)})",
        ]
    )
    parameters = _names(kinds, width, kernel, bias=bias)
    names = parameters.names | last_product(in_logits and not tied)
    return ModelText(source, names, "model.")


def _list_kinds(config: Config) -> list[str]:
    """Return the kind of each layer; older configs have the numbers of those that attend."""
    count = config.count("num_hidden_layers", 32)
    attending = config.integers("full_attn_idxs", [*range(count)])
    listed = [FULL if layer in attending else CONV for layer in range(count)]
    kinds = config.texts("layer_types", listed)
    if len(kinds) != count or not {*kinds} <= {FULL, CONV}:
        raise config.not_supported("layer_types", kinds, f"{count} of {FULL} or {CONV}")
    return kinds


def _inner(config: Config) -> int:
    """Return the inner size of the MLP, which is derived from the one in the config."""
    inner = config.integer("block_ff_dim", config.integer("intermediate_size", 12288, 1), 1)
    multiple = config.integer("block_multiple_of", 256, 1)
    factor = config.positive("block_ffn_dim_multiplier", 1)
    if not config.flag("block_auto_adjust_ff_dim", True):
        return inner
    inner = int(factor * int(2 * inner / 3))
    return max(1, -(-inner // multiple)) * multiple


def _convolution(width: int, kernel: int, bias: bool) -> str:
    """Return the layers of a convolution with gates before and after it."""

    def product(parameter: str, name: str = "") -> list[str]:
        rows = [f"matmul({parameter}, node=input, shape=[{width}])"]
        rows += [f"add({parameter}_b)"] if bias else []
        return [*rows[:-1], f"{rows[-1][:-1]}, name={name})" if name else rows[-1]]

    return layers(
        *product("gate_in", "before"),
        *product("gate_out", "after"),
        *product("conv_in"),
        "mul(before)",
        f"shortConv(taps, kernel={kernel}, segments=attention_mask)",
        "add(taps_b)" if bias else "",
        "mul(after)",
        f"matmul(conv_out, shape=[{width}])",
        "add(conv_out_b)" if bias else "",
    )


def _names(kinds: Sequence[str], width: int, kernel: int, *, bias: bool) -> ParameterNames:
    parameters = ParameterNames()
    parameters.names["embed_tokens"] = "embed_tokens.weight"
    for index, kind in enumerate(kinds):
        layer = f"layers.{index}"
        parameters.weight("attention_norm", f"{layer}.operator_norm", bias=False)
        if kind == FULL:
            for letter in "qkv":
                parameters.matrix(f"w{letter}", f"{layer}.self_attn.{letter}_proj", bias=False)
            for letter in "qk":
                file = f"{layer}.self_attn.{letter}_layernorm"
                parameters.weight(f"{letter}_norm", file, bias=False)
            parameters.matrix("wo", f"{layer}.self_attn.out_proj", bias=False)
        else:
            _name_convolution(parameters, f"{layer}.conv", width, kernel, bias=bias)
        parameters.weight("mlp_norm", f"{layer}.ffn_norm", bias=False)
        for part, file in (("gate", "w1"), ("up", "w3"), ("down", "w2")):
            parameters.matrix(part, f"{layer}.feed_forward.{file}", bias=False)
    parameters.weight("final_norm", "embedding_norm", bias=False)
    return parameters


def _name_convolution(
    parameters: ParameterNames, file: str, width: int, kernel: int, *, bias: bool
) -> None:
    for index, name in enumerate(("gate_in", "gate_out", "conv_in")):
        number = parameters.weight(
            name,
            f"{file}.in_proj",
            lambda tensor, index=index: Transposed(Part(tensor, index, 3)),
            bias=False,
        )
        if bias:
            parameters.names[f"{name}_b{number}"] = Part(f"{file}.in_proj.bias", index, 3)
    parameters.weight(
        "taps",
        f"{file}.conv",
        lambda tensor: Permuted(Reshaped(tensor, (width, kernel)), "fk -> kf"),
        bias=bias,
    )
    parameters.matrix("conv_out", f"{file}.out_proj", bias=bias)
