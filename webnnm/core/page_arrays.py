"""Arrays whose numbers are in a typed array of JavaScript until Python looks at them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.shapes import Shape, count

TYPED_ARRAYS: Mapping[str, DataType] = {
    "Float32Array": "float32",
    "Int32Array": "int32",
    "Uint32Array": "uint32",
    "BigInt64Array": "int64",
    "BigUint64Array": "uint64",
    "Int8Array": "int8",
    "Uint8Array": "uint8",
    "Uint8ClampedArray": "uint8",
}
"""The data types of typed arrays by their classes in JavaScript."""


class PageArray(HostArray):
    """An array in the memory of a page: what `predict` returns for values of JavaScript.

    Attributes: `dtype` and `shape`; `js`, the typed array; `data`, a copy of its bytes, which is
    made when it is first asked for. NumPy, `memoryview` and `tolist` see the numbers.
    """

    __slots__ = ("_copy", "js")

    def __init__(self, dtype: DataType, shape: Iterable[int], js: Any) -> None:
        self.dtype: DataType = dtype
        self.shape: Shape = tuple(shape)
        self.js = js
        self._copy: memoryview[int] | None = None

    @property
    def data(self) -> memoryview[int]:  # pyrefly: ignore[bad-override]
        """A copy of the bytes."""
        if self._copy is None:
            self._copy = memoryview(self.js.to_py()).cast("B")
        return self._copy

    def public(self) -> PageArray:
        """Return the array itself, because Python has not looked at its numbers yet."""
        return self

    def on_host(self) -> HostArray:
        """Return an array with the copy of the bytes."""
        return HostArray(self.dtype, self.shape, self.data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return a NumPy array."""
        return self.on_host().__array__(dtype, copy)


def find_class(value: Any) -> str:
    """Return the class of a value of JavaScript, "" for anything else.

    >>> find_class([1.0])
    ''
    """
    if not hasattr(value, "js_id"):  # which JavaScript proxies have
        return ""
    return str(getattr(getattr(value, "constructor", None), "name", ""))


def read_typed_array(value: Any, dtype: DataType, sizes: Shape) -> PageArray | None:
    """Return a typed array as rows of these sizes, None for anything else.

    >>> read_typed_array([1.0, 2.0], "float32", (2,)) is None
    True
    """
    if TYPED_ARRAYS.get(find_class(value)) != dtype:
        return None
    rows, rest = divmod(value.length, count(sizes) or 1)
    return None if rest or not rows else PageArray(dtype, (rows, *sizes), value)
