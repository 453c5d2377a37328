"""Saving a training again and again, so that it can go on after whatever ends it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from webnnm.errors import DataError

if TYPE_CHECKING:
    from webnnm.model import NNModel

Place = str | os.PathLike[str]


class Autosave:
    """Saves a model that is being trained: every so many seconds, and when its page is hidden.

    A saving that fails is logged, and the next one comes at its time.
    """

    def __init__(self, model: NNModel, place: Place, seconds: float) -> None:
        self._model = model
        self._place = place
        self._seconds = seconds
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """End the savings; one under way is finished."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await _turn(self._seconds)
            # A file is written to its end, whatever happens to this task meanwhile.
            saving = asyncio.ensure_future(self._save_on_the_way())
            try:
                await asyncio.shield(saving)
            except asyncio.CancelledError:
                await saving
                raise

    async def save(self) -> None:
        """Save the model, whatever it does."""
        await self._model.save(self._place)

    async def _save_on_the_way(self) -> None:
        if self._model.training is None:
            return
        try:
            await self.save()
        except DataError as error:
            if error.code != "NNM808":  # the training has just ended
                self._model.log(f"autosave: {error}")


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
