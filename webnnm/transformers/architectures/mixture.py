"""Mixtures of experts in place of an MLP: a router chooses some of them for each token.

Sources: A. Jiang et al., "Mixtral of experts", arXiv:2401.04088; Qwen team, "Qwen1.5-MoE" (2024)
and Qwen3, arXiv:2505.09388; N. Muennighoff et al., "OLMoE", arXiv:2409.02060; OpenAI, "gpt-oss",
arXiv:2508.10925, whose experts have biases and limit what they multiply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from webnnm.snapshots.foreign import Form, Part, Permuted, Reshaped, Transposed
from webnnm.transformers.architectures.model_text import layers, linear_names
from webnnm.transformers.config import Config

FUSED = "experts.gate_up_proj"
"""The tensor in which modules of transformers 5 have the first two matrices of all experts."""
COUNTS = ("num_experts", "num_local_experts", "n_routed_experts")
"""The keys of the number of experts."""
BLOCKS: Mapping[str, tuple[str, str, tuple[str, str, str]]] = {
    "qwen": ("mlp", "gate", ("gate_proj", "up_proj", "down_proj")),
    "mixtral": ("block_sparse_moe", "gate", ("w1", "w3", "w2")),
    "granite": ("block_sparse_moe", "router.layer", ("", "", "")),
    "gpt_oss": ("mlp", "router", ("", "", "")),
}
"""Layout of files → names of the block, of its router, and of an expert's matrices."""


class Experts(NamedTuple):
    """The experts of a family.

    Attributes: `layout`, that of files; `inner_key`, the key of their inner size; `chosen`, how
    many are chosen by default; `normalised`, whether their shares add up to 1, None if
    "norm_topk_prob" says so; `shared_key`, the key of the inner size of an expert that all tokens
    have in common; `shared_gate`, whether that expert has a share too, or else is as large as that
    many others.
    """

    layout: Literal["qwen", "mixtral", "granite", "gpt_oss"] = "qwen"
    inner_key: str = "moe_intermediate_size"
    chosen: int = 8
    normalised: bool | None = None
    shared_key: str = ""
    shared_gate: bool = True


def mixture_layers(
    config: Config, experts: Experts, width: int, router: Sequence[str] | None = None
) -> str:
    """Return the layers of a block; `router` are those that yield the shares, if not the usual."""
    config.require("decoder_sparse_step", 1)
    config.require("mlp_only_layers", [])
    keys = [key for key in COUNTS if key in config]
    count, inner = config.size(keys[0] if keys else COUNTS[0]), config.size(experts.inner_key)
    if router is None:
        router = _router(config, experts, count)
    if experts.layout == "gpt_oss":
        return _experts_with_limits(config, router, count, inner, width)
    activation = config.activation("hidden_act", "silu")
    shared = experts.shared_key
    size = 0
    if shared:
        size = config.size(shared) * (1 if experts.shared_gate else inner)
    return layers(
        *router,
        f"expertMatmul(up, node=input, experts={count}, size={inner}, name=values)",
        f"expertMatmul(gate, node=input, experts={count}, size={inner})",
        activation,
        "mul(values)",
        f"expertMatmul(down, experts={count}, size={width}, separate=true)",
        f"expertSum(shares{', name=routed' if shared else ''})",
        *(_expert_layers(size, width, activation, gated=experts.shared_gate) if shared else ()),
    )


def _router(config: Config, experts: Experts, count: int) -> list[str]:
    """Return the layers that yield the shares of experts."""
    chosen = config.size("num_experts_per_tok", experts.chosen)
    if chosen > count:
        raise config.not_supported("num_experts_per_tok", chosen, f"there are {count} experts")
    normalised = experts.normalised
    if normalised is None:
        normalised = config.flag("norm_topk_prob", False)
    return [
        f"matmul(router, node=input, shape=[{count}])",
        *(["add(router_b)"] if experts.layout == "gpt_oss" else []),
        "softmax()",
        f"keepLargest(count={chosen}{', normalize=true' if normalised else ''}, name=shares)",
    ]


