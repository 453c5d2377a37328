"""Keys and values of earlier tokens, for graphs that continue a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from webnnm.ops.declare.layout import LayoutTensor


class TokenCache(Protocol):
    """A fixed-size cache of the keys and values of a sequence's tokens, including the graph's.

    `sequence` is its name, `length` the number of tokens that fit, `positions` the positions of
    the graph's tokens, int32 `[batch, tokens]`.
    """

    sequence: str
    length: int
    positions: Any

    def update(self, keys: Any, values: Any) -> tuple[Any, Any]:
        """Return all keys and values `[batch, heads, length, size]`, with new ones put in place.

        The new ones are `[batch, heads, tokens, size]`.
        """
        ...

    def read_source(self, keys: Any, values: Any) -> tuple[Any, Any]:
        """Return keys and values of tokens outside the sequence, which do not change."""
        ...

    def prepend_earlier(
        self, x: Any, size: int, continue_: Callable[[Any], Any] | None = None
    ) -> Any:
        """Return `x [batch, tokens, features]` behind the values of the `size` tokens before it.

        `continue_` returns what is kept of all of them, if not they themselves.
        """
        ...

    def keep_marks(self, marks: Any) -> Any:
        """Return the marks of all tokens, float32 `[batch, 1, length, 1]`; new ones like them."""
        ...

    def mask_scores(self, scores: Any, window: int | None = None) -> Any:
        """Hide from each token later ones, and those before a window that ends with it.

        Scores are `[batch, heads, tokens, length]`, float32.
        """
        ...


def token_cache(b: Any, value: LayoutTensor) -> TokenCache | None:
    """Return the cache of the sequence along which a value runs, None if there is none."""
    cache: TokenCache | None = b.cache
    if cache is None or "sequence" not in value.layout or value.sequence != cache.sequence:
        return None
    return cache
