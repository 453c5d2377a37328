"""Attention: means of values, weighted by how well keys match a query (spec C.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from webnnm.core.shapes import show
from webnnm.notation.syntax import Items, Number, Value
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.attention import (
    MASKED,
    attention,
    require_causal,
    require_same_tokens,
)
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.disentangled import Tables
from webnnm.ops.declare.features import Conflict, Features
from webnnm.ops.declare.grid_positions import grid_sizes
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.linear_bias import default_slopes, require_slopes
from webnnm.ops.declare.operator import Option, sample
from webnnm.ops.declare.padding import all_valid, extremes, is_valid, lengths
from webnnm.ops.declare.relative import MAX_DISTANCE
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.declare.token_cache import token_cache
from webnnm.ops.declare.tokens import by_token, require_tokens
from webnnm.ops.dropout import apply_dropout
from webnnm.ops.positions import BASE
from webnnm.ops.rotary import Rotary, Turns, require_pairs

PROJECTED = ("q", "k", "v")
TOKEN_NUMBERS = ("segments", "positions")
"""Operands with one number per token."""
GRID = ("relativeHeight", "relativeWidth")
"""Tables of embeddings by relative position in a grid: both are given, or neither."""
DISTANCES = ("relativeKeys", "relativeQueries")
"""Keys and queries of distances, in place of those of tokens."""


def _check_rope(value: Any, *_: TensorType) -> Turns | None:
    """Accept a truth value, the base of the angles or the rates of all pairs; None if false."""
    if value is None or isinstance(value, bool):
        return BASE if value else None
    if isinstance(value, (list, tuple)):
        return tuple(map(checks.positive, cast("Sequence[Any]", value)))
    return checks.positive(value)


def _check_optional_count(value: Any, *_: TensorType) -> int | None:
    return None if value is None else checks.integer(1)(value)


def _check_alibi(value: Any, *_: TensorType) -> bool | tuple[float, ...]:
    """Accept a truth value, or the slopes of all heads."""
    if isinstance(value, (list, tuple)):
        return tuple(map(checks.positive, cast("Sequence[Any]", value)))
    return checks.boolean(value)


def _check_optional_positive(value: Any, *_: TensorType) -> float | None:
    return None if value is None else checks.positive(value)


def _read_rope(value: Value) -> Turns | None:
    if isinstance(value, Items):
        return tuple(map(values.positive, value.items))
    if isinstance(value, Number):
        return values.positive(value)
    return BASE if values.boolean(value) else None


def _read_alibi(value: Value) -> bool | tuple[float, ...]:
    """Read whether there are linear biases, or the slopes of all heads."""
    if isinstance(value, Items):
        return tuple(map(values.positive, value.items))
    return values.boolean(value)


def _slopes(alibi: bool | tuple[float, ...], heads: int) -> tuple[float, ...] | None:
    """Return the slopes of all heads, None if there are no linear biases."""
    if isinstance(alibi, tuple):
        return alibi
    return default_slopes(heads) if alibi else None


def _rotary(options: Mapping[str, Any]) -> Rotary | None:
    """Return how queries and keys rotate."""
    if options["rope"] is None:
        return None
    return Rotary(
        options["rope"], options["rotary_size"], options["interleaved"], options["rotary_factor"]
    )


def _read_biased(value: Value) -> tuple[str, ...]:
    """Read whether all projections have a bias, or a list of the ones that do."""
    if isinstance(value, Items):
        read = values.choice(*PROJECTED, "o")
        return tuple(read(item) for item in value.items)
    return (*PROJECTED, "o") if values.boolean(value) else ()


def _read_dropout_rate(value: Value) -> float:
    share = values.number(value)
    if not 0 <= share < 1:
        raise ValueError(f"{share} must be at least 0 and less than 1")
    return share


# In the notation, an operand that is a parameter is a projection matrix; any other is a tensor that
# is projected already.


def _implicit(options: Mapping[str, Any], names: Mapping[str, str]) -> Sequence[TensorSlot]:
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


def _sources(layer: Any) -> list[Any]:
    """Return the sources of queries, keys and values: operands, or what they are projected from."""
    source, *operands = layer.operands
    context = layer.tensors.get("to", source)
    return [
        base if slot in layer.parameters else operand
        for slot, operand, base in zip(PROJECTED, operands, (source, context, context), strict=True)
    ]


def _shape(layer: ShapeView) -> None:
    sources: list[Features] = _sources(layer)
    same = "to" not in layer.tensors and sources[0].sequence == sources[1].sequence
    require_same_tokens(layer.options["window"], layer.options["causal"], same=same)
    slopes = _slopes(layer.options["alibi"], layer.options["heads"])
    require_causal(slopes, layer.options["causal"])
    if slopes is not None:
        require_slopes(slopes, layer.options["heads"])
    if any(source.dims is None for source in sources):
        return
    for source in sources:
        require_tokens(layer, source)
    queries, keys, value_tokens = sources
    if keys.sequence != value_tokens.sequence:
        message = f'keys along "{keys.sequence}", values along "{value_tokens.sequence}"'
        layer.fail("NNM411", message)
    _check_mask(layer, queries, keys)
    _check_token_numbers(layer, queries, keys)
    _infer_distances(layer)
    _infer_sinks(layer)
    widths = _widths(layer, queries)
    if widths is None:
        return
    _check_grid(layer, queries, widths[0] // layer.options["heads"])
    _check_distances(layer, widths)
    for slot, source, width in zip(PROJECTED, sources, widths, strict=True):
        _infer_projection(layer, slot, source, width)
    width, names = widths[2] * layer.options["heads"] // _kv_heads(layer), [None]
    if "o" in layer.tensors:
        width = _infer_output(layer, width)
        names = list(layer.tensors["o"].names[-1:])
    assert queries.dims is not None
    dims = [*queries.dims[:-1], width]
    try:
        layer.result.unify(dims)
    except Conflict:
        layer.fail("NNM402", f"declared {layer.result}, inferred {show(dims)}", at="shape")
    layer.result.set_names([*queries.names[:-1], names[0] or "features"])
    layer.result.set_sequence(queries.sequence)


def _infer_distances(layer: ShapeView) -> None:
    """Infer that a table of distances has one column per head."""
    table, heads = layer.tensors.get("relativeBias"), layer.options["heads"]
    if table is not None:
        try:
            table.unify([None, heads])
        except Conflict:
            layer.fail(
                "NNM404",
                f"the table {table} needs a column for each of {heads} heads",
                at="relativeBias",
            )


def _infer_sinks(layer: ShapeView) -> None:
    """Infer that there is a sink for each head."""
    sinks, heads = layer.tensors.get("sinks"), layer.options["heads"]
    if sinks is not None:
        try:
            sinks.unify([heads])
        except Conflict:
            layer.fail("NNM404", f"sinks {sinks} for {heads} heads", at="sinks")


def _kv_heads(layer: ShapeView) -> int:
    return layer.options["kv_heads"] or layer.options["heads"]


def _check_grid(layer: ShapeView, queries: Features, size: int) -> None:
    """Raise NNM304 or NNM404 for tables of distances that do not match the tokens."""
    tables = [layer.tensors[name] for name in GRID if name in layer.tensors]
    if not tables:
        return
    if "to" in layer.tensors:
        layer.fail("NNM304", "there is no distance between cells of two grids", at="to")
    if len(tables) < 2 or queries.sequence is not None or not queries.dims:
        message = "relativeHeight and relativeWidth need all tokens of one grid, without a sequence"
        layer.fail("NNM304", message)
    for name, table in zip(GRID, tables, strict=True):
        try:
            table.unify([None, size])
        except Conflict:
            layer.fail(
                "NNM404", f"the table {table} needs {size} columns, the size of a head", at=name
            )
    tokens, (height, width) = queries.dims[-2], (table.dims or [None] for table in tables)
    if tokens is not None and height[0] is not None and width[0] is not None:
        grid_sizes((height[0], size), (width[0], size), tokens, size)


def _check_distances(layer: ShapeView, widths: tuple[int, int, int]) -> None:
    """Raise NNM304, NNM404 or NNM405 for keys and queries of distances that do not match."""
    for name in DISTANCES:
        table = layer.tensors.get(name)
        if table is None:
            continue
        if "to" in layer.tensors:
            layer.fail("NNM304", "there is no distance between tokens of two sequences", at=name)
        if table.sequence is not None:
            layer.fail("NNM304", f"{name} are one table for all tokens", at=name)
        if widths[0] != widths[1]:
            layer.fail("NNM304", "distances need a key for each head", at=name)
        try:
            table.unify([None, widths[0]])
        except Conflict:
            message = f"the table {table} needs {widths[0]} columns, those of all heads"
            layer.fail("NNM404", message, at=name)


def _widths(layer: ShapeView, queries: Features) -> tuple[int, int, int] | None:
    """Return the number of features of queries, keys and values over all heads."""
    heads: int = layer.options["heads"]
    kv_heads = _kv_heads(layer)
    if heads % kv_heads:
        layer.fail(
            "NNM406",
            f"{heads} heads are not a multiple of {kv_heads} key and value heads",
            at="kv_heads",
        )
    size: int | None = layer.options["head_size"]
    if size is None:
        # Declared queries define their own size; new ones keep that of the input.
        declared = layer.operands[1]
        width = (declared.dims or [None])[-1] or (queries.dims or [None])[-1]
        if width is None:
            return None
        if width % heads:
            layer.fail(
                "NNM406", f"{width} features cannot be divided among {heads} heads", at="heads"
            )
        size = width // heads
    rotary = _rotary(layer.options)
    if rotary is not None:
        require_pairs(size, rotary)
    return heads * size, kv_heads * size, kv_heads * (layer.options["value_size"] or size)


def _infer_projection(layer: ShapeView, slot: str, source: Features, width: int) -> None:
    """Infer a projection and its source, or a projected operand, from each other."""
    assert source.dims is not None
    last = len(source.dims) - 1
    try:
        if slot in layer.parameters:
            weight = layer.operands[1 + PROJECTED.index(slot)]
            weight.unify([source.dims[last], width])
            source.unify_size(last, (weight.dims or [None])[0])
            _infer_bias(layer, slot, width)
        else:
            source.unify_size(last, width)
    except Conflict:
        projection = layer.operands[1 + PROJECTED.index(slot)]
        message = (
            f"{source.dims[last]} features to {width} in all heads, but {slot} is {projection}"
        )
        layer.fail("NNM404", message, at=slot)


def _infer_output(layer: ShapeView, width: int) -> int | None:
    """Infer the shape of the output projection; return the number of features it yields."""
    weight, result, source = layer.tensors["o"], layer.result, layer.input
    declared = (weight.dims or [None])[-1] or (result.dims or [None])[-1]
    out = declared or (source.dims or [None])[-1]
    try:
        weight.unify([width, out])
    except Conflict:
        layer.fail("NNM404", f"{width} features in all heads, but o is {weight}", at="o")
    _infer_bias(layer, "o", out)
    return out


def _infer_bias(layer: ShapeView, slot: str, width: int | None) -> None:
    bias = layer.tensors.get(f"{slot}_bias")
    if bias is not None:
        bias.unify([width])


def _check_mask(layer: ShapeView, queries: Features, keys: Features) -> None:
    """Raise NNM405 or NNM411 for a mask that is neither per key nor per pair, in each head or in
    all."""
    mask = layer.tensors.get("mask")
    if mask is None or mask.rank is None:
        return
    dimensions = mask.rank + (mask.sequence is not None)
    sizes = mask.dims if mask.sequence is None and dimensions > 2 else None
    if sizes is not None and sizes[-3] in (None, 1, layer.options["heads"]):
        return
    if dimensions not in (1, 2):
        message = f"mask {mask} is neither per key, [keys], nor per pair, [queries, keys]"
        hint = f"a mask for each head is [{layer.options['heads']}, queries, keys]"
        layer.fail("NNM405", message, at="mask", hint=hint)
    expected = keys.sequence if dimensions == 1 else queries.sequence
    if mask.sequence not in (None, expected):
        layer.fail("NNM411", f'mask along "{mask.sequence}", tokens along "{expected}"', at="mask")


def _check_token_numbers(layer: ShapeView, queries: Features, keys: Features) -> None:
    """Raise NNM304, NNM405 or NNM411 for numbers that do not match the tokens."""
    for name in TOKEN_NUMBERS:
        numbers = layer.tensors.get(name)
        if numbers is None:
            continue
        if "to" in layer.tensors or keys.sequence != queries.sequence:
            layer.fail("NNM304", f"{name} need queries and keys that are the same tokens", at=name)
        if name == "positions" and layer.options["rope"] is None and not layer.options["alibi"]:
            hint = "write rope=true, or pass them to an embedding"
            layer.fail(
                "NNM304",
                "positions need rope, which rotates queries and keys by them, or alibi",
                at=name,
                hint=hint,
            )
        if numbers.rank is None:
            continue
        if numbers.rank + (numbers.sequence is not None) != 1:
            layer.fail("NNM405", f"{name} {numbers} are not one number per token", at=name)
        if numbers.sequence != queries.sequence:
            message = f'{name} along "{numbers.sequence}", tokens along "{queries.sequence}"'
            layer.fail("NNM411", message, at=name)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    queries, keys, value_tokens = (
        _apply_projection(b, layer, slot, source)
        for slot, source in zip(PROJECTED, _sources(layer), strict=True)
    )
    # Positions of different sequences have nothing to do with each other.
    cross = "to" in layer.tensors or keys.sequence != queries.sequence
    causal, rotary = layer.options["causal"], None if cross else _rotary(layer.options)
    table = layer.tensors.get("relativeBias")
    if table is not None and cross:
        layer.fail(
            "NNM304", "there is no distance between tokens of two sequences", at="relativeBias"
        )
    height_table, width_table = (layer.tensors.get(name) for name in GRID)
    distances = tuple(layer.tensors.get(name) for name in DISTANCES)
    for name, distance in zip(DISTANCES, distances, strict=True):
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
        slopes=_slopes(layer.options["alibi"], layer.options["heads"]),
        relative=None if table is None else table.tensor,
        max_distance=layer.options["max_distance"],
        grid=(
            None
            if height_table is None or width_table is None
            else (height_table.tensor, width_table.tensor)
        ),
        distances=_get_tensors(*distances),
        sinks=layer.tensors["sinks"].tensor if "sinks" in layer.tensors else None,
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


def _get_tensors(keys: LayoutTensor | None, queries: LayoutTensor | None) -> Tables:
    return None if keys is None else keys.tensor, None if queries is None else queries.tensor


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
            numbers[name] = b.reshape(value, new_shape=(*batch, *between, tokens))
    return numbers


@declare_composite(
    "attend",
    summary="attention: softmax(Q·Kᵀ/√size + M)·V in each head",
    types={"mask": "any", "segments": "integer", "positions": "integer"},
    ranks={
        **dict.fromkeys(PROJECTED, (2, None)),
        **dict.fromkeys(("mask", *TOKEN_NUMBERS), (1, None)),
        **dict.fromkeys(("relative_bias", "relative_height", "relative_width"), (2, 2)),
        **dict.fromkeys(("relative_keys", "relative_queries"), (2, 2)),
        "sinks": (1, 1),
    },
    checks={"heads": checks.integer(1), "rotary_factor": checks.positive},
    options={
        "kv_heads": Option(None, _check_optional_count),
        "rope": Option(False, _check_rope),
        "window": Option(None, _check_optional_count),
        "scale": Option(None, _check_optional_positive),
        "rotary_size": Option(None, _check_optional_count),
        "softcap": Option(None, _check_optional_positive),
        "alibi": Option(False, _check_alibi),
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
        ),
        options={
            "kv_heads": ValueOption(read=values.integer(1)),
            "head_size": ValueOption(read=values.integer(1)),
            "value_size": ValueOption(read=values.integer(1)),
            "rope": ValueOption(read=_read_rope, words=values.BOOLEANS),
            "window": ValueOption(read=values.integer(1)),
            "scale": ValueOption(read=values.positive),
            "rotary_size": ValueOption(read=values.integer(1)),
            "rotary_factor": ValueOption(read=values.positive, default=1.0),
            "interleaved": ValueOption(read=values.boolean, default=False, words=values.BOOLEANS),
            "softcap": ValueOption(read=values.positive),
            "alibi": ValueOption(read=_read_alibi, default=False, words=values.BOOLEANS),
            "max_distance": ValueOption(read=values.integer(1), default=MAX_DISTANCE),
            "dropout": ValueOption(read=_read_dropout_rate, default=0.0),
            "bias": ValueOption(read=_read_biased, default=(), words=values.BOOLEANS),
        },
        implicit=_implicit,
        shape=_shape,
        build=_build,
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
    scores of one more key, which takes a share of the weights and has no value.
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
        slopes=_slopes(alibi, heads),
        relative=relative_bias,
        max_distance=max_distance,
        grid=grid,
        distances=(relative_keys, relative_queries),
        segments=segments,
        positions=positions,
        sinks=sinks,
    )
