"""Positions of tokens: a learnt table, or fixed waves."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.rules import same_shape, tensor_options
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor
from webnnm.ops.declare.token_cache import token_cache
from webnnm.ops.declare.tokens import by_token, require_tokens
from webnnm.ops.embedding import SIZE, infer_table

BASE = 10000.0
"""Wavelengths range from 2π to nearly 2π times this."""


def rates(size: int, base: float) -> list[float]:
    """Return how far the angle of each pair of features advances from one token to the next."""
    return [base ** (-2 * pair / size) for pair in range((size + 1) // 2)]


@lru_cache(maxsize=16)
def _waves(length: int, size: int, base: float) -> array[float]:
    checks.check_amount(length * size, f"{length} positions of {size} features")
    # Double precision: angles grow with the length, and their sines inherit their error.
    turns = rates(size, base)

    def row(position: int) -> Iterable[float]:
        pairs = ((math.sin(position * turn), math.cos(position * turn)) for turn in turns)
        return [number for pair in pairs for number in pair][:size]

    return array("d", [number for position in range(length) for number in row(position)])


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    require_tokens(layer, layer.input)


def _embedding_shape(layer: ShapeView) -> None:
    _shape(layer)
    source, table = layer.operands
    infer_table(layer, table, source.dims[-1] if source.dims else None)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source, *tables = layer.operands
    x = by_token(source)
    operands: list[Any] = [x.tensor, *(table.tensor for table in tables)]
    options: dict[str, Any] = tensor_options(layer)
    cache = token_cache(b, source)
    if cache is None:
        result = b.apply(layer.operator, operands, options)
    else:
        rows = _rows(b, operands, cache.length, **options)
        batch, *middle, length, size = x.tensor.shape
        shape = (batch, *(1 for _ in middle), length, size)
        result = x.tensor + b.reshape(b.gather(rows, cache.positions, axis=0), new_shape=shape)
    return x.with_tensor(result).reorder(source.layout)


def _rows(b: Builder, operands: Sequence[Any], length: int, base: float = BASE) -> Any:
    """Return what is added at each position: rows of a table, or waves."""
    x, *tables = operands
    size = x.shape[-1]
    return tables[0] if tables else b.constant(_waves(length, size, base), x.dtype, (length, size))


@declare_composite(
    "positionalEmbedding",
    summary="x plus, for each token, the row of a table at its position",
    ranks={"x": (2, None), "table": (2, 2)},
    layer=LayerRules(
        slots=(TensorSlot(name="table", parameter="table"),),
        options=SIZE,
        shape=_embedding_shape,
        build=_build,
    ),
    traits=("positional",),
    samples=(sample((2, 3), (2, 3)), sample((2, 3, 4), (5, 4))),
)
def positional_embedding(b: Builder, x: Tensor, table: Tensor) -> Tensor:
    """Add the first rows of the table."""
    *_, length, size = x.shape
    rows, columns = table.shape
    if columns != size:
        raise OperatorError("NNM404", f"{size} features, table {show(table.shape)}")
    if length > rows:
        message = f"{length} tokens, but the table of positions has {rows} rows"
        raise OperatorError("NNM711", message, "shorten the sequence, or raise size=")
    if length < rows:
        table = b.slice(table, starts=(0, 0), sizes=(length, columns))
    return x + table


@declare_composite(
    "positionalEncoding",
    summary="x plus sines and cosines of each token's position",
    ranks=(2, None),
    checks={"base": checks.positive},
    layer=LayerRules(shape=_shape, build=_build),
    traits=("positional",),
    samples=(sample((3, 4)), sample((2, 3, 5), base=100)),
)
def positional_encoding(b: Builder, x: Tensor, *, base: float = BASE) -> Tensor:
    """Add sin(t/base^(2i/F)) at features 2i and cos at 2i + 1 of token t."""
    *_, length, size = x.shape
    return x + b.constant(_waves(length, size, base), x.dtype, (length, size))
