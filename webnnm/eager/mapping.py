"""`vmap`: functions of one example, applied to many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from webnnm.core.shapes import show
from webnnm.eager.array import Array
from webnnm.eager.calls import Output, as_arrays, current, spread, trace
from webnnm.eager.creation import expanded
from webnnm.eager.errors import ArrayValueError
from webnnm.eager.manipulation import axis_of, moveaxis
from webnnm.eager.trees import flatten, unflatten
from webnnm.graph.transforms.batching import vectorize_graph

Axis = int | None


def vmap(
    function: Callable[..., Any],
    in_axes: Axis | Sequence[Axis] = 0,
    out_axes: int = 0,
) -> Callable[..., Any]:
    """Return a function over batches, from a function over one example.

    >>> from webnnm import vmap, xp
    >>> vmap(xp.vecdot)(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.ones((2, 2)))
    Array([3.0, 7.0], dtype=float32)

    `in_axes` is the batch dimension of each argument, or None for arguments that are the same for
    all examples; `out_axes` is that of the results. There is no loop: every operator computes all
    examples.

    Raises `ArrayValueError` if the numbers of examples differ, or no argument has any.
    """

    @wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = in_axes if isinstance(in_axes, Sequence) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ArrayValueError(f"{len(axes)} in_axes for {len(args)} arguments")
        leaves, structure = flatten(args)
        each_axis = [a for a, arg in zip(axes, args, strict=True) for _ in flatten(arg)[0]]
        batches, size = _batches(as_arrays(leaves), each_axis)
        alone = [place for place, axis in enumerate(each_axis) if axis is None]

        def rebuilt(given: list[Any]) -> Any:
            for place in alone:
                given[place] = batches[place]
            return unflatten(structure, iter(given))

        pairs = zip(batches, each_axis, strict=True)
        shapes = [each.shape[0 if axis is None else 1 :] for each, axis in pairs]
        found = trace(spread(partial(function, **kwargs)), batches, shapes, rebuilt)
        scope = current(batches)
        names = {f"x{at}" for at, axis in enumerate(each_axis) if axis is not None}
        inputs = {f"x{at}": scope.operand_of(each) for at, each in enumerate(batches)}
        inputs = {name: inputs[name] for name in inputs if name in found.graph.inputs}
        given = found.inlined(scope, inputs)
        made = vectorize_graph(scope.builder, found.graph, given, names & given.keys(), size)

        results = {
            f"y{at}": Array(each.dtype, scope, made[f"y{at}"][0])
            for at, each in enumerate(found.results)
            if isinstance(each, Output)
        }

        def output(name: str, _: Any) -> Array:
            result = results[name]
            if not made[name][1]:
                result = expanded(result, (size, *result.shape))
            return moveaxis(result, 0, out_axes)

        return found.filled(output)

    return mapped


def _batches(arrays: Sequence[Array], axes: Sequence[Axis]) -> tuple[list[Array], int]:
    """Return the arrays with their examples along the first dimension, and the number of these."""
    found: list[Array] = []
    sizes: dict[int, Array] = {}
    for array, axis in zip(arrays, axes, strict=True):
        if axis is None:
            found.append(array)
            continue
        if not array.ndim:
            raise ArrayValueError("a 0-dimensional array has no examples", "use in_axes=None")
        place = axis_of(axis, array.ndim)
        sizes[array.shape[place]] = array
        found.append(moveaxis(array, place, 0))
    if len(sizes) != 1:
        listed = " and ".join(show(each.shape) for each in sizes.values()) or "none"
        raise ArrayValueError(
            f"arguments need the same number of examples, these have {sorted(sizes)}: {listed}",
            "in_axes=None is for arguments that all examples share",
        )
    return found, next(iter(sizes))
