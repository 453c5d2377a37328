"""Attention in PyTorch."""

from __future__ import annotations

from typing import Any

from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right

from tests.parity.in_torch.common import Array, Reference


def _attend(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    *,
    heads: int = 1,
    kv_heads: int | None = None,
    causal: bool = False,
) -> Array:
    shared = kv_heads or heads
    queries, keys, values = (
        x.unflatten(-1, (n, -1)).transpose(-2, -3)
        for x, n in ((q, heads), (k, shared), (v, shared))
    )
    allowed: Any = mask.bool() if mask is not None and not mask.is_floating_point() else mask
    lengths = q.shape[-2], k.shape[-2]
    if causal and lengths[0] != lengths[1]:
        assert mask is None
        allowed, causal = causal_lower_right(*lengths), False
    y = functional.scaled_dot_product_attention(
        queries, keys, values, allowed, is_causal=causal, enable_gqa=shared != heads
    )
    return y.transpose(-2, -3).flatten(-2)


REFERENCES: dict[str, Reference] = {
    "attend": _attend,
}
