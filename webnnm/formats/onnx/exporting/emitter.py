"""Collects the calls of an exported graph: casts types, keeps booleans, computes sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.formats.onnx.exporting.shortages import stand_in
from webnnm.formats.onnx.exporting.values import Call, Element, Value
from webnnm.formats.sizes import Dim, Dims, Size, express_size, record_sizes
from webnnm.ops.declare.tensors import OperatorError

Type = tuple[Element, Dims]


class Emitter:
    """The emitter that every entry of the table gets as `h`: it writes calls and constants.

    `dtype` and `shape` are those of the result, as the operator's own rule infers them. Comparisons
    return "bool" in ONNX and bytes in WebNN: a result of type "bool" is cast to bytes where bytes
    are expected, and used as it is where booleans are.

    >>> h = Emitter()
    >>> x = Value("float32", (2, 3))
    >>> h.one("Greater", [x, h.number(0, "float32")], "bool", (2, 3)).dtype, len(h.calls)
    ('bool', 1)
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.dtype: Element = "float32"
        self.shape: Dims = ()
        self.label = ""
        self._said: dict[Any, tuple[Value, ...]] = {}
        self._constants: dict[Any, Value] = {}
        self._truths: dict[Value, Value] = {}
        self._symbols: dict[Size, tuple[Value, int]] = {}

    # Calls.

    def one(
        self,
        operator: str,
        operands: Sequence[Value | None],
        dtype: Element | None = None,
        shape: Dims | None = None,
        **attributes: Any,
    ) -> Value:
        """Call an operator with one result, of the operator's own type unless another is given."""
        type = (dtype or self.dtype, self.shape if shape is None else shape)
        return self.several(operator, operands, [type], **attributes)[0]

    def several(
        self,
        operator: str,
        operands: Sequence[Value | None],
        types: Sequence[Type],
        **attributes: Any,
    ) -> tuple[Value, ...]:
        """Call an operator in types for which ONNX Runtime has kernels."""
        inputs = [x and self.cast(x, stand_in(operator, x.dtype)) for x in operands]
        result_types: list[Type] = [(stand_in(operator, dtype), shape) for dtype, shape in types]
        if operator == "Cast":
            inputs, result_types = list(operands), list(types)
        results = self._call(operator, tuple(inputs), tuple(result_types), attributes)
        pairs = zip(results, types, strict=True)
        return tuple(self.cast(result, dtype) for result, (dtype, _) in pairs)

    def _call(
        self,
        operator: str,
        operands: tuple[Value | None, ...],
        types: tuple[Type, ...],
        attributes: dict[str, Any],
    ) -> tuple[Value, ...]:
        """Write a call, unless the same call was written before."""
        key = (operator, operands, types, tuple(attributes.items()))
        if key not in self._said:
            results = tuple(Value(*type) for type in types)
            self.calls.append(Call(operator, operands, results, attributes, self.label))
            self._said[key] = results
        return self._said[key]

    def cast(self, x: Value, dtype: Element) -> Value:
        """Return a tensor in another type, by ONNX's own rules."""
        if x.dtype == dtype:
            return x
        truth = self._truths.get(x, x)
        if truth.dtype == dtype:
            return truth
        result = self._call("Cast", (truth,), ((dtype, x.shape),), {"to": dtype})[0]
        if truth.dtype == "bool":
            self._truths[result] = truth
        return result

    def truth(self, x: Value) -> Value:
        """Return whether elements are not 0, as booleans of ONNX."""
        return self.cast(x, "bool")

    # Constants.

    def array(self, array: HostArray, key: Any = None) -> Value:
        """Return a constant; `key` identifies its bytes."""
        key_of_value = (array.dtype, array.shape, key or bytes(array.data))
        if key_of_value not in self._constants:
            self._constants[key_of_value] = Value(array.dtype, array.shape, array)
        return self._constants[key_of_value]

    def number(self, value: float | Dim, dtype: DataType) -> Value:
        """Return a scalar; an open size is computed."""
        if isinstance(value, Size):
            scalar = self.one("Reshape", [self.size(value), self.integers([])], "int64", ())
            return self.cast(scalar, dtype)
        return self.array(HostArray.of(value, dtype))

    def like(self, value: float | Dim, x: Value) -> Value:
        """Return a scalar of the type of a tensor."""
        if x.dtype == "bool":
            raise OperatorError("NNM901", "booleans have no numbers")
        return self.number(value, x.dtype)

    def integers(self, values: Sequence[int]) -> Value:
        """Return integers as a vector, the form in which axes and shapes are given."""
        return self.array(HostArray.of(list(values), "int64", (len(values),)))

    # Sizes.

    def record_sizes(self, value: Value) -> None:
        """Note where to read sizes that do not follow from known ones."""
        record_sizes(value, self._symbols)

    def size(self, size: Dim) -> Value:
        """Return a size as a vector of one int64.

        Raises `OperatorError` NNM902 if it does not follow from the sizes of inputs.
        """
        if isinstance(size, int):
            return self.integers([size])
        factors, a, c = express_size(size, self._symbols)
        total = self._read(factors[0])
        for factor in factors[1:]:
            total = self.one("Mul", [total, self._read(factor)], "int64", (1,))
        if a != 1:
            total = self.one("Mul", [total, self.integers([a])], "int64", (1,))
        return self.one("Add", [total, self.integers([c])], "int64", (1,)) if c else total

    def sizes(self, dims: Sequence[Dim]) -> Value:
        """Return several sizes as an int64 vector."""
        fixed = [size for size in dims if isinstance(size, int)]
        if len(fixed) == len(dims):
            return self.integers(fixed)
        parts = [self.size(size) for size in dims]
        return self.one("Concat", parts, "int64", (len(parts),), axis=0)

    def _read(self, symbol: Size) -> Value:
        value, axis = self._symbols[symbol]
        return self.one("Shape", [value], "int64", (1,), start=axis, end=axis + 1)

    # Operations that many entries share.

    def reshape(self, x: Value, shape: Dims) -> Value:
        """Return the elements in another shape; one open size follows from the others."""
        if x.shape == shape:
            return x
        unknown = [axis for axis, size in enumerate(shape) if isinstance(size, Size)]
        if len(unknown) == 1 and 0 not in shape:
            sizes = self.integers([size if isinstance(size, int) else -1 for size in shape])
        else:
            sizes = self.sizes(shape)
        return self.one("Reshape", [x, sizes], x.dtype, shape, allowzero=int(0 in shape))

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """Return a tensor with its dimensions in another order."""
        if list(order) == [*range(x.rank)]:
            return x
        shape = tuple(x.shape[axis] for axis in order)
        return self.one("Transpose", [x], x.dtype, shape, perm=tuple(order))

    def expand(self, x: Value, shape: Dims) -> Value:
        """Return a tensor broadcast to a shape; sizes that it already has are not computed."""
        if x.shape == shape:
            return x
        own = (1,) * (len(shape) - x.rank) + x.shape
        target = [1 if a == b else b for a, b in zip(own, shape, strict=True)]
        return self.one("Expand", [x, self.sizes(target)], x.dtype, shape)
