"""Functions with their own gradient rules: `custom_gradient` and `remat`.

Such a function stays one operator in the graph, with its own gradient rule, until the graph is
compiled; `vmap` and derivatives of any order follow from its parts, which are graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial, wraps
from typing import Any

from webnnm.core.shapes import show
from webnnm.eager.array import Array, converted
from webnnm.eager.calls import Traced, as_arrays, current, inputs_of, rebuild, spread, trace
from webnnm.eager.dtypes import is_kind
from webnnm.eager.errors import ArrayValueError
from webnnm.eager.scopes import LARGEST_BUILDER, Trace
from webnnm.eager.trees import flatten, unflatten
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand
from webnnm.graph.transforms.autodiff import pullback
from webnnm.graph.transforms.batching import NO_METHOD
from webnnm.graph.transforms.rewrite import copy_graph_into
from webnnm.ops.declare.algebra import same_as_first
from webnnm.ops.declare.batching import several
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
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        arrays = as_arrays(leaves)

        def with_cotangents(found: Trace, inputs: list[Operand], returned: Any) -> Any:
            value, pull = _both(returned)
            results, shape = flatten(value)
            cotangents = [_cotangent(found, at, each) for at, each in enumerate(results)]
            back = _of_arguments(pull(unflatten(shape, iter(cotangents))), args)
            return value, [_matching(g, x) for g, x in zip(back, arrays, strict=True)]

        function_of = spread(partial(function, **kwargs))
        shapes = [each.shape for each in arrays]
        both = trace(function_of, arrays, shapes, rebuild(structure), with_cotangents)
        forward, backward = both.apart()
        return _applied(forward, arrays, "custom gradient", backward)

    return called


def remat(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose intermediate results are recomputed for gradients.

    >>> from webnnm import remat, grad, xp
    >>> layer = remat(lambda x: xp.sin(xp.exp(x)))
    >>> grad(lambda x: layer(layer(x)))(xp.asarray(0.0))
    Array(-0.8534177, dtype=float32)

    A gradient needs the intermediate results of a function. Of this function only the arguments
    are kept, and the rest is recomputed when the gradient needs it: less memory, at the cost of one
    more pass through the function.

    Source: T. Chen, B. Xu, C. Zhang, C. Guestrin, "Training Deep Nets with Sublinear Memory Cost",
    2016.
    """

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        arrays = as_arrays(leaves)
        shapes = [each.shape for each in arrays]
        forward = trace(spread(partial(function, **kwargs)), arrays, shapes, rebuild(structure))
        return _applied(forward, arrays, "remat", None)

    return called


# The cotangents of a function that defines its own gradient.


def _both(returned: Any) -> tuple[Any, Callable[[Any], Any]]:
    if _length(returned) != 2 or not callable(returned[1]):
        raise ArrayValueError(
            "a function with `custom_gradient` returns its result and a function that gives the "
            f"cotangents of its arguments, not a {type(returned).__name__}",
            "write `return y, lambda g: …`",
        )
    return returned


def _length(found: Any) -> int:
    """Return the length of a tuple, or -1 for anything else."""
    return len(found) if type(found) is tuple else -1


def _cotangent(found: Trace, at: int, result: Any) -> Any:
    if not isinstance(result, Array) or not result.size:
        return result
    operand = found.builder.input(f"g{at}", *found.operand_of(result).type)
    return Array(result.dtype, found, operand)


def _of_arguments(back: Any, args: Sequence[Any]) -> list[Any]:
    """Return the cotangents of all leaves of the arguments, None for leaves without one."""
    parts = (back,) if len(args) == 1 and _length(back) != 1 else back
    if _length(parts) != len(args):
        given = max(1, _length(parts))
        raise ArrayValueError(
            f"the gradient function returned {given} cotangents for {len(args)} arguments",
            "return a tuple with one for each argument, None for zeros",
        )
    found: list[Any] = []
    for part, arg in zip(parts, args, strict=True):
        leaves, structure = flatten(arg)
        given, same = flatten(part)
        if part is not None and same != structure:
            raise ArrayValueError(
                "a cotangent does not have the same containers as its argument",
                "return it in the same containers as the argument, or return None",
            )
        found += given or [None] * len(leaves)
    return found


