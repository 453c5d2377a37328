"""Writes the lock files of tools/locks anew, with the newest releases in the declared ranges.

make locks                    # all of them
make locks ARGS="docs pages"  # some
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.common import CACHE, ROOT, fail, run, say
from tools.environment import python_with
from tools.locks import FOLDER, lock_file

DESKTOP = ("--universal", "--python-version", "3.11")
"""For every system and for Python 3.11 or newer."""
PYODIDE = ("--python-version", "3.14", "--python-platform", "linux")
"""For Pyodide's Python, which takes wheels of pure Python."""
TARGETS = {
    "development": ("pyproject.toml", "--extra", "dev", *DESKTOP),
    "models": ("tools/locks/models.in", "--no-deps", *DESKTOP),
    **{name: (f"tools/locks/{name}.in", *DESKTOP) for name in ("docs", "jupyterlite")},
    **{name: (f"tools/locks/{name}.in", *DESKTOP) for name in ("array-api", "uv")},
    **{name: (f"tools/locks/{name}.in", *PYODIDE) for name in ("pages", "page-tests")},
    "jupyterlite-kernel": ("tools/locks/jupyterlite-kernel.in", *PYODIDE),
}
"""What each lock file is resolved from, and for which Pythons."""


def main() -> None:
    """Resolve the lock files that are named, or all."""
    names = sys.argv[1:] or list(TARGETS)
    for name in names:
        if name not in TARGETS:
            fail(f'there is no lock file "{name}", only {", ".join(TARGETS)}.')
    uv = python_with("uv").parent / "uv"
    for name in names:
        resolve(uv, name)
        say(f"wrote {lock_file(name).relative_to(ROOT)}")


def resolve(uv: Path, name: str) -> None:
    """Write one lock file."""
    flags = ["--quiet", "--upgrade", "--generate-hashes", "--no-annotate", "--no-config"]
    flags += ["--custom-compile-command", "make locks", "--cache-dir", str(CACHE / "uv-cache")]
    command = [uv, "pip", "compile", *TARGETS[name], *flags, "--output-file", lock_file(name)]
    run(command, f"resolving {lock_file(name).relative_to(FOLDER)}")


if __name__ == "__main__":
    main()
