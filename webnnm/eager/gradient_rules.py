"""Functions with their own gradient rules: `custom_gradient` and `recompute`.

Such a function stays one operator in the graph, with its own gradient rule, until the graph is
compiled; `vmap` and derivatives of any order follow from its parts, which are graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial, wraps
from typing import Any

from webnnm.core.shapes import show
from webnnm.eager.array import Array, convert_dtype
from webnnm.eager.calls import (
    Traced,
    as_arrays,
    current,
    inputs_of,
    rebuild,
    trace,
    unpack_arguments,
)
from webnnm.eager.dtypes import is_kind
from webnnm.eager.errors import ArrayValueError
from webnnm.eager.scopes import MAX_BUILDER_NODES, Trace
from webnnm.eager.trees import flatten, unflatten
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand
from webnnm.graph.transforms.autodiff import pullback
from webnnm.graph.transforms.batching import NO_METHOD
from webnnm.graph.transforms.rewrite import copy_graph_into
from webnnm.ops.declare.algebra import same_as_first
from webnnm.ops.declare.batching import as_tuple
from webnnm.ops.declare.operator import Composite, Slot

Rule = Callable[..., Sequence[Operand | None]]
"""Builder, gradients of results, results, operands → gradients of the operands."""


def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with a custom gradient, which it defines itself.

    >>> from webnnm import custom_gradient, grad, xp
    >>> @custom_gradient
    ... def rounded(x):
    ...     return xp.round(x), lambda g: g
    >>> grad(lambda x: xp.sum(rounded(x) * 3))(xp.asarray([0.2, 1.7]))
    Array([3.0, 3.0], dtype=float32)

    `function` returns its result and a function of the result's cotangent. The latter returns the
    cotangent of the argument, or a tuple with one for each argument; None stands for zeros. Both
    are functions of arrays, so that further derivatives, `jit` and `vmap` apply to them. Captured
    values and keyword arguments count as constants.

    Raises `ArrayValueError` if cotangents do not have the shapes of the arguments.
    """

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        arrays = as_arrays(leaves)

        def with_cotangents(scope: Trace, inputs: list[Operand], returned: Any) -> Any:
            value, pull = _unpack_pair(returned)
            results, shape = flatten(value)
            cotangents = [_cotangent(scope, index, result) for index, result in enumerate(results)]
            cotangents_of_arguments = _flatten_cotangents(
                pull(unflatten(shape, iter(cotangents))), args
            )
            return value, [
                _match_dtype(g, x) for g, x in zip(cotangents_of_arguments, arrays, strict=True)
            ]

        function_of = unpack_arguments(partial(function, **kwargs))
        shapes = [array.shape for array in arrays]
        combined = trace(function_of, arrays, shapes, rebuild(structure), with_cotangents)
        forward, backward = combined.apart()
        return _apply_operator(forward, arrays, "custom gradient", backward)

    return wrapper


