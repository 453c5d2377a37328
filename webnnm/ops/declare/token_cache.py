"""Keys and values of tokens that are there already, for graphs that go on with a text."""

from __future__ import annotations

from typing import Any, Protocol

from webnnm.ops.declare.layout import LayoutTensor


class TokenCache(Protocol):
    """Fixed room for the keys and values of all tokens of a sequence, those of a graph among them.

    `sequence` is its name, `length` the number of tokens there is room for, `positions` the places
    of the graph's tokens, int32 `[batch, tokens]`.
    """

    sequence: str
    length: int
    positions: Any

    def extended(self, keys: Any, values: Any) -> tuple[Any, Any]:
        """Return all keys and values `[batch, heads, length, size]`, new ones put in their place.

        They are given as `[batch, heads, tokens, size]`.
        """
        ...

    def kept(self, keys: Any, values: Any) -> tuple[Any, Any]:
        """Return keys and values of other tokens than the sequence's, which stay as they are."""
        ...

    def limited(self, scores: Any, window: int | None = None) -> Any:
        """Keep tokens from later ones, and from those before a window that ends with their own.

        Scores are `[batch, heads, tokens, length]`, float32.
        """
        ...


def token_cache(b: Any, value: LayoutTensor) -> TokenCache | None:
    """Return the cache of the sequence along which a value runs, None where there is none."""
    cache: TokenCache | None = b.cache
    if cache is None or "sequence" not in value.layout or value.sequence != cache.sequence:
        return None
    return cache
