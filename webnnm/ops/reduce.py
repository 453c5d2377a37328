"""Reductions along axes: sums, means, norms, extrema, products, variance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from webnnm.core.dtypes import ANY, FLOAT, SIGNED, DataType
from webnnm.core.shapes import count
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.algebra import as_number, scalar_like, zeros_like
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.operator import (
    AnyOperator,
    Composite,
    Decompose,
    Operator,
    Option,
    Sample,
    Slot,
    lower_by_parts,
    sample,
)
from webnnm.ops.declare.padding import extremes, fill_padding, mean_of_valid, reduce_mask
from webnnm.ops.declare.rules import tensor_options
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType
from webnnm.ops.declare.traits import Trait

OPTIONS = {
    "axes": Option(None, checks.axes),
    "keep_dimensions": Option(False, checks.boolean),
}

WIDE: frozenset[DataType] = FLOAT.union(("int64", "uint64", "int32", "uint32"))
"""The types that WebNN sums and multiplies."""

Derivative = Callable[[Builder, Tensor, Tensor, Tensor, Sequence[int]], Tensor]


class Kernel(Protocol):
    """A reduction of NumPy: `axis` and `keepdims` by keyword."""

    def __call__(self, np: Any, x: Any, /, **axes: Any) -> Any:
        """Reduce `x`."""
        ...


def _infer(x: TensorType, *, axes: Sequence[int], keep_dimensions: bool) -> TensorType:
    if keep_dimensions:
        return TensorType(x.dtype, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))
    return TensorType(x.dtype, tuple(n for k, n in enumerate(x.shape) if k not in axes))


def keepdims_shape(x: Tensor, axes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of `x` with size 1 along the axes: the form that broadcasts back."""
    return tuple(1 if k in axes else n for k, n in enumerate(x.shape))


def _gradient(derivative: Derivative) -> Callable[..., list[Tensor]]:
    """Return a gradient rule from `derivative(b, g, y, x, axes)`, with g and y of x's rank."""

    def gradient(
        b: Builder,
        g: Tensor,
        y: Tensor,
        x: Tensor,
        *,
        axes: Sequence[int],
        keep_dimensions: bool,
    ) -> list[Tensor]:
        if not keep_dimensions and g.shape != keepdims_shape(x, axes):
            g, y = (b.reshape(t, new_shape=keepdims_shape(x, axes)) for t in (g, y))
        return [b.expand(derivative(b, g, y, x, axes), new_shape=x.shape)]

    return gradient


def _split_ties(b: Builder, g: Tensor, y: Tensor, x: Tensor, axes: Sequence[int]) -> Tensor:
    """Elements that reach the extremum share the gradient equally."""
    chosen = as_number(b, b.equal(x, y), g)
    return g * chosen / b.reduce_sum(chosen, axes=axes, keep_dimensions=True)


