"""The mixer of Mamba 2: the states of a head fade alike, and groups of heads share directions.

Source: T. Dao, A. Gu, "Transformers are SSMs", arXiv:2405.21060 (2024).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

from webnnm.snapshots.foreign import Form, Part, Permuted, Reshaped, Transposed
from webnnm.transformers.architectures.model_text import declared_names, layers, linear_names
from webnnm.transformers.config import Config

INFINITE = {"__float__": "Infinity"}
"""How `transformers` 5 writes infinity in JSON."""


class Sizes(NamedTuple):
    """The sizes of a mixer: `inner` is that of all heads, `state` that of each feature.

    `limits` are those of time steps, None for none; `biases` says whether projections have one,
    `conv_bias` whether the convolution does.
    """

    width: int
    inner: int
    heads: int
    groups: int
    state: int
    kernel: int
    biases: bool
    conv_bias: bool
    limits: tuple[float, float | None]
    epsilon: float

    @property
    def parts(self) -> tuple[int, int, int]:
        """The sizes of the features that are mixed along tokens: values, and both directions."""
        return self.inner, self.groups * self.state, self.groups * self.state


def read_sizes(config: Config) -> Sizes:
    """Return the sizes of a mixer of Mamba 2."""
    width = config.size("hidden_size", 4096)
    heads, head_size = config.size("num_heads", 128), config.size("head_dim", 64)
    inner, groups = heads * head_size, config.size("n_groups", 8)
    if int(config.positive("expand", 2) * width) != inner:
        hint = f"num_heads times head_dim is {inner}, expand times hidden_size is not"
        raise config.not_supported("expand", config.get("expand", 2), hint)
    config.require("intermediate_size", inner)
    if heads % groups:
        raise config.wrong("n_groups", f"a divisor of {heads} heads")
    for key in ("chunk_size", "time_step_rank"):
        config.get(key)
    return Sizes(
        width=width,
        inner=inner,
        heads=heads,
        groups=groups,
        state=config.size("state_size", 128),
        kernel=config.size("conv_kernel", 4),
        biases=config.flag("use_bias"),
        conv_bias=config.flag("use_conv_bias", True),
        limits=_read_limits(config),
        epsilon=config.positive("layer_norm_epsilon", 1e-5),
    )


def _read_limits(config: Config) -> tuple[float, float | None]:
    """Return the limits of time steps: the second one is None where it is infinite."""
    key = "time_step_limit"
    value: Any = config.get(key, [0.0, math.inf])
    pair = cast("list[Any]", value if isinstance(value, list) else [])
    pair = [math.inf if number == INFINITE else number for number in pair]
    good = len(pair) == 2 and all(type(number) in (int, float) for number in pair)
    if not good or not 0 <= pair[0] <= pair[1]:
        raise config.wrong(key, "two numbers, the least and the greatest time step")
    return float(pair[0]), None if pair[1] == math.inf else float(pair[1])


def mixer_statements(sizes: Sizes, activation: str) -> list[str]:
    """Return the statements of the block `mixer`."""
    inner, heads, groups, state = sizes.inner, sizes.heads, sizes.groups, sizes.state
    head, shared = inner // heads, heads // groups
    mixed = sum(sizes.parts)
    low, high = sizes.limits
    limits = [f"minValue={low}"] if low > 0 else []
    limits += [f"maxValue={high}"] if high is not None else []
    rows = layers(
        f"matmul(conv_in, node=input, shape=[{mixed}])",
        "add(conv_in_b)" if sizes.biases else "",
        f"shortConv(taps, kernel={sizes.kernel}, segments=attention_mask)",
        "add(taps_b)" if sizes.conv_bias else "",
        f"{activation[:-1]}{', ' if activation[-2] != '(' else ''}name=mixed)",
        "present(name=counts)",
        "mul([mixed, counts])",
        f"split({[*sizes.parts]}, name=part)",
        f"matmul(time_in, node=input, shape=[{heads}])",
        "add(time_in_b)" if sizes.biases else "",
        "add(time_b)",
        f"softplus({'' if limits else 'name=time'})",
        f"clamp({', '.join([*limits, 'name=time'])})" if limits else "",
        "exp(node=log_rates)",
        "mul(time)",
        "neg()",
        "exp()",
        f"reshape([{heads}, 1, 1])",
        f"expand([{heads}, {head}, {state}])",
        f"reshape([{inner * state}], name=factors)",
        f"reshape([{heads}, 1], node=time, name=column)",
        f"reshape([{heads}, {head}], node=part.0, name=values)",
        "mul([values, column])",
        f"reshape([{groups}, {shared}, {head}, 1], name=writing)",
        f"reshape([{groups}, 1, 1, {state}], node=part.1)",
        "mul(writing)",
        f"reshape([{inner * state}])",
        "linearRecurrence(factors, segments=attention_mask)",
        f"reshape([{groups}, {shared}, {head}, {state}], name=states)",
        f"reshape([{groups}, 1, 1, {state}], node=part.2)",
        "mul(states)",
        "reduceSum(axes=[-1])",
        f"reshape([{heads}, {head}], name=sums)",
        f"reshape([{heads}, 1], node=skip)",
        "mul(values)",
        "add(sums)",
        f"reshape([{inner}], name=read)",
        f"matmul(gate, node=input, shape=[{inner}])",
        "add(gate_b)" if sizes.biases else "",
        "silu()",
        "mul(read)",
        f"reshape([{groups}, {inner // groups}])",
        f"rmsNorm(epsilon={sizes.epsilon})",
        f"reshape([{inner}])",
        "mul(mixer_scale)",
        f"matmul(out, shape=[{sizes.width}])",
        "add(out_b)" if sizes.biases else "",
    )
    declared = dict.fromkeys(("log_rates", "skip"), f"[{heads}]")
    return [
        *(f"mixer:param {name} shape={shape} shared=false" for name, shape in declared.items()),
        f"mixer:layers\n{rows}",
    ]


def mixer_names(sizes: Sizes, mixer: str, count: int) -> dict[str, str | Form | None]:
    """Return the names of the parameters of mixers, whose file names begin with `mixer`."""
    parts = (sizes.inner, sum(sizes.parts), sizes.heads)
    names: dict[str, str | Form | None] = {
        "time_b{n}": f"{mixer}.dt_bias",
        "mixer_scale{n}": f"{mixer}.norm.weight",
        **declared_names("log_rates", f"{mixer}.A_log", count),
        **declared_names("skip", f"{mixer}.D", count),
    }
    for index, parameter in enumerate(("gate", "conv_in", "time_in")):
        names[f"{parameter}{{n}}"] = Transposed(Part(f"{mixer}.in_proj.weight", index, parts))
        if sizes.biases:
            names[f"{parameter}_b{{n}}"] = Part(f"{mixer}.in_proj.bias", index, parts)
    taps = Reshaped(f"{mixer}.conv1d.weight", (parts[1], sizes.kernel))
    names["taps{n}"] = Permuted(taps, "fk -> kf")
    if sizes.conv_bias:
        names["taps_b{n}"] = f"{mixer}.conv1d.bias"
    return names | linear_names("out{n}", f"{mixer}.out_proj", bias=sizes.biases)
