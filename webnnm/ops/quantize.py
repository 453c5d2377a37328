"""Quantisation: floats as small integers with a scale and a zero point, and back (spec C.6)."""

from __future__ import annotations

from functools import partial
from typing import Any

from webnnm.core.dtypes import FLOAT, DataType, integer_range
from webnnm.core.shapes import Shape, count, show
from webnnm.ops.declare.algebra import as_number
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import AnyOperator, Composite, Sample, Slot, sample
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType

LONG: frozenset[DataType] = frozenset({"uint32", "int32"})
"""Integers that floats cannot hold exactly: they are added as int64."""
INTEGERS: frozenset[DataType] = LONG.union(("uint8", "int8", "uint4", "int4"))
BEYOND = 2.0**33
"""More than any integer of these types, whatever its zero point; exact as a float32."""


def _check(operator: str, x: TensorType, scale: TensorType, zero_point: TensorType) -> None:
    """Check that scales are one per block: of the operand's rank, with sizes that divide its."""
    fits = len(scale.shape) == len(x.shape) and all(
        size % part == 0 for size, part in zip(x.shape, scale.shape, strict=True)
    )
    if not fits:
        raise OperatorError(
            "NNM401",
            f'scale {show(scale.shape)} of "{operator}" does not divide input {show(x.shape)} '
            "into blocks",
            "give it the rank of the input and sizes that divide those of the input",
        )
    if scale.shape != zero_point.shape:
        raise OperatorError(
            "NNM401",
            f'scale {show(scale.shape)} and zeroPoint {show(zero_point.shape)} of "{operator}" '
            "differ in shape",
        )


def _infer_quantized(x: TensorType, scale: TensorType, zero_point: TensorType) -> TensorType:
    _check("quantizeLinear", x, scale, zero_point)
    return TensorType(zero_point.dtype, x.shape)


def _infer_dequantized(x: TensorType, scale: TensorType, zero_point: TensorType) -> TensorType:
    _check("dequantizeLinear", x, scale, zero_point)
    return TensorType(scale.dtype, x.shape)


