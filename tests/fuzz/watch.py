"""Watches what a check touches: files and addresses, and, in long runs, time and memory."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LIMITS = "WEBNNM_FUZZ_LIMITS"
"""The environment variable that lets checks measure their processor time and memory."""
MAX_SECONDS, MAX_BYTES = 2.0, 300e6
PEAK = Path("/proc/self/clear_refs")
"""Where Linux forgets how much memory a process once took, so that each check is measured."""
CODE = (sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[2]), "/usr/lib/python")
"""Folders of programs: modules that are imported for the first time."""


class Watch:
    """Fails if a check opens a file outside a folder, or an address, or exceeds its limits.

    Audit events are what Python tells of its system calls.
    """

    def __init__(self) -> None:
        self._folder: str | None = None
        self._next = ""
        self._outside: list[str] = []
        sys.addaudithook(self._hear)

    def within(self, folder: str | Path) -> Self:
        """Watch what follows, for which a folder is there."""
        self._next, self._outside = str(Path(folder).resolve()), []
        return self

    def __enter__(self) -> Self:
        if os.environ.get(LIMITS) and PEAK.exists():
            PEAK.write_text("5")
        self._begun = resource.getrusage(resource.RUSAGE_SELF)
        self._folder = self._next
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._folder, outside = None, self._outside
        if error is not None:
            return
        if outside:
            raise AssertionError(f"touched outside its folder: {outside[:3]}")
        if os.environ.get(LIMITS):
            now = resource.getrusage(resource.RUSAGE_SELF)
            seconds = now.ru_utime + now.ru_stime - self._begun.ru_utime - self._begun.ru_stime
            size = (now.ru_maxrss - self._begun.ru_maxrss) * 1024
            if seconds > MAX_SECONDS or size > MAX_BYTES:
                raise AssertionError(f"took {seconds:.1f} s and {size / 1e6:.0f} MB")

    def _hear(self, event: str, words: tuple[Any, ...]) -> None:
        if self._folder is None:
            return
        if event == "open":
            path = words[0]
            if isinstance(path, int) or path is None:
                return
            place = os.path.realpath(os.fsdecode(path))
            is_code = place.startswith(CODE) and (".pyc" in place or Path(place).exists())
            if path and not is_code and not place.startswith(self._folder):
                self._outside.append(place)
        elif event in ("socket.connect", "socket.getaddrinfo", "urllib.Request"):
            self._outside.append(f"{event} {words[1:3]}")


WATCH = Watch()
