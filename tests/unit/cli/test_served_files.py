"""What `webnnm serve` opens: no link leads out of the folder or to hidden files."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from webnnm import cli
from webnnm.cli import serve
from webnnm.cli.served_files import open_below, resolve

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with links inside it, out of it, and to something hidden; a secret lies beside."""
    outside, root = tmp_path / "outside", tmp_path / "site"
    (outside / "deep").mkdir(parents=True)
    (outside / "secret.txt").write_text("secret")
    (outside / "index.html").write_text("secret")
    (outside / "deep" / "secret.txt").write_text("secret")
    (root / "own").mkdir(parents=True)
    (root / "own" / "a.txt").write_text("mine")
    (root / ".hidden").mkdir()
    (root / ".hidden" / "secret.txt").write_text("secret")
    (root / ".env").write_text("secret")
    links = {
        "inside.txt": "own/a.txt",
        "inside": "own",
        "out.txt": "../outside/secret.txt",
        "absolute.txt": str(outside / "secret.txt"),
        "out": "../outside",
        "chain": "out",
        "own/up": "..",
        "env.txt": ".env",
        "hidden": ".hidden",
        "loop": "loop",
        "passwd": "/etc/passwd",
        "self": "/proc/self",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / "indexed").mkdir()
    (root / "indexed" / "index.html").symlink_to(outside / "index.html")
    os.mkfifo(root / "pipe")
    return root


def answer(url: str, address: str) -> tuple[int, str]:
    try:
        with urlopen(url + address, timeout=20) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_links_within_the_folder_are_followed(folder: Path) -> None:
    with cli.serve.SiteServer(folder) as server:
        for address in ("/own/a.txt", "/inside.txt", "/inside/a.txt", "/own/up/own/a.txt"):
            assert answer(server.url, address) == (200, "mine"), address


@pytest.mark.parametrize(
    "address",
    [
        *("/out.txt", "/absolute.txt", "/out/secret.txt", "/out/deep/secret.txt", "/out/", "/out"),
        *("/chain/secret.txt", "/own/up/out/secret.txt", "/own/up/.env", "/env.txt"),
        *("/hidden/secret.txt", "/hidden/", "/passwd", "/self/environ", "/loop", "/pipe"),
        *("/%6fut/secret.txt", "/out%2Fsecret.txt", "//out/secret.txt", "/./out/./secret.txt"),
        *("/out/secret.txt?a", "/out.txt#a", "/own/up/%2e%2e/outside/secret.txt"),
    ],
)
def test_links_out_of_it_or_to_hidden_files_are_not(folder: Path, address: str) -> None:
    with cli.serve.SiteServer(folder) as server:
        code, text = answer(server.url, address)
        assert code == 404
        assert "secret" not in text
        assert "root:" not in text


def test_names_that_are_too_long_are_not_there(folder: Path) -> None:
    with cli.serve.SiteServer(folder) as server:
        for address in (f"/{'a' * 300}", f"/{'a' * 300}/", "/" + "a/" * 3000):
            assert answer(server.url, address)[0] == 404


def test_an_index_that_is_a_link_out_of_it_is_not_shown(folder: Path) -> None:
    with cli.serve.SiteServer(folder) as server:
        code, text = answer(server.url, "/indexed/")
        assert code == 200
        assert "secret" not in text
        assert "index.html" not in text
        code, text = answer(server.url, "/")
        assert "inside.txt" in text
        for name in ("out.txt", "absolute.txt", "chain", "hidden", "env.txt", "passwd"):
            assert f'"./{name}' not in text


def test_a_folder_that_is_replaced_by_a_link_meanwhile_is_not_followed(folder: Path) -> None:
    path = resolve(folder, ["own", "a.txt"])
    assert path is not None
    with open_below(folder, path) or pytest.fail("it is there") as file:
        assert file.read() == b"mine"
    (folder / "own").rename(folder / "was")
    (folder / "own").symlink_to("../outside")
    (folder.parent / "outside" / "a.txt").write_text("secret")
    assert open_below(folder, path) is None
    (folder / "own").unlink()
    (folder / "was").rename(folder / "own")
    (folder / "own" / "a.txt").unlink()
    (folder / "own" / "a.txt").symlink_to("../../outside/secret.txt")
    assert open_below(folder, path) is None


def test_what_is_no_file_is_not_opened(folder: Path) -> None:
    root = Path(os.path.realpath(folder))
    assert open_below(folder, root / "pipe") is None
    assert open_below(folder, root / "own") is None
    assert open_below(folder, root / ("a" * 5000)) is None


def test_a_file_is_closed_although_the_browser_goes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[BinaryIO] = []
    done = threading.Event()

    def record(root: Path, path: Path) -> BinaryIO | None:
        if file := open_below(root, path):
            opened.append(file)
        return file

    def go(handler: serve.Handler) -> None:
        done.set()
        raise BrokenPipeError

    monkeypatch.setattr(serve, "open_below", record)
    monkeypatch.setattr(serve.Handler, "end_headers", go)
    with serve.SiteServer(folder) as server, pytest.raises(OSError, match="Remote"):
        answer(server.url, "/own/a.txt")
    assert done.is_set()
    assert [file.closed for file in opened] == [True]