def _split(shape: Shape, parts: Shape) -> tuple[list[int], list[int]]:
    """Return a shape with every axis of several blocks as blocks × elements, and that of the parts.

    Axes with one block, or with as many blocks as elements, broadcast as they are.
    """
    block_shape: list[int] = []
    blocks: list[int] = []
    for size, part in zip(shape, parts, strict=True):
        is_partial = 1 < part < size
        block_shape += [part, size // part] if is_partial else [size]
        blocks += [part, 1] if is_partial else [part]
    return block_shape, blocks


def over_blocks(b: Builder, x: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
    """Return both in shapes that broadcast, each part over its block."""
    block_shape, blocks = _split(x.shape, parts.shape)
    return b.reshape(x, new_shape=block_shape), b.reshape(parts, new_shape=blocks)


def _quantize_unclamped(b: Builder, x: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    """Return roundEven(x/scale) + zeroPoint, in blocks, before it is clamped to the range."""
    rows, scales = over_blocks(b, x, scale)
    rounded, dtype = b.round_even(rows / scales), x.dtype
    if zero_point.dtype in LONG:
        dtype = "int64"
        if rounded.dtype == "float16":
            rounded = b.cast(rounded, type="float32")
        rounded = b.cast(b.clamp(rounded, min_value=-BEYOND, max_value=BEYOND), type=dtype)
    _, offsets = over_blocks(b, x, b.cast(zero_point, type=dtype))
    return rounded + offsets


def _quantize(b: Builder, x: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    low, high = integer_range(zero_point.dtype)
    clamped = b.clamp(_quantize_unclamped(b, x, scale, zero_point), min_value=low, max_value=high)
    return b.reshape(b.cast(clamped, type=zero_point.dtype), new_shape=x.shape)


def _quantize_gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, scale: Tensor, zero_point: Tensor
) -> list[Tensor | None]:
    """Straight-through gradient of the rounding, inside the range of the integers."""
    low, high = integer_range(zero_point.dtype)
    unclamped = _quantize_unclamped(b, x, scale, zero_point)
    inside = b.equal(unclamped, b.clamp(unclamped, min_value=low, max_value=high))
    rows, scales = over_blocks(b, g, scale)
    arrived = rows * as_number(b, inside, g) / scales
    return [b.reshape(arrived, new_shape=x.shape), None, None]


def _subtract_zero_point(b: Builder, x: Tensor, zero_point: Tensor, dtype: DataType) -> Tensor:
    """Return x − zeroPoint, in blocks, rounded to a float type only at the end."""
    exact: DataType = "int64" if x.dtype in LONG else dtype
    rows, offsets = over_blocks(b, b.cast(x, type=exact), b.cast(zero_point, type=exact))
    difference = rows - offsets
    return difference if exact == dtype else b.cast(difference, type=dtype)


def _dequantize(b: Builder, x: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    # Large integers overflow float16 where their products with the scale do not.
    dtype: DataType = "float32" if x.dtype in LONG else scale.dtype
    rows = _subtract_zero_point(b, x, zero_point, dtype)
    _, scales = over_blocks(b, x, scale if scale.dtype == dtype else b.cast(scale, type=dtype))
    result = b.reshape(rows * scales, new_shape=x.shape)
    return result if scale.dtype == dtype else b.cast(result, type=scale.dtype)


def _dequantize_gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, scale: Tensor, zero_point: Tensor
) -> list[Tensor | None]:
    """To the operand (where a quantisation lets it through), and to the scale block by block."""
    arrived, scales = over_blocks(b, g, scale)
    moved = b.reshape(arrived * scales, new_shape=x.shape)
    shares = arrived * _subtract_zero_point(b, x, zero_point, g.dtype)
    axes = [axis for axis, size in enumerate(scales.shape) if size == 1 < shares.shape[axis]]
    total = b.reduce_sum(shares, axes=axes, keep_dimensions=True) if axes else shares
    return [moved, b.reshape(total, new_shape=scale.shape), None]


def _earlier(
    b: Builder, _operator: AnyOperator, operands: list[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """Scales and zero points of lower rank, as WebNN took them before its ranks had to agree."""
    if len(operands) != 3 or not hasattr(operands[0], "rank"):
        return operands, options
    x, *parts = operands
    # Numbers have the type of their operand, if that is known.
    types: tuple[DataType, DataType] = (
        (x.dtype, "int32") if x.dtype in FLOAT else ("float32", x.dtype)
    )
    tensors = [
        part if hasattr(part, "rank") else b.constant(part, dtype)
        for part, dtype in zip(parts, types, strict=True)
    ]
    fitted = [
        part
        if part.rank >= x.rank
        else b.reshape(part, new_shape=(1,) * (x.rank - part.rank) + part.shape)
        for part in tensors
    ]
    return [x, *fitted], options


# The notation.


def _shape(layer: ShapeView, operator: str) -> None:
    for name in ("scale", "zeroPoint"):
        if name not in layer.tensors:
            layer.fail("NNM304", f'"{operator}" needs {name}=', hint=f"write {name}=…")
    same_shape(layer)
    scale, zero_point = layer.tensors["scale"], layer.tensors["zeroPoint"]
    if layer.input.known and scale.known:
        sizes, parts = layer.input.sizes(), scale.sizes()
        aligned = zip(reversed(sizes), reversed(parts), strict=False)
        if len(parts) > len(sizes) or any(size % part for size, part in aligned):
            layer.fail(
                "NNM401",
                f"scale {scale} does not divide {layer.input} into blocks",
                at="scale",
                hint="give it sizes that divide the sizes of the features",
            )
    if scale.known and zero_point.known and scale.sizes() != zero_point.sizes():
        layer.fail("NNM401", f"scale {scale} and zeroPoint {zero_point} differ", at="zeroPoint")


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0].canonical()
    parts = [layer.tensors[name].tensor for name in ("scale", "zeroPoint")]
    return source.with_tensor(b.apply(layer.operator, [source.tensor, *parts], {}))


_SLOTS = (
    TensorSlot(name="scale", option=True, optional=True),
    TensorSlot(name="zeroPoint", option=True, optional=True, promotes=False),
)


def _samples(x: DataType, zero_point: DataType) -> tuple[Sample, ...]:
    def blocks(shape: Shape, parts: Shape) -> Sample:
        n = count(parts)
        drawn = None if x in FLOAT else [k % 7 for k in range(count(shape))]
        values = (drawn, [0.5 + 0.25 * k for k in range(n)], [k % 3 for k in range(n)])
        return sample(shape, parts, parts, dtypes=(x, "float32", zero_point), values=values)

    return (
        blocks((2, 3), (1, 1)),
        blocks((2, 3), (1, 3)),
        blocks((4, 6), (2, 3)),
        blocks((), ()),
    )


quantize_linear = Composite(
    name="quantizeLinear",
    summary="x/scale + zeroPoint, rounded and clamped to the range of an integer type",
    operands=(
        Slot(name="input", dtypes=FLOAT),
        Slot(name="scale", dtypes=FLOAT, like=0),
        Slot(name="zeroPoint", dtypes=INTEGERS),
    ),
    options={},
    infer=_infer_quantized,
    decompose=_quantize,
    gradient=_quantize_gradient,
    straight_through=True,
    native="quantizeLinear",
    earlier=_earlier,
    batch="blocks",
    layer=LayerRules(
        slots=_SLOTS,
        shape=partial(_shape, operator="quantizeLinear"),
        build=_build,
        dtype=lambda compute, options, types: types["zeroPoint"],
    ),
    samples=_samples("float32", "int8"),
)

dequantize_linear = Composite(
    name="dequantizeLinear",
    summary="(x − zeroPoint)·scale",
    operands=(
        Slot(name="input", dtypes=INTEGERS),
        Slot(name="scale", dtypes=FLOAT),
        Slot(name="zeroPoint", dtypes=INTEGERS, like=0),
    ),
    options={},
    infer=_infer_dequantized,
    decompose=_dequantize,
    gradient=_dequantize_gradient,
    native="dequantizeLinear",
    earlier=_earlier,
    batch="blocks",
    layer=LayerRules(
        slots=_SLOTS,
        shape=partial(_shape, operator="dequantizeLinear"),
        build=_build,
        own_type=True,
    ),
    samples=_samples("int8", "int8"),
)
