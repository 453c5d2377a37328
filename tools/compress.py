"""Compresses the files of a site for servers, which send the copies beside them instead.

Each file is compressed once by brotli and by gzip: copies are kept by the hash of the file.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.common import CACHE, run, say
from webnnm.cli.content_coding import SUFFIXES, is_copy

FOLDER = CACHE / "compressed"
ENDINGS = {
    *(".css", ".csv", ".html", ".js", ".json", ".map", ".mjs", ".nnm", ".py", ".svg", ".txt"),
    *(".wasm", ".whl", ".xml", ".zip"),
}
"""Names of files that can shrink end so: pictures, fonts and weights are compressed already."""
SMALLEST_BYTES = 500
"""Smaller files fit into a packet with the headers of their response."""
LARGEST_SHARE = 0.95
"""Of a file that hardly shrinks there is no copy: browsers would unpack it for nothing."""
QUALITY, QUICK_QUALITY = 11, 9
LARGEST_SLOW_BYTES = 10_000_000
"""Larger files are compressed at the quick quality: 12% more bytes, in a fifteenth of the time."""

BROTLI = """
const { promises: fs } = require("fs");
const { promisify } = require("util");
const { brotliCompress, constants } = require("zlib");
const compress = promisify(brotliCompress);
const jobs = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
Promise.all(jobs.map(async ([source, target, quality]) => {
  const content = await fs.readFile(source);
  await fs.writeFile(target, await compress(content, { params: {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  } }));
})).catch((error) => { console.error(error); process.exit(1); });
"""


def write_copies(site: Path) -> None:
    """Write the compressed copies of a site's files, of the same time as these."""
    for path in [path for path in site.rglob("*") if path.suffix in SUFFIXES.values()]:
        if is_copy(path):
            path.unlink()
    files = [path for path in sorted(site.rglob("*")) if path.suffix in ENDINGS]
    files = [path for path in files if path.stat().st_size >= SMALLEST_BYTES]
    names = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    compress({name: path for path, name in names.items()})
    for path, name in names.items():
        changed = path.stat()
        for suffix in SUFFIXES.values():
            cached, copy = FOLDER / f"{name}{suffix}", path.with_name(path.name + suffix)
            if cached.stat().st_size <= LARGEST_SHARE * changed.st_size:
                shutil.copyfile(cached, copy)
                os.utime(copy, ns=(changed.st_atime_ns, changed.st_mtime_ns))


def compress(files: dict[str, Path]) -> None:
    """Compress files into the cache, by the hash of each, and forget copies of other files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for copy in FOLDER.iterdir():
        if copy.stem not in files:
            copy.unlink()
    new = {name: path for name, path in files.items() if not (FOLDER / f"{name}.br").exists()}
    if not new:
        return
    say(f"  compressing {len(new)} files ...")
    with ThreadPoolExecutor() as pool:
        list(pool.map(_write_gzip, new.values(), [FOLDER / f"{name}.gz" for name in new]))
    jobs = [
        [str(path), str(FOLDER / f"{name}.part"), quality_for(path)] for name, path in new.items()
    ]
    file = FOLDER / "jobs.json"
    file.write_text(json.dumps(jobs))
    run(["node", "-e", BROTLI, file], "compressing the site")
    for name in new:
        (FOLDER / f"{name}.part").rename(FOLDER / f"{name}.br")


def quality_for(path: Path) -> int:
    """Return the quality by which brotli compresses a file."""
    return QUALITY if path.stat().st_size <= LARGEST_SLOW_BYTES else QUICK_QUALITY


def _write_gzip(path: Path, target: Path) -> None:
    target.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
