"""Static server for the built site: right MIME types, no caching, no special headers."""

from __future__ import annotations

import argparse
import contextlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from tools.common import SITE, fail, say

if TYPE_CHECKING:
    from collections.abc import Mapping
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

    def __init__(self, *arguments: Any, extra_roots: Mapping[str, Path], **options: Any) -> None:
        self.extra_roots = extra_roots
        super().__init__(*arguments, **options)

    def translate_path(self, path: str) -> str:
        """Map an address to a file, without ever leaving the folder it belongs to."""
        parts = [part for part in unquote(urlsplit(path).path).split("/") if part not in ("", ".")]
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
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep quiet: the terminal belongs to the program that serves."""


class QuietServer(ThreadingHTTPServer):
    """A server that does not report browsers which close connections early."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections, report everything else."""
        import sys

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class SiteServer:
    """Context manager that serves a folder on localhost from a thread of its own.

    >>> with SiteServer(Path("build/site")) as server:
    ...     print(server.url)
    http://localhost:45327
    """

    def __init__(
        self, root: Path = SITE, *, port: int = 0, extra_roots: Mapping[str, Path] | None = None
    ) -> None:
        handler = partial(Handler, directory=str(root), extra_roots=extra_roots or {})
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


def main() -> None:
    """Serve the built site until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve the built site on localhost.")
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    if not SITE.exists():
        fail("build/site does not exist: run `make serve`, which builds it.")
    try:
        server = SiteServer(port=port)
    except OSError:
        server = SiteServer()
        say(f"port {port} is taken by another program")
    with server, contextlib.suppress(KeyboardInterrupt):
        say(f"serving {server.url} (Ctrl-C ends)")
        threading.Event().wait()


if __name__ == "__main__":
    main()
