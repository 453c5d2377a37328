"""The representation of an exported graph: calls of ONNX operators, and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.formats.sizes import Dims

Element = DataType | Literal["bool"]


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """An input, a constant (which has an array) or a result; compared by identity."""

    dtype: Element
    shape: Dims
    array: HostArray | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """A node of the model; `label` is the place in the model text that it was written for."""

    operator: str
    operands: tuple[Value | None, ...]
    results: tuple[Value, ...]
    attributes: Mapping[str, Any]
    label: str = ""
