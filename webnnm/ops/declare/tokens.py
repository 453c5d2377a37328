"""Tokens: the dimension along which attention works and positions are counted (spec C.9)."""

from __future__ import annotations

from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layer import ShapeView
from webnnm.ops.declare.layout import LayoutTensor, Role, feature_roles


def require_tokens(layer: ShapeView, features: Features) -> None:
    """Raise NNM405 or NNM411 if a known shape has no tokens with features of their own."""
    if features.rank == 0:
        layer.fail("NNM405", f"tokens need a feature dimension, but {features} has none")
    if features.rank == 1 and features.sequence is None:
        layer.fail(
            "NNM411",
            f"{features} has neither a sequence nor a dimension of tokens before the last",
            hint="write sequence=true on the input, or give it a shape [tokens, features]",
        )


def by_token(value: LayoutTensor) -> LayoutTensor:
    """Return the same values with tokens in the second-last dimension and features in the last.

    Tokens run along the sequence or, without one, along the second-last feature dimension.
    """
    if "sequence" not in value.layout:
        return value.canonical()
    batch: tuple[Role, ...] = ("batch",) if "batch" in value.layout else ()
    *others, last = feature_roles(value.rank)
    return value.reorder((*batch, *others, "sequence", last))
