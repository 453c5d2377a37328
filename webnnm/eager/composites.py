"""Custom operators, defined by functions over a graph builder or over arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Unpack

from webnnm.core.errors import WebNNMError
from webnnm.core.naming import camel_case
from webnnm.ops import register
from webnnm.ops.declare.composite import Declaration, declare_composite
from webnnm.ops.declare.operator import Composite
from webnnm.ops.declare.tensors import OperatorError


def composite(
    *names: str, arrays: bool = False, **declaration: Unpack[Declaration]
) -> Callable[[Callable[..., Any]], Composite]:
    """Define an operator by its decomposition, for the notation and for graph builders.

    >>> from webnnm import GraphBuilder, composite, ops, xp
    >>> @composite("shrink", "softThreshold")
    ... def shrink(b, x, *, by=0.5):
    ...     return b.sign(x) * b.relu(b.abs(x) - by)
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2, 3])
    >>> b.soft_threshold(x, by=0.1)
    float32[2, 3]

    With `arrays=True` it is a function of arrays, without a builder:

    >>> @composite("softGate", arrays=True)
    ... def soft_gate(x, *, beta=1.0):
    ...     return x / (1.0 + xp.exp(-beta * x))
    >>> b.soft_gate(x, beta=2)
    float32[2, 3]

    >>> ops.unregister("shrink")
    >>> ops.unregister("softGate")

    Parameters: the names, the main one first (by default that of the function); `types` of the
    operands ("float", "integer", "any", one type, several, or by operand); `checks` of the options;
    `parameters` that a layer can own; `result` and `results`; `native`, the WebNN method that
    computes the same; `gradient` and `reference`, which replace those derived from the
    decomposition. docs/composites.md explains them all.

    Raises `WebNNMError` NNM101 or NNM206 for names that are invalid or taken, NNM113 or NNM303 for
    an invalid declaration.
    """

    def declare(function: Callable[..., Any]) -> Composite:
        name = names[0] if names else camel_case(function.__name__)
        decompose = _of_arrays(name, function) if arrays else function
        operator = declare_composite(name, *names[1:], **declaration)(decompose)
        register(operator)
        return operator

    return declare


def _of_arrays(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the decomposition `(b, *operands, **options)` that a function of arrays defines."""
    this = f'the decomposition of "{name}"'

    @wraps(function)
    def decompose(b: Any, *operands: Any, **options: Any) -> Any:
        from webnnm.eager.array import Array
        from webnnm.eager.embedding import embed_function, format_location

        try:
            result, operand_of = embed_function(b, function, operands, this, **options)
        except OperatorError:
            raise
        except WebNNMError as error:
            raise OperatorError(error.code, error.message, error.hint) from error
        outputs: list[Any] = [*result] if isinstance(result, (tuple, list)) else [result]
        for output in outputs:
            if not isinstance(output, Array):
                message = (
                    f"{this}{format_location(function)} returned {output!r}, which is not an array"
                )
                raise OperatorError("NNM303", message, "compute it from the operands")
        traced_operands = tuple(operand_of(output) for output in outputs)
        return traced_operands if isinstance(result, (tuple, list)) else traced_operands[0]

    signature = inspect.signature(function)
    builder = inspect.Parameter("_builder", inspect.Parameter.POSITIONAL_ONLY)
    decompose.__signature__ = signature.replace(  # pyrefly: ignore[missing-attribute]
        parameters=[builder, *signature.parameters.values()]
    )
    return decompose
