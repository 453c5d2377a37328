"""The shapes of attention: its projections, masks, tables and numbers per token."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare.attention import require_causal, require_same_tokens
from webnnm.ops.declare.attention_options import PROJECTED, rotary_option, slopes_option
from webnnm.ops.declare.features import Conflict, Features
from webnnm.ops.declare.grid_positions import grid_sizes
from webnnm.ops.declare.layer import ShapeView
from webnnm.ops.declare.linear_bias import require_slopes
from webnnm.ops.declare.tokens import require_tokens
from webnnm.ops.rotary import require_pairs

TOKEN_NUMBERS = ("segments", "positions", "globalKeys")
"""Operands with one number per token."""
GRID = ("relativeHeight", "relativeWidth")
"""Tables of embeddings by relative position in a grid: both are given, or neither."""
DISTANCES = ("relativeKeys", "relativeQueries")
"""Keys and queries of distances, in place of those of tokens."""
NEARBY = ("nearKeys", "nearValues")
"""Keys and values of nearby distances, which are the same in all heads."""


def sources_of(layer: Any) -> list[Any]:
    """Return the sources of queries, keys and values: operands, or what they are projected from."""
    source, *operands = layer.operands
    context = layer.tensors.get("to", source)
    return [
        base if slot in layer.parameters else operand
        for slot, operand, base in zip(PROJECTED, operands, (source, context, context), strict=True)
    ]


def infer_attention(layer: ShapeView) -> None:
    """Infer the shapes of parameters and result, and of operands whose shape is open."""
    sources: list[Features] = sources_of(layer)
    same = "to" not in layer.tensors and sources[0].sequence == sources[1].sequence
    require_same_tokens(layer.options["window"], layer.options["causal"], same=same)
    slopes = slopes_option(layer.options["alibi"], layer.options["heads"])
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
    _check_gates(layer, queries)
    widths = _widths(layer, queries)
    if widths is None:
        return
    _check_grid(layer, queries, widths[0] // layer.options["heads"])
    _check_distances(layer, widths)
    _infer_nearby(layer, widths)
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


def _check_gates(layer: ShapeView, queries: Features) -> None:
    """Raise NNM302, NNM404 or NNM411 for gates of other tokens, or of other heads."""
    gates, heads = layer.tensors.get("relativeGates"), layer.options["heads"]
    if gates is None:
        return
    if "relativeBias" not in layer.tensors:
        message = "relativeGates multiply a relativeBias, but there is none"
        layer.fail("NNM302", message, at="relativeGates")
    if gates.sequence != queries.sequence:
        message = f'gates along "{gates.sequence}", tokens along "{queries.sequence}"'
        layer.fail("NNM411", message, at="relativeGates")
    assert queries.dims is not None
    try:
        gates.unify([*queries.dims[:-1], heads])
    except Conflict:
        message = f"gates {gates} are not a number for each of {heads} heads"
        layer.fail("NNM404", message, at="relativeGates")


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


def _infer_nearby(layer: ShapeView, widths: tuple[int, int, int]) -> None:
    """Infer that keys and values of nearby distances have the size of a head."""
    heads, kv_heads = layer.options["heads"], _kv_heads(layer)
    for name, size in zip(NEARBY, (widths[0] // heads, widths[2] // kv_heads), strict=True):
        table = layer.tensors.get(name)
        if table is None:
            continue
        if "to" in layer.tensors:
            layer.fail("NNM304", "there is no distance between tokens of two sequences", at=name)
        try:
            table.unify([None, size])
        except Conflict:
            message = f"the table {table} needs {size} columns, the size of a head"
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
    rotary = rotary_option(layer.options)
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
