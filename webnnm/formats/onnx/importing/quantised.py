"""Integers that represent floats by a scale and a zero point."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.dtypes import DataType, integer_range
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.products import small_product
from webnnm.formats.onnx.importing.shaping import as_type, full, part, repeated, reshaped
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.importing.windows import convolution, window_of
from webnnm.graph.node import Operand


def _laid_out(c: Call, x: Operand, given: Operand, axis: int, block: int) -> Operand:
    """Return a scale or zero point in the rank of a tensor: per tensor, per axis, or per block."""
    if given.rank == 0 or given.shape == (1,):
        return reshaped(c, given, (1,) * x.rank)
    if block or given.rank == x.rank:
        return given
    return reshaped(c, given, [x.shape[axis] if k == axis else 1 for k in range(x.rank)])


def _parameters(
    c: Call, x: Operand, scale: Operand, zero: Operand | None, dtype: DataType
) -> tuple[Operand, Operand]:
    """Return scale and zero point in the form that WebNN takes."""
    axis = c.axis(c.integer("axis", 1), max(1, x.rank)) if scale.rank else 0
    block = c.integer("block_size", 0)
    scale = _laid_out(c, x, scale, axis, block)
    if zero is None:
        return scale, full(c, 0, dtype, scale.shape)
    return scale, repeated(c, _laid_out(c, x, zero, axis, block), scale.shape)


@imports("QuantizeLinear")
@imports("QuantizeLinear", domain="com.microsoft")
def quantize(c: Call, x: Operand, scale: Operand, zero: Operand | None = None) -> Operand:
    """round(x/scale) + zero point, clamped to the type."""
    dtype = zero.dtype if zero is not None else "uint8"
    if zero is None and c.integer("output_dtype", 0):
        dtype = c.data_type(c.integer("output_dtype"))
    scale, zero = _parameters(c, x, as_type(c, scale, x.dtype), zero, dtype)
    return c.b.quantize_linear(x, scale, zero)


@imports("DequantizeLinear")
@imports("DequantizeLinear", domain="com.microsoft")
def dequantize(c: Call, x: Operand, scale: Operand, zero: Operand | None = None) -> Operand:
    """(x − zero point)·scale."""
    scale, zero = _parameters(c, x, scale, zero, x.dtype)
    found = c.b.dequantize_linear(x, scale, zero)
    wanted = c.integer("output_dtype", 0)
    return as_type(c, found, c.data_type(wanted)) if wanted else found


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
    found = b.quantize_linear(x, reshaped(c, safe, shape), reshaped(c, point, shape))
    return found, scale, point


# Integer products: exact, with floats that hold them.


def _centred(c: Call, x: Operand, zero: Operand | None, axis: int) -> Operand:
    """Return x − zero point as float32; a zero point may belong to an axis."""
    wide = as_type(c, x, "float32")
    if zero is None:
        return wide
    return wide - _laid_out(c, x, as_type(c, zero, "float32"), axis % max(1, x.rank), 0)


@imports("MatMulInteger")
def matmul_integer(
    c: Call, x: Operand, y: Operand, x_zero: Operand | None = None, y_zero: Operand | None = None
) -> Operand:
    """Product of integer matrices minus their zero points, as int32."""
    left, right = _centred(c, x, x_zero, x.rank - 2), _centred(c, y, y_zero, y.rank - 1)
    return small_product(c, left, right)


@imports("ConvInteger")
def conv_integer(
    c: Call, x: Operand, w: Operand, x_zero: Operand | None = None, w_zero: Operand | None = None
) -> Operand:
    """Convolution of integers minus their zero points, as int32."""
    return _convolved(c, _centred(c, x, x_zero, 1), _centred(c, w, w_zero, 0))


def _convolved(c: Call, x: Operand, w: Operand) -> Operand:
    """Return an exact convolution: as many channels at a time as float32 sums exactly."""
    view = window_of(c, x.shape[2:], w.shape[2:])
    groups, cells = c.integer("group", 1), 1
    for size in w.shape[2:]:
        cells *= size
    most = 255 // cells
    if most < 1 or (groups > 1 and w.shape[1] > most):
        raise c.unsupported(f"windows of {cells} cells and {w.shape[1]} channels")
    if groups > 1:
        return as_type(c, convolution(c, x, w, None, view, groups), "int32")
    total: Operand | None = None
    for first in range(0, w.shape[1], most):
        width = min(most, w.shape[1] - first)
        some = convolution(
            c, part(c, x, 1, first, width), part(c, w, 1, first, width), None, view, 1
        )
        whole = as_type(c, some, "int32")
        total = whole if total is None else total + whole
    assert total is not None
    return total


def _requantised(
    c: Call, total: Operand, factor: Operand, zero: Operand, scale: Operand
) -> Operand:
    """Return round(total·factor/scale) + zero point, clamped to the zero point's type."""
    low, high = integer_range(zero.dtype)
    value = c.b.round_even(as_type(c, total, "float32") * factor / scale)
    shifted = c.b.clamp(value + as_type(c, zero, "float32"), min_value=low, max_value=high)
    return as_type(c, shifted, zero.dtype)


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
    total = small_product(c, _centred(c, x, x_zero, x.rank - 2), _centred(c, y, y_zero, y.rank - 1))
    x_scale, y_scale, scale = (as_type(c, each, "float32") for each in (x_scale, y_scale, scale))
    rows = _along(c, x_scale, total.rank, total.rank - 2)
    columns = _along(c, y_scale, total.rank, total.rank - 1)
    return _requantised(c, total, rows * columns, zero, scale)


