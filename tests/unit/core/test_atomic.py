"""Files that are replaced as a whole."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.killing import in_new_process, moments, run_and_kill
from webnnm import DataError
from webnnm.core.atomic import check_writable, write_atomically


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


def find_left_over(path: Path, mark: str, seconds: float = 90) -> Path:
    """Make a file as a process leaves it that was killed so many seconds ago."""
    found = path.with_name(f"{path.name}.tmp-{mark}")
    found.write_bytes(b"half of it")
    then = time.time() - seconds
    os.utime(found, (then, then))
    return found


def test_what_killed_processes_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    find_left_over(path, "0123456789abcdef")
    # As earlier versions called them, by processes whose number is another one's by now.
    find_left_over(path, f"{os.getpid()}-1234567")
    find_left_over(path, f"{os.getppid()}-0")
    young = find_left_over(path, "00000000000000ff", 0)
    other = find_left_over(tmp_path / "b.bin", "0123456789abcdef")
    alike = tmp_path / "a.bin.tmp-notes"
    alike.write_bytes(b"")
    write_atomically(path, [b"x"])
    assert set(tmp_path.iterdir()) == {path, young, other, alike}


@pytest.mark.skipif(sys.platform in ("emscripten", "win32"), reason="no other processes here")
def test_what_another_process_writes_is_left_alone(tmp_path: Path) -> None:
    """However long its last write is ago, and whatever its number is."""
    path = tmp_path / "a.bin"
    hear, tell = os.pipe()
    ended, end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(end)

            def parts() -> Iterator[bytes]:
                yield b"slow"
                (working,) = tmp_path.iterdir()
                os.utime(working, (0, 0))
                os.write(tell, b"1")
                os.read(ended, 1)

            write_atomically(path, parts())
        finally:
            os._exit(0)
    os.read(hear, 1)
    os.close(ended)
    write_atomically(path, [b"fast"])
    assert len(list(tmp_path.iterdir())) == 2
    os.close(end)
    os.waitpid(child, 0)
    assert path.read_bytes() == b"slow"
    assert list(tmp_path.iterdir()) == [path]
    for pipe in (hear, tell):
        os.close(pipe)


# What is in the place already.


def links(tmp_path: Path) -> bool:
    try:
        (tmp_path / "try").symlink_to("nothing")
    except OSError:  # Windows, without the right to make links
        return False
    (tmp_path / "try").unlink()
    return True


def test_the_file_is_written_that_a_link_leads_to(tmp_path: Path) -> None:
    if not links(tmp_path):
        pytest.skip("no symbolic links here")
    (tmp_path / "deep").mkdir()
    file, near, far = tmp_path / "deep" / "a.bin", tmp_path / "near", tmp_path / "far"
    far.symlink_to(near)
    near.symlink_to(Path("deep", "a.bin"))
    for content in (b"to nothing yet", b"to a file"):
        assert write_atomically(far, [content]) == far
        assert file.read_bytes() == content
        assert (far.is_symlink(), near.is_symlink()) == (True, True)
    assert list((tmp_path / "deep").iterdir()) == [file]
    near.unlink()
    near.symlink_to(far)
    with pytest.raises(DataError, match="NNM807"):
        write_atomically(far, [b"in a circle"])


@pytest.mark.skipif(sys.platform in ("emscripten", "win32"), reason="rights of another kind")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_rights_are_those_of_the_file_that_was_there(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.bin"
    before = os.umask(0o027)
    try:
        write_atomically(path, [b"old"])
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(mode)
        seen: list[int] = []

        def parts() -> Iterator[bytes]:
            seen.extend(stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir())
            yield b"new"

        write_atomically(path, parts())
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert all(each & ~mode == 0 for each in seen), "nor has anybody more rights on the way"
    finally:
        os.umask(before)


@pytest.mark.skipif(sys.platform in ("emscripten", "win32"), reason="neither pipes nor devices")
@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a device", "a socket"])
def test_what_is_not_a_file_is_not_replaced(tmp_path: Path, kind: str) -> None:
    path = Path(tmp_path, "place")
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/null")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))
    for refused in (check_writable, lambda place: write_atomically(place, [b"x"])):
        with pytest.raises(DataError, match=f"place cannot be written: it is {kind}") as caught:
            refused(path)
        assert caught.value.code == "NNM807"
    assert list(tmp_path.iterdir()) == [path]


# What fails, and what is told then.


def test_a_file_that_is_read_only_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    # Whoever is root may write everything.
    monkeypatch.setattr(os, "access", lambda place, mode: (place, mode) != (path, os.W_OK))
    with pytest.raises(DataError, match="the file there is read-only") as caught:
        write_atomically(path, [b"new"])
    assert "give a path that you may write to" in caught.value.hint
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(sys.platform in ("emscripten", "win32"), reason="no limits there")
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """In a process that can write no more than some bytes to any file."""
    path = tmp_path / "a.bin"
    write_atomically(path, [b"old"])
    script = f"""if True:
        import resource, signal
        from webnnm import DataError
        from webnnm.core.atomic import check_writable, write_atomically
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            write_atomically({str(path)!r}, [bytes(60_000)] * 2)
        except DataError as error:
            print(error)
    """
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines() == [
        f"NNM807: {path} cannot be written: File too large",
        "hint: free some space, or give another path; the previous file is unchanged",
    ]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "free some space, or give another path"),
        (errno.EDQUOT, "free some space, or give another path"),
        (errno.EROFS, "give a path that you may write to"),
        (errno.EACCES, "give a path that you may write to"),
        (errno.EIO, ""),
    ],
)
def test_what_to_do_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def failing(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(DataError) as caught:
        write_atomically(path, [b"new"])
    assert os.strerror(number) in caught.value.message
    kept = "the previous file is unchanged"
    assert caught.value.hint == (f"{words}; {kept}" if words else kept)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_goes_on_the_way(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    def parts() -> Iterator[bytes]:
        yield b"x"
        shutil.rmtree(folder)

    with pytest.raises(DataError, match="No such file") as caught:
        write_atomically(folder / "a.bin", parts())
    assert caught.value.hint == "create the folder first, or give another path"


def test_a_place_is_tried_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    check_writable(path)
    check_writable(tmp_path / "new.bin")
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == b"old"
    # The file system of a page takes any name.
    names = () if sys.platform == "emscripten" else ("a" * 300, "zero\0")
    for place in ("none/a.bin", "a.bin/a.bin", *names):
        with pytest.raises(DataError) as caught:
            check_writable(tmp_path / place)
        assert caught.value.code == "NNM807"


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


def kill_at_every_moment(folder: str) -> tuple[int, list[int], list[int]]:
    """Kill processes that write a file; return their number, and what they left."""
    path = Path(folder) / "a.bin"
    size, pieces = 40_000, 8
    whole = {bytes([k]) * size for k in range(3)}

    def write() -> None:
        for number in (1, 2):
            write_atomically(path, [bytes([number]) * (size // pieces)] * pieces)

    every = moments(write)
    # Between two moments of C, functions of Python reach no file.
    chosen = [number for number, (event, _) in enumerate(every) if event.startswith("c_")]
    seen: set[int] = set()
    left: set[int] = set()
    for moment in (*chosen, len(every)):
        path.write_bytes(bytes(size))
        run_and_kill(write, moment)
        found = path.read_bytes()
        assert found in whole
        seen.add(found[0])
        for unfinished in {*path.parent.iterdir()} - {path}:
            left.add(unfinished.stat().st_size)
            unfinished.unlink()
    return len(chosen), sorted(seen), sorted(left)


@pytest.mark.skipif(sys.platform in ("emscripten", "win32"), reason="no processes to kill here")
def test_a_process_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    every, seen, left = in_new_process(kill_at_every_moment, str(tmp_path))
    print(f"{every} moments; files not finished had {left} bytes")
    assert every > 100
    assert seen == [0, 1, 2]
    assert len(left) > 2
