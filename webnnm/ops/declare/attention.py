"""Scaled dot-product attention of projected queries, keys and values, in several heads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

from webnnm.core.dtypes import is_float
from webnnm.core.shapes import Shape, broadcast, show
from webnnm.ops.declare.algebra import scalar_like
from webnnm.ops.declare.disentangled import Tables, distance_scores
from webnnm.ops.declare.grid_positions import grid_bias
from webnnm.ops.declare.linear_bias import linear_bias, linear_bias_at, require_slopes
from webnnm.ops.declare.nearby import nearby_scores, nearby_values
from webnnm.ops.declare.relative import MAX_DISTANCE, relative_bias, relative_bias_at
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor
from webnnm.ops.declare.token_cache import TokenCache
from webnnm.ops.matmul import transpose_matrices
from webnnm.ops.rotary import Rotary, require_pairs, rotate, rotate_by_cache, rotate_by_positions

MASKED = {"float32": -1e9, "float16": -65504.0}
"""What is added to the score of a pair that is masked out."""


def attention(
    b: Builder,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    *,
    heads: int,
    kv_heads: int | None,
    causal: bool,
    rotary: Rotary | None,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    slopes: Sequence[float] | None = None,
    relative: Tensor | None = None,
    max_distance: int = MAX_DISTANCE,
    grid: tuple[Tensor, Tensor] | None = None,
    distances: Tables = (None, None),
    nearby: Tables = (None, None),
    segments: Tensor | None = None,
    positions: Tensor | None = None,
    global_keys: Tensor | None = None,
    sinks: Tensor | None = None,
    gates: Tensor | None = None,
    drop: Callable[[Tensor], Tensor] | None = None,
    limit: Callable[[Tensor], Tensor] | None = None,
    cache: TokenCache | None = None,
    kept: TokenCache | None = None,
) -> Any:
    """Return softmax(Q·Kᵀ/√size + M)·V per head, for operands `[…, tokens, heads · size]`.

    `scale` replaces 1/√size; with a `softcap` c, products p become c·tanh(p/c); `slopes` are those
    of a bias that is linear in the distance, one per head; `sinks [heads]` are scores of one more
    key, which has no value; `relative` is a table `[buckets, heads]` of what is added to the scores
    by the distance of two tokens, times the `gates […, tokens, heads]` of queries; `grid` are
    tables for tokens that are cells of a grid, see `grid_bias`; `distances` are tables of keys and
    queries, see `distance_scores`; `nearby` are tables of keys and values, see `nearby_scores` and
    `nearby_values`. `segments` and `positions` are numbers `[…, tokens]`: queries
    see keys of their own segment, and rotary angles follow positions; those of `global_keys` are
    not 0 for keys that windows do not hide. `drop` is applied to the
    weights, the result of the softmax, `limit` to the masked scores `[…, heads, queries, keys]`,
    float32. With a `cache`, causal queries see its keys too; `kept` has the keys of tokens that
    stay the same.
    """
    shared = kv_heads or heads
    _check(q, k, v, heads, shared)
    _check_gates(gates, relative, (*q.shape[:-1], heads))
    require_same_tokens(window, causal, same=q.shape[-2] == k.shape[-2])
    require_causal(slopes, causal)
    if slopes is not None:
        require_slopes(slopes, heads)
    queries, keys, values = (
        _split_heads(b, x, n) for x, n in ((q, heads), (k, shared), (v, shared))
    )
    length, size = queries.shape[-2:]
    tokens = keys.shape[-2]
    if rotary is not None:
        require_pairs(size, rotary)
    if kept is not None:
        keys, values = kept.read_source(keys, values)
    places = None if positions is None else _with_heads(b, positions)
    if cache is not None:
        if rotary is not None:
            queries, keys = (rotate_by_cache(b, x, rotary, cache) for x in (queries, keys))
        keys, values = cache.update(keys, values)
        causal, window, limit = False, None, partial(cache.mask_scores, window=window)
    elif rotary is not None and places is not None:
        queries, keys = (rotate_by_positions(b, x, rotary, places) for x in (queries, keys))
    elif rotary is not None:
        # Where later queries see all keys, the last query and the last key have the same position.
        start = tokens - length if causal else 0
        queries, keys = rotate(b, queries, rotary, start), rotate(b, keys, rotary)
    grid_scores = None if grid is None else grid_bias(b, queries, *grid)
    scale = 1 / math.sqrt(size) if scale is None else scale
    extra = None
    if distances != (None, None):
        extra = distance_scores(b, queries, keys, distances, scale=scale, max_distance=max_distance)
    queries = queries if scale == 1 else queries * scale
    near_keys, near_values = nearby
    near_scores = None if near_keys is None else nearby_scores(b, queries, near_keys)
    queries = _group_heads(b, queries, shared)
    scores = _ungroup_heads(b, b.matmul(queries, transpose_matrices(b, keys)), heads, length)
    if softcap is not None:
        scores = b.tanh(scores * (1 / softcap)) * softcap
    if grid_scores is not None:
        scores = scores + grid_scores
    if extra is not None:
        scores = scores + extra
    if near_scores is not None:
        scores = scores + near_scores
    if relative is not None:
        addend = (
            relative_bias(b, relative, heads, length, tokens, causal, max_distance)
            if cache is None
            else relative_bias_at(b, relative, heads, cache.positions, cache.length, max_distance)
        )
        scores = scores + (addend if gates is None else addend * _split_heads(b, gates, heads))
    bias = None
    if slopes is not None and cache is None:
        bias = linear_bias(b, slopes, places, tokens)
    elif slopes is not None and cache is not None:
        bias = linear_bias_at(b, slopes, cache.positions, cache.length)
    weights = _weights(b, scores, mask, causal, window, segments, bias, sinks, limit, global_keys)
    if drop is not None:
        weights = drop(weights)
    mixed = b.matmul(_group_heads(b, weights, shared), values)
    mixed = _ungroup_heads(b, mixed, heads, length)
    if near_values is not None:
        mixed = mixed + nearby_values(b, weights, near_values)
    return _join_heads(b, mixed)


def _check(q: Tensor, k: Tensor, v: Tensor, heads: int, shared: int) -> None:
    if heads % shared:
        raise OperatorError(
            "NNM406", f"{heads} heads are not a multiple of {shared} key and value heads"
        )
    for name, x, n in (("q", q, heads), ("k", k, shared), ("v", v, shared)):
        if x.shape[-1] % n:
            raise OperatorError(
                "NNM406", f"{name} {show(x.shape)}: {x.shape[-1]} features, {n} heads"
            )
    if q.shape[-1] // heads != k.shape[-1] // shared:
        sizes = f"q {show(q.shape)} in {heads} heads, k {show(k.shape)} in {shared}"
        raise OperatorError("NNM404", f"{sizes}: the heads differ in size")
    if k.shape[-2] != v.shape[-2]:
        message = f"k {show(k.shape)} and v {show(v.shape)} differ in the number of tokens"
        raise OperatorError("NNM401", message)


def _check_gates(gates: Tensor | None, relative: Tensor | None, shape: Shape) -> None:
    if gates is None:
        return
    if relative is None:
        raise OperatorError("NNM302", "relative_gates without relative_bias, which they multiply")
    if broadcast(gates.shape, shape) != shape or gates.shape[-1] != shape[-1]:
        message = f"relative_gates {show(gates.shape)}: not a number per token and head"
        raise OperatorError("NNM404", message, f"they are {show(shape)}")


def require_same_tokens(window: int | None, causal: bool, *, same: bool) -> None:
    """Raise NNM303 for a window around queries whose keys are other tokens."""
    if window is not None and not causal and not same:
        message = f"window={window} needs keys that are the same tokens as the queries"
        raise OperatorError("NNM303", message, "add causal=true, or leave window= out")


def require_causal(slopes: Sequence[float] | None, causal: bool) -> None:
    """Raise NNM303 for a bias by distance of attention that is not causal."""
    if slopes is not None and not causal:
        message = "linear biases are for causal attention, but this one is not causal"
        raise OperatorError("NNM303", message, "add causal=true")


def _split_heads(b: Builder, x: Tensor, heads: int) -> Any:
    """Turn `[…, tokens, heads · size]` into `[…, heads, tokens, size]`."""
    *lead, tokens, width = x.shape
    if heads == 1:
        return b.reshape(x, new_shape=(*lead, 1, tokens, width))
    return _swap_heads_and_tokens(b, b.reshape(x, new_shape=(*lead, tokens, heads, width // heads)))


def _join_heads(b: Builder, x: Tensor) -> Any:
    """Turn `[…, heads, tokens, size]` into `[…, tokens, heads · size]`."""
    *lead, heads, tokens, size = x.shape
    by_token = x if heads == 1 else _swap_heads_and_tokens(b, x)
    return b.reshape(by_token, new_shape=(*lead, tokens, heads * size))


def _swap_heads_and_tokens(b: Builder, x: Tensor) -> Any:
    """Exchange heads and tokens, the last dimensions but two and one."""
    rank = x.rank
    return b.transpose(x, permutation=(*range(rank - 3), rank - 2, rank - 3, rank - 1))


def _group_heads(b: Builder, x: Tensor, shared: int) -> Any:
    """Put the tokens of all heads that share keys one after the other, for a single product."""
    *lead, heads, tokens, size = x.shape
    if heads == shared:
        return x
    return b.reshape(x, new_shape=(*lead, shared, heads // shared * tokens, size))


def _ungroup_heads(b: Builder, x: Tensor, heads: int, tokens: int) -> Any:
    *lead, shared, _, size = x.shape
    return x if heads == shared else b.reshape(x, new_shape=(*lead, heads, tokens, size))


def _weights(
    b: Builder,
    scores: Tensor,
    mask: Tensor | None,
    causal: bool,
    window: int | None,
    segments: Tensor | None,
    bias: Tensor | None,
    sinks: Tensor | None,
    limit: Callable[[Tensor], Tensor] | None,
    global_keys: Tensor | None,
) -> Any:
    """Return the softmax of masked scores, computed in float32, in the type of the scores."""
    masked = MASKED[scores.dtype]
    wide = b.cast(scores, type="float32") if scores.dtype != "float32" else scores
    length, tokens = scores.shape[-2:]
    addends: list[Any] = [] if bias is None else [bias]
    is_windowed = window is not None and window < tokens
    if global_keys is not None and (causal or window is None):
        message = "global_keys are for windows of attention that is not causal"
        raise OperatorError("NNM303", message, "write window=, without causal=true")
    if causal or is_windowed:
        full = b.expand(scalar_like(b, masked, wide), new_shape=(length, tokens))
        ahead = tokens - length + 1 if causal else window
        if length > 1 and ahead is not None:
            addends.append(b.triangular(full, upper=True, diagonal=ahead))
        if is_windowed:
            addends.append(b.triangular(full, upper=False, diagonal=tokens - length - window))
        if global_keys is not None:
            *lead, _ = global_keys.shape
            hidden: Any = b.cast(b.equal(global_keys, 0), type="float32")
            hidden = b.reshape(hidden, new_shape=(*lead, 1, 1, tokens))
            addends = [reduce(add, addends) * hidden]
    if segments is not None:
        addends.append(_apart(b, segments) * masked)
    if mask is not None:
        if broadcast(mask.shape, scores.shape) != scores.shape:
            message = f"mask {show(mask.shape)}, but scores […, heads, queries, keys] are "
            raise OperatorError("NNM401", message + show(scores.shape))
        addends.append(_addend(b, mask, masked))
    if addends:
        # Their sum is the same in all layers: each adds to its scores once.
        wide = wide + reduce(add, addends)
    if limit is not None:
        wide = limit(wide)
    if sinks is not None:
        wide = b.concat([wide, _sink_scores(b, sinks, wide)], axis=wide.rank - 1)
    weights = b.softmax(wide, axis=wide.rank - 1)
    if sinks is not None:
        weights = b.slice(weights, starts=(0,) * wide.rank, sizes=scores.shape)
    return weights if scores.dtype == "float32" else b.cast(weights, type=scores.dtype)


def _sink_scores(b: Builder, sinks: Tensor, scores: Tensor) -> Any:
    """Return one more score for each query, `[…, heads, queries, 1]`."""
    *lead, heads, length, _ = scores.shape
    if sinks.shape != (heads,):
        raise OperatorError("NNM404", f"sinks {show(sinks.shape)} for {heads} heads")
    wide = sinks if sinks.dtype == "float32" else b.cast(sinks, type="float32")
    column = b.reshape(wide, new_shape=(heads, 1, 1))
    return b.expand(column, new_shape=(*lead, heads, length, 1))


def _with_heads(b: Builder, numbers: Tensor) -> Any:
    """Turn numbers `[…, tokens]` into `[…, 1, tokens]`, the same for all heads."""
    *lead, tokens = numbers.shape
    return b.reshape(numbers, new_shape=(*lead, 1, tokens))


def _apart(b: Builder, segments: Tensor) -> Any:
    """Return 1 for a query and a key `[…, 1, queries, keys]` of other segments, else 0.

    Keys of segment 0 are padding, which is apart from all; queries of segment 0 see the others.
    """
    *lead, tokens = segments.shape
    wide = segments if segments.dtype == "float32" else b.cast(segments, type="float32")
    own: Any = b.reshape(wide, new_shape=(*lead, 1, tokens, 1))
    other: Any = b.reshape(wide, new_shape=(*lead, 1, 1, tokens))
    differ = b.not_equal(own * (own - other), 0.0)
    return b.cast(b.logical_or(differ, b.equal(other, 0.0)), type="float32")


def _addend(b: Builder, mask: Tensor, masked: float) -> Any:
    """Return what a mask adds to scores: itself if it is of floats, else `masked` where it is 0."""
    wide = mask if mask.dtype == "float32" else b.cast(mask, type="float32")
    if is_float(mask.dtype):
        return wide
    return b.cast(b.equal(wide, scalar_like(b, 0, wide)), type="float32") * masked
