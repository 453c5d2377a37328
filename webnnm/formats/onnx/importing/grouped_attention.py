"""Attention with a cache whose heads share keys and values (com.microsoft.GroupQueryAttention).

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

import math

from webnnm.formats.onnx.importing.attention import (
    apply_rotary,
    make_attention_mask,
    merge_heads,
    repeat_kv,
    row_softmax,
    split_heads,
)
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.contrib import MICROSOFT, scale_scores
from webnnm.formats.onnx.importing.shaping import (
    arange,
    as_type,
    broadcast_to,
    full,
    part,
    reshape_to,
    scalar_like,
)
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


@imports("GroupQueryAttention", domain=MICROSOFT, absent=(1, 2, 3, 4))
def group_query_attention(
    c: Call,
    q: Operand,
    k: Operand | None,
    v: Operand | None,
    past_key: Operand | None,
    past_value: Operand | None,
    lengths: Operand,
    total: Operand,
    cosine: Operand | None = None,
    sine: Operand | None = None,
    positions: Operand | None = None,
    bias: Operand | None = None,
    sink: Operand | None = None,
) -> tuple[Operand, Operand, Operand]:
    """Causal attention with heads that share keys and values; new tokens extend the cache."""
    heads, kv_heads = c.integer("num_heads"), c.integer("kv_num_heads")
    if c.integer("qk_output", 0):
        raise c.not_supported("scores as a result")
    if k is None or v is None:
        width = q.shape[2] // (heads + 2 * kv_heads)
        k = part(c, q, 2, heads * width, kv_heads * width)
        v = part(c, q, 2, (heads + kv_heads) * width, kv_heads * width)
        q = part(c, q, 2, 0, heads * width)
    batch, tokens = q.shape[0], q.shape[1]
    query, key, value = (
        split_heads(c, x, count) for x, count in ((q, heads), (k, kv_heads), (v, kv_heads))
    )
    size = int(c.require_scalar(total, "its total length"))
    is_prompt = size == tokens
    ends = reshape_to(c, as_type(c, lengths, "int32"), (batch,))
    start = full(c, 0, "int32", (batch,)) if is_prompt else ends + (1 - tokens)
    if c.flag("do_rotary"):
        if cosine is None or sine is None:
            raise c.invalid("it has no tables of cosines and sines")
        if positions is None:
            positions = _count_from(c, start, tokens)
        width, interleaved = 2 * cosine.shape[-1], c.flag("rotary_interleaved")
        query, key = (
            apply_rotary(c, x, cosine, sine, positions, width, interleaved=interleaved)
            for x in (query, key)
        )
    key, value = (
        _write(c, past, x, start, size, is_prompt=is_prompt)
        for past, x in ((past_key, key), (past_value, value))
    )
    scores = scale_scores(c, query, key)
    window = c.integer("local_window_size", -1)
    left = window - 1 if window > 0 else -1
    allowed = make_attention_mask(c, scores, 0, start + tokens, causal=True, left=left)
    if is_prompt:  # the ends of shorter rows are padding
        keys = reshape_to(c, arange(c, scores.shape[3]), (1, 1, 1, -1))
        in_row = c.b.lesser_or_equal(keys, reshape_to(c, ends, (batch, 1, 1, 1)))
        allowed = in_row if allowed is None else c.b.logical_and(allowed, in_row)
    if bias is not None:
        missing = scores.shape[3] - bias.shape[3]
        if missing:
            zeros = full(c, 0, bias.dtype, (*bias.shape[:3], missing))
            bias = c.b.concat([bias, zeros], axis=3)
        scores = scores + bias
    if allowed is not None:
        scores = c.b.where(allowed, scores, scalar_like(c, -math.inf, scores))
    weights = _softmax(c, scores, sink)
    return merge_heads(c, c.b.matmul(weights, repeat_kv(c, value, heads))), key, value


def _count_from(c: Call, start: Operand, tokens: int) -> Operand:
    """Return the positions [batch, tokens] that follow a start in each row."""
    column = reshape_to(c, start, (start.shape[0], 1))
    return reshape_to(c, arange(c, tokens), (1, tokens)) + column


def _write(
    c: Call, past: Operand | None, new: Operand, start: Operand, size: int, *, is_prompt: bool
) -> Operand:
    """Return a cache of at least a size, with new tokens from a position of each row on."""
    b, (batch, heads, tokens, width) = c.b, new.shape
    length = 0 if past is None else past.shape[2]
    if past is None or not length:
        return new
    if is_prompt:
        rest = max(size, length) - tokens
        return b.concat([new, part(c, past, 2, tokens, rest)], axis=2) if rest else new
    if length < size:
        past = b.concat(
            [past, full(c, 0, past.dtype, (batch, heads, size - length, width))], axis=2
        )
    size = past.shape[2]
    places = reshape_to(c, arange(c, size), (1, size))
    behind = places - reshape_to(c, start, (batch, 1))
    if tokens == 1:
        here = b.equal(behind, scalar_like(c, 0, behind))
        return b.where(reshape_to(c, here, (batch, 1, size, 1)), new, past)
    is_new = b.logical_and(
        b.greater_or_equal(behind, scalar_like(c, 0, behind)),
        b.lesser(behind, scalar_like(c, tokens, behind)),
    )
    rows = b.where(is_new, behind + size, places)
    both = b.concat([past, new], axis=2)
    if batch == 1:
        return b.gather(both, reshape_to(c, rows, (size,)), axis=2)
    indices = broadcast_to(c, reshape_to(c, rows, (batch, 1, size, 1)), (batch, heads, size, width))
    return b.gather_elements(both, indices, axis=2)


def _softmax(c: Call, scores: Operand, sink: Operand | None) -> Operand:
    """Return the softmax of rows; with a sink, a score beyond them takes its share of each."""
    if sink is None and not c.flag("smooth_softmax"):
        return row_softmax(c, scores)
    batch, heads, rows, columns = scores.shape
    column = (batch, heads, rows, 1)
    if sink is None:
        extra = full(c, 0, scores.dtype, column)
    else:
        extra = broadcast_to(
            c, reshape_to(c, as_type(c, sink, scores.dtype), (1, heads, 1, 1)), column
        )
    weights = row_softmax(c, c.b.concat([scores, extra], axis=3))
    return part(c, weights, 3, 0, columns)
