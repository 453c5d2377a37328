"""Saves a training regularly, so that it can be resumed whatever ends it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable

from webnnm.core.errors import DataError
from webnnm.core.waiting import to_the_end
from webnnm.snapshots.storage import claim, release

Path = str | os.PathLike[str]
FIRST_SECONDS = 2.0
"""When the first save is made: the page may be closed soon."""


class Autosave:
    """Saves a model during training: soon after the start, at intervals, when its page is closed.

    A save that fails, for whatever reason, is reported to `warn`, and the next one is made as
    scheduled. If another page saves a training in the same place, nothing is saved. `on_save` is
    called after every save with its exception, or None. Nothing is saved once the training is no
    longer `going`.
    """

    def __init__(
        self,
        save: Callable[[Path], Awaitable[object]],
        path: Path,
        seconds: float,
        on_save: Callable[[Exception | None], object] | None,
        warn: Callable[[str], None],
        is_running: Callable[[], bool],
    ) -> None:
        self._save = save
        self._is_running = is_running
        self._path = path
        self._seconds = seconds
        self._on_save = on_save
        self._warn = warn
        self._is_refused = False
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Stop saving; a save in progress is completed."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def save(self) -> None:
        """Save the model unless another page has the place; a failure only causes a warning."""
        if self._is_refused:
            return
        try:
            await self._save(self._path)
        except Exception as error:
            if not (isinstance(error, DataError) and error.code == "NNM808"):  # it has just ended
                self._report(error)
        else:
            self._report(None)

    async def _run(self) -> None:
        # Wait for the claim, whatever happens to this task meanwhile: otherwise nobody releases it.
        claim_task = asyncio.ensure_future(claim(self._path))
        try:
            await asyncio.shield(claim_task)
            await self._save_at_intervals()
        finally:
            (refusal,) = await asyncio.gather(claim_task, return_exceptions=True)
            if isinstance(refusal, Exception):
                self._is_refused = True
                self._report(refusal)
            else:
                await release(self._path)

    async def _save_at_intervals(self) -> None:
        seconds = min(FIRST_SECONDS, self._seconds)
        while True:
            await wait_for_next_save(seconds)
            seconds = self._seconds
            if self._is_running():
                # A file is written completely, whatever happens to this task meanwhile.
                await to_the_end(self.save())

    def _report(self, failure: Exception | None) -> None:
        if failure is not None:
            self._warn(f"autosave: {type(failure).__name__}: {failure}")
        if self._on_save is not None:
            self._on_save(failure)


async def wait_for_next_save(seconds: float) -> None:
    """Wait this long, or until the page is hidden."""
    tasks = [asyncio.ensure_future(asyncio.sleep(seconds))]
    if sys.platform == "emscripten":
        from webnnm.backends.browser_files import wait_until_hidden

        tasks.append(asyncio.ensure_future(wait_until_hidden()))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
