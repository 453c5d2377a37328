"""Programs that run beside a journey: started with a log, ended with all that they started."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60
END_SECONDS = 10


@dataclass
class Process:
    """A program and its log."""

    process: asyncio.subprocess.Process
    log: Path

    async def find_in_log(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Wait until the program writes a line, and return what matched."""
        limit = time.monotonic() + START_SECONDS
        while not (match := pattern.search(text := self.log.read_text(errors="replace"))):
            if self.process.returncode is not None:
                raise RuntimeError(f"it ended at once, and wrote: {text.strip()[-300:]}")
            if time.monotonic() > limit:
                raise TimeoutError(
                    f"it did not write {pattern.pattern!r} in {START_SECONDS} seconds, "
                    f"but: {text.strip()[-300:]}"
                )
            await asyncio.sleep(0.05)
        return match

    async def end(self) -> None:
        """End the program with what it has started."""
        for way in (signal.SIGTERM, signal.SIGKILL):
            if self.process.returncode is None:
                os.killpg(self.process.pid, way)
            try:
                await asyncio.wait_for(self.process.wait(), END_SECONDS)
            except TimeoutError:
                continue
            return


async def start_process(
    command: Sequence[str], log: Path, variables: Mapping[str, str] | None = None
) -> Process:
    """Start a program in a process group of its own, which writes to a log."""
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdout=file,
            stderr=asyncio.subprocess.STDOUT,
            stdin=asyncio.subprocess.DEVNULL,
            env={**os.environ, **(variables or {})},
            start_new_session=True,
        )
    return Process(process, log)
