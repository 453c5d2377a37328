"""Integers that represent floats by a scale and a zero point."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.dtypes import DataType, integer_range, is_float
from webnnm.core.shapes import count, show
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.products import small_product
from webnnm.formats.onnx.importing.shaping import as_type, broadcast_to, full, part, reshape_to
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.importing.windows import Window, convolution, window_of
from webnnm.formats.onnx.tensors import CODES, SHORT
from webnnm.graph.node import Operand

UINT8 = 2
MAX_EXACT_PRODUCTS = 255
"""How many products of 9-bit integers float32 sums exactly at least."""


def _broadcast_parameter(c: Call, x: Operand, parameter: Operand, axis: int | None) -> Operand:
    """Return a scale or zero point in the rank of a tensor: per tensor, per axis, or per block."""
    if count(parameter.shape) == 1:
        return reshape_to(c, parameter, (1,) * x.rank)
    if axis is None or parameter.rank == x.rank:
        return parameter
    return reshape_to(c, parameter, [x.shape[axis] if k == axis else 1 for k in range(x.rank)])


def _parameters(
    c: Call, x: Operand, scale: Operand, zero: Operand | None, dtype: DataType
) -> tuple[Operand, Operand]:
    """Return scale and zero point in the form that WebNN takes."""
    # One scale belongs to the whole tensor, whatever the axis is.
    axis = None
    if count(scale.shape) > 1:
        axis = c.axis(c.integer("axis", 1), x.rank)
    scale = _broadcast_parameter(c, x, scale, axis)
    point = (
        full(c, 0, dtype, scale.shape) if zero is None else _broadcast_parameter(c, x, zero, axis)
    )
    block = c.integer("block_size", 0)
    if block and axis is not None and x.shape[axis] % scale.shape[axis]:  # the last one is smaller
        blocks = c.b.constant([k // block for k in range(x.shape[axis])], "int32")
        scale, point = (c.b.gather(parameter, blocks, axis=axis) for parameter in (scale, point))
    return scale, broadcast_to(c, point, scale.shape)


def _spread(c: Call, x: Operand, shape: Sequence[int], dtype: DataType) -> Operand:
    """Return scales or zero points of blocks in a shape that broadcasts with the elements."""
    for axis, (size, blocks) in enumerate(zip(shape, x.shape, strict=True)):
        if 1 < blocks < size:
            indices = c.b.constant([k * blocks // size for k in range(size)], "int32")
            x = c.b.gather(x, indices, axis=axis)
    return as_type(c, x, dtype)


@imports("QuantizeLinear")
@imports("QuantizeLinear", domain="com.microsoft")
def quantize(c: Call, x: Operand, scale: Operand, zero: Operand | None = None) -> Operand:
    """round(x/scale) + zero point, clamped to the type."""
    code = c.integer("output_dtype", 0) or UINT8
    if zero is not None:
        code = c.code(2) or CODES[zero.dtype]
    x = as_type(c, x, scale.dtype) if not is_float(x.dtype) else x
    dtype = c.data_type(code) if zero is None else zero.dtype
    scale, zero = _parameters(c, x, as_type(c, scale, x.dtype), zero, dtype)
    if code not in SHORT:
        return c.b.quantize_linear(x, scale, zero)
    _, low, high = SHORT[code]
    steps = c.b.round_even(x / _spread(c, scale, x.shape, x.dtype))
    numbers = as_type(c, steps, "float32") + _spread(c, zero, x.shape, "float32")
    return as_type(c, c.b.clamp(numbers, min_value=low, max_value=high), "int32")


@imports("DequantizeLinear")
@imports("DequantizeLinear", domain="com.microsoft")
def dequantize(c: Call, x: Operand, scale: Operand, zero: Operand | None = None) -> Operand:
    """(x − zero point)·scale."""
    scale, zero = _parameters(c, x, scale, zero, x.dtype)
    if c.code(0) in SHORT:  # exact in float32, which devices subtract faster than integers
        wide = as_type(c, x, "float32") - _spread(c, zero, x.shape, "float32")
        values = as_type(c, wide * _spread(c, scale, x.shape, "float32"), scale.dtype)
    else:
        values = c.b.dequantize_linear(x, scale, zero)
    output_code = c.integer("output_dtype", 0)
    return as_type(c, values, c.data_type(output_code)) if output_code else values


@imports("DynamicQuantizeLinear")
def dynamic_quantize(c: Call, x: Operand) -> tuple[Operand, Operand, Operand]:
    """A tensor as uint8, with a scale and zero point derived from its range."""
    b, zero = c.b, c.b.constant(0, x.dtype)
    axes = [*range(x.rank)]
    low = b.min(b.reduce_min(x, axes=axes), zero)
    high = b.max(b.reduce_max(x, axes=axes), zero)
    scale = (high - low) / 255
    safe = b.where(b.equal(scale, zero), b.constant(1, x.dtype), scale)
    point = b.clamp(b.round_even((zero - low) / safe), min_value=0, max_value=255)
    point = as_type(c, point, "uint8")
    shape = (1,) * x.rank
    quantized = b.quantize_linear(x, reshape_to(c, safe, shape), reshape_to(c, point, shape))
    return quantized, scale, point


# Integer products: exact, with floats that hold them.


def subtract_zero_point(c: Call, x: Operand, zero: Operand | None, axis: int) -> Operand:
    """Return x − zero point as float32; a zero point may belong to an axis."""
    wide = as_type(c, x, "float32")
    if zero is None:
        return wide
    return wide - _broadcast_parameter(c, x, as_type(c, zero, "float32"), axis % max(1, x.rank))


@imports("MatMulInteger")
def matmul_integer(
    c: Call, x: Operand, y: Operand, x_zero: Operand | None = None, y_zero: Operand | None = None
) -> Operand:
    """Product of integer matrices minus their zero points, as int32."""
    left, right = (
        subtract_zero_point(c, x, x_zero, x.rank - 2),
        subtract_zero_point(c, y, y_zero, y.rank - 1),
    )
    return small_product(c, left, right)


@imports("ConvInteger")
def conv_integer(
    c: Call, x: Operand, w: Operand, x_zero: Operand | None = None, w_zero: Operand | None = None
) -> Operand:
    """Convolution of integers minus their zero points, as int32."""
    return convolve_exactly(
        c, subtract_zero_point(c, x, x_zero, 1), subtract_zero_point(c, w, w_zero, 0)
    )


def convolve_exactly(c: Call, x: Operand, w: Operand) -> Operand:
    """Convolve exactly: sum as many channels at a time as float32 holds exactly."""
    view = window_of(c, x.shape[2:], w.shape[2:])
    groups, cells = c.integer("group", 1), count(w.shape[2:])
    if cells * (w.shape[1] if groups > 1 else 1) > MAX_EXACT_PRODUCTS:
        # Products with four bits of the filter are sixteen times as small.
        high = c.b.floor(w / 16)
        return _sums(c, x, high, view, groups, 16) * 16 + _sums(
            c, x, w - high * 16, view, groups, 16
        )
    return _sums(c, x, w, view, groups, 1)


def _sums(c: Call, x: Operand, w: Operand, view: Window, groups: int, times: int) -> Operand:
    """Return a convolution whose products are `times` as small as those of 9-bit integers."""
    max_channels = MAX_EXACT_PRODUCTS * times // count(w.shape[2:])
    if max_channels < 1 or (groups > 1 and w.shape[1] > max_channels):
        raise c.not_supported(f"windows of {show(w.shape[2:])} cells and {w.shape[1]} channels")
    if groups > 1:
        return as_type(c, convolution(c, x, w, None, view, groups), "int32")
    total: Operand | None = None
    for first in range(0, w.shape[1], max_channels):
        width = min(max_channels, w.shape[1] - first)
        partial = convolution(
            c, part(c, x, 1, first, width), part(c, w, 1, first, width), None, view, 1
        )
        integers = as_type(c, partial, "int32")
        total = integers if total is None else total + integers
    assert total is not None
    return total


def requantize(c: Call, total: Operand, factor: Operand, zero: Operand, scale: Operand) -> Operand:
    """Return round(total·factor/scale) + zero point, clamped to the zero point's type."""
    return to_integers(c, as_type(c, total, "float32") * factor, scale, zero)


