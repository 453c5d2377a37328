"""Tensors in full layout: which dimension is the batch, the sequence, or a feature (B.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webnnm.core.shapes import Shape

Role = Literal["batch", "sequence"] | int
"""What a dimension is; an integer is the index of a feature dimension."""

LEADING: tuple[Role, ...] = ("batch", "sequence")
"""The roles of the dimensions before the features, in canonical order."""


@dataclass(frozen=True, slots=True)
class LayoutTensor:
    """A tensor with the role of each of its dimensions.

    Parameters and constants only have features. `sequence` names the sequence dimension; `mask`,
    float32 `[batch, length]`, is 1 at its valid positions, None if all positions are valid, or if
    the mask of a layer is that of its operands.
    """

    tensor: Any
    layout: tuple[Role, ...]
    sequence: str | None = None
    mask: Any = None

    @property
    def features(self) -> Shape:
        """The sizes of the feature dimensions, in feature order."""
        shape = self.tensor.shape
        return tuple(shape[self.position(k)] for k in range(self.rank))

    @property
    def rank(self) -> int:
        """The number of feature dimensions."""
        return sum(isinstance(role, int) for role in self.layout)

    @property
    def lead(self) -> tuple[Role, ...]:
        """The batch and sequence dimensions that exist, in canonical order."""
        return tuple(role for role in LEADING if role in self.layout)

    def position(self, role: Role) -> int:
        """Return the axis of the tensor that has a role."""
        return self.layout.index(role)

    def size(self, role: Role) -> int:
        """Return the size of the dimension that has a role."""
        return self.tensor.shape[self.position(role)]

    def with_tensor(self, tensor: Any) -> LayoutTensor:
        """Return another tensor of the same layout."""
        return LayoutTensor(tensor, self.layout, self.sequence, self.mask)

    def reorder(self, layout: tuple[Role, ...]) -> LayoutTensor:
        """Return the same values in another order of dimensions."""
        if layout == self.layout:
            return self
        order = [self.position(role) for role in layout]
        return LayoutTensor(
            self.tensor.transpose(permutation=order), layout, self.sequence, self.mask
        )

    def canonical(self) -> LayoutTensor:
        """Return the values as batch, sequence, features in order."""
        return self.reorder((*self.lead, *range(self.rank)))


def feature_roles(rank: int) -> tuple[Role, ...]:
    """Return the roles of all features in order."""
    return tuple(range(rank))


def align_tensors(
    values: Sequence[LayoutTensor], match: Callable[[int, int], Sequence[int]]
) -> tuple[list[Any], tuple[Role, ...]]:
    """Return the tensors of several values ready to broadcast, and the layout they share.

    `match(number, rank)` gives for each feature of a value its index among the `rank` features of
    the result. A layout that all values with a batch share is kept, otherwise it is canonical.
    """
    rank = max(value.rank for value in values)
    layouts: set[tuple[Role, ...]] = {value.layout for value in values if value.lead}
    roles: tuple[Role, ...] = tuple(r for r in LEADING if any(r in v.layout for v in values))
    target: tuple[Role, ...] = roles + feature_roles(rank)
    if len(layouts) == 1 and len(next(iter(layouts))) == len(target):
        target = next(iter(layouts))
    tensors: list[Any] = []
    for number, value in enumerate(values):
        own: dict[Role, Role] = {role: role for role in value.lead}
        own |= {feature: k for k, feature in enumerate(match(number, rank))}
        moved = value.reorder(tuple(own[role] for role in target if role in own))
        shape = [value.size(own[role]) if role in own else 1 for role in target]
        missing = next((i for i, role in enumerate(target) if role in own), len(target))
        tensor = moved.tensor
        if tuple(shape[missing:]) != tensor.shape:
            tensor = tensor.reshape(new_shape=shape[missing:])
        tensors.append(tensor)
    return tensors, target
