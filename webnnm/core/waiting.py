"""Waiting for running work: to its end in spite of a cancellation, or serving others meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context, copy_context
from typing import Any, TypeVar

from webnnm.core.errors import DataError

Result = TypeVar("Result")


def check_event_loop(what: str) -> None:
    """Raise `DataError` NNM712 if there is no running event loop; `what` names what needs it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError as error:
        raise DataError(
            "NNM712",
            f"{what} needs a running event loop",
            hint="await it within asyncio.run(main()), or use webnnm.sync",
        ) from error


def _nothing(*_: Any) -> None:
    pass


class Answer:
    """The result of a call from outside: the task that awaits it resumes as soon as it is settled.

    A future of the event loop would let the task wait for a turn. Only one task may await it, and
    no other may be running when it is settled. `make` then makes the result.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._settled = False
        self._error: BaseException | None = None
        self._task: tuple[Callable[[Any], object], Context] | None = None
        self._asyncio_future_blocking = False  # tasks recognise by this what they can await

    def __await__(self) -> Generator[Any, None, Any]:
        if not self._settled:
            self._asyncio_future_blocking = True
            yield self
        if self._error is not None:
            raise self._error
        return self._make()

    def settle(self, error: BaseException | None = None) -> None:
        """Resume the task, with the error if there is one, unless it was cancelled."""
        if self._settled:
            return
        self._settled, self._error = True, error
        if self._task is not None:
            go_on, context = self._task
            try:
                context.run(go_on, self)
            except (SystemExit, KeyboardInterrupt) as stop:  # the event loop handles these
                self.get_loop().call_soon(_raise, stop)

    # The rest is the interface that tasks expect of what they await.

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop, of which there is only one here."""
        return asyncio.get_running_loop()

    def add_done_callback(
        self, fn: Callable[[Any], object], *, context: Context | None = None
    ) -> None:
        """Remember how to resume the task."""
        self._task = fn, context or copy_context()

    def result(self) -> None:
        """Raise the error, if there is one."""
        if self._error is not None:
            raise self._error

    def cancel(self, msg: Any = None) -> bool:
        """End the task at the next turn of the event loop."""
        if self._settled:
            return False
        self._settled, self._error = True, asyncio.CancelledError(*[msg][: msg is not None])
        if self._task is not None:
            go_on, context = self._task
            self.get_loop().call_soon(go_on, self, context=context)
        return True


def _raise(error: BaseException) -> None:
    raise error


async def to_the_end(
    work: Awaitable[Result],
    *,
    stop: Callable[[], object] = _nothing,
    undo: Callable[[Result], object] = _nothing,
) -> Result:
    """Return the result of work; a cancellation waits until the work has ended.

    >>> async def main():
    ...     waiting = asyncio.ensure_future(to_the_end(asyncio.sleep(0.01, "made"), undo=print))
    ...     await asyncio.sleep(0)
    ...     waiting.cancel()
    ...     await asyncio.wait([waiting])
    ...     return waiting.cancelled()
    >>> asyncio.run(main())
    made
    True

    What a browser or a disk has begun cannot be taken back. `stop` asks the work to end early;
    `undo` receives the result that nobody needs any more.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            if cancelled is None:
                stop()
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled() and task.exception() is None:
        undo(task.result())
    raise cancelled


async def meanwhile(
    work: asyncio.Future[Result], wake: asyncio.Event, serve: Callable[[], Awaitable[None]]
) -> Result:
    """Return the result of work, and serve each `wake` meanwhile; a cancellation cancels both."""
    try:
        while not work.done():
            wake.clear()
            waking = asyncio.ensure_future(wake.wait())
            try:
                await asyncio.wait({work, waking}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                waking.cancel()
            await serve()
        return work.result()
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
