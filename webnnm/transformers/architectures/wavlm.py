"""WavLM: attention with biases by distance that each frame gates in each head.

Source: S. Chen et al., "WavLM: large-scale self-supervised pre-training for full stack speech
processing", arXiv:2110.13900 (2021).
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.encoder import Names, write_attention
from webnnm.transformers.architectures.model_text import (
    declared_bias_names,
    layers,
    linear_names,
)
from webnnm.transformers.config import Config

PARTS = 4
"""The products whose sum, limited by a sigmoid, is one of the two gates of a frame."""


class Distances(NamedTuple):
    """The biases by distance: their number, and the distance from which on they are the same."""

    buckets: int
    max_distance: int


def read_distances(config: Config) -> Distances:
    """Return the biases by distance of a config."""
    buckets = config.size("num_buckets", 320)
    if buckets < 4 or buckets % 2:
        raise config.wrong("num_buckets", "an even number from 4")
    return Distances(buckets, config.integer("max_bucket_distance", 800, 1))


def declare_tables(block: str, distances: Distances, heads: int) -> tuple[str, ...]:
    """Return the statements of parameters with a shape of their own."""
    return (
        f"{block}:param distances shape=[{distances.buckets}, {heads}]",
        f"gate_distances:param gate_b shape=[{2 * PARTS}] shared=false",
        f"gate_distances:param gate_scale shape=[{heads}, 1] shared=false",
    )


def write_gates(width: int, heads: int) -> str:
    """Return the layers of the gates of a frame, one in each head."""
    return layers(
        f"reshape([{heads}, {width // heads}], node=input)",
        f"matmul(gate, shape=[{heads}, {2 * PARTS}])",
        "add(gate_b)",
        f"reshape([{heads}, 2, {PARTS}])",
        "reduceSum(axes=[-1])",
        "sigmoid()",
        "split([1, 1], axis=-1, name=side)",
        "mul([gate_scale, side.1])",
        "sub(1)",
        "mul(side)",
        "add(2)",
        f"reshape([{heads}])",
    )


def write_gated_attention(heads: int, distances: Distances, mask: str, node: str) -> str:
    """Return the layers of gates and attention; `node` is what both read, the layer before."""
    options = f"relativeBias=distances, maxDistance={distances.max_distance}, relativeGates=gates"
    attention = write_attention(heads, f"node={node}, {options}", mask=mask)
    return f"gate_distances(name=gates), {attention}"


def name_gates(heads: int, depth: int) -> Names:
    """Return the names of the parameters of gates and biases in the file."""
    module = "encoder.layers.{n-1}.attention"
    scale = f"{module}.gru_rel_pos_const"
    names: Names = {
        "distances": "encoder.layers.0.attention.rel_attn_embed.weight",
        "gate_scale": Reshaped(scale.replace("{n-1}", "0"), (heads, 1)),
        **linear_names("gate{n}", f"{module}.gru_rel_pos_linear", bias=False),
        **declared_bias_names("gate_b", f"{module}.gru_rel_pos_linear", depth),
    }
    if depth > 1:
        names["gate_scale{n}"] = Reshaped(scale, (heads, 1))
    return names