def _matching(cotangent: Any, x: Array) -> Array | None:
    """Return a cotangent in the data type of its argument."""
    if cotangent is None or not x.size or not is_kind(x.dtype, "real floating"):
        return None
    (found,) = as_arrays([cotangent])
    if found.shape != x.shape:
        what = f"{x.dtype}{show(x.shape)}"
        raise ArrayValueError(
            f"a cotangent {found.dtype}{show(found.shape)} for an argument {what}",
            "sum over the dimensions along which the argument is broadcast",
        )
    return converted(found, x.dtype)


# Functions as operators.


def _applied(forward: Traced, arrays: Sequence[Array], name: str, backward: Traced | None) -> Any:
    """Record a function as one operator, and return what the function returns."""
    scope = current(arrays)
    given = {**inputs_of(scope, arrays), **forward.inlined(scope, {})}
    if not forward.graph.outputs or not given:
        made = copy_graph_into(scope.builder, forward.graph, given)
    else:
        operator = _OPERATORS.of(name, forward, backward, [*given])
        results = several(scope.builder.apply(operator, [*given.values()], {}))
        made = dict(zip(forward.graph.outputs, results, strict=True))
    return forward.filled(lambda name, dtype: Array(dtype, scope, made[name]))


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
        if len(self._builder.nodes) > LARGEST_BUILDER:
            self.__init__()
        there = self._written(forward.graph)
        key: tuple[Hashable, ...] = (name, *names, *there.outputs.items())
        rule = _recomputing(there, names)
        if backward is not None:
            back = self._written(backward.graph)
            places: Sequence[str | None] = backward.filled(lambda name, _: name)
            key += (*back.outputs.items(), *places)
            rule = _given(there, back, names, places)
        if key not in self._known:
            self._known[key] = _operator(name, there, names, rule)
        return self._known[key]

    def _written(self, graph: Graph) -> Graph:
        """Return a graph in the builder that all of them share."""
        b = self._builder
        inputs: dict[str, Operand] = {}
        for name, x in graph.inputs.items():
            typed = _named(name, x)
            inputs[name] = b.inputs.get(typed) or b.input(typed, *x.type)
        return Graph(copy_graph_into(b, graph, inputs), inputs)


_OPERATORS = _Operators()


def _operator(name: str, forward: Graph, names: Sequence[str], rule: Rule) -> Composite:
    def decompose(b: Any, *operands: Operand) -> Any:
        found = [*_inlined(b, forward, dict(zip(names, operands, strict=True))).values()]
        return tuple(found) if len(found) > 1 else found[0]

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


def _inlined(b: Any, graph: Graph, given: dict[str, Operand]) -> dict[str, Operand]:
    """Return the outputs of a graph whose inputs have longer names in their builder."""
    return copy_graph_into(
        b,
        graph,
        {_named(name, x): given[name] for name, x in graph.inputs.items() if name in given},
    )


def _named(name: str, x: Operand) -> str:
    """Return the name of an input in the builder that functions share."""
    return f"{name}:{x.type}"


def _given(
    forward: Graph, backward: Graph, names: Sequence[str], places: Sequence[str | None]
) -> Rule:
    """Return the gradient rule of a function that defines its own gradient.

    `places` are the names of the outputs that hold the gradients of its arguments.
    """

    def rule(b: Any, g: Any, _: Any, *operands: Operand) -> Sequence[Operand | None]:
        given = dict(zip(names, operands, strict=True))
        for name, each in zip(forward.outputs, several(g), strict=True):
            given[f"g{name[1:]}"] = each
        made = _inlined(b, backward, given)
        outputs = [places[int(name[1:])] if name.startswith("x") else None for name in names]
        return [None if output is None else made[output] for output in outputs]

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


def _recomputing(forward: Graph, names: Sequence[str]) -> Rule:
    """Return the gradient rule that recomputes a function."""

    def rule(b: Any, g: Any, _: Any, *operands: Operand) -> Sequence[Operand | None]:
        again = {x: b.apply(recomputed, [x], {}) for x in operands}
        made = _inlined(b, forward, {n: again[x] for n, x in zip(names, operands, strict=True)})
        seeds = [*zip(made.values(), several(g), strict=True)]
        found = dict(zip(again, pullback(seeds, [*again.values()]), strict=True))
        # An operand that occurs twice gets the sum of both gradients once.
        return [found.pop(x, None) for x in operands]

    return rule
