"""Short convolutions of tokens: each feature mixes those of a few tokens up to its own.

Source: M. Poli et al., "Hyena hierarchy: Towards larger convolutional language models",
arXiv:2302.10866 (2023), section 3.1.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.rules import same_shape, tensor_options
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor
from webnnm.ops.declare.token_cache import token_cache
from webnnm.ops.declare.token_segments import infer_segments, segment_numbers
from webnnm.ops.declare.tokens import by_token, require_tokens


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    require_tokens(layer, layer.input)
    kernel: int = layer.options["kernel"]
    weights = layer.operands[1]
    size = layer.input.dims[-1] if layer.input.dims else None
    try:
        weights.unify([kernel, size])
    except Conflict:
        layer.fail("NNM404", f"{size} features of {kernel} tokens, weights {weights}", at="w")
    infer_segments(layer)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source, weights = layer.operands
    x = by_token(source)
    cache = token_cache(b, source)
    kernel: int = layer.options["kernel"]
    if cache is not None:
        history = cache.prepend_earlier(x.tensor, kernel - 1)
        result = _mix(b, history, weights.tensor)
    else:
        operands = [x.tensor, weights.tensor, segment_numbers(b, layer, x)]
        result = b.apply(layer.operator, operands, tensor_options(layer))
    return x.with_tensor(result).reorder(source.layout)


@declare_composite(
    "shortConv",
    summary="each feature of a token plus those of the tokens before it, times its weights",
    types={"segments": "integer"},
    ranks={"x": (2, None), "w": (2, 2), "segments": (1, None)},
    checks={"kernel": checks.integer(1)},
    layer=LayerRules(
        slots=(
            TensorSlot(name="w", parameter="weight"),
            TensorSlot(name="segments", option=True, optional=True, promotes=False),
        ),
        options={"kernel": ValueOption(read=values.integer(1))},
        shape=_shape,
        build=_build,
    ),
    traits=("product",),
    samples=(
        sample((4, 3), (2, 3), kernel=2),
        sample((2, 5, 3), (3, 3), kernel=3),
        sample((2, 2), (4, 2), kernel=4),
        sample(
            (1, 5, 2),
            (3, 2),
            (1, 5),
            values=(None, None, [[0, 1, 1, 2, 2]]),
            dtypes=("float32", "float32", "int32"),
            kernel=3,
        ),
    ),
)
def short_conv(
    b: Builder, x: Tensor, w: Tensor, segments: Tensor | None = None, *, kernel: int
) -> Tensor:
    """Return Σ w[k] · x[t − kernel + 1 + k] for `x […, tokens, features]`, `w [kernel, features]`.

    With `segments […, tokens]`, only tokens of the same segment count, and none of segment 0.
    """
    *lead, tokens, features = x.shape
    if w.shape != (kernel, features):
        message = f"w {show(w.shape)} for {features} features of {kernel} tokens"
        raise OperatorError("NNM404", message)
    if kernel == 1:
        return _mix(b, x, w)
    before = b.expand(b.constant(0, x.dtype), new_shape=(*lead, kernel - 1, features))
    history = b.concat([before, x], axis=x.rank - 2)
    if segments is None:
        return _mix(b, history, w)
    own: Any = segments if segments.dtype == x.dtype else b.cast(segments, type=x.dtype)
    *rows, _ = own.shape
    zeros = b.expand(b.constant(0, x.dtype), new_shape=(*rows, kernel - 1))
    others = b.concat([zeros, own], axis=own.rank - 1)
    masks: list[Any] = []
    for offset in range(kernel):
        starts = (*(0 for _ in rows), offset)
        other = b.slice(others, starts=starts, sizes=own.shape)
        counts = b.logical_and(b.equal(other, own), b.not_equal(other, 0.0))
        masks.append(b.reshape(b.cast(counts, type=x.dtype), new_shape=(*rows, tokens, 1)))
    return _mix(b, history, w, masks)


def _mix(b: Builder, history: Any, w: Tensor, masks: list[Any] | None = None) -> Any:
    """Return the weighted sums of tokens, of which the first ones come before the results."""
    *lead, count, features = history.shape
    kernel = w.shape[0]
    sizes = (*lead, count - kernel + 1, features)
    terms: list[Any] = []
    for offset in range(kernel):
        x = b.slice(history, starts=(*(0 for _ in lead), offset, 0), sizes=sizes)
        term = x * b.slice(w, starts=(offset, 0), sizes=(1, features))
        terms.append(term if masks is None else term * masks[offset])
    return reduce(add, terms)
