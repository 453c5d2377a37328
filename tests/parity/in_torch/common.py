"""What the modules of this folder share: types, and moves of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

Array = torch.Tensor
Reference = Callable[..., Array | tuple[Array, ...]]
"""Computes an operator: takes operands or None, then options by name."""


def relaid(x: Array, given: str, wanted: str) -> Array:
    """Bring dimensions, named by letters, into another order."""
    return x.permute([given.index(letter) for letter in wanted])


def sides(padding: Sequence[int]) -> list[int]:
    """Return the padding of `pad`, which begins with the last dimension."""
    top, bottom, left, right = padding
    return [left, right, top, bottom]


def trailing(x: Array, axes: Sequence[int]) -> tuple[Array, list[int]]:
    """Bring axes to the end; return the permutation that brings them back, too."""
    order = [k for k in range(x.ndim) if k not in axes] + list(axes)
    return x.permute(order), [order.index(k) for k in range(x.ndim)]
