"""Mamba 1 and 2: states that fade by a time step of their own take the place of attention and MLP.

Sources: A. Gu, T. Dao, "Mamba: Linear-time sequence modeling with selective state spaces",
arXiv:2312.00752 (2023); for the mixer of the second, `mamba2`.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from webnnm.snapshots.foreign import Form, Part, Permuted, Reshaped, Transposed
from webnnm.transformers.architectures import mamba2
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    declared_names,
    last_product,
    layers,
    linear_names,
    output,
    statements,
)
from webnnm.transformers.config import Config

WITHOUT_EFFECT = (
    *("d_inner", "d_model", "n_layer", "fused_add_norm", "rms_norm", "ssm_cfg"),
    *("pad_vocab_size_multiple", "rescale_prenorm_residual", "residual_in_fp32", "use_mambapy"),
    *("use_associative_scan", "time_step_floor", "time_step_init_scheme", "time_step_max"),
    *("time_step_min", "time_step_scale"),
)
"""Keys that repeat others, choose how to compute the same, or are those of a training."""
DEFAULTS = {"mamba": (50280, 32), "mamba2": (32768, 64)}
"""The sizes of the vocabulary and the numbers of layers, by `model_type`."""
BLOCK = "layers.{n-1}"
MIXER = f"{BLOCK}.mixer"
PRESENT = ("notEqual(0, node=attention_mask)", "cast(float32)", "reshape([1])")
"""The layers of a block: 1 for each token that is no padding."""


class Sizes(NamedTuple):
    """The sizes of a block: `state` is that of each feature, `rank` that of time steps."""

    width: int
    inner: int
    state: int
    rank: int
    kernel: int


def write_model(config: Config) -> ModelText:
    """Return the text of a Mamba and its name map."""
    family = config.text("model_type", "mamba")
    second = family == "mamba2"
    suffix = class_suffix(config, "ForCausalLM", "Model", default="MambaForCausalLM")
    for key in WITHOUT_EFFECT:
        config.get(key)
    in_logits, (vocabulary, count) = suffix == "ForCausalLM", DEFAULTS[family]
    vocabulary = config.size("vocab_size", vocabulary)
    count = config.count("num_hidden_layers", count)
    tied = config.flag("tie_word_embeddings", not second)
    activation = config.activation("hidden_act", "silu")
    if second:
        sizes = mamba2.read_sizes(config)
        mixer = mamba2.mixer_statements(sizes, activation)
        names = mamba2.mixer_names(sizes, MIXER, count)
    else:
        sizes = _sizes(config)
        bias, conv_bias = config.flag("use_bias"), config.flag("use_conv_bias", True)
        mixer = _mixer(sizes, activation, bias=bias, conv_bias=conv_bias)
        names = _names(sizes, count, bias=bias, conv_bias=conv_bias)
    name, size = ("logits", vocabulary) if in_logits else ("last_hidden_state", sizes.width)
    product = "embed_tokens, bTranspose=true" if tied else f"lm_head, shape=[{vocabulary}]"
    body = (
        "embedding(embed_tokens, node=input_ids)",
        f"layer(repeat={count})",
        "norm(weight=final_norm)",
        f"matmul({product})" if in_logits else "",
    )
    epsilon = config.positive("layer_norm_epsilon", 1e-5)
    source = statements(
        [
            f"model:name {family}",
            "input_ids:input int32 shape=[] sequence=tokens",
            "attention_mask:input int32 shape=[] sequence=tokens",
            f"{name}:param embed_tokens shape=[{vocabulary}, {sizes.width}]",
            *output(name, size, *body),
            f"layer:layers\n{layers('norm(weight=mixer_norm)', 'mixer()', 'residual(to=input)')}",
            *mixer,
            f"present:layers\n{layers(*PRESENT)}",
            f"norm:layers rmsNorm(scale=weight, epsilon={epsilon})",
        ]
    )
    names |= {
        "embed_tokens": "embeddings.weight",
        "final_norm1": "norm_f.weight",
        "mixer_norm{n}": f"{BLOCK}.norm.weight",
    }
    return ModelText(source, names | last_product(in_logits and not tied), "backbone.")


def _sizes(config: Config) -> Sizes:
    width = config.size("hidden_size", 768)
    automatic: bool = config.get("time_step_rank", "auto") == "auto"
    inner = int(config.positive("expand", 2) * width)
    config.require("intermediate_size", inner)
    return Sizes(
        width=width,
        inner=inner,
        state=config.size("state_size", 16),
        rank=ceil(width / 16) if automatic else config.size("time_step_rank"),
        kernel=config.size("conv_kernel", 4),
    )


def _mixer(sizes: Sizes, activation: str, *, bias: bool, conv_bias: bool) -> list[str]:
    """Return the block `mixer`: a short convolution, then states of each of its features."""
    inner, state = sizes.inner, sizes.state
    rows = layers(
        f"matmul(conv_in, node=input, shape=[{inner}])",
        "add(conv_in_b)" if bias else "",
        f"shortConv(taps, kernel={sizes.kernel}, segments=attention_mask)",
        "add(taps_b)" if conv_bias else "",
        f"{activation[:-1]}{', ' if activation[-2] != '(' else ''}name=mixed)",
        "present()",
        "mul(mixed, name=value)",
        f"matmul(time_down, shape=[{sizes.rank}])",
        f"matmul(time_up, shape=[{inner}])",
        "add(time_up_b)",
        "softplus(name=time)",
        f"reshape([{inner}, 1], name=column)",
        "exp(node=log_rates)",
        "mul(column)",
        "neg()",
        "exp()",
        f"reshape([{inner * state}], name=factors)",
        f"matmul(to_state, node=value, shape=[{state}])",
        f"reshape([1, {state}], name=directions)",
        "mul(time, node=value)",
        f"reshape([{inner}, 1])",
        "mul(directions)",
        f"reshape([{inner * state}])",
        "linearRecurrence(factors, segments=attention_mask)",
        f"reshape([{inner}, {state}], name=states)",
        f"matmul(from_state, node=value, shape=[{state}])",
        f"reshape([1, {state}])",
        "mul(states)",
        "reduceSum(axes=[1], name=sums)",
        "mul(skip, node=value)",
        "add(sums, name=read)",
        f"matmul(gate, node=input, shape=[{inner}])",
        "add(gate_b)" if bias else "",
        "silu()",
        "mul(read)",
        f"matmul(out, shape=[{sizes.width}])",
        "add(out_b)" if bias else "",
    )
    return [
        f"mixer:param log_rates shape=[{inner}, {state}] shared=false",
        f"mixer:layers\n{rows}",
    ]


def _names(
    sizes: Sizes, count: int, *, bias: bool, conv_bias: bool
) -> dict[str, str | Form | None]:
    mixer = MIXER
    names: dict[str, str | Form | None] = {
        "skip{n}": f"{mixer}.D",
        **declared_names("log_rates", f"{mixer}.A_log", count),
    }
    for index, parameter in enumerate(("conv_in", "gate")):
        names[f"{parameter}{{n}}"] = Transposed(Part(f"{mixer}.in_proj.weight", index, 2))
        if bias:
            names[f"{parameter}_b{{n}}"] = Part(f"{mixer}.in_proj.bias", index, 2)
    taps = Reshaped(f"{mixer}.conv1d.weight", (sizes.inner, sizes.kernel))
    names["taps{n}"] = Permuted(taps, "fk -> kf")
    if conv_bias:
        names["taps_b{n}"] = f"{mixer}.conv1d.bias"
    parts = (sizes.rank, sizes.state, sizes.state)
    for index, parameter in enumerate(("time_down", "to_state", "from_state")):
        names[f"{parameter}{{n}}"] = Transposed(Part(f"{mixer}.x_proj.weight", index, parts))
    names |= linear_names("time_up{n}", f"{mixer}.dt_proj")
    names |= linear_names("out{n}", f"{mixer}.out_proj", bias=bias)
    return names
