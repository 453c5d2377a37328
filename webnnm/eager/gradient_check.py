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

ELEMENTS = 64
"""How many elements of an array are compared by default."""


def check_gradients(
    function: Callable[..., Any],
    *arrays: Any,
    elements: int = ELEMENTS,
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
    given = as_arrays(leaves)
    if not given:
        raise ArrayTypeError("there is no array whose gradient could be checked")

    def result(*several: Array) -> Array:
        return function(*unflatten(structure, iter(several)))

    value, found = value_and_grad(result, tuple(range(len(given))))(*given)
    comparisons: list[Comparison] = []
    for place, (name, gradient) in enumerate(zip(_names(function, structure), found, strict=True)):

        def at(x: Array, place: int = place) -> float:
            return float(result(*given[:place], x, *given[place + 1 :]))

        dtype: DataType = value.dtype.tensor
        comparisons += _compared(name, gradient, given[place], at, dtype, elements, tolerance)
    return GradientReport(comparisons)


def _compared(
    name: str,
    gradient: Array,
    x: Array,
    at: Callable[[Array], float],
    dtype: DataType,
    elements: int,
    tolerance: float | None,
) -> Iterator[Comparison]:
    """Yield comparisons for elements of one array; `at` evaluates the function at another."""
    coarse = max(dtype, x.dtype.tensor, key=_eps)
    values: Sequence[float] = values_of(x)
    slopes: Sequence[float] = values_of(gradient)
    scale = max(map(abs, slopes), default=0.0)
    here = at(x)
    for element in sample_elements(len(values), elements):
        h = choose_step(values[element], coarse)

        def moved(by: float, element: int = element) -> float:
            return at(_with(x, values, element, by)) if by else here

        yield Comparison(
            place=name,
            index=unravel_index(element, x.shape),
            gradient=slopes[element],
            slope=Slope.of([moved(by * h) for by in OFFSETS], h, coarse),
            scale=scale,
            tolerance=get_tolerance(coarse) if tolerance is None else tolerance,
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
        written: list[inspect.Parameter] = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):  # a function that is not written in Python
        written = []
    single = [each.name for each in written if each.kind is not each.VAR_POSITIONAL]
    several = next((e.name for e in written if e.kind is e.VAR_POSITIONAL), "argument")
    found: list[str] = []
    for place, part in enumerate(parts):
        rest = place - len(single)
        found += _paths(part, single[place] if rest < 0 else f"{several}[{rest}]")
    return found


def _paths(structure: Structure, name: str) -> Iterator[str]:
    if structure == LEAF:
        yield name
    elif structure is not None:
        kind, keys, parts = cast("tuple[type, Any, Sequence[Structure]]", structure)
        for place, part in enumerate(parts):
            key = place if keys is None else keys[place]
            dotted = keys is not None and kind is not dict
            yield from _paths(part, f"{name}.{key}" if dotted else f"{name}[{key!r}]")
