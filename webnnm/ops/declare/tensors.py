"""The view that rules have of tensors and of the graph that they build."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

from webnnm.core.dtypes import DataType, byte_length
from webnnm.core.errors import WebNNMError
from webnnm.core.shapes import Shape, count, show


class TensorType(NamedTuple):
    """The data type and shape of a tensor."""

    dtype: DataType
    shape: Shape

    @property
    def nbytes(self) -> int:
        """The number of bytes of its elements.

        >>> TensorType("float32", (2, 3)).nbytes
        24
        """
        return byte_length(self.dtype, count(self.shape))

    def __str__(self) -> str:
        return f"{self.dtype}{show(self.shape)}"


class Tensor(Protocol):
    """A gradient or decomposition rule's view of an operand: its type, and its algebra."""

    @property
    def dtype(self) -> DataType:
        """The data type."""
        ...

    @property
    def shape(self) -> Shape:
        """The shape."""
        ...

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        ...

    def __add__(self, other: Self | float, /) -> Self: ...
    def __radd__(self, other: float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __rsub__(self, other: float, /) -> Self: ...
    def __mul__(self, other: Self | float, /) -> Self: ...
    def __rmul__(self, other: float, /) -> Self: ...
    def __truediv__(self, other: Self | float, /) -> Self: ...
    def __rtruediv__(self, other: float, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __getattr__(self, name: str, /) -> Callable[..., Any]: ...


class Builder(Protocol):
    """A rule's view of the graph builder: every operator as a method in snake_case."""

    def constant(
        self, value: Any, dtype: DataType | None = None, shape: Sequence[int] | None = None
    ) -> Any:
        """Return a constant."""
        ...

    def apply(self, operator: Any, operands: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Apply an operator of the registry."""
        ...

    def __getattr__(self, name: str, /) -> Callable[..., Any]: ...


class OperatorError(WebNNMError):
    """Operands or options that break an operator's rule; the caller adds the place."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint=hint)
