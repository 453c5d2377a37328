"""Keys and values of nearby distances, which attention adds to those of tokens.

Source: P. Shaw et al., "Self-attention with relative position representations", arXiv:1803.02155
(2018), section 3.2; here nothing is added for distances beyond the tables.
"""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import Shape, show
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor

Tables = tuple[Tensor | None, Tensor | None]


def check_table(table: Tensor, size: int, queries: int, keys: int) -> None:
    """Raise `OperatorError` NNM404 or NNM401 for a table of other sizes, or other tokens."""
    rows, columns = table.shape
    if columns != size or rows % 2 == 0:
        message = f"the table of nearby distances is {show(table.shape)}"
        raise OperatorError("NNM404", message, f"it is [an odd number, {size}]")
    if queries != keys:
        message = f"{queries} queries and {keys} keys: distances are those of the same tokens"
        raise OperatorError("NNM401", message)


def nearby_scores(b: Builder, queries: Tensor, table: Tensor) -> Any:
    """Return what is added to scores, `[…, tokens, tokens]`, for queries `[…, tokens, size]`.

    `table [2 · window + 1, size]` has a key for each distance, from −window on.
    """
    *lead, tokens, size = queries.shape
    check_table(table, size, tokens, tokens)
    width = table.shape[0]
    products = b.matmul(queries, b.transpose(table, permutation=(1, 0)))
    # Written one after the other, each row begins one number later than the one before.
    padded = _pad_last(b, products, 0, tokens)
    flat = b.reshape(padded, new_shape=(*lead, tokens * (width + tokens)))
    flat = _cut_last(b, flat, 0, tokens * (width + tokens - 1))
    rows = b.reshape(flat, new_shape=(*lead, tokens, width + tokens - 1))
    return _cut_last(b, rows, width // 2, tokens)


def nearby_values(b: Builder, weights: Tensor, table: Tensor) -> Any:
    """Return what is added to results, `[…, tokens, size]`, for weights `[…, tokens, tokens]`.

    `table [2 · window + 1, size]` has a value for each distance, from −window on.
    """
    *lead, tokens, keys = weights.shape
    check_table(table, table.shape[1], tokens, keys)
    width = table.shape[0]
    padded = _pad_last(b, weights, width // 2, width // 2)
    flat = b.reshape(padded, new_shape=(*lead, tokens * (width + tokens - 1)))
    flat = _pad_last(b, flat, 0, tokens)
    rows = b.reshape(flat, new_shape=(*lead, tokens, width + tokens))
    return b.matmul(_cut_last(b, rows, 0, width), table)


def _pad_last(b: Builder, x: Tensor, before: int, after: int) -> Any:
    zeros: Shape = (0,) * (x.rank - 1)
    return b.pad(x, beginning_padding=(*zeros, before), ending_padding=(*zeros, after))


def _cut_last(b: Builder, x: Tensor, start: int, size: int) -> Any:
    *lead, _ = x.shape
    return b.slice(x, starts=(*(0 for _ in lead), start), sizes=(*lead, size))
