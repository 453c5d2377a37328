"""The public names without `await`, for scripts and notebooks.

>>> from webnnm import sync
>>> iris = sync.IrisDataset.create(standardize=True)
>>> source = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
>>> model = sync.NNModel.create(source=source, dataset=iris, log=lambda line: None)
>>> model.train(epochs=3).stopped
'epochs'
>>> model.test().samples
45

The names are those of `webnnm`, and every call returns what awaiting it would. On desktops an
event loop in a separate thread does the work, so that it also works where a loop is already
running, as in notebooks; Ctrl-C cancels the call and leaves a training at a known step. Pages
need a browser that can suspend Python (JSPI); otherwise calls raise `BackendError` NNM709.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future, wait
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from webnnm.backends import pyodide_host
from webnnm.core.awaiting import is_asynchronous
from webnnm.core.errors import BackendError, DataError
from webnnm.eager.array import Array
from webnnm.eager.errors import TracedValueError
from webnnm.eager.scopes import TRACES, Trace
from webnnm.eager.trees import flatten


class Synchronous:
    """A wrapper whose calls return results instead of awaitables.

    Attributes are those of `__wrapped__`, the wrapped object; `with` closes it.
    """

    def __init__(self, thing: Any) -> None:
        object.__setattr__(self, "__wrapped__", thing)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.__wrapped__, name)
        return _public(attribute) if callable(attribute) else _wrap(attribute)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__wrapped__, name, _bare(value))

    def __call__(self, *words: Any, **more: Any) -> Any:
        """Call it and wait for the result."""
        function = self.__wrapped__
        positional, named = [*map(_bare, words)], {n: _bare(value) for n, value in more.items()}
        if TRACES and _is_traced([*positional, *named.values()]):
            if is_asynchronous(function):
                raise TracedValueError(
                    f"{function.__name__} needs values, which traced arrays do not have",
                    "within `jit`, `vmap` and the like use `model.apply(params, x)`, a function of "
                    "arrays",
                )
            # The function is being traced in this thread, and there is nothing to wait for.
            return _wrap(function(*positional, **named))

        async def wait_for_call() -> Any:
            result = function(*positional, **named)
            return await result if _has_to_wait(result) else result

        return _wrap(_result(wait_for_call()))

    def __enter__(self) -> Synchronous:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __instancecheck__(self, thing: object) -> bool:
        return isinstance(_bare(thing), self.__wrapped__)

    def __dir__(self) -> list[str]:
        return dir(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def __getattr__(name: str) -> Any:
    return _public(getattr(import_module("webnnm"), name))


def __dir__() -> list[str]:
    return dir(import_module("webnnm"))


def _public(found: Any) -> Any:
    """Wrap what can be called, and modules, but no errors, whose classes `except` needs."""
    is_error = isinstance(found, type) and issubclass(found, BaseException)
    wrap = (callable(found) or isinstance(found, ModuleType)) and not is_error
    return Synchronous(found) if wrap else found


def _wrap(value: Any) -> Any:
    """Wrap objects with asynchronous methods, except arrays, which wait themselves."""
    if type(value) is tuple:
        return tuple(map(_wrap, cast("Sequence[Any]", value)))
    kind = cast("type[Any]", type(value))
    ours = kind.__module__.partition(".")[0] == "webnnm" and kind is not Synchronous
    ours = ours and not isinstance(value, Array)
    methods = (member for base in kind.__mro__ for member in vars(base).values()) if ours else ()
    return Synchronous(value) if any(map(is_asynchronous, methods)) else value


def _has_to_wait(found: Any) -> bool:
    """Return whether a result has to be awaited: arrays wait themselves, once a value is needed."""
    return inspect.isawaitable(found) and not isinstance(found, Array)


def _is_traced(values: Sequence[Any]) -> bool:
    leaves, _ = flatten(values)
    return any(isinstance(leaf, Array) and isinstance(leaf.scope, Trace) for leaf in leaves)


def _bare(value: Any) -> Any:
    return value.__wrapped__ if isinstance(value, Synchronous) else value


# Importers wait without `await`, perhaps directly after a call that is awaited.
pyodide_host.can_wait()


@cache
def _loop() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="webnnm", daemon=True)
    thread.start()
    return loop, thread


def _result(work: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of work once it is there."""
    if pyodide_host.in_browser():
        if pyodide_host.can_wait():
            return pyodide_host.wait(work)
        work.close()
        raise BackendError(
            "NNM709",
            "this browser cannot block Python",
            hint="use webnnm, and await its calls",
        )
    loop, thread = _loop()
    if threading.current_thread() is thread:
        work.close()
        raise DataError(
            "NNM712",
            "a callback cannot call webnnm.sync, which is waiting for it",
            hint="make the callback a coroutine function, which can await the model's methods",
        )
    done: Future[Any] = Future()
    tasks: list[asyncio.Task[None]] = []

    async def run() -> None:
        try:
            done.set_result(await work)
        except BaseException as error:
            done.set_exception(error)

    def begin() -> None:
        tasks.append(loop.create_task(run()))
        tasks[0].add_done_callback(lambda _: leave())

    def stop() -> None:
        if tasks:
            tasks[0].cancel()
        else:
            leave()

    def leave() -> None:
        """Answer for work that was interrupted before it began."""
        if not done.done():
            work.close()
            done.set_exception(asyncio.CancelledError())

    try:
        loop.call_soon_threadsafe(begin)  # it may interrupt this thread before the next line
        return done.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(stop)
        wait([done])
        raise
