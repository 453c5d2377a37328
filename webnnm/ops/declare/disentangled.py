"""Scores of contents and distances: queries with keys of distances, queries of distances with keys.

Source: P. He et al., "DeBERTa: Decoding-enhanced BERT with disentangled attention",
arXiv:2006.03654 (2020), section 3.1; distances in buckets as in its second version.
"""

from __future__ import annotations

import math
from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.relative import round_to_float32
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor

Tables = tuple[Tensor | None, Tensor | None]


def distance_scores(
    b: Builder,
    queries: Tensor,
    keys: Tensor,
    tables: Tables,
    *,
    scale: float,
    max_distance: int,
) -> Any:
    """Return what is added to scores, `[…, heads, tokens, tokens]`.

    Queries and keys are `[…, heads, tokens, size]`; `tables` are the keys and the queries of
    distances, `[2 · span, heads · size]`, with a row for each bucket: the first for keys that are
    farthest behind their query. Raises `OperatorError` NNM404 for tables of other sizes, NNM401 if
    queries and keys are not the same tokens.
    """
    *_, heads, length, size = queries.shape
    if keys.shape != queries.shape:
        sizes = f"queries {show(queries.shape)} and keys {show(keys.shape)}"
        raise OperatorError("NNM401", f"{sizes}: distances are those of the same tokens")
    checks.check_amount(length * length, f"{length} tokens")
    total: Any = None
    for contents, table, of_keys in ((queries, tables[0], True), (keys, tables[1], False)):
        if table is None:
            continue
        rows = _rows_by_offset(b, table, heads, size, length, of_keys, max_distance)
        scores = _align(b, b.matmul(contents, rows * scale))
        if not of_keys:
            scores = _transpose(b, scores)
        total = scores if total is None else total + scores
    return total


def _transpose(b: Builder, x: Tensor) -> Any:
    return b.transpose(x, permutation=(*range(x.rank - 2), x.rank - 1, x.rank - 2))


def _rows_by_offset(
    b: Builder,
    table: Tensor,
    heads: int,
    size: int,
    length: int,
    of_keys: bool,
    max_distance: int,
) -> Any:
    """Return the rows of a table for all offsets from a token, `[heads, size, 2 · length − 1]`.

    Offsets are those of keys from a query, or of queries from a key, in ascending order.
    """
    rows, width = table.shape
    if width != heads * size or rows < 4 or rows % 2:
        expected = f"[an even number from 4, {heads * size}]"
        raise OperatorError(
            "NNM404", f"the table of distances is {show(table.shape)}, not {expected}"
        )
    offsets = range(length - 1, -length, -1) if of_keys else range(1 - length, length)
    indices = [get_row(offset, rows // 2, max_distance) for offset in offsets]
    by_offset = b.gather(table, b.constant(indices, "int32", [len(indices)]), axis=0)
    by_head = b.reshape(by_offset, new_shape=(len(indices), heads, size))
    return b.transpose(by_head, permutation=(1, 2, 0))


def get_row(ahead: int, span: int, max_distance: int) -> int:
    """Return the row for a query that many tokens after a key: exact at first, then by ratio."""
    exact, distance = span // 2, abs(ahead)
    if max_distance > span and distance > exact:
        # In float32, as it was trained: at some distances the last bit decides.
        ratio = round_to_float32(math.log(round_to_float32(distance / exact)))
        largest = round_to_float32(math.log(round_to_float32((max_distance - 1) / exact)))
        share = round_to_float32(round_to_float32(ratio / largest) * (exact - 1))
        ahead = (math.ceil(share) + exact) * (1 if ahead > 0 else -1)
    return min(max(ahead + span, 0), 2 * span - 1)


def _align(b: Builder, x: Tensor) -> Any:
    """Turn `[…, tokens, 2 · tokens − 1]`, by offset, into `[…, tokens, tokens]`, by position.

    Written one after the other, each row begins one number later than the one before.
    """
    *lead, length, offsets = x.shape
    zeros = tuple(0 for _ in lead)
    padded = b.pad(x, beginning_padding=(*zeros, 0, 0), ending_padding=(*zeros, 0, 1))
    flat = b.reshape(padded, new_shape=(*lead, length * (offsets + 1)))
    flat = b.slice(flat, starts=(*zeros, length - 1), sizes=(*lead, length * offsets))
    rows = b.reshape(flat, new_shape=(*lead, length, offsets))
    return b.slice(rows, starts=(*zeros, 0, 0), sizes=(*lead, length, length))
