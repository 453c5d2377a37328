"""Attention, rotary positions, and recurrent forms of attention."""

from __future__ import annotations

import math

from webnnm.core.dtypes import FLOAT_INFO
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.movement import pad_sides
from webnnm.formats.onnx.importing.shaping import (
    arange,
    as_type,
    at,
    broadcast_to,
    full,
    part,
    reshape_to,
    scalar_like,
)
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.importing.windows import Window, convolution
from webnnm.graph.node import Operand


def split_heads(c: Call, x: Operand, heads: int) -> Operand:
    """Return [batch, tokens, heads·size] as [batch, heads, tokens, size]."""
    batch, tokens, width = x.shape
    split = reshape_to(c, x, (batch, tokens, heads, width // heads))
    return c.b.transpose(split, permutation=(0, 2, 1, 3))


def merge_heads(c: Call, x: Operand) -> Operand:
    """Return [batch, heads, tokens, size] as [batch, tokens, heads·size]."""
    batch, heads, tokens, size = x.shape
    joined = c.b.transpose(x, permutation=(0, 2, 1, 3))
    return reshape_to(c, joined, (batch, tokens, heads * size))


def repeat_kv(c: Call, x: Operand, heads: int) -> Operand:
    """Repeat each key or value head for the query heads that share it."""
    batch, kv_heads, tokens, size = x.shape
    if kv_heads == heads:
        return x
    single = reshape_to(c, x, (batch, kv_heads, 1, tokens, size))
    copies = c.b.expand(single, new_shape=(batch, kv_heads, heads // kv_heads, tokens, size))
    return reshape_to(c, copies, (batch, heads, tokens, size))


def lowest(c: Call, like: Operand) -> Operand:
    """Return the most negative number of a type, which a softmax turns into 0."""
    return scalar_like(
        c, -FLOAT_INFO["float16" if like.dtype == "float16" else "float32"].max, like
    )


@imports("Attention")
def attention(
    c: Call,
    q: Operand,
    k: Operand,
    v: Operand,
    mask: Operand | None = None,
    past_key: Operand | None = None,
    past_value: Operand | None = None,
    lengths: Operand | None = None,
) -> tuple[Operand | None, ...]:
    """softmax(Q·Kᵀ·scale + mask)·V in each head."""
    b, flat = c.b, q.rank == 3
    if flat:
        q = split_heads(c, q, c.integer("q_num_heads"))
        k, v = (split_heads(c, x, c.integer("kv_num_heads")) for x in (k, v))
    if past_key is not None and past_value is not None:
        k, v = b.concat([past_key, k], axis=2), b.concat([past_value, v], axis=2)
    heads = q.shape[1]
    scale = math.sqrt(c.number("scale", 0.0) or 1 / math.sqrt(q.shape[3]))
    keys = b.transpose(repeat_kv(c, k, heads), permutation=(0, 1, 3, 2))
    raw = b.matmul(q * scale, keys * scale)
    capped, cap = raw, c.number("softcap", 0.0)
    if cap:
        capped = b.tanh(raw / cap) * cap
    past = 0 if past_key is None else past_key.shape[2]
    allowed = make_attention_mask(
        c,
        raw,
        past,
        lengths,
        causal=c.flag("is_causal"),
        left=c.integer("left_window_size", -1),
        right=c.integer("right_window_size", -1),
    )
    masked = apply_mask(c, capped, mask, allowed)
    weights = row_softmax(c, masked)
    output = b.matmul(weights, repeat_kv(c, v, heads))
    mode = c.integer("qk_matmul_output_mode", 0)
    stages = (raw, capped, masked, weights)
    return merge_heads(c, output) if flat else output, k, v, stages[mode]


def make_attention_mask(
    c: Call,
    scores: Operand,
    past: int,
    lengths: Operand | None,
    *,
    causal: bool,
    left: int = -1,
    right: int = -1,
) -> Operand | None:
    """Return a mask of the keys that each query may attend to, None if it is all of them."""
    b, (batch, _, rows, columns) = c.b, scores.shape
    key = reshape_to(c, arange(c, columns), (1, 1, 1, columns))
    query = reshape_to(c, arange(c, rows), (1, 1, rows, 1)) + past
    rules: list[Operand] = []
    if lengths is not None:
        ends = reshape_to(c, as_type(c, lengths, "int32"), (batch, 1, 1, 1))
        rules.append(b.lesser(key, ends))
        query = query + (ends - rows)
    if causal:
        rules.append(b.lesser_or_equal(key, query))
    if left >= 0:
        rules.append(b.greater_or_equal(key, query - left))
    if right >= 0:
        rules.append(b.lesser_or_equal(key, query + right))
    mask: Operand | None = None
    for rule in rules:
        mask = rule if mask is None else b.logical_and(mask, rule)
    return mask


def apply_mask(c: Call, scores: Operand, mask: Operand | None, allowed: Operand | None) -> Operand:
    """Add a mask to scores, and set them to −∞ where attention is not allowed."""
    if mask is not None:
        missing = scores.shape[3] - mask.shape[-1]
        truth = mask.dtype == "uint8"
        if missing:
            fill = 0 if truth else -math.inf
            mask = pad_sides(
                c, mask, [0] * mask.rank, [0] * (mask.rank - 1) + [missing], value=fill
            )
        if truth:
            allowed = mask if allowed is None else c.b.logical_and(mask, allowed)
        else:
            scores = scores + as_type(c, mask, scores.dtype)
    if allowed is None:
        return scores
    return c.b.where(allowed, scores, scalar_like(c, -math.inf, scores))


def row_softmax(c: Call, scores: Operand) -> Operand:
    """Return the softmax of rows; a row of only −∞ gives 0."""
    b, precision = c.b, c.integer("softmax_precision", 0)
    wide = as_type(c, scores, "float32") if precision == 1 else scores
    top = b.reduce_max(wide, axes=[3], keep_dimensions=True)
    top = b.max(top, lowest(c, wide))
    powers = b.exp(wide - top)
    total = b.reduce_sum(powers, axes=[3], keep_dimensions=True)
    zero = scalar_like(c, 0, total)
    safe = b.where(b.equal(total, zero), scalar_like(c, 1, total), total)
    return as_type(c, powers / safe, scores.dtype)


# Rotary positions.


@imports("RotaryEmbedding")
def rotary_embedding(
    c: Call, x: Operand, cosine: Operand, sine: Operand, positions: Operand | None = None
) -> Operand:
    """Pairs of features rotated by angles from tables."""
    flat = x.rank == 3
    image = split_heads(c, x, c.integer("num_heads")) if flat else x
    width = c.integer("rotary_embedding_dim", 0) or image.shape[3]
    output = apply_rotary(
        c, image, cosine, sine, positions, width, interleaved=c.flag("interleaved")
    )
    return merge_heads(c, output) if flat else output


def apply_rotary(
    c: Call,
    x: Operand,
    cosine: Operand,
    sine: Operand,
    positions: Operand | None,
    width: int,
    *,
    interleaved: bool,
) -> Operand:
    """Rotate the first features of [batch, heads, tokens, size] by their positions."""
    b, (batch, heads, tokens, size) = c.b, x.shape
    if positions is not None:
        cosine, sine = (b.gather(table, positions, axis=0) for table in (cosine, sine))
    shape = (-1, 1, tokens, width // 2)
    cosine, sine = (reshape_to(c, table, shape) for table in (cosine, sine))
    features = part(c, x, 3, 0, width)
    if interleaved:
        pairs = reshape_to(c, features, (batch, heads, tokens, width // 2, 2))
        first, second = at(c, pairs, 4, 0), at(c, pairs, 4, 1)
    else:
        first, second = (
            part(c, features, 3, 0, width // 2),
            part(c, features, 3, width // 2, width // 2),
        )
    real, imaginary = first * cosine - second * sine, first * sine + second * cosine
    if interleaved:
        column = (batch, heads, tokens, width // 2, 1)
        pairs = b.concat([reshape_to(c, half, column) for half in (real, imaginary)], axis=4)
        rotary = reshape_to(c, pairs, (batch, heads, tokens, width))
    else:
        rotary = b.concat([real, imaginary], axis=3)
    if width == size:
        return rotary
    return b.concat([rotary, part(c, x, 3, width, size - width)], axis=3)


# Recurrent forms.


@imports("LinearAttention")
def linear_attention(
    c: Call,
    q: Operand,
    k: Operand,
    v: Operand,
    state: Operand | None = None,
    decay: Operand | None = None,
    rate: Operand | None = None,
) -> tuple[Operand, Operand]:
    """A state that keys write values into and queries read, token by token."""
    b, rule = c.b, c.string("update_rule", "gated_delta")
    heads, kv_heads = c.integer("q_num_heads"), c.integer("kv_num_heads")
    dtype = q.dtype
    q, k, v = (
        split_heads(c, as_type(c, x, "float32"), n)
        for x, n in ((q, heads), (k, kv_heads), (v, kv_heads))
    )
    scale = c.number("scale", 0.0) or 1 / math.sqrt(q.shape[3])
    batch, _, tokens, size = k.shape
    gate = _per_head(c, decay, kv_heads) if decay is not None and "gated" in rule else None
    beta = _per_head(c, rate, kv_heads) if rate is not None and "delta" in rule else None
    width = v.shape[3]
    memory = full(c, 0.0, "float32", (batch, kv_heads, size, width))
    memory = memory if state is None else as_type(c, state, "float32")
    rows: list[Operand] = []
    for token in range(c.check_size(tokens, "its tokens")):
        key = reshape_to(c, part(c, k, 2, token, 1), (batch, kv_heads, size, 1))
        value = part(c, v, 2, token, 1)
        if gate is not None:
            factor = part(c, gate, 2, token, 1)
            memory = memory * b.exp(b.transpose(factor, permutation=(0, 1, 3, 2)))
        if "delta" in rule:
            predicted = b.matmul(b.transpose(key, permutation=(0, 1, 3, 2)), memory)
            value = value - predicted
            if beta is not None:
                value = value * part(c, beta, 2, token, 1)
        memory = memory + b.matmul(key, value)
        query = part(c, q, 2, token, 1)
        rows.append(b.matmul(query, repeat_kv(c, memory, heads)) * scale)
    output = rows[0] if len(rows) == 1 else b.concat(rows, axis=2)
    dtype_of_state = dtype if state is None else state.dtype
    return as_type(c, merge_heads(c, output), dtype), as_type(c, memory, dtype_of_state)


def _per_head(c: Call, x: Operand, heads: int) -> Operand:
    """Return gates [batch, tokens, …] as [batch, heads, tokens, 1 or size]."""
    wide = as_type(c, x, "float32")
    if wide.shape[2] == 1 and heads > 1:
        wide = broadcast_to(c, wide, (*wide.shape[:2], heads))
    return split_heads(c, wide, heads)


@imports("CausalConvWithState")
def causal_conv(
    c: Call, x: Operand, filter: Operand, bias: Operand | None = None, state: Operand | None = None
) -> tuple[Operand, Operand]:
    """A causal convolution of each channel that continues a state, and the next state."""
    b, size = c.b, filter.shape[2]
    if state is None:
        sequence = pad_sides(c, x, (0, 0, size - 1), (0, 0, 0))
    else:
        sequence = b.concat([state, x], axis=2)
    view = Window([size], [1], [1], [0], [0])
    output = convolution(c, sequence, filter, bias, view, x.shape[1])
    if c.string("activation", "none") in ("silu", "swish"):
        output = output * b.sigmoid(output)
    return output, part(c, sequence, 2, sequence.shape[2] - size + 1, size - 1)


@imports("SwiGLU")
def swiglu(c: Call, gate: Operand, x: Operand) -> Operand:
    """swish(gate)·x."""
    return gate * c.b.sigmoid(gate * c.number("alpha", 1.0)) * x
