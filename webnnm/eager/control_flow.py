"""Control flow on the device: `cond`, `scan`, `fori_loop`, `while_loop`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

from webnnm.core.shapes import show
from webnnm.eager.array import Array
from webnnm.eager.calls import (
    Traced,
    as_arrays,
    current,
    inputs_of,
    rebuild,
    trace,
    unpack_arguments,
)
from webnnm.eager.creation import arange
from webnnm.eager.elementwise import where
from webnnm.eager.errors import ArrayValueError, TracedValueError
from webnnm.eager.jitted import jit
from webnnm.eager.manipulation import concat, stack
from webnnm.eager.scopes import PendingGraph, Scope
from webnnm.eager.trees import flatten, tree_map, unflatten

BLOCK = 16
"""Steps of a loop that run as one graph where the host drives the loop."""


def cond(
    predicate: Any,
    true_function: Callable[..., Any],
    false_function: Callable[..., Any],
    *args: Any,
) -> Any:
    """Return the result of one of two functions, depending on a value.

    >>> from webnnm import cond, jit, xp
    >>> absolute = jit(lambda x: cond(x > 0, lambda v: v, lambda v: -v, x))
    >>> float(absolute(xp.asarray(-3.0)))
    3.0

    If the value is known, only one function runs. In a traced function both are computed and one
    result is chosen, since devices do not branch: keep both free of NaN if gradients are taken.

    Raises `ArrayValueError` if the functions return different containers or shapes.
    """
    if not isinstance(predicate, Array):
        return true_function(*args) if predicate else false_function(*args)
    if _is_known(current(predicate, args)):
        return true_function(*args) if bool(predicate) else false_function(*args)
    return _select(predicate, true_function(*args), false_function(*args))


def _is_known(scope: Scope) -> bool:
    return isinstance(scope, PendingGraph) and scope.device.can_wait()


def _select(predicate: Array, yes: Any, no: Any) -> Any:
    leaves, structure = flatten(yes)
    others, same = flatten(no)
    pairs = list(zip(as_arrays(leaves), as_arrays(others), strict=False))
    if structure != same or any(a.shape != b.shape for a, b in pairs):
        raise ArrayValueError(
            "both branches have to return the same containers and shapes",
            "these return " + " and ".join(_describe_types(branch) for branch in (leaves, others)),
        )
    chosen = iter([where(predicate, a, b) for a, b in pairs])
    return unflatten(structure, chosen)


def _describe_types(leaves: Any) -> str:
    return (
        ", ".join(f"{array.dtype}{show(array.shape)}" for array in as_arrays(leaves)) or "nothing"
    )


def scan(
    function: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    length: int | None = None,
) -> tuple[Any, Any]:
    """Carry a value along the first axis of arrays, and stack what each step returns.

    >>> from webnnm import scan, xp
    >>> numbers = xp.asarray([1.0, 2.0, 3.0])
    >>> scan(lambda carry, x: (carry + x, carry + x), xp.asarray(0.0), numbers)[1]
    Array([1.0, 3.0, 6.0], dtype=float32)

    `function(carry, x)` returns the next carry and a result; `x` holds element k of all arrays in
    `xs`, which may be None if `length` is given. Returns the last carry and the stacked results.
    The function is traced once. In a traced function the steps become one graph; otherwise graphs
    of several steps run one after the other.

    Raises `ArrayValueError` if the carry changes its shape or the arrays differ in length.
    """
    arrays = as_arrays(flatten(xs)[0])
    lengths = {array.shape[0] for array in arrays if array.ndim}
    if length is not None:
        lengths.add(length)
    if len(lengths) != 1 or any(not array.ndim for array in arrays):
        raise ArrayValueError(
            f"scanned arrays must have the same length, these have {sorted(lengths)}"
        )
    steps = lengths.pop()
    if steps == 0:
        raise ArrayValueError("there are no steps to scan")
    scope = current(init, xs)
    if steps <= BLOCK or not isinstance(scope, PendingGraph) or scope.differentiating:
        return _unroll(function, init, xs, steps)
    block = jit(static_argnames=["number"])(partial(_unroll, function))
    collected: list[Any] = []
    for start in range(0, steps, BLOCK):
        stop = min(steps, start + BLOCK)
        part = tree_map(itemgetter(slice(start, stop)), xs)
        init, ys = block(init, part, number=stop - start)
        collected.append(ys)
    return init, tree_map(lambda *parts: concat(list(parts)), *collected)  # pyrefly: ignore[implicit-any-lambda]


def _unroll(
    function: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, number: int
) -> tuple[Any, Any]:
    """Write all steps into the scope, from one trace of the function."""
    step = _Step(function, init, tree_map(itemgetter(0), xs))
    collected: list[Any] = []
    for at in range(number):
        init, y = step(init, tree_map(itemgetter(at), xs))
        collected.append(y)
    return init, tree_map(lambda *parts: stack(list(parts)), *collected)  # pyrefly: ignore[implicit-any-lambda]


class _Step:
    """A function of a carry and an element, traced once and inlined at every call."""

    def __init__(self, function: Callable[..., Any], *example: Any) -> None:
        leaves, structure = flatten(example)
        arrays = as_arrays(leaves)
        self._traced: Traced = trace(
            unpack_arguments(function),
            arrays,
            [array.shape for array in arrays],
            rebuild(structure),
        )
        self._check(example[0])

    def _check(self, carry: Any) -> None:
        """Raise an error if a function does not return a carry like the one that it was given."""
        shapes = {name: y.shape for name, y in self._traced.graph.outputs.items()}
        returned = self._traced.build_results(
            lambda name, dtype: _Type(f"{dtype}{show(shapes[name])}")
        )
        if type(returned) is not tuple or len(returned) != 2:
            raise ArrayValueError(
                f"a step returned {_describe_type(returned)}",
                "return a tuple of two: the next carry, and a result or None",
            )
        carry_leaves, structure = flatten(carry)
        returned_leaves, same = flatten(returned[0])  # pyrefly: ignore[unknown-argument-type]
        before = [f"{leaf.dtype}{show(leaf.shape)}" for leaf in as_arrays(carry_leaves)]
        after = [_describe_type(leaf) for leaf in returned_leaves]
        if same != structure or before != after:
            raise ArrayValueError(
                f"the carry is {', '.join(before) or 'nothing'} before a step, and "
                f"{', '.join(after) or 'nothing'} after it",
                "a carry keeps its containers, shapes and data types: convert arrays with "
                "`xp.astype`, and return numbers as arrays (`xp.zeros_like`)",
            )

    def __call__(self, *args: Any) -> Any:
        arrays = as_arrays(flatten(args)[0])
        scope = current(arrays)
        return self._traced.inline(scope, inputs_of(scope, arrays))


class _Type(str):
    """The data type and shape of an array that a step returns."""


def _describe_type(leaf: Any) -> str:
    """Return a description of what a step returned, for errors."""
    if isinstance(leaf, _Type):
        return str(leaf)
    if isinstance(leaf, Array):  # without elements
        return f"{leaf.dtype}{show(leaf.shape)}"
    return f"the {type(leaf).__name__} {leaf!r}"


def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """Return a value after `body(i, value)` for each i from `lower` up to but excluding `upper`.

    >>> from webnnm import fori_loop, xp
    >>> float(fori_loop(0, 5, lambda i, x: x * 2.0, xp.asarray(1.0)))
    32.0
    """
    if upper <= lower:
        return init
    result, _ = scan(lambda value, i: (body(i, value), None), init, arange(lower, upper))
    return result


def while_loop(
    condition: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    *,
    max_iterations: int | None = None,
) -> Any:
    """Return a value after repeating `body(value)` while `condition(value)` holds.

    >>> from webnnm import while_loop, xp
    >>> float(while_loop(lambda x: x < 100, lambda x: x * 3, xp.asarray(1.0)))
    243.0

    Graphs of several steps run one after the other, and in between the host checks whether the
    condition still holds. In a traced function the host cannot check: then all `max_iterations`
    steps are computed, and those after the end of the loop have no effect.

    Raises `TracedValueError` in a traced function without `max_iterations`.
    """
    scope = current(init)
    if _is_known(scope) and not scope.differentiating:
        return _run_from_host(condition, body, init, max_iterations)
    if max_iterations is None:
        raise TracedValueError(
            "a loop in a traced function has no known end", "pass `max_iterations`"
        )
    return fori_loop(0, max_iterations, lambda _, value: _step_if(condition, body, value), init)


def _step_if(condition: Callable[[Any], Any], body: Callable[[Any], Any], value: Any) -> Any:
    """Return the value after a step if the condition holds, else the value."""
    return _select(condition(value), body(value), value)


def _run_from_host(
    condition: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    max_iterations: int | None,
) -> Any:
    def run_steps(value: Any, number: int) -> Any:
        for _ in range(number):
            value = _step_if(condition, body, value)
        return value, condition(value)

    block = jit(static_argnames=["number"])(run_steps)
    done = 0
    is_running = max_iterations is None or max_iterations > 0
    while is_running:
        number = BLOCK if max_iterations is None else min(BLOCK, max_iterations - done)
        init, holds = block(init, number=number)
        done += number
        is_running = bool(holds) and (max_iterations is None or done < max_iterations)
    return init
