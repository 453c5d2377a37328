"""Fetches addresses on desktops; browsers fetch those of pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

CHUNK = 1 << 20


async def open_url(
    address: str, tell: Callable[[int, int], object] | None = None, *, guarded: bool = False
) -> bytearray:
    """Return the response of a URL, on a desktop; with `guarded`, from its origin alone.

    Raises `OSError` if there is no response, `ValueError` if the response is incomplete.
    """
    from urllib.request import build_opener, urlopen

    request = build_opener(_same_origin()).open if guarded else urlopen

    def load() -> bytearray:
        with request(address, timeout=30) as answer:
            total = int(answer.headers.get("content-length") or 0)
            data: bytearray = bytearray()
            while part := answer.read(CHUNK):
                data += part
                if tell is not None:
                    tell(len(data), max(total, len(data)))
        if len(data) < total:
            raise ValueError(f"the connection ended after {len(data)} of {total} bytes")
        return data

    # In a thread: other tasks continue while the response arrives.
    return await asyncio.to_thread(load)


def _same_origin() -> Any:
    """Return a handler that follows redirects within an origin, and refuses others."""
    from urllib.error import HTTPError
    from urllib.parse import urlsplit
    from urllib.request import HTTPRedirectHandler

    class SameOrigin(HTTPRedirectHandler):
        def redirect_request(
            self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
        ) -> Any:
            if urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
                reason = f"it redirects to another origin, {newurl[:200]}"
                raise HTTPError(req.full_url, code, reason, headers, fp)
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    return SameOrigin
