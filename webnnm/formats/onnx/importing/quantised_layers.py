"""Layers of quantised tensors (com.microsoft), as quantisation by ONNX Runtime writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.products import small_product
from webnnm.formats.onnx.importing.quantised import (
    along,
    dynamic_quantize,
    matmul_integer,
    qlinear_conv,
    requantize,
    subtract_zero_point,
    to_integers,
)
from webnnm.formats.onnx.importing.recurrent import unroll_lstm
from webnnm.formats.onnx.importing.reductions import softmax_of
from webnnm.formats.onnx.importing.shaping import as_type, move_axis, reshape_to
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.importing.windows import average_pool
from webnnm.graph.node import Operand

MICROSOFT = "com.microsoft"


def _real(c: Call, x: Operand, scale: Operand, zero: Operand | None) -> Operand:
    """Return the floats that a quantised tensor represents."""
    return subtract_zero_point(c, x, zero, 1) * scale


def _quantize(c: Call, x: Operand, scale: Operand, zero: Operand | None) -> Operand:
    return to_integers(c, x, scale, c.b.constant(0, "uint8") if zero is None else zero)


@imports("QLinearAdd", "QLinearMul", domain=MICROSOFT, absent=(2, 5))
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
    result = left + right if c.node.op_type == "QLinearAdd" else left * right
    return _quantize(c, result, scale, zero)


@imports("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", domain=MICROSOFT, absent=(2,))
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
    match c.node.op_type:
        case "QLinearSigmoid":
            value = c.b.sigmoid(value)
        case "QLinearLeakyRelu":
            value = c.b.leaky_relu(value, alpha=c.number("alpha", 0.01))
        case _:
            value = softmax_of(c, value, c.integer("opset"))
    return _quantize(c, value, scale, zero)


@imports("QLinearGlobalAveragePool", "QLinearAveragePool", domain=MICROSOFT, absent=(2,))
def qlinear_average_pool(
    c: Call,
    x: Operand,
    x_scale: Operand,
    x_zero: Operand | None,
    scale: Operand,
    zero: Operand | None = None,
) -> Operand:
    """The mean of each channel or window of a quantised tensor, quantised."""

    def pool(x: Operand) -> Operand:
        if c.node.op_type == "QLinearAveragePool":
            return average_pool(c, x)
        return c.b.reduce_mean(x, axes=[*range(2, x.rank)], keep_dimensions=True)

    return _quantize(c, _channels_second(c, pool, _real(c, x, x_scale, x_zero)), scale, zero)


def _channels_second(c: Call, rule: Callable[[Operand], Operand], x: Operand) -> Operand:
    """Apply a rule for channels in the second dimension to images in the layout of the node."""
    if not c.flag("channels_last"):
        return rule(x)
    return move_axis(c, rule(move_axis(c, x, x.rank - 1, 1)), 1, x.rank - 1)


@imports("QLinearReduceMean", domain=MICROSOFT, absent=(2,))
def qlinear_reduce_mean(
    c: Call,
    x: Operand,
    x_scale: Operand,
    x_zero: Operand | None,
    scale: Operand,
    zero: Operand | None = None,
) -> Operand:
    """The mean of a quantised tensor along axes, quantised."""
    axes = c.axes(c.integers("axes", [*range(x.rank)]), x.rank)
    keep = c.flag("keepdims", 1)
    mean = c.b.reduce_mean(_real(c, x, x_scale, x_zero), axes=axes, keep_dimensions=keep)
    return _quantize(c, mean, scale, zero)


@imports("QLinearWhere", domain=MICROSOFT, absent=(3, 6))
def qlinear_where(
    c: Call,
    condition: Operand,
    x: Operand,
    x_scale: Operand,
    x_zero: Operand | None,
    y: Operand,
    y_scale: Operand,
    y_zero: Operand | None,
    scale: Operand,
    zero: Operand | None = None,
) -> Operand:
    """One of two quantised tensors where a condition holds, otherwise the other, quantised."""
    left, right = _real(c, x, x_scale, x_zero), _real(c, y, y_scale, y_zero)
    return _quantize(c, c.b.where(condition, left, right), scale, zero)


@imports("QLinearConv", domain=MICROSOFT)
def qlinear_conv_in_layout(c: Call, x: Operand, *more: Operand | None) -> Operand:
    """Convolution of quantised tensors, quantised; channels may be last."""
    if len(more) not in (7, 8) or None in more[:7]:
        raise c.invalid(f"it has {1 + len(more)} inputs")
    return _channels_second(c, lambda image: qlinear_conv(c, image, *more), x)  # pyrefly: ignore[bad-argument-type]


@imports("QGemm", domain=MICROSOFT)
def qgemm(
    c: Call,
    x: Operand,
    x_scale: Operand,
    x_zero: Operand,
    y: Operand,
    y_scale: Operand,
    y_zero: Operand,
    bias: Operand | None = None,
    scale: Operand | None = None,
    zero: Operand | None = None,
) -> Operand:
    """α·A·B + C of quantised matrices; quantised if the result has a scale."""
    left, right = subtract_zero_point(c, x, x_zero, 0), y
    if c.flag("transA"):
        left = c.b.transpose(left)
    right = subtract_zero_point(c, y, y_zero, 0 if c.flag("transB") else 1)
    if c.flag("transB"):
        right = c.b.transpose(right)
    total = small_product(c, left, right)
    if bias is not None:
        total = total + bias
    factor = reshape_to(c, x_scale, ()) * along(c, y_scale, 2, 1) * c.number("alpha", 1.0)
    if scale is None:
        return as_type(c, total, "float32") * factor
    point = c.b.constant(0, x.dtype) if zero is None else zero
    return requantize(c, total, factor, point, scale)


@imports("DynamicQuantizeLSTM", domain=MICROSOFT, absent=range(3, 8))
def dynamic_quantize_lstm(
    c: Call,
    x: Operand,
    w: Operand,
    r: Operand,
    bias: Operand | None,
    lengths: Operand | None,
    hidden: Operand | None,
    memory: Operand | None,
    peephole: Operand | None,
    w_scale: Operand,
    w_zero: Operand,
    r_scale: Operand,
    r_zero: Operand,
) -> list[Operand]:
    """Long short-term memory with quantised weights; data and states are quantised by range."""

    def weights(x: Operand, scale: Operand, zero: Operand) -> Operand:
        """Return the floats [directions, gates, size] of weights, which are stored transposed."""
        scale, zero = (
            reshape_to(c, parameter, (parameter.shape[0], 1, *(parameter.shape[1:] or (1,))))
            for parameter in (scale, zero)
        )
        real = (as_type(c, x, "float32") - as_type(c, zero, "float32")) * scale
        return c.b.transpose(real, permutation=(0, 2, 1))

    def fake_quantize(x: Operand) -> Operand:
        """Return the floats that a tensor becomes by quantisation."""
        small, scale, zero = dynamic_quantize(c, x)
        return _real(c, small, scale, zero)

    return unroll_lstm(
        c,
        x,
        weights(w, w_scale, w_zero),
        weights(r, r_scale, r_zero),
        bias,
        lengths,
        hidden,
        memory,
        peephole,
        fake_quantize,
    )


@imports("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(c: Call, scale: Operand, zero: Operand, *parts: Operand) -> Operand:
    """Quantised tensors concatenated, and requantised."""
    triples: Sequence[tuple[Operand, ...]] = [*zip(*[iter(parts)] * 3, strict=True)]
    values = [_real(c, *triple) for triple in triples]
    axis = c.axis(c.integer("axis"), values[0].rank)
    return _quantize(c, c.b.concat(values, axis=axis), scale, zero)


@imports("DynamicQuantizeMatMul", domain=MICROSOFT)
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
    return _float_product(c, small, y, scale, y_scale, zero, y_zero, bias)


@imports("MatMulIntegerToFloat", domain=MICROSOFT)
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
    return _float_product(c, x, y, x_scale, y_scale, x_zero, y_zero, bias)


def _float_product(
    c: Call,
    x: Operand,
    y: Operand,
    x_scale: Operand,
    y_scale: Operand,
    x_zero: Operand | None,
    y_zero: Operand | None,
    bias: Operand | None,
) -> Operand:
    total = matmul_integer(c, x, y, x_zero, y_zero)
    factor = reshape_to(c, x_scale, ()) * along(c, y_scale, total.rank, total.rank - 1)
    product = as_type(c, total, "float32") * factor
    return product if bias is None else product + bias
