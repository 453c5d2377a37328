"""The command `new`: a new page in an empty folder, with everything that it needs."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path, PurePosixPath

from webnnm.cli import runtime_package
from webnnm.cli.common import (
    OK,
    CommandError,
    Parsers,
    command,
    print_json,
    read_bytes,
    say,
)
from webnnm.cli.content_coding import SUFFIXES
from webnnm.core import service_worker
from webnnm.core.errors import DataError
from webnnm.formats.page.folders import find_obstacle
from webnnm.snapshots.snapshot import open_file, verify

KINDS = {
    "pyscript": "a program in the page, with PyScript",
    "worker": "a program in a worker, with the strictest content security policy",
    "element": "a saved model as <webnnm-model>, without a program",
}
MODEL = "model.safetensors"
"""The snapshot of a page that has a model instead of a program."""
COMMON = "pages/common/"
VENDOR = "vendor/"
OF_KINDS = {"pyscript": ("pyscript",)}
"""Folders of vendor/ that only some kinds of pages need."""
ON_REQUEST = ("onnxruntime", "tokenizers")
"""Folders of vendor/ that pages need on request."""
LICENSES = ("LICENSE", "licenses/")
"""The licence of webnnm, and those of others: `licenses/PART.txt` and `licenses/PART-….txt`."""
SCRIPTS = {
    "boot.js": ("pyscript",),
    "offline.js": tuple(KINDS),
    service_worker.NAME: tuple(KINDS),
}
"""Scripts of the site, and the kinds of pages that have them."""
ON_DEMAND_PREFIX = "vendor/onnxruntime/"
"""Large files that browsers only cache once they were needed."""


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "new", "write a new page into an empty folder", _new)
    one.add_argument("folder", metavar="FOLDER", help="a new or empty folder")
    kinds = "; ".join(f"{name}: {what}" for name, what in KINDS.items())
    one.add_argument(
        "--kind", choices=KINDS, default="pyscript", help=f"{kinds}; default: %(default)s"
    )
    one.add_argument(
        "--model",
        metavar="SNAPSHOT",
        help="a snapshot written by `save`: the model of a page of kind element",
    )
    one.add_argument(
        "--with",
        action="append",
        default=[],
        choices=ON_REQUEST,
        dest="further",
        help="also onnxruntime, for larger models in browsers without WebNN (40 MB), or "
        "tokenizers, for Hugging Face models; may be repeated",
    )
    runtime_package.add_option(one)


def _new(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.folder)
    if obstacle := find_obstacle(folder):
        hint = "give a new folder, or an empty one"
        raise CommandError("NNM807", f'"{folder}" {obstacle}', hint=hint)
    snapshot = _snapshot(arguments)
    package = runtime_package.files(
        arguments.runtime, lambda path: is_needed(path, arguments.kind, arguments.further), say
    )
    page = {page_path(path): content for path, content in package.items() if path != "package.json"}
    if "index.html" not in page:
        raise DataError("NNM715", f"the package has no pages of kind {arguments.kind}")
    page |= snapshot
    _write(folder, page)
    size = sum(map(len, page.values()))
    if arguments.json:
        print_json({"folder": str(folder), "kind": arguments.kind, "files": sorted(page)})
    else:
        print(f"{folder}: {len(page)} files, {size / 1e6:.0f} MB; begin with {_first(page)}")
        print(f"webnnm serve {folder}")
    return OK


def _snapshot(arguments: argparse.Namespace) -> dict[str, bytes]:
    """Return the file of the model that a page shows; none for pages with a program."""
    if (arguments.kind == "element") != (arguments.model is not None):
        raise CommandError(
            "NNM704",
            f"--kind {arguments.kind} {'needs' if arguments.model is None else 'takes no'} --model",
            hint="--kind element --model SNAPSHOT",
        )
    if arguments.model is None:
        return {}
    content = read_bytes(arguments.model)
    verify(asyncio.run(open_file(content)))
    return {MODEL: content}


def is_needed(path: str, kind: str, further: Collection[str] = ()) -> bool:
    """Return whether a page needs a file of the package."""
    if path.startswith((VENDOR, LICENSES[1])):
        part = re.split("[/.-]", path)[1]
        if part in ON_REQUEST:
            return part in further
        return part not in OF_KINDS or kind in OF_KINDS[part]
    if path in SCRIPTS:
        return kind in SCRIPTS[path]
    return path in ("package.json", LICENSES[0]) or path.startswith((COMMON, f"pages/{kind}/"))


def page_path(path: str) -> str:
    """Return the path of a file of the package in a page."""
    if path.startswith(LICENSES):
        return VENDOR + path
    return path.split("/", 2)[2] if path.startswith("pages/") else path


def _first(page: dict[str, bytes]) -> str:
    """Return the file to read first."""
    return "main.py" if "main.py" in page else "index.html"


def _write(folder: Path, page: dict[str, bytes]) -> None:
    """Write the files of a page; if that fails, leave the folder empty."""
    cached = {
        name: content
        for name, content in page.items()
        if name not in (service_worker.NAME, "_headers")
        and not name.startswith(ON_DEMAND_PREFIX)
        and PurePosixPath(name).suffix not in SUFFIXES.values()
    }
    script = service_worker.fill(page[service_worker.NAME].decode(), cached, edited=True)
    created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Compressed copies come after their files: servers send none that is older.
        for name, content in sorted((page | {service_worker.NAME: script.encode()}).items()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        for name in {Path(name).parts[0] for name in page}:
            remains = folder / name
            if remains.is_dir():
                shutil.rmtree(remains, ignore_errors=True)
            else:
                remains.unlink(missing_ok=True)
        for parent_folder in created:
            with suppress(OSError):
                parent_folder.rmdir()
        reason = error.strerror or os.strerror(error.errno or 0)
        message = f'"{folder}" cannot be written: {reason}'
        raise DataError("NNM807", message, hint="free some space, or give another path") from error
