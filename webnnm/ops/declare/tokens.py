"""Tokens: the dimension along which attention looks and positions are counted (spec C.9)."""

from __future__ import annotations

from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layer import ShapeView
from webnnm.ops.declare.layout import LayoutTensor, Role, feature_roles


def require_tokens(layer: ShapeView, features: Features) -> None:
    """Raise NNM405 or NNM411 where a known shape has no tokens with features of their own."""
    if features.rank == 0:
        layer.fail("NNM405", f"tokens need a feature dimension, {features} has none")
    if features.rank == 1 and features.sequence is None:
        layer.fail(
            "NNM411",
            f"{features} has neither a sequence nor a dimension of tokens before the last",
            hint="write sequence=true on the input, or give it a shape [tokens, features]",
        )


def by_token(value: LayoutTensor) -> LayoutTensor:
    """Return the same values with the tokens last but one and their features last.

    Tokens run along the sequence, or along the last feature dimension but one if there is none.
    """
    if "sequence" not in value.layout:
        return value.canonical()
    batch: tuple[Role, ...] = ("batch",) if "batch" in value.layout else ()
    *others, last = feature_roles(value.rank)
    return value.arranged((*batch, *others, "sequence", last))
