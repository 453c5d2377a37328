"""Values of several layers brought to the same leading dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.tensors import Builder


def broadcast_lead(
    b: Builder, value: LayoutTensor, lead: Sequence[Role], sizes: Sequence[int]
) -> Any:
    """Return the tensor of a value as `[*lead, features…]`, repeated along roles that it lacks."""
    value = value.canonical()
    if value.lead == tuple(lead):
        # A constant along a sequence has a batch of one sample.
        x, batch = value.tensor, sizes[:1] if "batch" in lead else value.tensor.shape[:1]
        alike: bool = x.shape[:1] == tuple(batch)
        return x if alike else b.expand(x, new_shape=(*batch, *x.shape[1:]))
    ones = [value.size(role) if role in value.lead else 1 for role in lead]
    tensor = b.reshape(value.tensor, new_shape=(*ones, *value.features))
    return b.expand(tensor, new_shape=(*sizes, *value.features))
