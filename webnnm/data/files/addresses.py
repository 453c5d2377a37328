"""Fetches addresses on desktops; browsers fetch those of pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

CHUNK = 1 << 20


async def open_url(
    address: str, tell: Callable[[int, int], object] | None = None, *, guarded: bool = False
) -> bytearray:
    """Return the response of a URL, on a desktop; with `guarded`, not from elsewhere.

    Raises `OSError` if there is no response, `ValueError` if the response is incomplete.
    """
    from urllib.request import build_opener, urlopen

    request = build_opener(_redirects()).open if guarded else urlopen

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


def _redirects() -> Any:
    """Return a handler that follows redirects that `may_redirect` allows, and refuses others."""
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler

    class Redirects(HTTPRedirectHandler):
        def redirect_request(
            self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
        ) -> Any:
            if not may_redirect(req.full_url, newurl):
                reason = f"it redirects to another origin, {newurl[:200]}"
                raise HTTPError(req.full_url, code, reason, headers, fp)
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    return Redirects


def may_redirect(address: str, target: str) -> bool:
    """Return whether a guarded request may be redirected: within an origin, or by https alone.

    Hosts of models send to where they store large files. By https they can send to no service
    within a network that has no certificate for its name.

    >>> may_redirect("https://huggingface.co/m/resolve/main/w.bin", "https://cdn.example/w.bin")
    True
    >>> may_redirect("https://huggingface.co/m/resolve/main/w.bin", "http://192.168.0.1/w.bin")
    False
    """
    origin, other = urlsplit(address)[:2], urlsplit(target)[:2]
    return origin == other or (origin[0], other[0]) == ("https", "https")