def to_integers(c: Call, x: Operand, scale: Operand, zero: Operand) -> Operand:
    """Return round(x/scale) + zero point, clamped to the zero point's type."""
    low, high = integer_range(zero.dtype)
    value = c.b.round_even(x / scale) + as_type(c, zero, "float32")
    return as_type(c, c.b.clamp(value, min_value=low, max_value=high), zero.dtype)


@imports("QLinearMatMul")
def qlinear_matmul(
    c: Call,
    x: Operand,
    x_scale: Operand,
    x_zero: Operand,
    y: Operand,
    y_scale: Operand,
    y_zero: Operand,
    scale: Operand,
    zero: Operand,
) -> Operand:
    """Product of quantised matrices, quantised."""
    total = matmul_integer(c, x, y, x_zero, y_zero)
    x_scale, y_scale, scale = (as_type(c, x, "float32") for x in (x_scale, y_scale, scale))
    rows = along(c, x_scale, total.rank, total.rank - 2)
    columns = along(c, y_scale, total.rank, total.rank - 1)
    return requantize(c, total, rows * columns, zero, scale)


def along(c: Call, x: Operand, rank: int, axis: int) -> Operand:
    """Return one number per index of an axis in a shape that broadcasts."""
    if x.rank == 0 or x.shape == (1,):
        return reshape_to(c, x, ())
    return reshape_to(c, x, [-1 if k == axis else 1 for k in range(rank)])


@imports("QLinearConv")
def qlinear_conv(
    c: Call,
    x: Operand,
    x_scale: Operand,
    x_zero: Operand,
    w: Operand,
    w_scale: Operand,
    w_zero: Operand,
    scale: Operand,
    zero: Operand,
    bias: Operand | None = None,
) -> Operand:
    """Convolution of quantised tensors, quantised."""
    total = convolve_exactly(
        c, subtract_zero_point(c, x, x_zero, 1), subtract_zero_point(c, w, w_zero, 0)
    )
    if bias is not None:
        total = total + along(c, bias, total.rank, 1)
    return requantize(c, total, x_scale * along(c, w_scale, total.rank, 1), zero, scale)
