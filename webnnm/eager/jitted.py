"""`jit`: functions of arrays that are traced once, and then run as one graph."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from types import MethodType
from typing import Any, overload

from webnnm.core.lru_cache import LruCache
from webnnm.eager.array import Array
from webnnm.eager.calls import Traced, as_arrays, current, inputs_of, rebuild, trace
from webnnm.eager.device import Device, Program, Work
from webnnm.eager.dtypes import DType
from webnnm.eager.errors import ArrayTypeError, ArrayValueError
from webnnm.eager.scopes import PendingGraph, plain_graph
from webnnm.eager.storage import Storage
from webnnm.eager.trees import Structure, flatten

MAX_TRACES = 128
"""How many signatures a function keeps its graph for."""


@dataclass(frozen=True, slots=True, eq=False)
class _Call(Work):
    """A run of a traced function."""

    traced: Traced
    inputs: Sequence[Storage]  # pyrefly: ignore[bad-override]
    outputs: Sequence[Storage]  # pyrefly: ignore[bad-override]
    donated: Sequence[Storage]  # pyrefly: ignore[bad-override]

    def program(self, device: Device) -> Program | None:
        """Return the compiled graph."""
        return device.programs.get(self.traced.key)

    async def compile(self, device: Device) -> Program:
        """Compile the graph."""
        graph = plain_graph(self.traced.graph)
        executable = await device.compile(graph)
        inputs = [name if name in executable.inputs else None for name in graph.inputs]
        program = Program(executable, inputs, [*graph.outputs])
        device.programs[self.traced.key] = program
        return program


class Jitted:
    """A function that `jit` has wrapped; `__wrapped__` is the function itself."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnames: Iterable[str],
        donate_argnames: Iterable[str],
    ) -> None:
        update_wrapper(self, function)
        self._function = function
        self._static = frozenset(static_argnames)
        self._donated = frozenset(donate_argnames)
        self._signature = inspect.signature(function)
        unknown = (self._static | self._donated) - self._signature.parameters.keys()
        if unknown:
            raise ArrayValueError(f'the function has no argument "{min(unknown)}"')
        self._traces = LruCache[Hashable, Traced](MAX_TRACES)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function's graph; trace the function first if the signature is new."""
        bound = self._bind_arguments(args, kwargs)
        static = tuple((name, bound[name]) for name in bound if name in self._static)
        dynamic = {name: value for name, value in bound.items() if name not in self._static}
        leaves, structure = flatten(dynamic)
        arrays = as_arrays(leaves)
        scope = current(*arrays)
        key = (structure, static, tuple([(a.dtype, a.shape, a.weak) for a in arrays]))
        traced = self._get_trace(key, arrays, structure, dict(static))
        traced.check(arrays)
        if not isinstance(scope, PendingGraph) or scope.differentiating:
            return traced.inline(scope, inputs_of(scope, arrays))
        return self._submit_call(traced, scope, arrays, dynamic)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return the bound method: the object is the first argument."""
        return self if instance is None else MethodType(self, instance)

    def _bind_arguments(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = self._signature.bind(*args, **kwargs)
        return bound.arguments

    def _get_trace(
        self,
        key: Hashable,
        arrays: Sequence[Array],
        structure: Structure,
        static: dict[str, Any],
    ) -> Traced:
        try:
            traced = self._traces.get(key)
        except TypeError as error:
            raise ArrayTypeError(f"static arguments must be hashable: {error}") from error
        if traced is None:
            traced = trace(
                partial(self._apply, static),
                arrays,
                [array.shape for array in arrays],
                rebuild(structure),
            )
            self._traces[key] = traced
        return traced

    def _apply(self, static: dict[str, Any], dynamic: dict[str, Any]) -> Any:
        bound = inspect.BoundArguments(self._signature, OrderedDict({**dynamic, **static}))
        return self._function(*bound.args, **bound.kwargs)

    def _submit_call(
        self, traced: Traced, scope: PendingGraph, arrays: Sequence[Array], dynamic: dict[str, Any]
    ) -> Any:
        if self._donated & dynamic.keys():
            scope.compute()  # what is pending still reads what is donated now
        inputs = [array.values_storage() for array in (*arrays, *traced.captured) if array.size]
        donated: list[Storage] = []
        for name in self._donated & dynamic.keys():
            donated += [
                a.values_storage() for a in flatten(dynamic[name])[0] if isinstance(a, Array)
            ]
        outputs = {name: Storage(o.type) for name, o in traced.graph.outputs.items()}
        if outputs:
            scope.device.submit(_Call(traced, inputs, [*outputs.values()], donated))

        def output(name: str, dtype: DType) -> Array:
            return Array(dtype, scope, storage=outputs[name])

        return traced.build_results(output)


@overload
def jit(function: Callable[..., Any], /) -> Jitted: ...
@overload
def jit(
    *, static_argnames: Iterable[str] = (), donate_argnames: Iterable[str] = ()
) -> Callable[[Callable[..., Any]], Jitted]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnames: Iterable[str] = (),
    donate_argnames: Iterable[str] = (),
) -> Any:
    """Return a function of arrays that is traced once and then runs as one graph.

    >>> from webnnm import jit, xp
    >>> @jit
    ... def distance(a, b):
    ...     return xp.sqrt(xp.sum((a - b) ** 2))
    >>> float(distance(xp.asarray([0.0, 3.0]), xp.asarray([4.0, 0.0])))
    5.0

    It is traced again for arguments of other shapes, data types or nesting, and for other values of
    the arguments in `static_argnames`. Arguments and results may be nested tuples, lists,
    dictionaries and dataclasses; Python numbers may change without a new trace. Arrays in
    `donate_argnames` cannot be used after the call: their memory is reused for later results.

    Values that the function captures are those at the time of tracing, as in JAX: an array that is
    bound to the name later is not seen. Pass what changes as an argument.

    During tracing, Python sees shapes and data types, but no values: `if` and `while` over them
    raise `TracedValueError`; `xp.where`, `cond`, `scan`, `fori_loop` and `while_loop` decide on the
    device.
    """
    if isinstance(static_argnames, str) or isinstance(donate_argnames, str):
        raise ArrayTypeError("argument names are given as a list or tuple")

    def wrap(wrapped: Callable[..., Any]) -> Jitted:
        return Jitted(wrapped, static_argnames, donate_argnames)

    return wrap if function is None else wrap(function)
