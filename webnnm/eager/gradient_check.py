"""`check_gradients`: the gradients of a function of arrays against central differences."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.differences import (
    OFFSETS,
    Comparison,
    GradientReport,
    Slope,
    choose_step,
    get_tolerance,
    sample_elements,
    unravel_index,
)
from webnnm.core.dtypes import FLOAT_INFO, DataType
from webnnm.eager.array import Array, from_host, values_of
from webnnm.eager.calls import as_arrays
from webnnm.eager.differentiation import value_and_grad
from webnnm.eager.errors import ArrayTypeError
from webnnm.eager.trees import LEAF, Structure, flatten, unflatten

MAX_ELEMENTS = 64
"""How many elements of an array are compared by default."""


def check_gradients(
    function: Callable[..., Any],
    *arrays: Any,
    elements: int = MAX_ELEMENTS,
    tolerance: float | None = None,
) -> GradientReport:
    """Compare the gradients of a function with a scalar result with central differences.

    >>> from webnnm import check_gradients, custom_gradient, xp
    >>> check_gradients(lambda x: xp.sum(xp.sin(x)), xp.asarray([0.5, 1.0])).ok
    True
    >>> doubled = custom_gradient(lambda x: (x * 2, lambda g: g))
    >>> print(check_gradients(lambda x: xp.sum(doubled(x)), xp.asarray([0.5])))
    x: 0 of 1 agree, 1 differ
    worst: x[0]: gradient 1, measured 2, relative error 5.0e-01

    At most `elements` elements of every array are compared, chosen at random. Arguments may be
    nested containers. Where a function has a kink, a gradient between the slopes of both sides is
    not a fault. The report has `ok`, `faults`, `worst` and all `comparisons`; the step size
    and, unless it is given, the relative `tolerance` follow from the data types: 1e-8 in float64,
    3e-4 in float32, 3e-2 in float16. Gradients are best checked in float64, on NumPy.

    Raises `ArrayTypeError` for arguments of integers, `ArrayValueError` for other results.

    Source: W. H. Press et al., "Numerical Recipes", 3rd edition, 2007, section 5.7.
    """
    leaves, structure = flatten(arrays)
    operands = as_arrays(leaves)
    if not operands:
        raise ArrayTypeError("there is no array whose gradient could be checked")

    def result(*several: Array) -> Array:
        return function(*unflatten(structure, iter(several)))

    value, grads = value_and_grad(result, tuple(range(len(operands))))(*operands)
    comparisons: list[Comparison] = []
    for index, (name, gradient) in enumerate(zip(_names(function, structure), grads, strict=True)):

        def evaluate(x: Array, index: int = index) -> float:
            return float(result(*operands[:index], x, *operands[index + 1 :]))

        dtype: DataType = value.dtype.tensor
        comparisons += _compare(
            name, gradient, operands[index], evaluate, dtype, elements, tolerance
        )
    return GradientReport(comparisons)


def _compare(
    name: str,
    gradient: Array,
    x: Array,
    evaluate: Callable[[Array], float],
    dtype: DataType,
    elements: int,
    tolerance: float | None,
) -> Iterator[Comparison]:
    """Yield comparisons for elements of one array; `evaluate` returns the function of an array."""
    coarse_dtype = max(dtype, x.dtype.tensor, key=_eps)
    values: Sequence[float] = values_of(x)
    slopes: Sequence[float] = values_of(gradient)
    scale = max(map(abs, slopes), default=0.0)
    value = evaluate(x)
    for element in sample_elements(len(values), elements):
        h = choose_step(values[element], coarse_dtype)

        def evaluate_shifted(by: float, element: int = element) -> float:
            return evaluate(_with(x, values, element, by)) if by else value

        yield Comparison(
            place=name,
            index=unravel_index(element, x.shape),
            gradient=slopes[element],
            slope=Slope.of([evaluate_shifted(by * h) for by in OFFSETS], h, coarse_dtype),
            scale=scale,
            tolerance=get_tolerance(coarse_dtype) if tolerance is None else tolerance,
        )


def _eps(dtype: DataType) -> float:
    return FLOAT_INFO[dtype].eps


def _with(x: Array, values: Sequence[float], element: int, by: float) -> Array:
    """Return an array with one of its elements changed."""
    moved = [*values]
    moved[element] += by
    return from_host(HostArray.of(moved, x.dtype.tensor, x.shape), x.dtype, x.device)


def _names(function: Callable[..., Any], structure: Structure) -> list[str]:
    """Return the names of the leaves of the arguments: parameters followed by keys."""
    parts = cast("tuple[Any, Any, Sequence[Structure]]", structure)[2]
    try:
        parameters: list[inspect.Parameter] = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):  # a function that is not written in Python
        parameters = []
    fixed_names = [
        parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL
    ]
    rest_name = next((e.name for e in parameters if e.kind is e.VAR_POSITIONAL), "argument")
    names: list[str] = []
    for index, part in enumerate(parts):
        rest = index - len(fixed_names)
        names += _paths(part, fixed_names[index] if rest < 0 else f"{rest_name}[{rest}]")
    return names


def _paths(structure: Structure, name: str) -> Iterator[str]:
    if structure == LEAF:
        yield name
    elif structure is not None:
        kind, keys, parts = cast("tuple[type, Any, Sequence[Structure]]", structure)
        for index, part in enumerate(parts):
            key = index if keys is None else keys[index]
            dotted = keys is not None and kind is not dict
            yield from _paths(part, f"{name}.{key}" if dotted else f"{name}[{key!r}]")
