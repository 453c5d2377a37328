"""Servers that behave like those of others: static hosts, and some that are in the way."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from webnnm.cli.headers import header_rules, headers_for
from webnnm.cli.serve import MIME_TYPES

LOGIN = b"<!doctype html><title>Sign in</title><form>Sign in to this network</form>"


class Host(SimpleHTTPRequestHandler):
    """A static host of several folders; the server says how it answers."""

    protocol_version = "HTTP/1.1"
    extensions_map: dict[str, str] = {"": "application/octet-stream", **MIME_TYPES}  # noqa: RUF012
    server: Server  # pyrefly: ignore[bad-override]

    def translate_path(self, path: str) -> str:
        """Return the file of an address: that of a folder by the first part of the address."""
        name, _, rest = urlsplit(path).path.lstrip("/").partition("/")
        root = self.server.folders.get(name)
        if root is not None and name:
            return str(root / rest)
        return str(self.server.folders.get("", Path("/nowhere")) / f"{name}/{rest}".strip("/"))

    def do_GET(self) -> None:
        """Answer as the server does now."""
        way, path = self.server.way, urlsplit(self.path).path
        # Files change within a second here, which the time of a file cannot tell.
        del self.headers["If-Modified-Since"]
        if way == "gone":  # connections that were kept end, too
            self.close_connection = True
        elif way == "hang":
            self.server.released.wait()
            self.close_connection = True
        elif way == "503":
            self.send_error(503)
        elif way == "login" or (way == "half" and not path.endswith("service-worker.js")):
            self.answer(LOGIN, "text/html; charset=utf-8")
        elif self.server.pretty and path.endswith(".html"):
            self.send_response(308)
            self.send_header("Location", path.removesuffix("index.html").removesuffix(".html"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            if self.server.pretty and Path(f"{self.translate_path(path)}.html").is_file():
                self.path = f"{path}.html"
            super().do_GET()

    def answer(self, content: bytes, kind: str) -> None:
        """Send a content of a type."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self) -> None:
        """Send what the host adds."""
        name = urlsplit(self.requestline.split(" ")[1]).path
        for header, value in (self.server.headers | headers_for(name, self.server.rules)).items():
            self.send_header(header, value)
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep quiet."""


class Server(ThreadingHTTPServer):
    """A host on localhost; `way` is how it answers: "", "hang", "503", "login", or
    "half": as "login", but for the script of a service worker."""

    daemon_threads = True

    def __init__(
        self,
        folders: Mapping[str, Path],
        *,
        headers: Mapping[str, str] | None = None,
        pretty: bool = False,
    ) -> None:
        super().__init__(("127.0.0.1", 0), partial(Host, directory="/nowhere"))
        self.folders, self.headers = dict(folders), dict(headers or {})
        self.pretty, self.way = pretty, ""
        self.rules = header_rules(self.folders[""]) if "" in self.folders else []
        self.released = threading.Event()
        self.url = f"http://localhost:{self.server_address[1]}"

    def __enter__(self) -> Server:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.way = "gone"
        self.released.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Browsers close connections early."""


def github_pages(folders: Mapping[str, Path]) -> Server:
    """Return a host like GitHub Pages: several sites at one origin, files that last ten minutes."""
    return Server(folders, headers={"Cache-Control": "max-age=600"})


def cloudflare_pages(folder: Path) -> Server:
    """Return a host like Cloudflare Pages: addresses without .html, and the folder's _headers."""
    return Server({"": folder}, headers={"Cache-Control": "max-age=0"}, pretty=True)
