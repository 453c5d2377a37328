"""Sizes at run time: read from tensors, computed, assembled into shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.formats.sizes import Dim, Dims, Size, express_size, is_static, record_sizes
from webnnm.formats.stablehlo.emitter import Emitter, Region, Type, Value
from webnnm.formats.stablehlo.text import Element, dense, integer, integers, number, tensor_type


@dataclass
class Runtime(Emitter):
    """An emitter of constants, and of the sizes that a module determines at run time.

    `symbols` are the open sizes, each with a tensor and an axis where it can be read; `truths` are
    the results of comparisons that were converted to numbers, keyed by these.
    """

    symbols: dict[Size, tuple[Value, int]] = field(default_factory=dict[Size, tuple[Value, int]])
    truths: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def constant(self, value: float | Dim, dtype: Element, shape: Dims = ()) -> Value:
        """Return a number, broadcast to a shape; an open size is computed."""
        if isinstance(value, Size):
            return self.broadcast_in_dim(self.convert(self.size(value), dtype), shape)
        if not is_static(shape):
            return self.broadcast_in_dim(self.constant(value, dtype), shape)
        written = f"dense<{number(value, dtype)}> : {tensor_type(dtype, shape)}"
        return self.one("stablehlo.constant", [], dtype, shape, value=written)

    def array(self, array: HostArray) -> Value:
        """Return a constant tensor."""
        written = f"{dense(array)} : {tensor_type(array.dtype, array.shape)}"
        return self.one("stablehlo.constant", [], array.dtype, array.shape, value=written)

    def numbers(self, values: Sequence[float], dtype: DataType) -> Value:
        """Return several numbers as a vector."""
        return self.array(HostArray.of(list(values), dtype, (len(values),)))

    def convert(self, x: Value, dtype: Element) -> Value:
        """Return a tensor in another data type."""
        if x.dtype == dtype:
            return x
        truth = self.truths.get(x, x)
        result = self.one("stablehlo.convert", [truth], dtype, x.shape)
        if truth.dtype == "bool":
            self.truths[result] = truth
        return result

    def region(self, types: Sequence[Type], body: Callable[..., Sequence[Value]]) -> Region:
        """Return a region in which open sizes are read from its arguments."""
        outer = self.symbols, self.truths
        self.symbols = {}
        self.truths = {}

        def build(*arguments: Value) -> Sequence[Value]:
            for argument in arguments:
                self.record_sizes(argument)
            return body(*arguments)

        try:
            return super().region(types, build)
        finally:
            self.symbols, self.truths = outer

    def record_sizes(self, value: Value) -> None:
        """Note where to read sizes that do not follow from known ones."""
        record_sizes(value, self.symbols)

    def size(self, size: Dim) -> Value:
        """Return a size as an int32 scalar: a multiple of a known one, or of two, plus a number.

        Raises `OperatorError` NNM902 for any other size.
        """
        if isinstance(size, int):
            return self.constant(size, "int32")
        factors, a, c = express_size(size, self.symbols)
        total = self._read(factors[0])
        for factor in factors[1:]:
            total = self._compute_size("multiply", total, self._read(factor))
        if a != 1:
            total = self._compute_size("multiply", total, self.constant(a, "int32"))
        return self._compute_size("add", total, self.constant(c, "int32")) if c else total

    def sizes(self, dims: Sequence[Dim]) -> Value:
        """Return several sizes as an int32 vector."""
        fixed = [size for size in dims if isinstance(size, int)]
        if len(fixed) == len(dims):
            return self.numbers(fixed, "int32")
        parts = [
            self.numbers([size], "int32")
            if isinstance(size, int)
            else self.one("stablehlo.reshape", [self.size(size)], "int32", (1,))
            for size in dims
        ]
        if len(parts) == 1:
            return parts[0]
        return self.one(
            "stablehlo.concatenate", parts, "int32", (len(parts),), dimension=integer(0)
        )

    def broadcast_in_dim(self, x: Value, shape: Dims, axes: Sequence[int] | None = None) -> Value:
        """Return a tensor broadcast to a shape; `axes` says where its dimensions go, else last.

        An operand that already has the shape is returned as it is.
        """
        if x.shape == shape:
            return x
        places = range(len(shape) - x.rank, len(shape)) if axes is None else axes
        where = {"broadcast_dimensions": integers(places)}
        if is_static(shape):
            return self.one("stablehlo.broadcast_in_dim", [x], x.dtype, shape, **where)
        operands = [x, self.sizes(shape)]
        return self.one("stablehlo.dynamic_broadcast_in_dim", operands, x.dtype, shape, **where)

    def _read(self, symbol: Size) -> Value:
        value, axis = self.symbols[symbol]
        name = "stablehlo.get_dimension_size"
        return self.one(name, [value], "int32", (), dimension=integer(axis))

    def _compute_size(self, name: str, x: Value, y: Value) -> Value:
        return self.one(f"stablehlo.{name}", [x, y], "int32", ())
