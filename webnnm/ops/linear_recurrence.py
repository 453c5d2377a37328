"""Linear recurrences of tokens: each feature fades by a factor of its own, and something is added.

Sources: A. Gu, T. Dao, "Mamba: Linear-time sequence modeling with selective state spaces",
arXiv:2312.00752 (2023), equation 2a; the parallel form is that of W. D. Hillis, G. L. Steele, "Data
parallel algorithms" (Communications of the ACM 29, 1986).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor
from webnnm.ops.declare.token_cache import token_cache
from webnnm.ops.declare.token_segments import infer_segments, segment_numbers
from webnnm.ops.declare.tokens import by_token, require_tokens


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    require_tokens(layer, layer.input)
    factors = layer.operands[1]
    size = layer.input.dims[-1] if layer.input.dims else None
    try:
        factors.unify([size])
    except Conflict:
        layer.fail("NNM401", f"x {layer.input}, factors {factors}", at="factors")
    if factors.sequence != layer.input.sequence:
        message = f'factors along "{factors.sequence}", not "{layer.input.sequence}"'
        layer.fail("NNM411", message, at="factors")
    infer_segments(layer)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    x, factors = (by_token(operand) for operand in layer.operands)
    cache = token_cache(b, source)
    if cache is None:
        operands = [x.tensor, factors.tensor, segment_numbers(b, layer, x)]
        result = b.apply(layer.operator, operands, {})
    else:
        history = cache.prepend_earlier(x.tensor, 1, partial(_continue, b, factors.tensor))
        starts = (*(0 for _ in x.tensor.shape[:-2]), 1, 0)
        result = b.slice(history, starts=starts, sizes=x.tensor.shape)
    return x.with_tensor(result).reorder(source.layout)


def _continue(b: Builder, factors: Tensor, history: Tensor) -> Any:
    """Return the states of tokens, of which the first is one before them."""
    return _scan(b, history, _shift(b, factors, 1, longer=True))


@declare_composite(
    "linearRecurrence",
    summary="y(t) = factor(t)·y(t − 1) + x(t) along tokens, for each feature",
    types={"segments": "integer"},
    ranks={"x": (2, None), "factors": (2, None), "segments": (1, None)},
    layer=LayerRules(
        slots=(
            TensorSlot(name="factors"),
            TensorSlot(name="segments", option=True, optional=True, promotes=False),
        ),
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((4, 3), (4, 3)),
        sample((2, 5, 2), (2, 5, 2)),
        sample(
            (1, 6, 2),
            (1, 6, 2),
            (1, 6),
            values=(None, None, [[0, 1, 1, 1, 2, 2]]),
            dtypes=("float32", "float32", "int32"),
        ),
    ),
)
def linear_recurrence(
    b: Builder, x: Tensor, factors: Tensor, segments: Tensor | None = None
) -> Tensor:
    """Return y with y(t) = factors(t)·y(t − 1) + x(t), for `x` and `factors […, tokens, features]`.

    Before the first token y is 0. With `segments […, tokens]` it is 0 before each segment, too, and
    tokens of segment 0 add nothing.
    """
    if factors.shape != x.shape:
        raise OperatorError("NNM401", f"x {show(x.shape)}, factors {show(factors.shape)}")
    if segments is None:
        return _scan(b, x, factors)
    own: Any = segments if segments.dtype == x.dtype else b.cast(segments, type=x.dtype)
    column = b.reshape(own, new_shape=(*own.shape, 1))
    counts = b.cast(b.not_equal(column, 0.0), type=x.dtype)
    if x.shape[-2] > 1:
        factors = factors * b.cast(b.equal(_shift(b, column, 1), column), type=x.dtype)
    return _scan(b, x * counts, factors)


def _scan(b: Builder, x: Any, factors: Any) -> Any:
    """Return all states: each round adds those of twice as many tokens."""
    tokens, offset = x.shape[-2], 1
    while offset < tokens:
        x = x + factors * _shift(b, x, offset)
        offset *= 2
        if offset < tokens:
            factors = factors * _shift(b, factors, offset // 2)
    return x


def _shift(b: Builder, x: Tensor, offset: int, *, longer: bool = False) -> Any:
    """Return x behind zeros for `offset` tokens, as long as x, or `longer` by them."""
    *lead, tokens, features = x.shape
    zeros = b.expand(b.constant(0, x.dtype), new_shape=(*lead, offset, features))
    if longer:
        return b.concat([zeros, x], axis=x.rank - 2)
    sizes = (*lead, tokens - offset, features)
    return b.concat([zeros, b.slice(x, starts=(0,) * x.rank, sizes=sizes)], axis=x.rank - 2)
