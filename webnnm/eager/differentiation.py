"""Derivatives of functions of arrays: reverse mode, forward mode, and what builds on them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from webnnm.core.shapes import show
from webnnm.eager.array import Array, reshape_to
from webnnm.eager.calls import as_arrays, current, inputs_of, rebuild, trace, unpack_arguments
from webnnm.eager.creation import eye
from webnnm.eager.dtypes import dtype_of, is_kind
from webnnm.eager.errors import ArrayTypeError, ArrayValueError
from webnnm.eager.manipulation import moveaxis
from webnnm.eager.mapping import vmap
from webnnm.eager.scopes import PendingGraph, Scope, Trace
from webnnm.eager.trees import flatten, unflatten
from webnnm.graph.node import Operand
from webnnm.graph.transforms.autodiff import gradients, pullback
from webnnm.graph.transforms.tangents import tangents as graph_tangents

Function = Callable[..., Any]
"""A function of arrays and containers of them."""


def grad(
    function: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Function:
    """Return a function that computes the gradient of a function with a scalar result.

    >>> from webnnm import grad, xp
    >>> grad(lambda x: xp.sum(x**3))(xp.asarray([1.0, 2.0]))
    Array([3.0, 12.0], dtype=float32)

    The gradient is taken with respect to the argument number `argnums`, or several; arguments may
    be nested containers of arrays, and the gradients are nested alike. With `has_aux` the function
    returns its scalar and auxiliary data, which are returned along with the gradient.

    Raises `ArrayTypeError` for arguments of integers, `ArrayValueError` for other results.
    """
    both = value_and_grad(function, argnums, has_aux=has_aux)

    @functools.wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def value_and_grad(
    function: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Function:
    """Return a function that computes both the scalar result of a function and its gradient."""

    @functools.wraps(function)
    def with_gradient(*args: Any, **kwargs: Any) -> Any:
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        arguments = [args[number] for number in numbers]
        scope = current(args, kwargs)
        leaves, structure = flatten(arguments)
        if isinstance(scope, PendingGraph) and not scope.differentiating:
            # The work of a loop between two gradients then has one structure, however long it runs.
            scope.compute()
        with differentiating(scope):
            aliases = [_alias(scope, leaf) for leaf in _require_floats(leaves)]
            replaced = [*args]
            for number, part in zip(numbers, unflatten(structure, iter(aliases)), strict=True):
                replaced[number] = part
            value = function(*replaced, **kwargs)
            scalar = value[0] if has_aux else value
            _check_scalar(scalar)
            xs = [scope.operand_of(alias) for alias in aliases]
            operands = gradients(scope.operand_of(scalar), xs)
        grads = [Array(a.dtype, scope, g) for a, g in zip(aliases, operands, strict=True)]
        parts = unflatten(structure, iter(grads))
        return value, parts[0] if isinstance(argnums, int) else tuple(parts)

    return with_gradient


class differentiating:
    """Keep what a scope records inside the `with` block, even after its value was requested."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __enter__(self) -> None:
        self._scope.differentiating += 1

    def __exit__(self, *_: object) -> None:
        self._scope.differentiating -= 1


def _require_floats(leaves: Sequence[Any]) -> list[Array]:
    arrays = as_arrays(leaves)
    for array in arrays:
        if not is_kind(array.dtype, "real floating"):
            raise ArrayTypeError(
                f"an array of {array.dtype} has no gradient", "convert it with `xp.astype`"
            )
    return arrays


def _alias(scope: Scope, array: Array) -> Array:
    return Array(array.dtype, scope, scope.alias(scope.operand_of(array))) if array.size else array


def _check_scalar(value: Any) -> None:
    if not isinstance(value, Array) or value.ndim:
        what = f"an array {show(value.shape)}" if isinstance(value, Array) else repr(value)
        raise ArrayValueError(
            f"the function returned {what}: gradients are taken of one number",
            "return `xp.sum` or `xp.mean` of it, or use `vjp` or `jacrev`; `has_aux=True` lets a "
            "function return more",
        )


