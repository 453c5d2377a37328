"""Verdicts on implementations of WebNN, which the browser keeps for the next visit."""

from __future__ import annotations

import asyncio
import hashlib
import json
from contextlib import suppress
from typing import Any

from webnnm.backends.browser_files import keep_file, read_kept_file
from webnnm.backends.pyodide_host import Bridge
from webnnm.core.errors import WebNNMError

FILE = ".webnnm-faults"
MAX_VERDICTS = 8
"""The most verdicts that are kept: for several devices, and for earlier versions of the browser."""

_known: dict[str, str] = {}
"""The verdicts of this page, which keeps them if the browser's storage does not."""

writing: set[asyncio.Task[None]] = set()
"""Tasks that store verdicts at the moment; nobody needs to wait for them."""


class Verdicts:
    """The verdicts of this page and of earlier visits, none if the browser is not known.

    The subject of a verdict is given in words: device, limits, questions. The browser and its
    version are added to them.
    """

    def __init__(self, browser: str) -> None:
        self._browser = browser

    @classmethod
    async def of(cls, bridge: Bridge) -> Verdicts:
        """Ask the browser for its name and version, and for what it kept."""
        browser = await bridge.browser()
        if browser and not _known:
            _known.update(await _read_kept())
        return cls(browser)

    def recall(self, *words: Any) -> str | None:
        """Return the verdict on a subject, None if there is none."""
        return _known.get(self._key(*words))

    def keep(self, verdict: str, *words: Any) -> None:
        """Keep a verdict; if the browser stores nothing, the page keeps it while it is open."""
        if self._browser:
            _known[self._key(*words)] = verdict
            task = asyncio.ensure_future(_keep())
            writing.add(task)
            task.add_done_callback(writing.discard)

    def _key(self, *words: Any) -> str:
        return hashlib.sha256(json.dumps([self._browser, *words]).encode()).hexdigest()


async def _keep() -> None:
    latest = dict([*_known.items()][-MAX_VERDICTS:])
    with suppress(WebNNMError):
        await keep_file(FILE, [json.dumps(latest).encode()])


async def _read_kept() -> dict[str, str]:
    """Return the verdicts of earlier visits, none if the browser does not return them."""
    try:
        verdicts: dict[Any, Any] | list[Any] = json.loads(await read_kept_file(FILE) or b"{}")
    except (WebNNMError, ValueError):
        return {}
    return {str(k): str(v) for k, v in verdicts.items()} if isinstance(verdicts, dict) else {}
