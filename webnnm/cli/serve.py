"""The command `serve`: a folder of pages on localhost, with the right types of files."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from webnnm.cli.common import FINE, Parsers, command
from webnnm.cli.headers import HeaderRule, header_rules, headers_for
from webnnm.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

MIME_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".wasm": "application/wasm",
    ".whl": "application/zip",
    ".zip": "application/zip",
    ".nnm": "text/plain; charset=utf-8",
    ".py": "text/x-python; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
    ".safetensors": "application/octet-stream",
}


class Handler(SimpleHTTPRequestHandler):
    """Serves files below one folder, and below further folders by first path part."""

    # Connections are kept: a page asks for dozens of files.
    protocol_version = "HTTP/1.1"
    extensions_map: dict[str, str] = {"": "application/octet-stream", **MIME_TYPES}  # noqa: RUF012

    def __init__(
        self,
        *arguments: Any,
        extra_roots: Mapping[str, Path],
        rules: Sequence[HeaderRule],
        **options: Any,
    ) -> None:
        self.extra_roots = extra_roots
        self.rules = rules
        super().__init__(*arguments, **options)

    def translate_path(self, path: str) -> str:
        """Map an address to a file, without ever leaving the folder it belongs to."""
        parts = _parts(path)
        root = Path(self.directory)
        if parts and parts[0] in self.extra_roots:
            root = self.extra_roots[parts.pop(0)]
        if ".." in parts:
            return str(root / "no such file")
        ending = "/" if path.endswith("/") else ""
        return str(root.joinpath(*parts)) + ending

    def do_GET(self) -> None:
        """Answer a request; an icon that no page declares is no error."""
        if self.path == "/favicon.ico" and not Path(self.translate_path(self.path)).exists():
            self.send_response(204)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        super().do_GET()

    def end_headers(self) -> None:
        """Forbid caching: a rebuilt wheel has the same name as the one before."""
        self.send_header("Cache-Control", "no-store")
        # The type of a file is what its name says, whatever it looks like.
        self.send_header("X-Content-Type-Options", "nosniff")
        path = getattr(self, "path", "/")
        ending = "/" if path.endswith("/") else ""
        address = "/".join(["", *_parts(path)]) + ending
        for name, value in headers_for(address, self.rules).items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep quiet: the terminal belongs to the program that serves."""


def _parts(path: str) -> list[str]:
    """Return the parts of an address, without what leads nowhere."""
    return [part for part in unquote(urlsplit(path).path).split("/") if part not in ("", ".")]


class QuietServer(ThreadingHTTPServer):
    """A server that does not report browsers which close connections early."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections, report everything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class SiteServer:
    """Context manager that serves a folder on localhost from a thread of its own.

    >>> with SiteServer(Path("build/site")) as server:                   # doctest: +SKIP
    ...     print(server.url)
    http://localhost:45327

    With port 0 the system chooses one. `extra_roots` are further folders by the first part of an
    address. Nobody but this machine can reach it. A file `_headers` in a folder says what is sent
    with its pages.
    """

    def __init__(
        self, root: Path, *, port: int = 0, extra_roots: Mapping[str, Path] | None = None
    ) -> None:
        roots = extra_roots or {}
        rules = header_rules(root)
        for name, folder in roots.items():
            rules += [replace(r, pattern=f"/{name}{r.pattern}") for r in header_rules(folder)]
        handler = partial(Handler, directory=str(root), extra_roots=roots, rules=rules)
        self.server = QuietServer(("127.0.0.1", port), handler)
        self.url = f"http://localhost:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self) -> SiteServer:
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "serve", "serve a folder of pages on localhost until Ctrl-C", _serve)
    one.add_argument("folder", metavar="FOLDER", nargs="?", default=".", help="default: this one")
    one.add_argument(
        "--port", type=int, default=8000, metavar="N", help="default: 8000; 0: any that is free"
    )


def _serve(given: argparse.Namespace) -> int:
    folder = Path(given.folder)
    if not folder.is_dir():
        raise DataError("NNM715", f'"{folder}" is no folder')
    with SiteServer(folder, port=given.port) as server:
        told = {"url": server.url, "folder": str(folder)}
        line = json.dumps(told) if given.json else f"serving {folder} at {server.url}"
        print(line, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return FINE
    return FINE
