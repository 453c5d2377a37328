"""Verdicts on implementations, which the browser keeps for the next visit."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from webnnm.backends.browser_files import keep_file, kept_file
from webnnm.errors import WebNNMError

FILE = ".webnnm-faults"
MOST = 8
"""Verdicts kept: those on other devices, and of versions of the browser that were there before."""

_known: dict[str, str] = {}
"""Those of this page, which holds them when the browser's storage does not."""


async def recalled(key: str) -> str | None:
    """Return a verdict of this page or of an earlier visit, None where there is none."""
    if key not in _known:
        _known.update(await _kept())
    return _known.get(key)


async def keep(key: str, verdict: str) -> None:
    """Keep a verdict; where the browser keeps nothing, the page does as long as it is open."""
    others = {other: kept for other, kept in (await _kept()).items() if other != key}
    latest = dict([*others.items(), (key, verdict)][-MOST:])
    _known[key] = verdict
    with suppress(WebNNMError):
        await keep_file(FILE, [json.dumps(latest).encode()])


async def _kept() -> dict[str, str]:
    """Return the verdicts of earlier visits, none where the browser does not give them."""
    try:
        found: Any = json.loads(await kept_file(FILE) or b"{}")
    except (WebNNMError, ValueError):
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}  # pyright: ignore
