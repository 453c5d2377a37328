"""Functions of arrays as graphs: how they are traced and written into other graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from webnnm.core.shapes import Shape
from webnnm.eager.array import Array, Sides, WeakScalar, check_fits, scope_for, scope_of
from webnnm.eager.creation import asarray
from webnnm.eager.dtypes import DType, dtype_of, float64
from webnnm.eager.errors import ArrayTypeError
from webnnm.eager.scopes import Scope, Trace, tracing
from webnnm.eager.trees import Structure, count_leaves, flatten, unflatten
from webnnm.graph.node import Graph, InputNode, Operand
from webnnm.graph.transforms.rewrite import copy_graph_into
from webnnm.ops.declare.tensors import TensorType


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """A function as a graph with inputs x0, x1 … (its arrays) and c0, c1 … (captured arrays).

    `results` are the leaves of what it returned: the outputs y0, y1 … by their data types; anything
    that is not an array, or has no elements, is kept as it is. `key` identifies the function in
    program caches, which hold no arrays.
    """

    graph: Graph
    captured: Sequence[Array]
    results: Sequence[Any]
    structure: Structure
    narrowed: Sequence[tuple[int, DType, Sides]] = ()
    key: object = field(init=False, default_factory=object)

    def check(self, arrays: Sequence[Array]) -> None:
        """Raise `ArrayOverflowError` for Python integers that do not fit."""
        for at, dtype, sides in self.narrowed:
            check_fits(arrays[at], dtype, sides)

    def bind_inputs(self, scope: Scope, inputs: Mapping[str, Operand]) -> Mapping[str, Operand]:
        """Return the graph's inputs in a scope: those that are given, and what it captured."""
        captured = {
            f"captured {index}": scope.operand_of(array)
            for index, array in enumerate(self.captured)
        }
        return {**inputs, **captured}

    def inline(self, scope: Scope, inputs: Mapping[str, Operand]) -> Any:
        """Write the graph into a scope, and return what the function returns."""
        outputs = copy_graph_into(scope.builder, self.graph, self.bind_inputs(scope, inputs))
        return self.build_results(lambda name, dtype: Array(dtype, scope, outputs[name]))

    def apart(self) -> tuple[Traced, Traced]:
        """Return one function for each of the two values that this one returns."""
        parts = cast("Sequence[Structure]", cast("Any", self.structure)[-1])
        first = len(self.results) - count_leaves(parts[1])
        return self._part(0, first, parts[0]), self._part(first, len(self.results), parts[1])

    def _part(self, start: int, stop: int, structure: Structure) -> Traced:
        names = [f"y{at}" for at in range(start, stop)]
        outputs = {
            f"y{at}": self.graph.outputs[name]
            for at, name in enumerate(names)
            if name in self.graph.outputs
        }
        graph = Graph(outputs, self.graph.inputs)
        return replace(self, graph=graph, results=self.results[start:stop], structure=structure)

    def build_results(self, outputs: Callable[[str, DType], Any]) -> Any:
        """Return what the function returns, with arrays or other values for its outputs."""
        leaves = [
            outputs(f"y{index}", result.dtype) if isinstance(result, Output) else result
            for index, result in enumerate(self.results)
        ]
        return unflatten(self.structure, iter(leaves))


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a traced function."""

    dtype: DType


def current(*trees: Any) -> Scope:
    """Return the scope for an operation on the arrays in containers; the operation begins now."""
    for tree in trees:
        for leaf in flatten(tree)[0]:
            if isinstance(leaf, Array):
                return scope_of(leaf)
    return scope_for(None)


def inputs_of(scope: Scope, arrays: Sequence[Array]) -> dict[str, Operand]:
    """Return the operands of a traced function's arguments in a scope, by its graph's names."""
    return {
        f"x{index}": scope.operand_of(array) for index, array in enumerate(arrays) if array.size
    }


def as_arrays(leaves: Sequence[Any]) -> list[Array]:
    """Return leaves as arrays; Python numbers adopt the data type of the other operand.

    Raises `ArrayTypeError` for anything else.
    """
    wide = any(isinstance(leaf, Array) and leaf.dtype is float64 for leaf in leaves)
    return [_array(leaf, wide) for leaf in leaves]


def _array(leaf: Any, wide: bool) -> Array:
    if isinstance(leaf, Array):
        return leaf
    if isinstance(leaf, (bool, int, float)):
        # Beside arrays of float64 it keeps all of its digits.
        converted = asarray(leaf, dtype=float64 if wide and isinstance(leaf, float) else None)
        return WeakScalar(converted.dtype, converted.scope, storage=converted.storage)
    if hasattr(leaf, "__array__") or isinstance(leaf, memoryview):
        return asarray(leaf)
    kind = type(leaf).__name__
    hint = "name the argument in `static_argnames` if it is not an array"
    raise ArrayTypeError(f"a {kind} is not an array", hint)


def unpack_arguments(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a function that takes a sequence of arguments."""

    def wrapper(arguments: Any) -> Any:
        return function(*arguments)

    return wrapper


def rebuild(structure: Structure) -> Callable[[list[Any]], Any]:
    """Return the function that builds nested containers of leaves."""

    def rebuilt(leaves: list[Any]) -> Any:
        return unflatten(structure, iter(leaves))

    return rebuilt


def evaluate(graph: Graph, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs of a graph for arrays as its inputs, by name."""
    scope = current(dict(arrays))
    operands = {name: scope.operand_of(array) for name, array in arrays.items()}
    outputs = copy_graph_into(scope.builder, graph, operands)
    return {name: Array(dtype_of(o.dtype), scope, o) for name, o in outputs.items()}


def trace(
    function: Callable[[Any], Any],
    leaves: Sequence[Array],
    shapes: Sequence[Shape],
    rebuilt: Callable[[list[Any]], Any],
    finish: Callable[[Trace, list[Operand], Any], Any] = lambda _trace, _inputs, returned: returned,
) -> Traced:
    """Trace `function(rebuilt(arrays))` for arrays of these types and shapes.

    `finish` gets the trace, its inputs and what the function returned, and returns the results.
    """
    scope = Trace()
    inputs: list[Operand] = []
    arguments: list[Any] = []
    with tracing(scope):
        for index, (leaf, shape) in enumerate(zip(leaves, shapes, strict=True)):
            if not leaf.size:
                arguments.append(leaf)
                continue
            operand = scope.builder.input(f"x{index}", *TensorType(leaf.dtype.tensor, shape))
            inputs.append(operand)
            arguments.append(type(leaf)(leaf.dtype, scope, operand))
        returned = finish(scope, inputs, function(rebuilt(arguments)))
        results, structure = flatten(returned)
        outputs: dict[str, Operand] = {}
        for index, result in enumerate(results):
            if isinstance(result, Array) and result.size:
                outputs[f"y{index}"] = scope.operand_of(result)
                results[index] = Output(result.dtype)
    captured = [array for array, _ in scope.captured.values()]
    graph = Graph(outputs, scope.builder.inputs)
    narrowed = [
        (int(operand.node.name.removeprefix("x")), dtype, sides)
        for operand, dtype, sides in scope.narrowed
        if isinstance(operand.node, InputNode)
    ]
    function_graph = Traced(graph, captured, results, structure, narrowed)  # pyrefly: ignore[bad-argument-type]
    function_graph.check(leaves)
    return function_graph
