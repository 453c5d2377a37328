"""Serves the built site to tests that drive browsers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tools.common import SITE, playwright_config
from webnnm.cli.serve import SiteServer


@contextmanager
def serve_site() -> Iterator[str]:
    """Serve the built site, the test pages and the test runtime, and give the address."""
    if not SITE.exists():
        pytest.fail("build/site does not exist: `make test` and `make browsers` build it")
    config = playwright_config()
    with SiteServer(config.SITE_ROOT, extra_roots=config.EXTRA_ROOTS) as server:
        yield server.url
