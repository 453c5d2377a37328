"""A bias of attention between the cells of a grid, by their vertical and horizontal distance.

Source: Y. Li et al., "MViTv2: Improved multiscale vision transformers for classification and
detection", arXiv:2112.01526 (2022), section 4.1.
"""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count, show
from webnnm.ops.declare import checks
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor


def grid_bias(b: Builder, queries: Tensor, down: Tensor, across: Tensor) -> Any:
    """Return what is added to scores, `[…, tokens, tokens]`, for queries `[…, tokens, size]`.

    Tokens are the cells of a grid, row by row. The tables have a row for each distance, the most
    negative one first: `[2 · height − 1, size]` and `[2 · width − 1, size]`. Raises `OperatorError`
    NNM404 for tables of other sizes.
    """
    *lead, tokens, size = queries.shape
    height, width = grid_sizes(down.shape, across.shape, tokens, size)
    cells = b.reshape(queries, new_shape=(count(lead), height, width, size))
    columns = b.transpose(cells, permutation=(0, 2, 1, 3))
    below = b.matmul(cells, _by_distance(b, down, height))
    beside = b.transpose(
        b.matmul(columns, _by_distance(b, across, width)), permutation=(0, 2, 1, 3)
    )
    lead_shape = (count(lead), tokens)
    total = b.reshape(below, new_shape=(*lead_shape, height, 1))
    total = total + b.reshape(beside, new_shape=(*lead_shape, 1, width))
    return b.reshape(total, new_shape=(*lead, tokens, tokens))


def grid_sizes(
    down: tuple[int, ...], across: tuple[int, ...], tokens: int, size: int
) -> tuple[int, int]:
    """Return the height and width of a grid of tokens, from tables of all its distances."""
    height, width = ((rows + 1) // 2 for rows in (down[0], across[0]))
    if (height * width, down, across) != (tokens, (2 * height - 1, size), (2 * width - 1, size)):
        raise OperatorError(
            "NNM404",
            f"tables of distances {show(down)} and {show(across)}, {tokens} tokens of size {size}",
            "they must be [2 · height − 1, size of a head] and [2 · width − 1, size of a head]",
        )
    return height, width


def _by_distance(b: Builder, table: Tensor, length: int) -> Any:
    """Return the rows of a table for each pair of places, `[queries, size, keys]`."""
    checks.check_amount(length * length, f"{length} places")
    places = [query - key + length - 1 for query in range(length) for key in range(length)]
    rows = b.gather(table, b.constant(places, "int32", (length, length)), axis=0)
    return b.transpose(rows, permutation=(0, 2, 1))
