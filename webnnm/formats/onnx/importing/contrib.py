"""Operators of ONNX Runtime (com.microsoft): fused layers, attention, weights of 4 and 8 bits."""

from __future__ import annotations

import math

from webnnm.core.arrays import HostArray, pack
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.attention import (
    allowed_keys,
    biased,
    heads_apart,
    heads_together,
    rotated,
    row_softmax,
    shared_heads,
)
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.normalising import root_mean_square, standardised
from webnnm.formats.onnx.importing.products import product
from webnnm.formats.onnx.importing.shaping import as_type, part, places, reshaped
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.importing.windows import convolution, window_of
from webnnm.graph.node import Operand

MICROSOFT = "com.microsoft"


@imports("Gelu", "BiasGelu", domain=MICROSOFT)
def gelu(c: Call, x: Operand, bias: Operand | None = None) -> Operand:
    """x·Φ(x), where x includes a bias."""
    return c.b.gelu(x if bias is None else x + bias)


@imports("FastGelu", domain=MICROSOFT)
def fast_gelu(c: Call, x: Operand, bias: Operand | None = None) -> Operand:
    """The tanh form of gelu, where x includes a bias."""
    return c.b.gelu_tanh(x if bias is None else x + bias)


@imports("QuickGelu", domain=MICROSOFT)
def quick_gelu(c: Call, x: Operand) -> Operand:
    """x·sigmoid(α·x)."""
    return x * c.b.sigmoid(x * c.number("alpha", 1.702))


@imports("FusedMatMul", domain=MICROSOFT)
def fused_matmul(c: Call, x: Operand, y: Operand) -> Operand:
    """α·A·B, each transposed on request."""
    if c.flag("transBatchA") or c.flag("transBatchB"):
        raise c.unsupported("transposed batches")
    left, right = (
        c.b.transpose(each, permutation=[*range(each.rank - 2), each.rank - 1, each.rank - 2])
        if c.flag(name) and each.rank > 1
        else each
        for each, name in ((x, "transA"), (y, "transB"))
    )
    return product(c, left, right) * c.number("alpha", 1.0)


@imports("FusedConv", domain=MICROSOFT)
def fused_conv(
    c: Call, x: Operand, filter: Operand, bias: Operand | None = None, z: Operand | None = None
) -> Operand:
    """Convolution, a sum, and an activation."""
    view = window_of(c, x.shape[2:], filter.shape[2:])
    found = convolution(c, x, filter, bias, view, c.integer("group", 1))
    found = found if z is None else found + z
    word, values = c.word("activation", ""), c.numbers("activation_params", ())
    if word == "Clip":
        return c.b.clamp(found, min_value=values[0], max_value=values[1])
    if word == "LeakyRelu":
        return c.b.leaky_relu(found, alpha=values[0])
    if word == "HardSigmoid":
        return c.b.hard_sigmoid(found, alpha=values[0], beta=values[1])
    known = {"": c.b.identity, "Relu": c.b.relu, "Tanh": c.b.tanh, "Sigmoid": c.b.sigmoid}
    if word not in known:
        raise c.unsupported(f'there is no activation "{word}"')
    return known[word](found)


@imports("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(
    c: Call,
    x: Operand,
    skip: Operand,
    scale: Operand,
    bias: Operand | None = None,
    more: Operand | None = None,
) -> tuple[Operand, ...]:
    """Layer normalisation of a sum, and the sum."""
    total = x + skip if more is None else x + skip + more
    found, mean, inverse = standardised(c, total, [x.rank - 1], c.number("epsilon", 1e-12))
    found = found * scale
    return found if bias is None else found + bias, mean, inverse, total


@imports("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_rms_normalization(
    c: Call, x: Operand, skip: Operand, scale: Operand, bias: Operand | None = None
) -> tuple[Operand | None, ...]:
    """Root-mean-square normalisation of a sum, and the sum."""
    total = x + skip if bias is None else x + skip + bias
    found = root_mean_square(c, total, [x.rank - 1], c.number("epsilon", 1e-12)) * scale
    return found, None, None, total


# Weights of 4 and 8 bits.


