"""Values of several layers brought to the same leading dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.shapes import Shape
from webnnm.ops.declare.layout import LEADING, LayoutTensor, Role
from webnnm.ops.declare.tensors import Builder, OperatorError


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


def common_lead(values: Sequence[LayoutTensor]) -> tuple[tuple[Role, ...], Shape]:
    """Return the batch and sequence dimensions that any of the values has, with their sizes.

    Raises NNM411 if sizes differ.
    """
    present = {role for value in values for role in value.lead}
    present = {role for value in values for role in value.lead}
    lead: tuple[Role, ...] = tuple(role for role in LEADING if role in present)
    sizes: list[int] = []
    for role in lead:
        lengths = {value.size(role) for value in values if role in value.layout}
        if len(lengths) > 1:
            both = " and ".join(map(str, sorted(lengths)))
            raise OperatorError("NNM411", f"{role} of {both} elements: the sizes have to agree")
        sizes += lengths
    return lead, tuple(sizes)