def recompute(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose intermediate results are recomputed for gradients.

    >>> from webnnm import recompute, grad, xp
    >>> layer = recompute(lambda x: xp.sin(xp.exp(x)))
    >>> grad(lambda x: layer(layer(x)))(xp.asarray(0.0))
    Array(-0.8534177, dtype=float32)

    A gradient needs the intermediate results of a function. Of this function only the arguments
    are kept, and the rest is recomputed when the gradient needs it: less memory, at the cost of one
    more pass through the function.

    Source: T. Chen, B. Xu, C. Zhang, C. Guestrin, "Training Deep Nets with Sublinear Memory Cost",
    2016.
    """

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        arrays = as_arrays(leaves)
        shapes = [array.shape for array in arrays]
        forward = trace(
            unpack_arguments(partial(function, **kwargs)), arrays, shapes, rebuild(structure)
        )
        return _apply_operator(forward, arrays, "recompute", None)

    return wrapper


# The cotangents of a function that defines its own gradient.


def _unpack_pair(returned: Any) -> tuple[Any, Callable[[Any], Any]]:
    if _length(returned) != 2 or not callable(returned[1]):
        raise ArrayValueError(
            "a function with `custom_gradient` returns its result and a function that gives the "
            f"cotangents of its arguments, not a {type(returned).__name__}",
            "write `return y, lambda g: …`",
        )
    return returned


def _length(value: Any) -> int:
    """Return the length of a tuple, or -1 for anything else."""
    return len(value) if type(value) is tuple else -1


def _cotangent(scope: Trace, index: int, result: Any) -> Any:
    if not isinstance(result, Array) or not result.size:
        return result
    operand = scope.builder.input(f"g{index}", *scope.operand_of(result).type)
    return Array(result.dtype, scope, operand)


def _flatten_cotangents(back: Any, args: Sequence[Any]) -> list[Any]:
    """Return the cotangents of all leaves of the arguments, None for leaves without one."""
    parts = (back,) if len(args) == 1 and _length(back) != 1 else back
    if _length(parts) != len(args):
        number = max(1, _length(parts))
        raise ArrayValueError(
            f"the gradient function returned {number} cotangents for {len(args)} arguments",
            "return a tuple with one for each argument, None for zeros",
        )
    cotangents: list[Any] = []
    for part, arg in zip(parts, args, strict=True):
        leaves, structure = flatten(arg)
        part_leaves, same = flatten(part)
        if part is not None and same != structure:
            raise ArrayValueError(
                "a cotangent does not have the same containers as its argument",
                "return it in the same containers as the argument, or return None",
            )
        cotangents += part_leaves or [None] * len(leaves)
    return cotangents


def _match_dtype(cotangent: Any, x: Array) -> Array | None:
    """Return a cotangent in the data type of its argument."""
    if cotangent is None or not x.size or not is_kind(x.dtype, "real floating"):
        return None
    (array,) = as_arrays([cotangent])
    if array.shape != x.shape:
        what = f"{x.dtype}{show(x.shape)}"
        raise ArrayValueError(
            f"a cotangent {array.dtype}{show(array.shape)} for an argument {what}",
            "sum over the dimensions along which the argument is broadcast",
        )
    return convert_dtype(array, x.dtype)


# Functions as operators.


def _apply_operator(
    forward: Traced, arrays: Sequence[Array], name: str, backward: Traced | None
) -> Any:
    """Record a function as one operator, and return what the function returns."""
    scope = current(arrays)
    inputs = {**inputs_of(scope, arrays), **forward.bind_inputs(scope, {})}
    if not forward.graph.outputs or not inputs:
        outputs = copy_graph_into(scope.builder, forward.graph, inputs)
    else:
        operator = _OPERATORS.of(name, forward, backward, [*inputs])
        results = as_tuple(scope.builder.apply(operator, [*inputs.values()], {}))
        outputs = dict(zip(forward.graph.outputs, results, strict=True))
    return forward.build_results(lambda name, dtype: Array(dtype, scope, outputs[name]))


class _Operators:
    """The operators of functions, shared by all functions that compute the same.

    So a loop that traces its functions anew in each iteration records the same operators each time,
    and its compiled graphs are reused.
    """

    def __init__(self) -> None:
        self._builder = GraphBuilder()
        self._known: dict[Hashable, Composite] = {}

    def of(
        self, name: str, forward: Traced, backward: Traced | None, names: Sequence[str]
    ) -> Composite:
        """Return the operator of a function with operands of these names."""
        if len(self._builder.nodes) > MAX_BUILDER_NODES:
            self.__init__()
        there = self._copy_graph(forward.graph)
        key: tuple[Hashable, ...] = (name, *names, *there.outputs.items())
        rule = _make_recompute_rule(there, names)
        if backward is not None:
            back = self._copy_graph(backward.graph)
            places: Sequence[str | None] = backward.build_results(lambda name, _: name)
            key += (*back.outputs.items(), *places)
            rule = _make_custom_rule(there, back, names, places)
        if key not in self._known:
            self._known[key] = _operator(name, there, names, rule)
        return self._known[key]

    def _copy_graph(self, graph: Graph) -> Graph:
        """Return a graph in the builder that all of them share."""
        b = self._builder
        inputs: dict[str, Operand] = {}
        for name, x in graph.inputs.items():
            typed = _make_input_name(name, x)
            inputs[name] = b.inputs.get(typed) or b.input(typed, *x.type)
        return Graph(copy_graph_into(b, graph, inputs), inputs)


_OPERATORS = _Operators()


def _operator(name: str, forward: Graph, names: Sequence[str], rule: Rule) -> Composite:
    def decompose(b: Any, *operands: Operand) -> Any:
        outputs = [*_inline(b, forward, dict(zip(names, operands, strict=True))).values()]
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    return Composite(
        name=name,
        summary="a function of arrays",
        operands=tuple(Slot(name=f"x{at}") for at in range(len(names))),
        options={},
        decompose=decompose,
        gradient=rule,
        native=NO_METHOD,
        layer=None,
        samples=(),
    )


def _inline(b: Any, graph: Graph, inputs: dict[str, Operand]) -> dict[str, Operand]:
    """Return the outputs of a graph whose inputs have longer names in their builder."""
    return copy_graph_into(
        b,
        graph,
        {
            _make_input_name(name, x): inputs[name]
            for name, x in graph.inputs.items()
            if name in inputs
        },
    )


def _make_input_name(name: str, x: Operand) -> str:
    """Return the name of an input in the builder that functions share."""
    return f"{name}:{x.type}"


def _make_custom_rule(
    forward: Graph, backward: Graph, names: Sequence[str], gradient_names: Sequence[str | None]
) -> Rule:
    """Return the gradient rule of a function that defines its own gradient.

    `gradient_names` are the names of the outputs that hold the gradients of its arguments.
    """

    def rule(b: Any, g: Any, _: Any, *operands: Operand) -> Sequence[Operand | None]:
        inputs = dict(zip(names, operands, strict=True))
        for name, gradient in zip(forward.outputs, as_tuple(g), strict=True):
            inputs[f"g{name[1:]}"] = gradient
        grads = _inline(b, backward, inputs)
        names_of_grads = [
            gradient_names[int(name[1:])] if name.startswith("x") else None for name in names
        ]
        return [None if output is None else grads[output] for output in names_of_grads]

    return rule


def _itself(b: Any, x: Operand) -> Operand:
    return b.identity(x)


def _straight(_: Any, g: Operand, *__: Operand) -> list[Operand]:
    return [g]


# It separates what was computed before from what is recomputed from the same operands:
# equal expressions would be one node.
recomputed = Composite(
    name="recomputed",
    summary="the operand, from which results are recomputed",
    operands=(Slot(name="input"),),
    options={},
    decompose=_itself,
    native="identity",
    infer=same_as_first,
    gradient=_straight,
    layer=None,
    samples=(),
    batch="elementwise",
)


def _make_recompute_rule(forward: Graph, names: Sequence[str]) -> Rule:
    """Return the gradient rule that recomputes a function."""

    def rule(b: Any, g: Any, _: Any, *operands: Operand) -> Sequence[Operand | None]:
        again = {x: b.apply(recomputed, [x], {}) for x in operands}
        outputs = _inline(b, forward, {n: again[x] for n, x in zip(names, operands, strict=True)})
        seeds = [*zip(outputs.values(), as_tuple(g), strict=True)]
        grads = dict(zip(again, pullback(seeds, [*again.values()]), strict=True))
        # An operand that occurs twice gets the sum of both gradients once.
        return [grads.pop(x, None) for x in operands]

    return rule
