"""Texts are read from files and URLs."""

from __future__ import annotations

import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from webnnm.core.errors import DataError
from webnnm.data.files.source import read_text
from webnnm.data.files.source_bytes import read_bytes

desktop = pytest.mark.desktop


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal clean."""


async def test_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\ufeffgrüß\n", encoding="utf-8")
    assert await read_text(path) == "grüß\n"
    assert await read_text(str(path)) == "grüß\n"


@desktop
async def test_urls_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("grüß", encoding="utf-8")
    assert await read_text((tmp_path / "a.txt").as_uri()) == "grüß"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        assert await read_text(f"{address}/a.txt") == "grüß"
        with pytest.raises(DataError, match="404") as caught:
            await read_text(f"{address}/b.txt")
        assert caught.value.code == "NNM715"
        caught.value.__cause__.close()  # type: ignore[union-attr]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@desktop
async def test_what_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.txt", tmp_path / "a.bin", tmp_path):
        with pytest.raises(DataError, match="cannot be read") as caught:
            await read_text(path)
        assert caught.value.code == "NNM715"


@pytest.mark.parametrize("url", ["ftp://host/a.csv", "s3://bucket/a", "blob://x"])
async def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(DataError, match="is not supported") as caught:
        await read_text(url)
    assert caught.value.code == "NNM715"


@desktop
async def test_a_page_fetches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from webnnm.backends import pyodide_host

    class Buffer(bytes):
        def to_bytes(self) -> bytes:
            return self

    class Answer:
        def __init__(self, url: str) -> None:
            self.url, self.js_response = url, self

        async def text(self) -> str:
            return f"fetched {self.url}"

        async def arrayBuffer(self) -> Buffer:
            return Buffer(self.url.encode())

    async def fetch(url: str, *, guarded: bool = False) -> Answer:
        return Answer(url)

    monkeypatch.setattr(pyodide_host, "fetch_url", fetch)
    monkeypatch.setattr(pyodide_host, "js_error", lambda: KeyError)
    monkeypatch.setattr(sys, "platform", "emscripten")
    assert await read_text("data/flowers.csv") == "fetched data/flowers.csv"
    assert await read_text("https://host/a.csv") == "fetched https://host/a.csv"
    assert await read_bytes("nets/a.onnx") == b"nets/a.onnx"
    path = tmp_path / "a.txt"
    path.write_text("from the file system of Pyodide")
    assert await read_text(path) == "from the file system of Pyodide"
