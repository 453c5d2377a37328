"""Matrices in few bits: integers in blocks along an axis, each with a scale and a least value.

A number is scale · whole + least; int8 has no least value, as 0 is in the middle. These are the
blocks Q8_0 and Q4_1 of ggml, for int8 and int4, with each part in a tensor of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from webnnm.core.arrays import zeros
from webnnm.core.dtypes import DataType, integer_range
from webnnm.core.shapes import Shape
from webnnm.graph.builder import GraphBuilder
from webnnm.ops.declare.tensors import TensorType

if TYPE_CHECKING:
    from webnnm.graph.node import Operand

KINDS: Mapping[str, DataType] = {"float16": "float16", "int8": "int8", "int4": "uint4"}
"""How weights may be stored → the type of the numbers; for int4 they are 0 to 15."""
BLOCK = 32
WHOLE, SCALE, LEAST = "whole", "scale", "least"
"""The parts of a matrix, which follow its name."""
SHARES = (1.0, 0.9)
"""Shares of the range of a block with which the search for its scale begins."""
ROUNDS = 2
"""How often scale and least value are fitted to the integers, and these to them."""
TINY = 2.0**-24
"""The smallest positive number of float16."""


class Packing(NamedTuple):
    """How a matrix is stored: the type of its numbers, the size of its blocks and their axis.

    `on_device` is whether tensors hold it in this form, or only the host does.
    """

    dtype: DataType
    axis: int = 0
    block: int = BLOCK
    on_device: bool = True

    def __str__(self) -> str:
        return next(kind for kind, dtype in KINDS.items() if dtype == self.dtype)

    def types(self, shape: Shape) -> dict[str, TensorType]:
        """Return the types of the parts of a matrix."""
        result = {WHOLE: TensorType(self.dtype, shape)}
        if self.dtype != "float16":
            rows = self._blocks(shape)
            result[SCALE] = TensorType("float16", (*rows[: self.axis + 1], *rows[self.axis + 2 :]))
        if self.dtype == "uint4":
            result[LEAST] = result[SCALE]
        return result

    def _blocks(self, shape: Shape, block: int = 0) -> Shape:
        """Return a shape with its axis split into blocks and elements."""
        lead, rest = shape[: self.axis], shape[self.axis + 1 :]
        return (*lead, shape[self.axis] // self.block, block or self.block, *rest)

    def pack(self, b: GraphBuilder, x: Any) -> dict[str, Operand]:
        """Return the parts of a float32 matrix whose numbers are in the range of float16."""
        if self.dtype == "float16":
            return {WHOLE: b.cast(x, type="float16")}
        blocks = b.reshape(x, new_shape=self._blocks(x.shape))
        quantize = self._quantize_symmetric if self.dtype == "int8" else self._quantize_affine
        integers, *parts = quantize(b, blocks)
        types = self.types(x.shape)
        result = {WHOLE: b.cast(b.reshape(integers, new_shape=x.shape), type=self.dtype)}
        for name, part in zip((SCALE, LEAST), parts, strict=False):
            result[name] = b.cast(b.reshape(part, new_shape=types[name].shape), type="float16")
        return result

    def _quantize_symmetric(self, b: GraphBuilder, x: Any) -> tuple[Any, ...]:
        limit = integer_range(self.dtype)[1]
        axes = [self.axis + 1]
        scale = _round_to_float16(
            b, b.reduce_max(b.abs(x), axes=axes, keep_dimensions=True) / limit
        )
        integers = b.round_even(x / b.max(scale, b.constant(TINY)))
        return b.clamp(integers, min_value=-limit, max_value=limit), scale

    def _quantize_affine(self, b: GraphBuilder, x: Any) -> tuple[Any, ...]:
        """Return the integers, scales and least values with the smallest squared error found.

        Starting from the range of a block, and from a part of it, the two are fitted in turns:
        numbers are rounded, then scale and least value become those of a line through them (least
        squares).
        """
        axes, limit = [self.axis + 1], integer_range(self.dtype)[1]
        low = b.reduce_min(x, axes=axes, keep_dimensions=True)
        high = b.reduce_max(x, axes=axes, keep_dimensions=True)
        best: tuple[Any, ...] = ()
        error: Any = None
        for share in SHARES:
            cut = (high - low) * ((1 - share) / 2)
            scale, minimum = (high - low) * (share / limit), low + cut
            candidate = _round_to_steps(b, x, scale, minimum, limit)
            for _ in range(ROUNDS):
                candidate = _round_to_steps(b, x, *_fit_line(b, x, candidate[0], axes), limit)
            residual = x - (candidate[0] * candidate[1] + candidate[2])
            squared_error = b.reduce_sum_square(residual, axes=axes, keep_dimensions=True)
            if error is None:
                best, error = candidate, squared_error
            else:
                better = b.lesser(squared_error, error)
                best = tuple(b.where(better, *pair) for pair in zip(candidate, best, strict=True))
        return best

    def unpack(self, b: GraphBuilder, parts: Mapping[str, Any]) -> Any:
        """Return the float32 matrix from its parts."""
        integers = parts[WHOLE]
        if self.dtype == "float16":
            return b.cast(integers, type="float32")
        scale = b.cast(parts[SCALE], type="float32")
        zero = b.constant(zeros(self.dtype, scale.shape))
        result = b.dequantize_linear(integers, scale, zero)
        if LEAST not in parts:
            return result
        minimum = b.reshape(
            b.cast(parts[LEAST], type="float32"), new_shape=self._blocks(integers.shape, 1)
        )
        shifted = b.reshape(result, new_shape=self._blocks(integers.shape)) + minimum
        return b.reshape(shifted, new_shape=integers.shape)


def _round_to_float16(b: GraphBuilder, x: Any) -> Any:
    """Return numbers rounded to float16."""
    return b.cast(b.cast(x, type="float16"), type="float32")


def _round_to_steps(
    b: GraphBuilder, x: Any, scale: Any, minimum: Any, limit: int
) -> tuple[Any, ...]:
    """Return the integers closest to x, and scale and least value as they are stored."""
    scale, minimum = _round_to_float16(b, scale), _round_to_float16(b, minimum)
    steps = b.round_even((x - minimum) / b.max(scale, b.constant(TINY)))
    return b.clamp(steps, min_value=0, max_value=limit), scale, minimum


def _fit_line(b: GraphBuilder, x: Any, integers: Any, axes: list[int]) -> tuple[Any, Any]:
    """Return scale and least value of the line from integers to numbers, by least squares."""
    middle = b.reduce_mean(integers, axes=axes, keep_dimensions=True)
    mean = b.reduce_mean(x, axes=axes, keep_dimensions=True)
    away = integers - middle
    spread = b.reduce_sum_square(away, axes=axes, keep_dimensions=True)
    shared = b.reduce_sum(away * x, axes=axes, keep_dimensions=True)
    scale = shared / b.max(spread, b.constant(TINY))
    return scale, mean - scale * middle
