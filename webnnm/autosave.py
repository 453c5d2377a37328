"""Saving a training again and again, so that it can go on after whatever ends it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from webnnm.errors import DataError
from webnnm.waiting import to_the_end

if TYPE_CHECKING:
    from webnnm.model import NNModel

Place = str | os.PathLike[str]


class Autosave:
    """Saves a model that is being trained: every so many seconds, and when its page is hidden.

    A saving that fails, for whatever reason, is told to `warn`, and the next one comes at its time.
    """

    def __init__(
        self, model: NNModel, place: Place, seconds: float, warn: Callable[[str], None]
    ) -> None:
        self._model = model
        self._place = place
        self._seconds = seconds
        self._warn = warn
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """End the savings; one under way is finished."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def save(self) -> None:
        """Save the model; a failure costs a warning, never what is saved."""
        try:
            await self._model.save(self._place)
        except Exception as error:
            if not (isinstance(error, DataError) and error.code == "NNM808"):  # it has just ended
                self._warn(f"autosave: {type(error).__name__}: {error}")

    async def _run(self) -> None:
        while True:
            await _turn(self._seconds)
            if self._model.training is not None:
                # A file is written to its end, whatever happens to this task meanwhile.
                await to_the_end(self.save())


async def _turn(seconds: float) -> None:
    """Wait so long, or until the page is hidden."""
    waiting = [asyncio.ensure_future(asyncio.sleep(seconds))]
    if sys.platform == "emscripten":
        from webnnm.backends.browser_files import hidden

        waiting.append(asyncio.ensure_future(hidden()))
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
