"""The command `serve`: a folder of pages on localhost, with the right media types."""

from __future__ import annotations

import argparse
import contextlib
import io
import ipaddress
import json
import os
import re
import socket
import sys
import threading
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from webnnm.cli.common import OK, Parsers, command
from webnnm.cli.content_coding import IDENTITY, choose_coding, find_copies
from webnnm.cli.headers import HeaderRule, header_rules, headers_for
from webnnm.cli.served_files import open_below, resolve
from webnnm.cli.validators import allows_range, entity_tag, is_unchanged
from webnnm.core.errors import DataError
from webnnm.core.markup import page, tag

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
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


LOCAL = ("localhost", "127.0.0.1", "::1")
"""The names of this machine for itself."""

INDEX = "index.html"
NOT_SERVED = (
    "There is no such file in the served folder. Hidden files are not served, nor what links lead "
    "to outside of the folder."
)
FROM = re.compile(r"bytes=(\d{1,15})-")
"""The rest of a file; other ranges are answered with all of it."""


class Handler(SimpleHTTPRequestHandler):
    """Serves files below one folder, and below further folders by first path part."""

    # Connections are kept: a page asks for dozens of files.
    protocol_version = "HTTP/1.1"
    # Else what follows the headers waits until a browser acknowledges these, up to 40 ms.
    disable_nagle_algorithm = True
    status: int = HTTPStatus.OK
    """That of the response."""
    extensions_map: dict[str, str] = {"": "application/octet-stream", **MIME_TYPES}  # noqa: RUF012

    def __init__(
        self,
        *arguments: Any,
        extra_roots: Mapping[str, Path],
        rules: Sequence[HeaderRule],
        hosts: Collection[str] = LOCAL,
        **options: Any,
    ) -> None:
        self.extra_roots = extra_roots
        self.rules = rules
        self.hosts = hosts
        super().__init__(*arguments, **options)

    def root_of(self, address: str) -> tuple[Path, list[str]]:
        """Return the folder to which an address belongs, and the path below it."""
        parts = _parts(address)
        if parts and parts[0] in self.extra_roots:
            return self.extra_roots[parts[0]], parts[1:]
        return Path(self.directory), parts

    def send_head(self) -> Any:
        """Begin a response, unless the request is for another host name.

        Any page can let its own name resolve to this machine, and could then read what is served.
        """
        name = host_name(self.headers.get("Host", ""))
        if name in self.hosts or ("*" in self.hosts and _is_address(name)):
            return self.send_path()
        hosts = ", ".join(host for host in self.hosts if host != "*")
        why = (
            f'This server is {hosts}, not "{name}". webnnm serve --host NAME gives it another name.'
        )
        return self.send_error(HTTPStatus.MISDIRECTED_REQUEST, explain=why)

    def send_path(self) -> Any:
        """Begin a response with a file, the index of a folder, or the list of its files."""
        root, parts = self.root_of(self.path)
        path = resolve(root, parts)
        if path is None:
            return self.send_error(HTTPStatus.NOT_FOUND, explain=NOT_SERVED)
        if self.path == "/favicon.ico" and not path.exists():
            return self.send_no_icon()
        slash = urlsplit(self.path).path.endswith("/")
        # What an address names decides the type of a file, wherever a link led.
        if path.is_dir():
            if not slash:
                return self.redirect_to_folder()
            index = resolve(root, [*parts, INDEX])
            file = None if index is None else open_below(root, index)
            if index is None or file is None:
                return self.list_directory(path)
            return self.send_file(root, index, file, INDEX)
        file = None if slash else open_below(root, path)
        if file is None:
            return self.send_error(HTTPStatus.NOT_FOUND)
        return self.send_file(root, path, file, parts[-1])

    def send_no_icon(self) -> None:
        """Answer a browser that asks for an icon which no page declares: that is no error."""
        self.send_response(HTTPStatus.NO_CONTENT)
        self.end_headers()

    def redirect_to_folder(self) -> None:
        """Answer with the address of a folder, which ends in a slash."""
        split = urlsplit(self.path)
        target = urlunsplit(
            ("", "", quote("/" + "/".join(_parts(self.path)) + "/"), split.query, "")
        )
        self.send_response(HTTPStatus.MOVED_PERMANENTLY)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_file(self, root: Path, path: Path, file: BinaryIO, name: str) -> BinaryIO | None:
        """Begin a response with an open file, or a compressed copy of it that the client accepts.

        The client gets the rest from a byte on, of that same representation, if it asks for that to
        resume a download (RFC 9110, section 14), and nothing if it has the file already.
        """
        copies = find_copies(path)
        accepted = self.headers.get_all("Accept-Encoding")
        coding = choose_coding(", ".join(accepted) if accepted else None, copies)
        if coding != IDENTITY and (copy := open_below(root, copies[coding])):
            file.close()
            file = copy
        else:
            coding = IDENTITY
        with contextlib.ExitStack() as closing:  # a browser may go while headers are sent
            closing.enter_context(file)
            status = os.fstat(file.fileno())
            changed = self.date_time_string(int(status.st_mtime))
            tag, size = entity_tag(status, coding), status.st_size
            validators = {"ETag": tag, "Last-Modified": changed}
            if copies:
                validators["Vary"] = "Accept-Encoding"
            if is_unchanged(self.headers.get("If-None-Match"), tag):
                self.send_response(HTTPStatus.NOT_MODIFIED)
                self.send_headers(validators)
                return None
            rest = FROM.fullmatch(self.headers.get("Range", ""))
            start = int(rest[1]) if rest else 0
            if start >= size or not allows_range(self.headers.get("If-Range"), tag, changed):
                rest, start = None, 0
            headers = {"Content-Type": self.guess_type(name), "Content-Length": str(size - start)}
            if coding != IDENTITY:
                headers["Content-Encoding"] = coding
            if rest:
                headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
            self.send_response(HTTPStatus.PARTIAL_CONTENT if rest else HTTPStatus.OK)
            self.send_headers(headers | validators)
            file.seek(start)
            closing.pop_all()
        return file

    def send_headers(self, headers: Mapping[str, str]) -> None:
        """Send the headers of a response."""
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def list_directory(self, path: Any) -> Any:
        """Respond with links to the files in a folder, without hidden ones."""
        try:
            names = sorted(entry.name + "/" * entry.is_dir() for entry in Path(path).iterdir())
        except OSError:
            return self.send_error(HTTPStatus.NOT_FOUND)
        root, parts = self.root_of(self.path)
        shown = [name for name in names if resolve(root, [*parts, name.rstrip("/")])]
        links = [tag("li", tag("a", name, href=f"./{quote(name)}")) for name in shown]
        title = unquote(urlsplit(self.path).path)
        content = page(title, tag("h1", title), tag("ul", *links)).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", MIME_TYPES[".html"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return io.BytesIO(content)

    def send_response(self, code: int, message: str | None = None) -> None:
        """Begin a response with its status."""
        self.status = code
        super().send_response(code, message)

    def end_headers(self) -> None:
        """Send what goes with every response, and the rules for its address."""
        # A rebuilt wheel has the same name as the one before: browsers ask whether it has changed.
        # An error is none the next time.
        own = {"Cache-Control": "no-cache" if self.status < HTTPStatus.BAD_REQUEST else "no-store"}
        # The type of a file is what its name says, whatever it looks like.
        own["X-Content-Type-Options"] = "nosniff"
        path = getattr(self, "path", "/")
        ending = "/" if path.endswith("/") else ""
        parts = _parts(path)
        rules = self.rules
        if parts and parts[0] in self.extra_roots:
            # Rules such as that of /* are for the served folder's own files.
            rules = [rule for rule in rules if rule.pattern.startswith(f"/{parts[0]}/")]
        added = headers_for("/".join(["", *parts]) + ending, rules)
        if self.status >= HTTPStatus.BAD_REQUEST:
            added = {name: added[name] for name in added if name.lower() != "cache-control"}
        replaced = {name.lower() for name in added}
        kept = {name: value for name, value in own.items() if name.lower() not in replaced}
        for name, value in (kept | added).items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep quiet: the terminal belongs to the program that serves."""


def _parts(path: str) -> list[str]:
    """Return the parts of an address, without empty ones."""
    return [part for part in unquote(urlsplit(path).path).split("/") if part not in ("", ".")]


def host_name(host: str) -> str:
    """Return the name in a header `Host`, without its port.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("LOCALHOST")
    ('localhost', '::1', 'localhost')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    """Return whether a name is an IP address, which cannot belong to another host."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class QuietServer(ThreadingHTTPServer):
    """A server that does not report browsers which close connections early."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: Any) -> None:
        addresses = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
        self.address_family = addresses[0][0]  # by which the address is written
        self._connections: set[Any] = set()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Close the server, and the connections that browsers keep open."""
        super().server_close()
        for connection in tuple(self._connections):
            with contextlib.suppress(OSError):  # the browser may close it at the same time
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections, report everything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class SiteServer:
    """Context manager that serves a folder on localhost from its own thread.

    >>> with SiteServer(Path("build/site")) as server:                   # doctest: +SKIP
    ...     print(server.url)
    http://localhost:45327

    With port 0 the system chooses one. `extra_roots` are further folders by the first part of an
    address. Only this machine can reach it, unless `host` is a name or address by which others
    reach the machine, or "0.0.0.0" for all of them. Requests for other names are rejected (421). A
    file `_headers` in a folder lists the headers that are sent with its pages.
    """

    def __init__(
        self,
        root: Path,
        *,
        host: str = "localhost",
        port: int = 0,
        extra_roots: Mapping[str, Path] | None = None,
    ) -> None:
        roots = extra_roots or {}
        rules = header_rules(root)
        for name, folder in roots.items():
            rules += [replace(r, pattern=f"/{name}{r.pattern}") for r in header_rules(folder)]
        every = host in ("0.0.0.0", "::")
        hosts = {*LOCAL, *(("*", socket.gethostname().lower()) if every else (host.lower(),))}
        handler = partial(
            Handler, directory=str(root), extra_roots=roots, rules=rules, hosts=sorted(hosts)
        )
        bound = "127.0.0.1" if host == "localhost" else host
        self.server = QuietServer((bound, port), handler)
        shown = "localhost" if every else f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.server.server_address[1]}"
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
    one.add_argument(
        "folder", metavar="FOLDER", nargs="?", default=".", help="default: the current folder"
    )
    one.add_argument(
        "--host",
        default="localhost",
        metavar="NAME",
        help="name or address by which others reach this machine; 0.0.0.0: all; default: localhost",
    )
    one.add_argument(
        "--port", type=int, default=8000, metavar="N", help="default: 8000; 0: any free port"
    )


def _serve(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise DataError("NNM715", f'"{folder}" is not a folder')
    with SiteServer(folder, host=arguments.host, port=arguments.port) as server:
        facts = {"url": server.url, "folder": str(folder)}
        line = json.dumps(facts) if arguments.json else f"serving {folder} at {server.url}"
        print(line, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return OK
    return OK
