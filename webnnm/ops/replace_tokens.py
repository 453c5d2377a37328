"""Vectors that take the places of a token in a text, such as what a model sees in a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.shapes import count, show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.features import Conflict, Features
from webnnm.ops.declare.indices import INDEX_TYPES
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.rules import same_shape, tensor_options
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor
from webnnm.ops.declare.token_cache import TokenCache, token_cache
from webnnm.ops.declare.tokens import by_token, require_tokens


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    require_tokens(layer, layer.input)
    vectors, ids = layer.operands[1], layer.tensors["ids"]
    if vectors.dims is not None:
        require_tokens(layer, vectors)
    if layer.input.dims and vectors.dims:
        size, own = layer.input.dims[-1], vectors.dims[-1]
        if size is not None and own is not None and size != own:
            layer.fail("NNM404", f"vectors of {own} features in a text of {size}", at="vectors")
        if len(_list_before_tokens(vectors)) not in (0, len(_list_before_tokens(layer.input))):
            layer.fail("NNM404", f"vectors {vectors} for tokens {layer.input}", at="vectors")
    try:
        ids.unify(layer.input.dims and layer.input.dims[:-1])
    except Conflict:
        layer.fail("NNM404", f"ids {ids} for tokens {layer.input}", at="ids")


def _list_before_tokens(features: Features) -> list[int | None]:
    """Return the dimensions before those of tokens and of their features."""
    dims = features.dims or []
    return [*dims[: -1 if features.sequence is not None else -2]]


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source, vectors, ids = _share_batch(b, [*layer.operands, layer.tensors["ids"].canonical()])
    x, replacing = by_token(source), by_token(vectors)
    cache = token_cache(b, source)
    options: dict[str, Any] = tensor_options(layer)
    operands = x.tensor, _spread(b, replacing, x), ids.tensor
    if cache is None:
        result = b.apply(layer.operator, operands, options)
    else:
        result = _continue(b, cache, *operands, **options)
    return x.with_tensor(result).reorder(source.layout)


def _share_batch(b: Builder, operands: Sequence[LayoutTensor]) -> list[LayoutTensor]:
    """Return values with a batch, if one of them has one: parameters are the same for all rows."""
    batch = next((value.size("batch") for value in operands if "batch" in value.layout), None)
    result: list[LayoutTensor] = []
    for value in operands:
        if batch is not None and "batch" not in value.layout:
            shape = value.tensor.shape
            row = b.reshape(value.tensor, new_shape=(1, *shape))
            rows = b.expand(row, new_shape=(batch, *shape))
            value = LayoutTensor(rows, ("batch", *value.layout), value.sequence, value.mask)
        result.append(value)
    return result


def _spread(b: Builder, vectors: LayoutTensor, x: LayoutTensor) -> Any:
    """Return vectors for each of the dimensions between the batch and the tokens."""
    *lead, _, _ = x.tensor.shape
    *own, places, size = vectors.tensor.shape
    if len(own) == len(lead):
        return vectors.tensor
    missing = [1] * (len(lead) - len(own))
    aligned = b.reshape(vectors.tensor, new_shape=(*own, *missing, places, size))
    return b.expand(aligned, new_shape=(*lead, places, size))


@declare_composite(
    "replaceTokens",
    summary="vectors in the places of a token, in their order; other tokens stay as they are",
    types={"ids": "integer"},
    ranks={"x": (2, None), "vectors": (2, None), "ids": (1, None)},
    checks={"token": checks.integer(0)},
    layer=LayerRules(
        slots=(
            TensorSlot(name="vectors"),
            TensorSlot(name="ids", option=True, promotes=False),
        ),
        options={"token": ValueOption(read=values.integer(0))},
        shape=_shape,
        build=_build,
    ),
    traits=("lookup",),
    samples=(
        sample(
            (5, 3),
            (2, 3),
            (5,),
            values=(None, None, [7, 1, 7, 0, 2]),
            dtypes=("float32", "float32", "int32"),
            token=7,
        ),
        sample(
            (2, 4, 2),
            (2, 3, 2),
            (2, 4),
            values=(None, None, [[9, 9, 9, 1], [3, 9, 0, 0]]),
            dtypes=("float32", "float32", "int32"),
            token=9,
        ),
    ),
)
def replace_tokens(b: Builder, x: Tensor, vectors: Tensor, ids: Tensor, *, token: int) -> Tensor:
    """Return `x […, tokens, features]` with the next of the vectors wherever ids are the token.

    Vectors are `[…, places, features]`. In a row with more places than vectors, the last one comes
    again; those that are left over are dropped.
    """
    is_place: Any = _find_places(b, x, vectors, ids, token)
    before = b.cumulative_sum(b.cast(is_place, type="int32"), axis=is_place.rank - 1)
    return _put(b, x, vectors, is_place, before - b.constant(1, "int32"))


def _find_places(b: Builder, x: Tensor, vectors: Tensor, ids: Tensor, token: int) -> Tensor:
    """Return where ids are the token, `[…, tokens]`. Raises NNM404 for shapes that do not fit."""
    *lead, tokens, size = x.shape
    if [*vectors.shape[:-2]] != lead or vectors.shape[-1] != size or ids.shape != (*lead, tokens):
        message = f"{show(x.shape)}, vectors {show(vectors.shape)}, ids {show(ids.shape)}"
        raise OperatorError("NNM404", message)
    if ids.dtype not in INDEX_TYPES:
        ids = b.cast(ids, type="int64" if ids.dtype == "uint64" else "int32")
    return b.equal(ids, b.constant(token, ids.dtype))


def _put(b: Builder, x: Tensor, vectors: Tensor, is_place: Tensor, numbers: Any) -> Tensor:
    """Return x with the vectors of some numbers, int32 `[…, tokens]`, in places."""
    *lead, places, size = vectors.shape
    rows = count(lead)
    first = b.constant([row * places for row in range(rows)], "int32", (*lead, 1))
    zero, last = (b.constant(number, "int32") for number in (0, places - 1))
    table = b.reshape(vectors, new_shape=(rows * places, size))
    picked = b.gather(table, first + b.min(b.max(numbers, zero), last), axis=0)
    return b.where(b.reshape(is_place, new_shape=(*is_place.shape, 1)), picked, x)


def _continue(
    b: Builder, cache: TokenCache, x: Any, vectors: Any, ids: Any, *, token: int
) -> Tensor:
    """Return the tokens of a text that grows: vectors are those of its prompt.

    A place is numbered by those before it. What is written later is never replaced, as in
    `transformers`.
    """
    batch: int = x.shape[0]
    tokens: int = x.shape[1]
    is_written = tokens == 1
    is_place: Any = _find_places(b, x, vectors, ids, token)
    marks = b.reshape(b.cast(is_place, type="float32"), new_shape=(batch, 1, tokens, 1))
    every = cache.keep_marks(marks * 0.0 if is_written else marks)
    if is_written:
        return x
    own = b.reshape(cache.positions, new_shape=(batch, 1, tokens, 1))
    positions = b.constant([*range(cache.length)], "int32", (1, 1, 1, cache.length))
    before = b.cast(b.lesser(positions, own), type="float32")
    numbers = b.reshape(b.matmul(before, every), new_shape=(batch, tokens))
    return _put(b, x, vectors, is_place, b.cast(numbers, type="int32"))
