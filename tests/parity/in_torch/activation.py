"""Activations in PyTorch."""

from __future__ import annotations

from torch.nn import functional

from tests.parity.in_torch.common import Array, Reference


def _gelu(x: Array) -> Array:
    return functional.gelu(x)


def _softplus(x: Array) -> Array:
    return functional.softplus(x)


def _elu(x: Array, *, alpha: float = 1.0) -> Array:
    return functional.elu(x, alpha)


def _prelu(x: Array, slope: Array) -> Array:
    return functional.prelu(x, slope.reshape(-1))


REFERENCES: dict[str, Reference] = {
    "gelu": _gelu,
    "softplus": _softplus,
    "elu": _elu,
    "prelu": _prelu,
}
