"""Fills in which files of a page a service worker keeps, with their hashes and version."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping

NAME = "service-worker.js"
UNFILLED = 'const SITE = { version: "", edited: false, files: {} };'
"""The line of a service worker that is replaced by the list of files."""


def fill(script: str, files: Mapping[str, bytes], *, edited: bool = False) -> str:
    """Return the script of a service worker with the relative URLs of the files filled in.

    >>> fill(UNFILLED, {"main.py": b"1"}).splitlines()[3:5]
    ['  "files": {', '    "./main.py": "a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s="']

    `files` are their contents by path; the version is a hash of both. A file with another SHA-256
    is not kept, unless somebody may have `edited` it: what is not in vendor/, in pages of users.
    """
    digest = hashlib.sha256()
    hashes: dict[str, str] = {}
    for path in sorted(files):
        file_hash = hashlib.sha256(files[path]).digest()
        digest.update(path.encode() + b"\0" + file_hash)
        hashes[f"./{path}"] = b64encode(file_hash).decode()
    if "./index.html" in hashes:
        hashes = {"./": hashes["./index.html"], **hashes}
    content = {"version": digest.hexdigest()[:16], "edited": edited, "files": hashes}
    head, _, tail = script.partition(UNFILLED)
    return f"{head}const SITE = {json.dumps(content, indent=2)};{tail}"