def _experts_with_limits(
    config: Config, router: Sequence[str], count: int, inner: int, width: int
) -> str:
    """Return the layers of experts with biases that limit what their gate multiplies."""
    config.require("hidden_act", "silu")
    limit = config.positive("swiglu_limit", 7.0)
    return layers(
        *router,
        f"expertMatmul(up, node=input, experts={count}, size={inner})",
        "add(up_b)",
        f"clamp(minValue={-limit}, maxValue={limit})",
        "add(1, name=values)",
        f"expertMatmul(gate, node=input, experts={count}, size={inner})",
        "add(gate_b)",
        f"clamp(maxValue={limit}, name=limited)",
        f"mul({config.positive('swiglu_alpha', 1.702)})",
        "sigmoid()",
        "mul(limited)",
        "mul(values)",
        f"expertMatmul(down, experts={count}, size={width}, separate=true)",
        "add(down_b)",
        "expertSum(shares)",
    )


def _expert_layers(inner: int, width: int, activation: str, *, gated: bool) -> list[str]:
    return [
        *(["matmul(shared_router, node=input, shape=[1])", "sigmoid(name=share)"] if gated else []),
        f"matmul(shared_up, node=input, shape=[{inner}], name=value)",
        f"matmul(shared_gate, node=input, shape=[{inner}])",
        activation,
        "mul(value)",
        f"matmul(shared_down, shape=[{width}])",
        "mul(share)" if gated else "",
        "add(routed)",
    ]


def mixture_names(
    config: Config, experts: Experts, layer: str, width: int
) -> dict[str, str | Form]:
    """Return the names of the parameters: experts are stored one by one, or all as one tensor."""
    block, router, files = BLOCKS[experts.layout]
    if experts.layout == "gpt_oss":
        return _names_with_limits(config, experts, f"{layer}.{block}", width)
    if any(name.endswith(FUSED) for name in config.tensors or ()):
        if experts.layout == "granite":
            router = "router"
        else:
            block = "mlp"
        stored: list[str | Form] = [*_split(f"{layer}.{block}.{FUSED}")]
        stored += [f"{layer}.{block}.experts.down_proj"]
    elif experts.layout == "granite":
        stored = [*_split(f"{layer}.{block}.input_linear.weight")]
        stored += [f"{layer}.{block}.output_linear.weight"]
    else:
        stored = [f"{layer}.{block}.experts.{name}.weight" for name in files]
    names: dict[str, str | Form] = {
        f"{part}{{n}}": Permuted(tensor, "eoi -> eio")
        for part, tensor in zip(("gate", "up", "down"), stored, strict=True)
    }
    names["router{n}"] = Transposed(f"{layer}.{block}.{router}.weight")
    if experts.shared_key:
        name = f"{layer}.{block}.shared_expert{'' if experts.shared_gate else 's'}"
        if experts.shared_gate:
            names |= linear_names("shared_router{n}", f"{name}_gate", bias=False)
        for part in ("gate", "up", "down"):
            names |= linear_names(f"shared_{part}{{n}}", f"{name}.{part}_proj", bias=False)
    return names


def _names_with_limits(
    config: Config, experts: Experts, block: str, width: int
) -> dict[str, str | Form]:
    """Return the names of experts with biases: columns of gate and up alternate in one matrix."""
    count, inner = config.size(COUNTS[1]), config.size(experts.inner_key)
    fused = f"{block}.{FUSED}"
    names: dict[str, str | Form] = linear_names("router{n}", f"{block}.router")
    names |= {"down{n}": f"{block}.experts.down_proj"}
    names |= {"down_b{n}": f"{block}.experts.down_proj_bias"}
    for index, part in enumerate(("gate", "up")):
        pairs = Permuted(Reshaped(fused, (count, width, inner, 2)), "eiop -> peio")
        names[f"{part}{{n}}"] = Reshaped(Part(pairs, index, 2), (count, width, inner))
        pairs = Permuted(Reshaped(f"{fused}_bias", (count, inner, 2)), "eop -> peo")
        names[f"{part}_b{{n}}"] = Reshaped(Part(pairs, index, 2), (count, inner))
    return names


def _split(fused: str) -> list[Form]:
    """Return the two matrices of each expert that are stored as one."""
    return [Part(fused, index, 2, axis=1) for index in range(2)]