def _product_of_others(b: Builder, x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return, for each element, the product of all others along the axes, correct at zeros too.

    Prefix and suffix products by doubling: log₂ n multiplications of whole tensors.
    """
    rest = [k for k in range(x.rank) if k not in axes]
    order = (*rest, *axes)
    n = count(x.shape[k] for k in axes)
    moved = b.transpose(x, permutation=order)
    rows = b.reshape(moved, new_shape=(-1, n))
    before = _prefix_product(b, rows, n)
    after = b.reverse(_prefix_product(b, b.reverse(rows, axes=[1]), n), axes=[1])
    back = tuple(order.index(k) for k in range(x.rank))
    product = b.reshape(before * after, new_shape=moved.shape)
    return b.transpose(product, permutation=back)


def _prefix_product(b: Builder, rows: Tensor, n: int) -> Tensor:
    """Return the exclusive running product along axis 1."""
    result = _shift_rows(b, rows, 1, n)
    step = 1
    while step < n:
        result = result * _shift_rows(b, result, step, n)
        step *= 2
    return result


def _shift_rows(b: Builder, rows: Tensor, by: int, n: int) -> Tensor:
    ones = zeros_like(b, rows, (rows.shape[0], min(by, n))) + 1
    if by >= n:
        return ones
    head = b.slice(rows, starts=(0, 0), sizes=(rows.shape[0], n - by))
    return b.concat([ones, head], axis=1)


def _safe_quotient(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """x/y, and 0 where y = 0 (the subgradient of a norm at the origin)."""
    zero = b.equal(y, scalar_like(b, 0, y))
    return b.where(zero, scalar_like(b, 0, x), x / b.where(zero, scalar_like(b, 1, y), y))


def infer_reduced_shape(layer: ShapeView, option: str = "axes") -> None:
    """Remove the axes that an option names, or keep them with size 1."""
    source = layer.input
    axes = layer.axes(option)
    if source.dims is None or axes is None:
        return
    keep = layer.options["keep_dimensions"]
    kept = [k for k in range(len(source.dims)) if keep or k not in axes]
    dims = [1 if k in axes else source.dims[k] for k in kept]
    try:
        layer.result.unify(dims)
        for k, size in zip(kept, layer.result.dims or (), strict=True):
            if k not in axes:
                source.unify_size(k, size)
    except Conflict:
        layer.fail("NNM402", f"declared {layer.result}, inferred {dims}", at="shape")
    layer.result.set_names([source.names[k] for k in kept])
    drops_sequence = "sequence" in axes and not keep
    layer.result.set_sequence(None if drops_sequence else source.sequence)


def _build(builder: Builder, layer: BuildView, neutral: str = "zero") -> LayoutTensor:
    source = layer.operands[0]
    roles = layer.axes("axes")
    axes = sorted(source.position(role) for role in roles)
    options = {**tensor_options(layer), "axes": axes}
    keep = layer.options["keep_dimensions"]
    layout = layout_after_reduction(source, roles, keep)
    if source.mask is None or "sequence" not in roles:
        return LayoutTensor(builder.apply(layer.operator, [source.tensor], options), *layout)
    if neutral == "mean":
        result = _mean_of_valid(builder, layer, axes)
        if not keep:
            sizes = [size for k, size in enumerate(result.shape) if k not in axes]
            result = builder.reshape(result, new_shape=sizes)
    else:
        low, high = extremes(source.tensor.dtype)
        value = {"zero": 0, "one": 1, "lowest": low, "highest": high}[neutral]
        result = builder.apply(layer.operator, [fill_padding(builder, source, value)], options)
    return LayoutTensor(result, *layout, reduce_mask(builder, source.mask) if keep else None)


def _mean_of_valid(b: Builder, layer: BuildView, axes: Sequence[int]) -> Tensor:
    """Return mean or variance over valid positions, in float32; the axes keep size 1."""
    source = layer.operands[0]
    x = source.tensor
    wide = b.cast(x, type="float32") if x.dtype == "float16" else x
    average = mean_of_valid(b, source, wide, axes)
    if layer.operator is reduce_variance:
        centred = wide - average
        average = mean_of_valid(b, source, centred * centred, axes)
    return b.cast(average, type=x.dtype) if x.dtype == "float16" else average


def layout_after_reduction(
    source: LayoutTensor, roles: Sequence[Role], keep: bool
) -> tuple[tuple[Any, ...], str | None]:
    """Return the layout and sequence name after some dimensions were reduced."""
    if keep:
        return source.layout, source.sequence
    left = [role for role in source.layout if role not in roles]
    features = sorted(role for role in left if isinstance(role, int))
    layout = tuple(features.index(r) if isinstance(r, int) else r for r in left)
    return layout, None if "sequence" in roles else source.sequence


def _rules(neutral: str, keep: bool = False) -> LayerRules:
    """Return how the notation uses a reduction; padded positions count as `neutral`."""
    return LayerRules(
        options={
            "axes": ValueOption(read=values.axis_names, operand=True, aliases=("axis",)),
            "keep_dimensions": ValueOption(read=values.boolean, default=keep),
        },
        shape=infer_reduced_shape,
        build=partial(_build, neutral=neutral),
    )


def _samples(**fields: Any) -> tuple[Sample, ...]:
    return (
        sample((2, 3), **fields),
        sample((2, 3, 4), axes=(1,), **fields),
        sample((2, 3, 4), axes=(0, 2), keep_dimensions=True, **fields),
    )


LINEAR: frozenset[Trait] = frozenset({"linear"})


REDUCTION: frozenset[Trait] = frozenset({"reduction"})


def _reduce(
    name: str,
    summary: str,
    reference: Kernel,
    derivative: Derivative,
    stablehlo: Callable[[Any, Any, Any], Any],
    *,
    dtypes: frozenset[DataType] = FLOAT,
    samples: Sequence[Sample] | None = None,
    hazards: frozenset[str] = frozenset(),
    decompose: Decompose | None = None,
    neutral: str = "zero",
    traits: frozenset[Trait] = frozenset(),
) -> Operator:
    def apply(np: Any, x: Any, *, axes: Sequence[int], keep_dimensions: bool) -> Any:
        # Squares and sums of float16 overflow where the result does not.
        wide = np.astype(x, np.float32) if x.dtype == np.float16 else x
        result = reference(np, wide, axis=tuple(axes), keepdims=keep_dimensions)
        return np.astype(np.asarray(result), x.dtype)

    def lower(h: Any, x: Any, *, axes: Sequence[int], **_: Any) -> Any:
        return h.reshape(h.convert(stablehlo(h, h.wide(x), axes), x.dtype), h.shape)

    return Operator(
        name=name,
        summary=summary,
        operands=(Slot(name="input", dtypes=dtypes),),
        options=OPTIONS,
        infer=_infer,
        gradient=_gradient(derivative),
        reference=apply,
        stablehlo=stablehlo if stablehlo is lower_by_parts else lower,
        batch="axes",
        layer=_rules(neutral),
        samples=tuple(samples or _samples()),
        hazards=hazards,
        decompose=decompose,
        traits=traits | REDUCTION,
    )


def _log_sum_exp(np: Any, x: Any, /, **axes: Any) -> Any:
    axis, keepdims = axes["axis"], axes["keepdims"]
    top = np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(np.below(x, top)), axis=axis, keepdims=True)) + top
    # The difference of infinities is NaN; the largest element is the sum.
    total = np.where(np.isfinite(top), total, top)
    return total if keepdims else np.squeeze(total, axis=axis)


def _log_sum_exp_stablehlo(h: Any, x: Any, axes: Sequence[int]) -> Any:
    top = h.reduce("maximum", x, axes, keep=True)
    total = h.reduce("add", h.exponential(h.below(x, top)), axes, keep=True)
    return h.select(h.is_finite(top), h.add(h.log(total), top), top)


def _sum_of_sizes(b: Builder, x: Tensor, **options: Any) -> Tensor:
    return b.reduce_sum(b.abs(x) if x.dtype in SIGNED else x, **options)


def _stable_log_sum_exp(
    b: Builder, x: Tensor, *, axes: Sequence[int], keep_dimensions: bool
) -> Tensor:
    """M + ln Σ exp(x − M) with M = max x: nothing overflows."""
    largest = b.reduce_max(x, axes=axes, keep_dimensions=True)
    # An infinite M would turn the difference into NaN; the sum is ±∞ by itself.
    infinite = b.equal(b.abs(largest), scalar_like(b, math.inf, x))
    shift = b.where(infinite, scalar_like(b, 0, x), largest)
    total = b.reduce_sum(b.exp(x - shift), axes=axes, keep_dimensions=True)
    result = b.log(total) + shift
    shape = _infer(TensorType(x.dtype, x.shape), axes=axes, keep_dimensions=keep_dimensions).shape
    return result if result.shape == shape else b.reshape(result, new_shape=shape)


OVERFLOW = frozenset({"overflow"})
WIDE_INSIDE = frozenset({"overflow", "wide"})

reduce_sum = _reduce(
    "reduceSum",
    "Σ x",
    lambda np, x, **k: np.sum(x, **k),
    lambda b, g, y, x, axes: g,
    lambda h, x, axes: h.reduce("add", x, axes),
    dtypes=WIDE,
    traits=LINEAR,
)
reduce_mean = _reduce(
    "reduceMean",
    "mean of x",
    lambda np, x, **k: np.mean(x, **k),
    lambda b, g, y, x, axes: g / count(x.shape[k] for k in axes),
    lambda h, x, axes: h.divide(h.reduce("add", x, axes), h.count(x, axes)),
    neutral="mean",
    traits=LINEAR,
)
reduce_sum_square = _reduce(
    "reduceSumSquare",
    "Σ x²",
    lambda np, x, **k: np.sum(x * x, **k),
    lambda b, g, y, x, axes: g * 2 * x,
    lambda h, x, axes: h.reduce("add", h.multiply(x, x), axes),
    dtypes=WIDE,
    hazards=OVERFLOW,
)
reduce_l1 = _reduce(
    "reduceL1",
    "Σ |x|; gradient 0 at 0",
    lambda np, x, **k: np.sum(np.abs(x), **k),
    lambda b, g, y, x, axes: g * b.sign(x),
    lambda h, x, axes: h.reduce("add", h.abs(x) if x.dtype in SIGNED else x, axes),
    dtypes=WIDE,
    samples=_samples(kinks=(0.0,)),
    decompose=_sum_of_sizes,
)
reduce_l2 = _reduce(
    "reduceL2",
    "√Σ x²; gradient 0 at 0",
    lambda np, x, **k: np.sqrt(np.sum(x * x, **k)),
    lambda b, g, y, x, axes: g * _safe_quotient(b, x, y),
    lambda h, x, axes: h.sqrt(h.reduce("add", h.multiply(x, x), axes)),
    hazards=OVERFLOW,
)
reduce_log_sum = _reduce(
    "reduceLogSum",
    "ln Σ x",
    lambda np, x, **k: np.log(np.sum(x, **k)),
    lambda b, g, y, x, axes: g / b.exp(y),
    lambda h, x, axes: h.log(h.reduce("add", x, axes)),
    samples=_samples(low=0.5),
    hazards=WIDE_INSIDE,
)
reduce_log_sum_exp = _reduce(
    "reduceLogSumExp",
    "ln Σ exp x",
    _log_sum_exp,
    lambda b, g, y, x, axes: g * b.exp(x - y),
    _log_sum_exp_stablehlo,
    hazards=WIDE_INSIDE,
    decompose=_stable_log_sum_exp,
    neutral="lowest",
)
reduce_max = _reduce(
    "reduceMax",
    "largest x; ties share the gradient",
    lambda np, x, **k: np.max(x, **k),
    _split_ties,
    lambda h, x, axes: h.reduce("maximum", x, axes),
    dtypes=ANY,
    neutral="lowest",
    traits=frozenset({"choosing"}),
)
reduce_min = _reduce(
    "reduceMin",
    "smallest x; ties share the gradient",
    lambda np, x, **k: np.min(x, **k),
    _split_ties,
    lambda h, x, axes: h.reduce("minimum", x, axes),
    dtypes=ANY,
    neutral="highest",
    traits=frozenset({"choosing"}),
)
reduce_product = _reduce(
    "reduceProduct",
    "Π x",
    lambda np, x, **k: np.prod(x, **k),
    lambda b, g, y, x, axes: g * _product_of_others(b, x, axes),
    lambda h, x, axes: h.reduce("multiply", x, axes),
    dtypes=WIDE,
    neutral="one",
    samples=(*_samples(), sample((2, 3), values=([[0.0, 2.0, 3.0], [0.0, 0.0, 1.0]],), axes=(1,))),
)


def _variance(b: Builder, x: Tensor, *, axes: Sequence[int], keep_dimensions: bool) -> Tensor:
    centred = x - b.reduce_mean(x, axes=axes, keep_dimensions=True)
    return b.reduce_mean(centred * centred, axes=axes, keep_dimensions=keep_dimensions)


reduce_variance: AnyOperator = Composite(
    name="reduceVariance",
    summary="mean of (x − mean)²",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={**OPTIONS, "keep_dimensions": Option(True, checks.boolean)},
    decompose=_variance,
    layer=_rules("mean", keep=True),
    traits=frozenset({"reduction"}),
    samples=_samples(),
    hazards=WIDE_INSIDE,
)
