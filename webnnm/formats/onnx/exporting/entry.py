"""An entry of the export table: how one operator is written in ONNX, and for which calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from webnnm.core.dtypes import is_float
from webnnm.graph.node import OperatorNode

Write = Callable[..., Any]
"""`write(h, *values, **options)` returns the value of the result, or a tuple of them."""


def always(_node: OperatorNode) -> bool:
    """Accept every call of the operator."""
    return True


def of_floats(node: OperatorNode) -> bool:
    """Accept calls with floats."""
    x = node.operands[0]
    return x is not None and is_float(x.dtype)


@dataclass(frozen=True)
class Entry:
    """How an operator is written; calls that it does not cover are decomposed."""

    write: Write
    covers: Callable[[OperatorNode], bool] = always
