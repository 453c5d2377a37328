"""Functions of arrays written into a graph under construction: custom losses and layers."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Sequence
from pathlib import PurePath
from types import CodeType
from typing import Any

from webnnm.core.errors import WebNNMError
from webnnm.eager.array import Array, host_array
from webnnm.eager.dtypes import dtype_of
from webnnm.eager.scopes import Recorded, Trace, tracing
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand


class _Inside(Trace):
    """Operations in somebody else's graph: values of captured arrays are constants of it."""

    def __init__(self, builder: GraphBuilder) -> None:
        super().__init__()
        self.builder = builder

    def leaf(self, array: Recorded) -> Operand:
        """Return the constant of an array's values."""
        assert isinstance(array, Array)
        return self.builder.constant(host_array(array))


def embed_function(
    builder: GraphBuilder,
    function: Callable[..., Any],
    operands: Sequence[Operand | None],
    what: str,
    **options: Any,
) -> tuple[Any, Callable[[Array], Operand]]:
    """Return what a function computes from operands, as arrays, and what finds an array's operand.

    Errors say which line of the function they come from, and call it `what`.
    """
    scope = _Inside(builder)
    with tracing(scope):
        arrays = [x and Array(dtype_of(x.dtype), scope, x) for x in operands]
        try:
            result = function(*arrays, **options)
        except Exception as error:
            _locate(error, function, what)
            raise
    return result, scope.operand_of


def format_location(function: Callable[..., Any], error: BaseException | None = None) -> str:
    """Return the file and line of a function, in brackets, or of its part that raised an error.

    >>> def square(x):
    ...     return x * x
    >>> format_location(square).rpartition(" ")[2]
    '1)'
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not isinstance(code, CodeType):
        return ""
    line = code.co_firstlineno
    if error is not None:
        for frame, number in traceback.walk_tb(error.__traceback__):
            line = number if frame.f_code.co_filename == code.co_filename else line
    return f" ({PurePath(code.co_filename).name}, line {line})"


def _locate(error: Exception, function: Callable[..., Any], what: str) -> None:
    """Say in an error which line of a function it comes from."""
    where = f"{what}{format_location(function, error)}"
    if isinstance(error, WebNNMError):
        error.message = f"{where}: {error.message}"
    else:
        error.add_note(f"raised in {where}")
