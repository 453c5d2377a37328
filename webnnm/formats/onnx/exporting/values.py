"""What an exported graph is collected as: calls of operators of ONNX, and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.formats.sizes import Dims

Element = DataType | Literal["bool"]


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """An input, a constant (which has an array) or a result; it is itself alone."""

    dtype: Element
    shape: Dims
    array: HostArray | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """A node of the model; `label` is the place of the model text that it was made for."""

    operator: str
    operands: tuple[Value | None, ...]
    results: tuple[Value, ...]
    attributes: Mapping[str, Any]
    label: str = ""


def needed(calls: Sequence[Call], results: Iterable[Value]) -> list[Call]:
    """Return the calls that the results depend on, in their order."""
    used = set(map(id, results))
    kept: list[Call] = []
    for call in reversed(calls):
        if any(id(result) in used for result in call.results):
            used.update(map(id, call.operands))
            kept.append(call)
    return kept[::-1]
