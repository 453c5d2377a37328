"""Operators of ONNX Runtime (com.microsoft): fused layers and attention."""

from __future__ import annotations

import math

from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.attention import (
    apply_mask,
    apply_rotary,
    make_attention_mask,
    merge_heads,
    repeat_kv,
    row_softmax,
    split_heads,
)
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.normalising import root_mean_square, standardize
from webnnm.formats.onnx.importing.products import product
from webnnm.formats.onnx.importing.shaping import arange, part, reshape_to
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
        raise c.not_supported("transposed batches")
    left, right = (
        c.b.transpose(
            matrix, permutation=[*range(matrix.rank - 2), matrix.rank - 1, matrix.rank - 2]
        )
        if c.flag(name) and matrix.rank > 1
        else matrix
        for matrix, name in ((x, "transA"), (y, "transB"))
    )
    return product(c, left, right) * c.number("alpha", 1.0)


@imports("FusedConv", domain=MICROSOFT)
def fused_conv(
    c: Call, x: Operand, filter: Operand, bias: Operand | None = None, z: Operand | None = None
) -> Operand:
    """Convolution, a sum, and an activation."""
    view = window_of(c, x.shape[2:], filter.shape[2:])
    output = convolution(c, x, filter, bias, view, c.integer("group", 1))
    output = output if z is None else output + z
    activation, values = c.string("activation", ""), c.numbers("activation_params", ())
    if activation == "Clip":
        return c.b.clamp(output, min_value=values[0], max_value=values[1])
    if activation == "LeakyRelu":
        return c.b.leaky_relu(output, alpha=values[0])
    if activation == "HardSigmoid":
        return c.b.hard_sigmoid(output, alpha=values[0], beta=values[1])
    activations = {"": c.b.identity, "Relu": c.b.relu, "Tanh": c.b.tanh, "Sigmoid": c.b.sigmoid}
    if activation not in activations:
        raise c.not_supported(f'there is no activation "{activation}"')
    return activations[activation](output)


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
    normalized, mean, inverse = standardize(c, total, [x.rank - 1], c.number("epsilon", 1e-12))
    normalized = normalized * scale
    return normalized if bias is None else normalized + bias, mean, inverse, total


@imports("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_rms_normalization(
    c: Call, x: Operand, skip: Operand, scale: Operand, bias: Operand | None = None
) -> tuple[Operand | None, ...]:
    """Root-mean-square normalisation of a sum, and the sum."""
    total = x + skip if bias is None else x + skip + bias
    normalized = root_mean_square(c, total, [x.rank - 1], c.number("epsilon", 1e-12)) * scale
    return normalized, None, None, total


# Attention.


def scale_scores(c: Call, q: Operand, k: Operand) -> Operand:
    """Return the scaled products of queries and keys, both [batch, heads, tokens, size]."""
    scale = c.number("scale", 0.0) or 1 / math.sqrt(q.shape[3])
    keys = c.b.transpose(repeat_kv(c, k, q.shape[1]), permutation=(0, 1, 3, 2))
    scores = c.b.matmul(q, keys) * scale
    cap = c.number("softcap", 0.0)
    return c.b.tanh(scores / cap) * cap if cap else scores


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
        raise c.not_supported("padding masks, and operands that are not [batch, tokens, size]")
    heads, width = c.integer("num_heads"), q.shape[2]
    if bias is not None:
        q = q + part(c, bias, 0, 0, width)
        k = k + part(c, bias, 0, width, k.shape[2])
        v = v + part(c, bias, 0, width + k.shape[2], v.shape[2])
    q, k, v = (split_heads(c, x, heads) for x in (q, k, v))
    k, v = _with_past(c, k, past_key), _with_past(c, v, past_value)
    scores = scale_scores(c, q, k)
    causal = c.flag("unidirectional")
    allowed = make_attention_mask(c, scores, _past_size(past_key), None, causal=causal)
    weights = row_softmax(c, apply_mask(c, scores, mask, allowed))
    return merge_heads(c, c.b.matmul(weights, v)), k, v


@imports("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(
    c: Call, x: Operand, positions: Operand, cosine: Operand, sine: Operand
) -> Operand:
    """Pairs of features rotated by angles from tables, at given positions or from one onwards."""
    width = c.integer("rotary_embedding_dim", 0) or 2 * cosine.shape[-1]
    heads = c.integer("num_heads", 0) or (x.shape[2] // width if x.rank == 3 else 1)
    image = split_heads(c, x, heads) if x.rank == 3 else x
    batch, tokens = image.shape[0], image.shape[2]
    if positions.shape == (1,):
        row = reshape_to(c, arange(c, tokens, positions.dtype), (1, tokens)) + positions
        positions = c.b.expand(row, new_shape=(batch, tokens))
    output = apply_rotary(
        c, image, cosine, sine, positions, width, interleaved=c.flag("interleaved")
    )
    return merge_heads(c, output) if x.rank == 3 else output