def vjp(function: Function, *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Return the result of a function, and a function that pulls its cotangents back.

    >>> from webnnm import vjp, xp
    >>> y, pull = vjp(xp.sin, xp.asarray([0.0]))
    >>> pull(xp.asarray([2.0]))
    (Array([2.0], dtype=float32),)
    """
    leaves, structure = flatten(primals)
    arrays = _require_floats(leaves)
    shapes = [array.shape for array in arrays]

    def with_cotangents(scope: Trace, inputs: list[Operand], returned: Any) -> Any:
        results = [result for result in flatten(returned)[0] if isinstance(result, Array)]
        seeds: list[tuple[Operand, Operand]] = []
        for index, result in enumerate(results):
            y = scope.operand_of(result)
            seeds.append((y, scope.builder.input(f"g{index}", *y.type)))
        back = pullback(seeds, inputs)
        return returned, [_to_array(scope, x, g) for x, g in zip(inputs, back, strict=True)]

    both = trace(unpack_arguments(function), arrays, shapes, rebuild(structure), with_cotangents)
    forward, backward = both.apart()

    def pull(cotangent: Any) -> tuple[Any, ...]:
        cotangents = [array for array in flatten(cotangent)[0] if isinstance(array, Array)]
        scope = current(cotangents, arrays)
        inputs = inputs_of(scope, arrays)
        inputs |= {f"g{index}": scope.operand_of(array) for index, array in enumerate(cotangents)}
        grads = backward.inline(scope, inputs)
        return tuple(unflatten(structure, iter(grads)))

    scope = current(arrays)
    return forward.inline(scope, inputs_of(scope, arrays)), pull


def _to_array(scope: Trace, like: Operand, operand: Operand | None) -> Array:
    if operand is None:
        zero = scope.builder.constant(0, like.dtype)
        operand = scope.builder.expand(zero, new_shape=like.shape)
    return Array(dtype_of(like.dtype), scope, operand)


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Return the result of a function, and its derivative along tangents of its arguments.

    >>> from webnnm import jvp, xp
    >>> jvp(xp.sin, [xp.asarray(0.0)], [xp.asarray(3.0)])[1]
    Array(3.0, dtype=float32)

    Raises `ArrayValueError` if arguments and tangents do not have the same shapes.
    """
    leaves, structure = flatten(tuple(primals))
    directions, same = flatten(tuple(tangents))
    arrays, along = _require_floats(leaves), _require_floats(directions)
    if structure != same or [a.shape for a in arrays] != [v.shape for v in along]:
        raise ArrayValueError("arguments and tangents differ in shape")

    def derivative(scope: Trace, inputs: list[Operand], returned: Any) -> Any:
        values, shape = flatten(returned)
        vs = [scope.builder.input(f"v{index}", *x.type) for index, x in enumerate(inputs)]
        ys = [scope.operand_of(value) for value in values]
        operands = graph_tangents(ys, inputs, vs)
        derivatives = [Array(y.dtype, scope, dy) for y, dy in zip(values, operands, strict=True)]
        return returned, unflatten(shape, iter(derivatives))

    shapes = [array.shape for array in arrays]
    function_graph = trace(
        unpack_arguments(function), arrays, shapes, rebuild(structure), derivative
    )
    scope = current(arrays, along)
    inputs = inputs_of(scope, arrays)
    inputs |= {f"v{index}": scope.operand_of(array) for index, array in enumerate(along)}
    return function_graph.inline(scope, inputs)


def jacfwd(function: Function, argnums: int = 0) -> Function:
    """Return a function that computes the Jacobian of a function of an array, column by column.

    >>> from webnnm import jacfwd, xp
    >>> jacfwd(lambda x: x * x)(xp.asarray([1.0, 2.0]))
    Array([[2.0, 0.0], [0.0, 4.0]], dtype=float32)

    It has the dimensions of the result first and those of the argument last.
    """

    @functools.wraps(function)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        x = _single(args[argnums])

        def along(v: Array) -> Array:
            def of_one(each: Array) -> Any:
                return function(*args[:argnums], each, *args[argnums + 1 :], **kwargs)

            return jvp(of_one, [x], [v])[1]

        columns = vmap(along)(_basis(x))
        columns = moveaxis(columns, 0, columns.ndim - 1)
        return reshape_to(columns, (*columns.shape[:-1], *x.shape))

    return jacobian


def jacrev(function: Function, argnums: int = 0) -> Function:
    """Return a function that computes the Jacobian of a function of an array, row by row.

    It has the dimensions of the result first and those of the argument last, like `jacfwd`, and is
    faster if the result has fewer elements than the argument.
    """

    @functools.wraps(function)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        x = _single(args[argnums])

        def of_one(each: Array) -> Any:
            return function(*args[:argnums], each, *args[argnums + 1 :], **kwargs)

        y, pull = vjp(of_one, x)

        def pull_row(g: Array) -> Any:
            return pull(g)[0]

        rows = vmap(pull_row)(_basis(_single(y)))
        return reshape_to(rows, (*y.shape, *x.shape))

    return jacobian


def hessian(function: Function, argnums: int = 0) -> Function:
    """Return a function that computes the Hessian of a function with a scalar result.

    >>> from webnnm import hessian, xp
    >>> hessian(lambda x: x[0] * x[1] ** 2)(xp.asarray([1.0, 3.0]))
    Array([[0.0, 6.0], [6.0, 2.0]], dtype=float32)
    """
    return jacfwd(grad(function, argnums), argnums)


def _single(x: Any) -> Array:
    if not isinstance(x, Array):
        kind = type(x).__name__
        raise ArrayTypeError(
            f"Jacobians are taken with respect to one array, not a {kind}", "use `grad`"
        )
    return x


def _basis(x: Array) -> Array:
    """Return the unit vectors in the shape of an array, stacked."""
    identity = eye(x.size, dtype=x.dtype, device=x.device)
    return reshape_to(identity, (x.size, *x.shape))
