"""Output whose readers may leave: the command continues, and its further output is dropped."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

CLOSED_ERRNOS = (errno.EPIPE, errno.EIO, *((errno.EINVAL,) if sys.platform == "win32" else ()))
"""Numbers of errors by which a system reports that nobody reads any more: a program that has read
enough, a terminal that was closed."""


class Lasting(io.RawIOBase):
    """A stream that drops its input once writing has failed; `failed` says why."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.failed: OSError | None = None

    def writable(self) -> bool:
        """Return that bytes can be written."""
        return True

    def fileno(self) -> int:
        """Return the number of the stream that bytes go to."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Return whether that is a terminal."""
        return self._raw.isatty()

    def write(self, data: Any) -> int | None:
        """Pass bytes on while that is possible; return how many were accepted."""
        if self.failed is None:
            try:
                return self._raw.write(data)
            except OSError as error:
                self.failed = error
        return len(data)

    @property
    def lost(self) -> OSError | None:
        """Why output that somebody would have read is lost, None if nothing is lost."""
        return None if self.failed is None or self.failed.errno in CLOSED_ERRNOS else self.failed


@contextmanager
def lasting() -> Generator[Lasting | None]:
    """Make the output and error streams robust, and able to encode any text; yield the output.

    It is None if the output is not a stream of the system.
    """
    before: dict[str, Any] = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    outputs: dict[str, Lasting] = {}
    for name, stream in before.items():
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            continue
        stream.reconfigure(errors="replace")  # a console may lack some characters
        raw = getattr(buffer, "raw", buffer)
        if isinstance(raw, io.BytesIO):
            continue
        stream.flush()
        outputs[name] = Lasting(raw)
        text = io.TextIOWrapper(
            io.BufferedWriter(outputs[name]),
            encoding=stream.encoding,
            errors="replace",
            line_buffering=stream.line_buffering or name == "stderr",
            write_through=stream.write_through,
        )
        setattr(sys, name, text)
    try:
        yield outputs.get("stdout")
    finally:
        for name in outputs:
            getattr(sys, name).flush()
            setattr(sys, name, before[name])
