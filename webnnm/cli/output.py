"""Output whose readers may leave: what a command does goes on, and what it tells is dropped."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

LEFT = (errno.EPIPE, errno.EIO, *((errno.EINVAL,) if sys.platform == "win32" else ()))
"""Numbers of errors by which a system tells that nobody reads any more: a program that has read
enough, a terminal that was closed."""


class Lasting(io.RawIOBase):
    """A stream that drops what it is given once it could not pass it on; `failed` tells why."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.failed: OSError | None = None

    def writable(self) -> bool:
        """Tell that it takes bytes."""
        return True

    def fileno(self) -> int:
        """Return the number of the stream that bytes go to."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Tell whether that is a terminal."""
        return self._raw.isatty()

    def write(self, data: Any) -> int | None:
        """Pass bytes on while that is possible; return how many were taken."""
        if self.failed is None:
            try:
                return self._raw.write(data)
            except OSError as error:
                self.failed = error
        return len(data)

    @property
    def lost(self) -> OSError | None:
        """Why something is lost that somebody would have read, None where nothing is."""
        return None if self.failed is None or self.failed.errno in LEFT else self.failed


@contextmanager
def lasting() -> Generator[Lasting | None]:
    """Let the output and the error stream last, and encode any text; yield the output.

    It is None where the output is not a stream of the system.
    """
    before: dict[str, Any] = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    made: dict[str, Lasting] = {}
    for name, stream in before.items():
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            continue
        stream.reconfigure(errors="replace")  # a console may lack some characters
        raw = getattr(buffer, "raw", buffer)
        if isinstance(raw, io.BytesIO):
            continue
        stream.flush()
        made[name] = Lasting(raw)
        text = io.TextIOWrapper(
            io.BufferedWriter(made[name]),
            encoding=stream.encoding,
            errors="replace",
            line_buffering=stream.line_buffering or name == "stderr",
            write_through=stream.write_through,
        )
        setattr(sys, name, text)
    try:
        yield made.get("stdout")
    finally:
        for name in made:
            getattr(sys, name).flush()
            setattr(sys, name, before[name])
