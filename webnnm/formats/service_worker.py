"""Fills in which files of a page a service worker caches, and their version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

NAME = "service-worker.js"
UNFILLED = 'const SITE = { version: "", files: [] };'
"""The line of a service worker that is replaced by the list of files."""


def filled(script: str, files: Mapping[str, bytes]) -> str:
    """Return the script of a service worker with the relative URLs of the files filled in.

    >>> filled(UNFILLED, {"index.html": b"<p>"}).splitlines()[2:5]
    ['  "files": [', '    "./",', '    "./index.html"']

    `files` are their contents by path. The version is a hash of both.
    """
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.encode() + b"\0")
        digest.update(hashlib.sha256(files[path]).digest())
    addresses = ["./", *(f"./{path}" for path in sorted(files))]
    known = json.dumps({"version": digest.hexdigest()[:16], "files": addresses}, indent=2)
    head, _, tail = script.partition(UNFILLED)
    return f"{head}const SITE = {known};{tail}"