def _along(c: Call, x: Operand, rank: int, axis: int) -> Operand:
    """Return one number per index of an axis in a shape that broadcasts."""
    if x.rank == 0 or x.shape == (1,):
        return reshaped(c, x, ())
    return reshaped(c, x, [-1 if k == axis else 1 for k in range(rank)])


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
    total = _convolved(c, _centred(c, x, x_zero, 1), _centred(c, w, w_zero, 0))
    if bias is not None:
        total = total + _along(c, bias, total.rank, 1)
    return _requantised(c, total, x_scale * _along(c, w_scale, total.rank, 1), zero, scale)


def _real(c: Call, x: Operand, scale: Operand, zero: Operand | None) -> Operand:
    """Return the floats that a quantised tensor represents."""
    return _centred(c, x, zero, 1) * scale


def _quantised(c: Call, x: Operand, scale: Operand, zero: Operand | None) -> Operand:
    point = c.b.constant(0, "uint8") if zero is None else zero
    low, high = integer_range(point.dtype)
    value = c.b.round_even(x / scale) + as_type(c, point, "float32")
    return as_type(c, c.b.clamp(value, min_value=low, max_value=high), point.dtype)


@imports("QLinearAdd", "QLinearMul", domain="com.microsoft")
def qlinear_binary(
    c: Call,
    x: Operand,
    x_scale: Operand,
    x_zero: Operand | None,
    y: Operand,
    y_scale: Operand,
    y_zero: Operand | None,
    scale: Operand,
    zero: Operand | None = None,
) -> Operand:
    """Sum or product of quantised tensors, quantised."""
    left, right = _real(c, x, x_scale, x_zero), _real(c, y, y_scale, y_zero)
    found = left + right if c.node.op_type == "QLinearAdd" else left * right
    return _quantised(c, found, scale, zero)


@imports("QLinearSigmoid", "QLinearLeakyRelu", domain="com.microsoft")
def qlinear_activation(
    c: Call,
    x: Operand,
    x_scale: Operand,
    x_zero: Operand | None,
    scale: Operand,
    zero: Operand | None = None,
) -> Operand:
    """An activation of a quantised tensor, quantised."""
    value = _real(c, x, x_scale, x_zero)
    if c.node.op_type == "QLinearSigmoid":
        return _quantised(c, c.b.sigmoid(value), scale, zero)
    return _quantised(c, c.b.leaky_relu(value, alpha=c.number("alpha", 0.01)), scale, zero)


@imports("QLinearGlobalAveragePool", domain="com.microsoft")
def qlinear_global_average_pool(
    c: Call, x: Operand, x_scale: Operand, x_zero: Operand, scale: Operand, zero: Operand
) -> Operand:
    """The mean of each channel of a quantised tensor, quantised."""
    axes = [*range(2, x.rank)]
    if c.flag("channels_last"):
        axes = [*range(1, x.rank - 1)]
    mean = c.b.reduce_mean(_real(c, x, x_scale, x_zero), axes=axes, keep_dimensions=True)
    return _quantised(c, mean, scale, zero)


@imports("QLinearConcat", domain="com.microsoft")
def qlinear_concat(c: Call, scale: Operand, zero: Operand, *parts: Operand) -> Operand:
    """Quantised tensors concatenated, and requantised."""
    triples: Sequence[tuple[Operand, ...]] = [*zip(*[iter(parts)] * 3, strict=True)]
    values = [_real(c, *triple) for triple in triples]
    axis = c.axis(c.integer("axis"), values[0].rank)
    return _quantised(c, c.b.concat(values, axis=axis), scale, zero)


@imports("DynamicQuantizeMatMul", domain="com.microsoft")
def dynamic_quantize_matmul(
    c: Call,
    x: Operand,
    y: Operand,
    y_scale: Operand,
    y_zero: Operand | None = None,
    bias: Operand | None = None,
) -> Operand:
    """Product of a tensor, quantised by its range, with a quantised tensor."""
    small, scale, zero = dynamic_quantize(c, x)
    return _scaled_product(c, small, y, scale, y_scale, zero, y_zero, bias)


@imports("MatMulIntegerToFloat", domain="com.microsoft")
def matmul_integer_to_float(
    c: Call,
    x: Operand,
    y: Operand,
    x_scale: Operand,
    y_scale: Operand,
    x_zero: Operand | None = None,
    y_zero: Operand | None = None,
    bias: Operand | None = None,
) -> Operand:
    """Product of quantised tensors as floats."""
    return _scaled_product(c, x, y, x_scale, y_scale, x_zero, y_zero, bias)


def _scaled_product(
    c: Call,
    x: Operand,
    y: Operand,
    x_scale: Operand,
    y_scale: Operand,
    x_zero: Operand | None,
    y_zero: Operand | None,
    bias: Operand | None,
) -> Operand:
    total = small_product(c, _centred(c, x, x_zero, x.rank - 2), _centred(c, y, y_zero, y.rank - 1))
    factor = reshaped(c, x_scale, ()) * _along(c, y_scale, total.rank, total.rank - 1)
    found = as_type(c, total, "float32") * factor
    return found if bias is None else found + bias
