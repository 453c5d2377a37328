"""`vmap`: functions of one example, applied to many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from webnnm.core.shapes import show
from webnnm.eager.array import Array
from webnnm.eager.calls import Output, as_arrays, current, trace, unpack_arguments
from webnnm.eager.creation import expand_to
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
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        axes = in_axes if isinstance(in_axes, Sequence) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ArrayValueError(f"{len(axes)} in_axes for {len(args)} arguments")
        leaves, structure = flatten(args)
        each_axis = [a for a, arg in zip(axes, args, strict=True) for _ in flatten(arg)[0]]
        batches, size = _batches(as_arrays(leaves), each_axis)
        unbatched = [index for index, axis in enumerate(each_axis) if axis is None]

        def rebuild_arguments(arguments: list[Any]) -> Any:
            for index in unbatched:
                arguments[index] = batches[index]
            return unflatten(structure, iter(arguments))

        pairs = zip(batches, each_axis, strict=True)
        shapes = [array.shape[0 if axis is None else 1 :] for array, axis in pairs]
        function_graph = trace(
            unpack_arguments(partial(function, **kwargs)), batches, shapes, rebuild_arguments
        )
        scope = current(batches)
        names = {f"x{index}" for index, axis in enumerate(each_axis) if axis is not None}
        inputs = {f"x{index}": scope.operand_of(array) for index, array in enumerate(batches)}
        inputs = {name: inputs[name] for name in inputs if name in function_graph.graph.inputs}
        operands = function_graph.bind_inputs(scope, inputs)
        outputs = vectorize_graph(
            scope.builder, function_graph.graph, operands, names & operands.keys(), size
        )

        results = {
            f"y{index}": Array(leaf.dtype, scope, outputs[f"y{index}"][0])
            for index, leaf in enumerate(function_graph.results)
            if isinstance(leaf, Output)
        }

        def output(name: str, _: Any) -> Array:
            result = results[name]
            if not outputs[name][1]:
                result = expand_to(result, (size, *result.shape))
            return moveaxis(result, 0, out_axes)

        return function_graph.build_results(output)

    return wrapper


def _batches(arrays: Sequence[Array], axes: Sequence[Axis]) -> tuple[list[Array], int]:
    """Return the arrays with their examples along the first dimension, and the number of these."""
    batches: list[Array] = []
    sizes: dict[int, Array] = {}
    for array, axis in zip(arrays, axes, strict=True):
        if axis is None:
            batches.append(array)
            continue
        if not array.ndim:
            raise ArrayValueError("a 0-dimensional array has no examples", "use in_axes=None")
        batch_axis = axis_of(axis, array.ndim)
        sizes[array.shape[batch_axis]] = array
        batches.append(moveaxis(array, batch_axis, 0))
    if len(sizes) != 1:
        shapes = " and ".join(show(array.shape) for array in sizes.values()) or "none"
        raise ArrayValueError(
            f"arguments need the same number of examples, these have {sorted(sizes)}: {shapes}",
            "in_axes=None is for arguments that all examples share",
        )
    return batches, next(iter(sizes))
