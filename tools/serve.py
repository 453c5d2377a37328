"""Serves the built site on localhost, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import threading

from tools.common import JUPYTER, SITE, fail, say
from webnnm.cli.serve import SiteServer


def main() -> None:
    """Serve the built site until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve the built site on localhost.")
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    if not SITE.exists():
        fail("build/site does not exist: run `make serve`, which builds it.")
    further = {"jupyter": JUPYTER}
    try:
        server = SiteServer(SITE, port=port, extra_roots=further)
    except OSError:
        server = SiteServer(SITE, extra_roots=further)
        say(f"port {port} is taken by another program")
    with server, contextlib.suppress(KeyboardInterrupt):
        say(f"serving {server.url}, the documentation at {server.url}/docs/ (Ctrl-C ends)")
        threading.Event().wait()


if __name__ == "__main__":
    main()
