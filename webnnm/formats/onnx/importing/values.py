"""Constants, and values that follow from shapes."""

from __future__ import annotations

import math
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.elementwise import cast_to_code
from webnnm.formats.onnx.importing.shaping import full, make_constant
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.tensors import host_array
from webnnm.graph.node import Operand


@imports("Constant")
def constant(c: Call) -> Operand:
    """A value that is stored in the model."""
    if c.has("value"):
        return c.importer.tensor(c.tensor("value"))
    if c.has("value_float"):
        return c.b.constant(c.number("value_float"), "float32")
    if c.has("value_floats"):
        floats = c.numbers("value_floats")
        return c.b.constant(floats, "float32", (len(floats),))
    if c.has("value_int"):
        return c.b.constant(c.integer("value_int"), "int64")
    if c.has("value_ints"):
        integers = c.integers("value_ints")
        return c.b.constant(integers, "int64", (len(integers),))
    raise c.not_supported("WebNN has no strings and no sparse tensors")


@imports("ConstantOfShape")
def constant_of_shape(c: Call, shape: Operand) -> Operand:
    """A tensor filled with one number, 0 by default."""
    array = HostArray.of(0.0)
    if c.has("value"):
        array = host_array(c.tensor("value"))
    return full(c, array.values()[0], array.dtype, c.require_integers(shape, "shape"))


@imports("Shape")
def shape(c: Call, x: Operand) -> Operand:
    """The sizes of a tensor."""
    sizes = x.shape[c.integer("start", 0) : c.integer("end", x.rank)]
    return c.b.constant(list(sizes), "int64", (len(sizes),))


@imports("Size")
def size(c: Call, x: Operand) -> Operand:
    """The number of elements."""
    return c.b.constant(count(x.shape), "int64")


@imports("Range")
def range_(c: Call, start: Operand, limit: Operand, delta: Operand) -> Operand:
    """Evenly spaced numbers."""
    bounds: list[Any] = [c.require_scalar(x, "a bound") for x in (start, limit, delta)]
    first, last, step = bounds
    if not is_float(start.dtype):
        amount: int = (last - first + step - (1 if step > 0 else -1)) // step
        size = c.check_bytes(max(0, amount), start.dtype, "its result")
        return make_constant(c, range(first, first + size * step, step), start.dtype, size)
    size = c.check_size(max(0, math.ceil((last - first) / step)), "its result")
    return c.b.constant([first + k * step for k in range(size)], start.dtype, (size,))


@imports("EyeLike")
def eye_like(c: Call, x: Operand) -> Operand:
    """Ones on a diagonal."""
    rows, columns = x.shape
    k = c.integer("k", 0)
    size = c.check_bytes(rows * columns, x.dtype, "its result")
    values = bytearray(size)
    for row in range(max(0, -k), min(rows, columns - k)):
        values[row * columns + row + k] = 1
    matrix = c.b.constant(HostArray("uint8", x.shape, values))
    code = c.integer("dtype", 0) or c.code(0)
    return cast_to_code(c, matrix, code) if code else c.b.cast(matrix, type=x.dtype)


@imports("Dropout")
def dropout(
    c: Call, x: Operand, ratio: Operand | None = None, training: Operand | None = None
) -> tuple[Operand, Operand]:
    """The operand itself, as in inference, and a mask of ones."""
    active = training is not None and c.require_scalar(training, "training_mode")
    if active and (ratio is None or c.require_scalar(ratio, "ratio")):
        raise c.not_supported("it draws random numbers", "import the model in inference mode")
    return c.b.identity(x), full(c, 1, "uint8", x.shape)


@imports("OptionalHasElement")
def optional_has_element(c: Call, x: Operand | None = None) -> Operand:
    """Whether an optional value is present."""
    return c.b.constant(int(x is not None), "uint8")


@imports("OptionalGetElement")
def optional_get_element(c: Call, x: Operand) -> Operand:
    """The tensor in an optional value."""
    return c.b.identity(x)
