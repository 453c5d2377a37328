"""Calls that have to be awaited, and say so where that is forgotten.

A coroutine that nobody awaits does nothing, and its attributes are those of coroutines. Public
coroutine functions return a `Call` instead: a coroutine whose other uses raise `NotAwaitedError`,
and which warns if it is dropped.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

from webnnm.core.errors import DataError

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=type)


class NotAwaitedError(DataError, AttributeError, TypeError):
    """The result of a call is used, which was not awaited (NNM712)."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__("NNM712", message, hint=hint)


class Call(Coroutine[Any, Any, Any]):
    """A coroutine of a public function, to be awaited.

    >>> async def load(path): ...
    >>> require_await(load)("model.nnm").classes
    Traceback (most recent call last):
    webnnm.core.awaiting.NotAwaitedError: NNM712: load(…) was not awaited, and has no "classes" yet
    hint: write `(await load(…)).classes`
    """

    __slots__ = ("__name__", "__qualname__", "_begun", "_coroutine", "_written")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], written: str) -> None:
        self._coroutine = coroutine
        self._begun = False
        self._written = written
        self.__name__ = coroutine.__name__
        self.__qualname__ = coroutine.__qualname__

    # What coroutines do.

    def __await__(self) -> Generator[Any, Any, Any]:
        self._begun = True
        return self._coroutine.__await__()

    def send(self, value: Any, /) -> Any:
        """Resume the coroutine."""
        self._begun = True
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise an error where the coroutine waits."""
        self._begun = True
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """End the coroutine."""
        self._begun = True
        self._coroutine.close()

    def __del__(self) -> None:
        if not self._begun:
            self.close()
            warnings.warn(
                f"NNM712: {self._written} was not awaited, so nothing was done; write "
                f"`await {self._written}`",
                RuntimeWarning,
                stacklevel=2,
            )

    # What people do to results.

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("cr_", "_")):  # debuggers and libraries look for these
            return getattr(self._coroutine, name)
        raise self._refusal(f'has no "{name}" yet', f"(await {self._written}).{name}")

    def _refusal(self, what: str, instead: str) -> NotAwaitedError:
        self._begun = True  # one message is enough
        self._coroutine.close()
        message = f"{self._written} was not awaited, and {what}"
        return NotAwaitedError(message, f"write `{instead}`")

    def _refuse(self, *_: Any) -> NoReturn:
        raise self._refusal("has no result yet", f"await {self._written}")

    __getitem__ = __iter__ = __len__ = __contains__ = __call__ = _refuse
    __enter__ = __exit__ = __float__ = __int__ = __array__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __lt__ = __gt__ = _refuse

    def __aenter__(self) -> NoReturn:
        raise self._refusal("cannot be entered", f"async with await {self._written} as …")

    def __aexit__(self, *_: object) -> NoReturn:
        self._refuse()

    def __repr__(self) -> str:
        return f"<{self._written}, to be awaited>"


# `inspect.iscoroutinefunction` recognises what is marked, from Python 3.12 on.
_mark: Callable[[Any], Any] = getattr(inspect, "markcoroutinefunction", lambda function: function)


def require_await(
    function: Callable[P, Coroutine[Any, Any, T]], owner: str = ""
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return a coroutine function whose calls say where they were not awaited.

    `owner` is how messages call the object whose method it is.
    """
    written = f"{owner}.{function.__name__}(…)" if owner else f"{function.__name__}(…)"

    @_mark
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return Call(function(*args, **kwargs), written)

    return call


def require_await_of_methods(owner: str) -> Callable[[C], C]:
    """Return a decorator that makes the public coroutine methods of a class `require_await`."""

    def decorate(kind: C) -> C:
        for name, member in [*vars(kind).items()]:
            function = member.__func__ if isinstance(member, classmethod) else member
            if name.startswith("_") or not inspect.iscoroutinefunction(function):
                continue
            if isinstance(member, classmethod):
                setattr(kind, name, classmethod(require_await(function, kind.__name__)))
            else:
                setattr(kind, name, require_await(function, owner))
        return kind

    return decorate


class Unfinished:
    """A result in progress, which is awaited: attributes of the result say so until then."""

    def _call_and_results(self) -> tuple[str, tuple[type, ...]]:
        """Return the call that made it, and the types that its result may have."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            written, kinds = self._call_and_results()
            if any(_has_attribute(kind, name) for kind in kinds):
                raise NotAwaitedError(
                    f'{written} was not awaited, and has no "{name}" yet',
                    f"write `(await {written}).{name}`",
                )
        kind = type(self).__name__
        raise AttributeError(f"'{kind}' object has no attribute '{name}'", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<{self._call_and_results()[0]}, to be awaited>"


def _has_attribute(kind: type, name: str) -> bool:
    """Return whether objects of a class have an attribute.

    A dataclass itself lacks its fields without defaults.
    """
    return hasattr(kind, name) or name in getattr(kind, "__dataclass_fields__", ())


def is_asynchronous(function: object) -> bool:
    """Return whether what calls of a function return has to be awaited."""
    function = getattr(function, "__func__", function)
    return inspect.iscoroutinefunction(inspect.unwrap(function)) if callable(function) else False


def check_awaited(value: object, what: str, instead: str) -> None:
    """Raise `NotAwaitedError` for an argument that is still to be awaited.

    `what` is the argument, `instead` how it is written, with `…` for the call.
    """
    if not inspect.isawaitable(value) or hasattr(type(value), "__array_namespace__"):
        return
    if isinstance(value, Call):
        name = value._written
        value.close()
    else:
        name = f"{getattr(value, '__qualname__', type(value).__name__)}(…)"
        if inspect.iscoroutine(value):
            value.close()
    message = f"{what} is {name}, which was not awaited"
    raise NotAwaitedError(message, f"write `{instead.replace('…', 'await ' + name)}`")
