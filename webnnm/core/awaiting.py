"""Coroutines that report a forgotten `await`.

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
    """Raised when the result of a call is used before the call was awaited (NNM712)."""

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

    __slots__ = ("__name__", "__qualname__", "_call_text", "_coroutine", "_is_settled")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], call_text: str) -> None:
        self._coroutine = coroutine
        self._is_settled = False
        self._call_text = call_text
        self.__name__ = coroutine.__name__
        self.__qualname__ = coroutine.__qualname__

    # What coroutines do.

    def __await__(self) -> Generator[Any, Any, Any]:
        self._is_settled = True
        return self._coroutine.__await__()

    def send(self, value: Any, /) -> Any:
        """Resume the coroutine."""
        self._is_settled = True
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise an error where the coroutine waits."""
        self._is_settled = True
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """End the coroutine."""
        self._is_settled = True
        self._coroutine.close()

    def __del__(self) -> None:
        if not self._is_settled:
            self.close()
            warnings.warn(
                f"NNM712: {self._call_text} was not awaited, so nothing was done; write "
                f"`await {self._call_text}`",
                RuntimeWarning,
                stacklevel=2,
            )

    # Uses of the result without `await`: all of them raise.

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("cr_", "_")):  # debuggers and libraries look for these
            return getattr(self._coroutine, name)
        raise self._make_error(f'has no "{name}" yet', f"(await {self._call_text}).{name}")

    def _make_error(self, what: str, instead: str) -> NotAwaitedError:
        """Close the coroutine, and return the error."""
        self._is_settled = True  # one report is enough
        self._coroutine.close()
        message = f"{self._call_text} was not awaited, and {what}"
        return NotAwaitedError(message, f"write `{instead}`")

    def _raise_not_awaited(self, *_: Any) -> NoReturn:
        raise self._make_error("has no result yet", f"await {self._call_text}")

    __getitem__ = __iter__ = __len__ = __contains__ = __call__ = _raise_not_awaited
    __enter__ = __exit__ = __float__ = __int__ = __array__ = _raise_not_awaited
    __add__ = __sub__ = __mul__ = __truediv__ = __lt__ = __gt__ = _raise_not_awaited

    def __aenter__(self) -> NoReturn:
        raise self._make_error("cannot be entered", f"async with await {self._call_text} as …")

    def __aexit__(self, *_: object) -> NoReturn:
        self._raise_not_awaited()

    def __repr__(self) -> str:
        return f"<{self._call_text}, to be awaited>"


# `inspect.iscoroutinefunction` recognises what is marked, from Python 3.12 on.
_mark: Callable[[Any], Any] = getattr(inspect, "markcoroutinefunction", lambda function: function)


def require_await(
    function: Callable[P, Coroutine[Any, Any, T]], owner: str = ""
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Wrap a coroutine function so that its calls return a `Call`.

    `owner` is the variable by which messages refer to the object whose method it is.
    """
    call_text = f"{owner}.{function.__name__}(…)" if owner else f"{function.__name__}(…)"

    @_mark
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return Call(function(*args, **kwargs), call_text)

    return call


def require_await_of_methods(owner: str) -> Callable[[C], C]:
    """Return a class decorator that applies `require_await` to the public coroutine methods."""

    def decorate(cls: C) -> C:
        for name, member in [*vars(cls).items()]:
            function = member.__func__ if isinstance(member, classmethod) else member
            if name.startswith("_") or not inspect.iscoroutinefunction(function):
                continue
            if isinstance(member, classmethod):
                setattr(cls, name, classmethod(require_await(function, cls.__name__)))
            else:
                setattr(cls, name, require_await(function, owner))
        return cls

    return decorate


class Unfinished:
    """The base of results that are awaited: until then, reading an attribute raises an error."""

    def _describe_call(self) -> tuple[str, tuple[type, ...]]:
        """Return the call that made it, and the types that its result may have."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            call_text, result_types = self._describe_call()
            if any(_has_attribute(cls, name) for cls in result_types):
                raise NotAwaitedError(
                    f'{call_text} was not awaited, and has no "{name}" yet',
                    f"write `(await {call_text}).{name}`",
                )
        cls = type(self).__name__
        raise AttributeError(f"'{cls}' object has no attribute '{name}'", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<{self._describe_call()[0]}, to be awaited>"


def _has_attribute(cls: type, name: str) -> bool:
    """Return whether objects of a class have an attribute.

    Fields of a dataclass without a default are no attributes of the class.
    """
    return hasattr(cls, name) or name in getattr(cls, "__dataclass_fields__", ())


def is_asynchronous(function: object) -> bool:
    """Return whether a call of the function has to be awaited."""
    function = getattr(function, "__func__", function)
    return inspect.iscoroutinefunction(inspect.unwrap(function)) if callable(function) else False


def check_awaited(value: object, argument: str, template: str) -> None:
    """Raise `NotAwaitedError` for an argument that is still to be awaited.

    Messages name the `argument`, and `template` is the right code, with `…` for the call.
    """
    # Arrays of `webnnm.xp` can be awaited, but are values as they are.
    if not inspect.isawaitable(value) or hasattr(type(value), "__array_namespace__"):
        return
    if isinstance(value, Call):
        name = value._call_text
        value.close()
    else:
        name = f"{getattr(value, '__qualname__', type(value).__name__)}(…)"
        if inspect.iscoroutine(value):
            value.close()
    message = f"{argument} is {name}, which was not awaited"
    raise NotAwaitedError(message, f"write `{template.replace('…', 'await ' + name)}`")
