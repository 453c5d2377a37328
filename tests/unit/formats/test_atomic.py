"""Files that are replaced as a whole."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from webnnm import DataError
from webnnm.formats.atomic import write_atomically

KILLS = 200


def test_the_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    for content in (b"one", b"another one"):
        assert write_atomically(path, [content[:2], content[2:]]) == path
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_atomically(path, [b"old"])

    def broken() -> Iterator[bytes]:
        yield b"ne"
        raise MemoryError

    with pytest.raises(MemoryError):
        write_atomically(path, broken())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_says_why(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file") as caught:
        write_atomically(tmp_path / "missing" / "a.bin", [b"x"])
    assert caught.value.code == "NNM807"
    assert isinstance(caught.value.__cause__, OSError)


def left_over(path: Path, process: int, seconds: float) -> Path:
    """Make a file as a process leaves it that was killed so many seconds ago."""
    found = path.with_name(f"{path.name}.tmp-{process}-1234567")
    found.write_bytes(b"half of it")
    then = time.time() - seconds
    os.utime(found, (then, then))
    return found


def ended_process() -> int:
    """Return the number of a process that has ended."""
    if sys.platform in ("emscripten", "win32"):
        return 1 << 20
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def test_what_killed_processes_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    path, gone = tmp_path / "a.bin", ended_process()
    left_over(path, gone, 90)
    # In a container the process that takes over often has the same number.
    left_over(path, os.getpid(), 90)
    young = left_over(path, gone + 1, 0)
    other = left_over(tmp_path / "b.bin", gone, 90)
    alike = tmp_path / "a.bin.tmp-notes"
    alike.write_bytes(b"")
    write_atomically(path, [b"x"])
    assert set(tmp_path.iterdir()) == {path, young, other, alike}


@pytest.mark.skipif(sys.platform in ("emscripten", "win32"), reason="no other processes here")
def test_what_a_process_writes_that_runs_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    slow = left_over(path, os.getppid(), 90)
    write_atomically(path, [b"x"])
    assert slow.exists()


def test_a_file_that_is_being_written_here_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"

    def parts() -> Iterator[bytes]:
        yield b"slow"
        (working,) = tmp_path.iterdir()
        os.utime(working, (0, 0))
        write_atomically(path, [b"fast"])
        yield b"est"

    write_atomically(path, parts())
    assert path.read_bytes() == b"slowest"


@pytest.mark.skipif(sys.platform in ("emscripten", "win32"), reason="no processes to kill here")
def test_a_process_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    size, pieces = 40_000, 8
    whole = {bytes([k]) * size for k in range(4)}
    write_atomically(path, [next(iter(whole))])
    draw = random.Random(0)
    seen: set[int] = set()
    for _ in range(KILLS):
        child = os.fork()
        if child == 0:
            try:
                for number in range(10**9):
                    content = bytes([number % 4]) * (size // pieces)
                    write_atomically(path, [content] * pieces)
            finally:
                os._exit(1)
        time.sleep(draw.uniform(0.0005, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = path.read_bytes()
        assert found in whole
        seen.add(found[0])
    assert len(seen) > 1, "the file was replaced meanwhile"
