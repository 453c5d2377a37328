"""Attention: means of values, weighted by how well keys match a query (spec C.9)."""

from __future__ import annotations

from webnnm.ops.declare import checks, values
from webnnm.ops.declare.attention import attention
from webnnm.ops.declare.attention_layer import build_attention, list_biases
from webnnm.ops.declare.attention_options import (
    PROJECTED,
    check_alibi,
    check_optional_count,
    check_optional_positive,
    check_rope,
    read_alibi,
    read_biased,
    read_dropout_rate,
    read_rope,
    slopes_option,
)
from webnnm.ops.declare.attention_shapes import (
    DISTANCES,
    GRID,
    NEARBY,
    TOKEN_NUMBERS,
    infer_attention,
)
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.layer import LayerRules, TensorSlot, ValueOption
from webnnm.ops.declare.operator import Option, sample
from webnnm.ops.declare.relative import MAX_DISTANCE
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor
from webnnm.ops.rotary import Rotary, Turns

NUMBERS = ("segments", "positions", "global_keys")
"""Operands with a number for each token."""


@declare_composite(
    "attend",
    summary="attention: softmax(Q·Kᵀ/√size + M)·V in each head",
    types={"mask": "any", **dict.fromkeys(NUMBERS, "integer")},
    ranks={
        **dict.fromkeys(PROJECTED, (2, None)),
        **dict.fromkeys(("mask", *NUMBERS), (1, None)),
        **dict.fromkeys(("relative_bias", "relative_height", "relative_width"), (2, 2)),
        **dict.fromkeys(("relative_keys", "relative_queries"), (2, 2)),
        "sinks": (1, 1),
        "relative_gates": (2, None),
        **dict.fromkeys(("near_keys", "near_values"), (2, 2)),
    },
    checks={"heads": checks.integer(1), "rotary_factor": checks.positive},
    options={
        "kv_heads": Option(None, check_optional_count),
        "rope": Option(False, check_rope),
        "window": Option(None, check_optional_count),
        "scale": Option(None, check_optional_positive),
        "rotary_size": Option(None, check_optional_count),
        "softcap": Option(None, check_optional_positive),
        "alibi": Option(False, check_alibi),
        "max_distance": Option(MAX_DISTANCE, checks.integer(1)),
    },
    layer=LayerRules(
        slots=(
            *(TensorSlot(name=slot, parameter="projection") for slot in PROJECTED),
            TensorSlot(name="o", parameter="projection", option=True, optional=True),
            TensorSlot(name="to", option=True, optional=True, aside=True),
            TensorSlot(name="mask", option=True, optional=True, promotes=False),
            TensorSlot(name="relativeBias", parameter="table", option=True, optional=True),
            *(
                TensorSlot(name=name, parameter="table", option=True, optional=True)
                for name in GRID
            ),
            *(
                TensorSlot(name=name, option=True, optional=True, promotes=False)
                for name in TOKEN_NUMBERS
            ),
            *(
                TensorSlot(name=name, parameter="table", option=True, optional=True)
                for name in DISTANCES
            ),
            TensorSlot(name="sinks", parameter="zeros", option=True, optional=True),
            TensorSlot(name="relativeGates", option=True, optional=True),
            *(
                TensorSlot(name=name, parameter="table", option=True, optional=True)
                for name in NEARBY
            ),
        ),
        options={
            "kv_heads": ValueOption(read=values.integer(1)),
            "head_size": ValueOption(read=values.integer(1)),
            "value_size": ValueOption(read=values.integer(1)),
            "rope": ValueOption(read=read_rope, words=values.BOOLEANS),
            "window": ValueOption(read=values.integer(1)),
            "scale": ValueOption(read=values.positive),
            "rotary_size": ValueOption(read=values.integer(1)),
            "rotary_factor": ValueOption(read=values.positive, default=1.0),
            "interleaved": ValueOption(read=values.boolean, default=False, words=values.BOOLEANS),
            "softcap": ValueOption(read=values.positive),
            "alibi": ValueOption(read=read_alibi, default=False, words=values.BOOLEANS),
            "max_distance": ValueOption(read=values.integer(1), default=MAX_DISTANCE),
            "dropout": ValueOption(read=read_dropout_rate, default=0.0),
            "bias": ValueOption(read=read_biased, default=(), words=values.BOOLEANS),
        },
        implicit=list_biases,
        shape=infer_attention,
        build=build_attention,
    ),
    samples=(
        sample((3, 4), (3, 4), (3, 4)),
        sample((2, 3, 4), (2, 5, 4), (2, 5, 4), heads=2),
        sample((2, 3, 8), (2, 5, 4), (2, 5, 4), heads=4, kv_heads=2, causal=True),
        sample((2, 4, 4), (2, 4, 4), (2, 4, 4), heads=2, causal=True, rope=True),
        sample((3, 4), (2, 4), (2, 6), (3, 2), rope=100.0),
        sample((3, 4), (3, 4), (3, 4), rope=(1.0, 0.25)),
        sample((3, 2), (5, 2), (5, 2), causal=True, window=2),
        sample((4, 2), (4, 2), (4, 2), window=2),
        sample((2, 4), (5, 4), (5, 4), None, (4, 2), heads=2, scale=1.0, max_distance=3),
        sample((3, 2), (3, 2), (3, 2), None, (2, 1), causal=True, max_distance=4),
        sample((2, 6, 4), (2, 6, 4), (2, 6, 4), None, None, (3, 2), (5, 2), heads=2),
        sample(
            (2, 3, 4),
            (2, 2, 4),
            (2, 2, 4),
            (2, 1, 1, 2),
            values=(None, None, None, [[[[1, 0]]], [[[1, 1]]]]),
            dtypes=("float32", "float32", "float32", "uint8"),
            heads=2,
        ),
        sample(
            (1, 4, 4),
            (1, 4, 4),
            (1, 4, 4),
            None,
            None,
            None,
            None,
            (1, 4),
            (1, 4),
            values=(*(None,) * 7, [[1, 1, 2, 0]], [[0, 300, 40000, 0]]),
            dtypes=(*("float32",) * 7, "int32", "int32"),
            heads=2,
            rope=True,
        ),
        sample(
            (2, 5, 4),
            (2, 5, 4),
            (2, 5, 4),
            *(None,) * 6,
            (4, 4),
            (6, 4),
            heads=2,
            max_distance=5,
        ),
        sample((2, 3, 12), (2, 3, 12), (2, 3, 12), heads=2, rope=True, rotary_size=4),
        sample(
            (3, 6), (3, 6), (3, 6), rope=True, rotary_size=4, interleaved=True, rotary_factor=1.5
        ),
        sample((3, 8), (3, 4), (3, 6), heads=2, kv_heads=1, causal=True, alibi=True, softcap=2.0),
        sample(
            *((1, 3, 4),) * 3,
            *(None,) * 5,
            (1, 3),
            None,
            None,
            (2,),
            values=(*(None,) * 8, [[4, 5, 7]], None, None, None),
            dtypes=(*("float32",) * 8, "int32", *("float32",) * 3),
            heads=2,
            causal=True,
            alibi=(0.5, 0.125),
        ),
        sample(
            *((2, 3, 4),) * 3,
            None,
            (4, 2),
            *(None,) * 7,
            (2, 3, 2),
            heads=2,
            max_distance=3,
        ),
        sample(*((2, 4, 4),) * 3, *(None,) * 10, (3, 2), (5, 2), heads=2),
        sample((2, 4), (2, 4), (2, 6), *(None,) * 10, (7, 2), (3, 3), heads=2),
        sample(
            *((2, 5, 4),) * 3,
            *(None,) * 12,
            (2, 5),
            values=(*(None,) * 15, [[0, 0, 0, 0, 1], [0, 0, 0, 0, 0]]),
            dtypes=(*("float32",) * 15, "int32"),
            heads=2,
            window=2,
        ),
    ),
)
def attend(
    b: Builder,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    relative_bias: Tensor | None = None,
    relative_height: Tensor | None = None,
    relative_width: Tensor | None = None,
    segments: Tensor | None = None,
    positions: Tensor | None = None,
    relative_keys: Tensor | None = None,
    relative_queries: Tensor | None = None,
    sinks: Tensor | None = None,
    relative_gates: Tensor | None = None,
    near_keys: Tensor | None = None,
    near_values: Tensor | None = None,
    global_keys: Tensor | None = None,
    *,
    heads: int = 1,
    kv_heads: int | None = None,
    causal: bool = False,
    rope: Turns | None = None,
    rotary_size: int | None = None,
    rotary_factor: float = 1.0,
    interleaved: bool = False,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    alibi: bool | tuple[float, ...] = False,
    max_distance: int = MAX_DISTANCE,
) -> Tensor:
    """Attend with operands `[…, tokens, heads · size]` and a mask for `[…, heads, q, k]`.

    With a window, causal queries see that many keys, the last one being that of their own token;
    others see as many on either side of their own token, which counts for both.
    `relative_bias [buckets, heads]` has an entry for the distance of two tokens, which is added to
    their score. If the tokens are the cells of a grid, row by row, the products of a query with the
    rows of `relative_height [2 · height − 1, size]` and `relative_width [2 · width − 1, size]` for
    the distance are added. `segments` and `positions` are numbers `[…, tokens]`: a query sees keys
    of its own segment, but none of segment 0, and `rope` rotates by `positions`, not by 0, 1, 2, …
    `relative_keys` and `relative_queries [2 · span, heads · size]` are keys and queries of
    distances, of which each pair of tokens has one: the product of its query with the key of the
    distance is added, and that of the query of the distance with its key.
    If only the first `rotary_size` features of each head rotate, the others do not depend on
    positions; pairs of features are (i, i + size/2), or (2i, 2i + 1) if they are `interleaved`;
    `rotary_factor` multiplies cosines and sines. With a `softcap` c, products p of queries and keys
    become c·tanh(p/c). `alibi` adds to causal scores a negative bias that is proportional to the
    distance, with slopes that follow from the number of heads or are given. `sinks [heads]` are the
    scores of one more key, which takes a share of the weights and has no value. `relative_gates
    […, tokens, heads]` multiply, for each query, what `relative_bias` adds to its scores.
    `near_keys` and `near_values [2 · window + 1, size]` have a key and a value for each distance of
    a key from its query, from −window to window, which are added to those of the key in all heads.
    `global_keys […, tokens]` are not 0 for keys that all queries see, whatever the window.
    """
    grid = None
    if relative_height is not None or relative_width is not None:
        if relative_height is None or relative_width is None:
            raise OperatorError("NNM302", "one of the tables of a grid is missing")
        grid = relative_height, relative_width
    return attention(
        b,
        q,
        k,
        v,
        mask,
        heads=heads,
        kv_heads=kv_heads,
        causal=causal,
        rotary=None if rope is None else Rotary(rope, rotary_size, interleaved, rotary_factor),
        window=window,
        scale=scale,
        softcap=softcap,
        slopes=slopes_option(alibi, heads),
        relative=relative_bias,
        max_distance=max_distance,
        grid=grid,
        distances=(relative_keys, relative_queries),
        nearby=(near_keys, near_values),
        segments=segments,
        positions=positions,
        global_keys=global_keys,
        sinks=sinks,
        gates=relative_gates,
    )
