"""The layer of attention: projections, padded keys, caches of generated texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from webnnm.ops.declare.attention import MASKED, attention
from webnnm.ops.declare.attention_options import PROJECTED, rotary_option, slopes_option
from webnnm.ops.declare.attention_shapes import (
    DISTANCES,
    GRID,
    NEARBY,
    TOKEN_NUMBERS,
    sources_of,
)
from webnnm.ops.declare.disentangled import Tables
from webnnm.ops.declare.layer import BuildView, TensorSlot
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.padding import all_valid, extremes, is_valid, lengths
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.declare.token_cache import token_cache
from webnnm.ops.declare.tokens import by_token
from webnnm.ops.dropout import apply_dropout

OPERANDS = {"globalKeys": "global_keys"}
"""Slots of the layer → operands with another name."""


def list_biases(options: Mapping[str, Any], names: Mapping[str, str]) -> Sequence[TensorSlot]:
    """Return a bias for each projection that has one."""
    return [
        # The activation after the layer follows the output projection: only its bias depends on it.
        TensorSlot(
            name=f"{slot}_bias",
            word=f"{names[slot]}_b",
            parameter="additive" if slot == "o" else "zeros",
        )
        for slot in (*PROJECTED, "o")
        if slot in options["bias"] and names.get(slot)
    ]


def build_attention(b: Builder, layer: BuildView) -> LayoutTensor:
    """Return the result of the layer. Raises NNM304 or NNM411 for tokens that do not match."""
    queries, keys, value_tokens = (
        _apply_projection(b, layer, slot, source)
        for slot, source in zip(PROJECTED, sources_of(layer), strict=True)
    )
    # Positions of different sequences have nothing to do with each other.
    cross = "to" in layer.tensors or keys.sequence != queries.sequence
    causal, rotary = layer.options["causal"], None if cross else rotary_option(layer.options)
    table = layer.tensors.get("relativeBias")
    if table is not None and cross:
        layer.fail(
            "NNM304", "there is no distance between tokens of two sequences", at="relativeBias"
        )
    gates = layer.tensors.get("relativeGates")
    height_table, width_table = (layer.tensors.get(name) for name in GRID)
    distances = tuple(layer.tensors.get(name) for name in DISTANCES)
    nearby = tuple(layer.tensors.get(name) for name in NEARBY)
    for name, distance in zip((*DISTANCES, *NEARBY), (*distances, *nearby), strict=True):
        if distance is not None and (cross or distance.lead):
            layer.fail("NNM304", f"{name} need queries and keys that are the same tokens", at=name)
    mask_scores = None
    if keys.mask is not None or (causal and queries.mask is not None):
        # Where rows differ in length, the last query and the last key are at different positions.
        needs_alignment: bool = causal and keys.mask != queries.mask
        for option in ("rope", "window"):
            if (
                needs_alignment
                and (rotary if option == "rope" else layer.options[option]) is not None
            ):
                message = (
                    f"{option} needs causal queries that are padded in the same way as their keys"
                )
                layer.fail("NNM411", message, at=option, hint="give all rows equal lengths")
        mask_scores = partial(_mask_scores, b, keys, queries, needs_alignment)
        causal = causal and not needs_alignment
    cache = token_cache(b, keys)
    kept = token_cache(b, queries) if cache is None else None
    if cache is not None and queries.sequence != keys.sequence:
        layer.fail(
            "NNM411",
            f'"{queries.sequence}" attends to "{keys.sequence}", which is generated token by token',
        )
    mask = layer.tensors.get("mask")
    numbers = {} if cache is not None else _token_numbers(b, layer, queries)  # a cache has its own
    if cache is not None and mask is not None and mask.sequence == keys.sequence and not mask.rank:
        mask = None  # a cache holds only keys that count
    if cache is not None and (not causal or mask is not None or mask_scores is not None):
        message = "only causal attention without a mask can continue a text token by token"
        layer.fail("NNM411", message, at="mask", hint="write causal=true")
    if kept is not None and causal:
        message = f'the text grows token by token, but "{keys.sequence}" does not'
        layer.fail("NNM411", message, at="causal", hint="leave causal=true out")
    result = attention(
        b,
        queries.tensor,
        keys.tensor,
        value_tokens.tensor,
        None if mask is None else _mask(b, mask, queries),
        heads=layer.options["heads"],
        kv_heads=layer.options["kv_heads"],
        causal=causal,
        rotary=rotary,
        window=layer.options["window"],
        scale=layer.options["scale"],
        softcap=layer.options["softcap"],
        slopes=slopes_option(layer.options["alibi"], layer.options["heads"]),
        relative=None if table is None else table.tensor,
        max_distance=layer.options["max_distance"],
        grid=(
            None
            if height_table is None or width_table is None
            else (height_table.tensor, width_table.tensor)
        ),
        distances=_get_tensors(*distances),
        nearby=_get_tensors(*nearby),
        sinks=layer.tensors["sinks"].tensor if "sinks" in layer.tensors else None,
        gates=None if gates is None else gates.canonical().tensor,
        **numbers,
        drop=partial(_drop_weights, b, layer),
        limit=mask_scores,
        cache=cache,
        kept=kept,
    )
    if "o" in layer.tensors:
        result = _affine(b, layer, "o", result, layer.tensors["o"])
    result = queries.with_tensor(result).canonical()
    if queries.mask is None and keys.mask is not None and keys.sequence == queries.sequence:
        # Unpadded queries must not inherit the padding of keys along the same sequence.
        mask = all_valid(b, keys.mask.shape[0], result.size("sequence"))
        return replace(result, mask=mask)
    return result


def _get_tensors(keys: LayoutTensor | None, other: LayoutTensor | None) -> Tables:
    return None if keys is None else keys.tensor, None if other is None else other.tensor


def _mask_scores(
    b: Builder, keys: LayoutTensor, queries: LayoutTensor, needs_alignment: bool, scores: Tensor
) -> Any:
    """Hide padded keys from queries, and if `needs_alignment`, later keys in rows of any length.

    Rows are aligned at their last valid token: query i sees key j if j − i is at most the number of
    valid keys less the number of valid queries.
    """
    batch, (length, tokens) = scores.shape[0], scores.shape[-2:]
    middle = (1,) * (scores.rank - 3)
    if needs_alignment:
        ahead = b.constant([j - i for i in range(length) for j in range(tokens)], "float32")
        valid_counts = [_count_valid(b, value) for value in (keys, queries)]
        padding_difference = b.reshape(
            valid_counts[0] - valid_counts[1], new_shape=(batch, *middle, 1, 1)
        )
        later = b.greater(b.reshape(ahead, new_shape=(length, tokens)), padding_difference)
        scores = scores + b.cast(later, type="float32") * MASKED["float32"]
    if keys.mask is None:
        return scores
    seen = b.reshape(is_valid(b, keys.mask), new_shape=(batch, *middle, 1, tokens))
    return b.where(seen, scores, b.constant(extremes("float32")[0], "float32"))


def _count_valid(b: Builder, value: LayoutTensor) -> Any:
    """Return the number of valid tokens in each row."""
    if value.mask is not None:
        return lengths(b, value.mask)
    return b.constant([float(value.tensor.shape[-2])], "float32")


def _drop_weights(b: Builder, layer: BuildView, weights: Tensor) -> Tensor:
    return apply_dropout(b, layer, weights, layer.options["dropout"])


def _apply_projection(
    b: Builder, layer: BuildView, slot: str, source: LayoutTensor
) -> LayoutTensor:
    value = by_token(source)
    if slot not in layer.parameters:
        return value
    weight = layer.operands[1 + PROJECTED.index(slot)]
    return value.with_tensor(_affine(b, layer, slot, value.tensor, weight))


def _affine(b: Builder, layer: BuildView, slot: str, x: Tensor, weight: LayoutTensor) -> Any:
    product = b.matmul(x, weight.tensor)
    bias = layer.tensors.get(f"{slot}_bias")
    return product if bias is None else product + bias.tensor


def _mask(b: Builder, value: LayoutTensor, queries: LayoutTensor) -> Any:
    """Return a mask in a shape that broadcasts to `[batch, …, heads, queries, keys]`."""
    value = value.canonical()
    if "batch" not in value.layout:
        return value.tensor
    batch, *inner = value.tensor.shape
    between = queries.tensor.rank - len(inner)
    return b.reshape(value.tensor, new_shape=(batch, *(1,) * between, *inner))


def _token_numbers(b: Builder, layer: BuildView, queries: LayoutTensor) -> dict[str, Any]:
    """Return the numbers per token, in shapes that broadcast to `[batch, …, tokens]`."""
    numbers: dict[str, Any] = {}
    for name in TOKEN_NUMBERS:
        if name in layer.tensors:
            value = layer.tensors[name].canonical().tensor
            *batch, tokens = value.shape
            between = (1,) * (queries.tensor.rank - 3) if batch else ()
            numbers[OPERANDS.get(name, name)] = b.reshape(
                value, new_shape=(*batch, *between, tokens)
            )
    return numbers
