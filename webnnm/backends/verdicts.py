"""Verdicts on implementations, which the browser keeps for the next visit."""

from __future__ import annotations

import asyncio
import hashlib
import json
from contextlib import suppress
from typing import Any

from webnnm.backends.browser_files import keep_file, kept_file
from webnnm.backends.pyodide_host import Bridge
from webnnm.core.errors import WebNNMError

FILE = ".webnnm-faults"
MOST = 8
"""Verdicts kept: those on other devices, and of versions of the browser that were there before."""

_known: dict[str, str] = {}
"""Those of this page, which holds them when the browser's storage does not."""

writing: set[asyncio.Task[None]] = set()
"""What is being kept at the moment; nobody needs to wait for it."""


class Verdicts:
    """The verdicts of this page and of earlier visits, none where it is not known what judges.

    What a verdict holds for is said in words: device, limits, questions. The browser and its
    version are added to them.
    """

    def __init__(self, browser: str) -> None:
        self._browser = browser

    @classmethod
    async def of(cls, bridge: Bridge) -> Verdicts:
        """Ask the browser who it is, and what it kept."""
        browser = await bridge.browser()
        if browser and not _known:
            _known.update(await _kept())
        return cls(browser)

    def recall(self, *words: Any) -> str | None:
        """Return the verdict on something, None where there is none."""
        return _known.get(self._key(*words))

    def keep(self, verdict: str, *words: Any) -> None:
        """Keep a verdict; where the browser keeps nothing, the page does as long as it is open."""
        if self._browser:
            _known[self._key(*words)] = verdict
            task = asyncio.ensure_future(_keep())
            writing.add(task)
            task.add_done_callback(writing.discard)

    def _key(self, *words: Any) -> str:
        return hashlib.sha256(json.dumps([self._browser, *words]).encode()).hexdigest()


async def _keep() -> None:
    latest = dict([*_known.items()][-MOST:])
    with suppress(WebNNMError):
        await keep_file(FILE, [json.dumps(latest).encode()])


async def _kept() -> dict[str, str]:
    """Return the verdicts of earlier visits, none where the browser does not give them."""
    try:
        found: Any = json.loads(await kept_file(FILE) or b"{}")
    except (WebNNMError, ValueError):
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}  # pyright: ignore