@imports("MatMulNBits", domain=MICROSOFT)
def matmul_n_bits(
    c: Call,
    x: Operand,
    weights: Operand,
    scales: Operand,
    zeros: Operand | None = None,
    order: Operand | None = None,
    bias: Operand | None = None,
) -> Operand:
    """Product with an integer matrix in blocks, each with a scale and a zero point."""
    bits, rows, size = c.integer("bits", 4), c.integer("N"), c.integer("K")
    block = c.integer("block_size")
    if bits not in (4, 8) or order is not None or block < 16:
        raise c.unsupported(f"{bits} bits in blocks of {block}, or a custom order")
    blocks = -(-size // block)
    dtype = "uint4" if bits == 4 else "uint8"
    matrix = c.b.constant(
        HostArray(dtype, (rows, blocks, block), c.known(weights, "its weights").data)
    )
    scale = reshaped(c, scales, (rows, blocks, 1))
    shape = (rows, blocks, 1)
    if zeros is not None and zeros.dtype != "uint8":
        points = reshaped(c, zeros, shape)
        real = (as_type(c, matrix, scale.dtype) - points) * scale
    else:
        points = _zero_points(c, zeros, bits, rows, blocks)
        real = c.b.dequantize_linear(matrix, scale, c.b.constant(HostArray(dtype, shape, points)))
    flat = reshaped(c, real, (rows, blocks * block))
    found = product(c, x, c.b.transpose(as_type(c, part(c, flat, 1, 0, size), x.dtype)))
    return found if bias is None else found + bias


def _zero_points(c: Call, zeros: Operand | None, bits: int, rows: int, blocks: int) -> bytes:
    """Return the zero points without the padding of each row to whole bytes."""
    if bits == 8:
        if zeros is None:
            return bytes([128]) * (rows * blocks)
        return bytes(c.known(zeros, "its zero points").data)
    if zeros is None:
        nibbles = [8] * (rows * blocks)
    else:
        packed = c.known(zeros, "its zero points").data
        width = -(-blocks // 2)
        nibbles = [
            packed[row * width + k // 2] >> 4 * (k % 2) & 15
            for row in range(rows)
            for k in range(blocks)
        ]
    return bytes(pack(nibbles, "uint4"))


# Attention.


def _scores(c: Call, q: Operand, k: Operand) -> Operand:
    """Return the scaled products of queries and keys, both [batch, heads, tokens, size]."""
    scale = c.number("scale", 0.0) or 1 / math.sqrt(q.shape[3])
    keys = c.b.transpose(shared_heads(c, k, q.shape[1]), permutation=(0, 1, 3, 2))
    found = c.b.matmul(q, keys) * scale
    cap = c.number("softcap", 0.0)
    return c.b.tanh(found / cap) * cap if cap else found


def _with_past(c: Call, x: Operand, past: Operand | None) -> Operand:
    return x if past is None or not count(past.shape) else c.b.concat([past, x], axis=2)


def _past_size(past: Operand | None) -> int:
    return 0 if past is None else past.shape[2]


@imports("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(
    c: Call,
    q: Operand,
    k: Operand,
    v: Operand,
    bias: Operand | None = None,
    padding: Operand | None = None,
    mask: Operand | None = None,
    past_key: Operand | None = None,
    past_value: Operand | None = None,
) -> tuple[Operand, Operand, Operand]:
    """Multi-head attention with past keys and values."""
    if padding is not None or not q.rank == k.rank == v.rank == 3:
        raise c.unsupported("padding masks, and operands that are not [batch, tokens, size]")
    heads, width = c.integer("num_heads"), q.shape[2]
    if bias is not None:
        q = q + part(c, bias, 0, 0, width)
        k = k + part(c, bias, 0, width, k.shape[2])
        v = v + part(c, bias, 0, width + k.shape[2], v.shape[2])
    q, k, v = (heads_apart(c, each, heads) for each in (q, k, v))
    k, v = _with_past(c, k, past_key), _with_past(c, v, past_value)
    scores = _scores(c, q, k)
    causal = c.flag("unidirectional")
    allowed = allowed_keys(c, scores, _past_size(past_key), None, causal=causal)
    weights = row_softmax(c, biased(c, scores, mask, allowed))
    return heads_together(c, c.b.matmul(weights, v)), k, v


@imports("GroupQueryAttention", domain=MICROSOFT)
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
) -> tuple[Operand, Operand, Operand]:
    """Causal attention with heads that share keys and values; new tokens extend the cache."""
    heads, own = c.integer("num_heads"), c.integer("kv_num_heads")
    if c.flag("smooth_softmax"):
        raise c.unsupported("a smooth softmax")
    if k is None or v is None:
        size = q.shape[2] // (heads + 2 * own)
        k = part(c, q, 2, heads * size, own * size)
        v = part(c, q, 2, (heads + own) * size, own * size)
        q = part(c, q, 2, 0, heads * size)
    tokens, past = q.shape[1], _past_size(past_key)
    if int(c.scalar(total, "its total length")) != past + tokens:
        raise c.unsupported("a cache of a fixed length that is written into")
    query, key, value = heads_apart(c, q, heads), heads_apart(c, k, own), heads_apart(c, v, own)
    if c.flag("do_rotary"):
        if cosine is None or sine is None:
            raise c.invalid("it has no tables of cosines and sines")
        row = reshaped(c, places(c, tokens), (1, tokens)) + past
        positions = c.b.expand(row, new_shape=(q.shape[0], tokens))
        turned = c.flag("rotary_interleaved")
        width = 2 * cosine.shape[-1]
        query, key = (
            rotated(c, each, cosine, sine, positions, width, interleaved=turned)
            for each in (query, key)
        )
    key, value = _with_past(c, key, past_key), _with_past(c, value, past_value)
    scores = _scores(c, query, key)
    window = c.integer("local_window_size", -1)
    left = window - 1 if window > 0 else -1
    allowed = allowed_keys(c, scores, past, None, causal=True, left=left)
    valid = reshaped(c, as_type(c, lengths, "int32"), (-1, 1, 1, 1))
    keys = reshaped(c, places(c, past + tokens), (1, 1, 1, past + tokens))
    there = c.b.lesser_or_equal(keys, valid)
    allowed = there if allowed is None else c.b.logical_and(allowed, there)
    weights = row_softmax(c, biased(c, scores, None, allowed))
    found = c.b.matmul(weights, shared_heads(c, value, heads))
    return heads_together(c, found), key, value


@imports("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(
    c: Call, x: Operand, positions: Operand, cosine: Operand, sine: Operand
) -> Operand:
    """Pairs of features rotated by angles from tables, at given positions or from one onwards."""
    width = c.integer("rotary_embedding_dim", 0) or 2 * cosine.shape[-1]
    heads = c.integer("num_heads", 0) or (x.shape[2] // width if x.rank == 3 else 1)
    image = heads_apart(c, x, heads) if x.rank == 3 else x
    batch, tokens = image.shape[0], image.shape[2]
    if positions.shape == (1,):
        row = reshaped(c, places(c, tokens, positions.dtype), (1, tokens)) + positions
        positions = c.b.expand(row, new_shape=(batch, tokens))
    found = rotated(c, image, cosine, sine, positions, width, interleaved=c.flag("interleaved"))
    return heads_together(c, found) if x.rank == 3 else found
