"""The lock files of Python packages: what the set-up installs and downloads, hash by hash.

Ranges are declared in pyproject.toml and in tools/locks/*.in; the lock file of a name is
tools/locks/NAME.txt. tools/renew_locks.py writes them.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.common import ROOT, run

FOLDER = ROOT / "tools" / "locks"
PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)


def lock_file(name: str) -> Path:
    """Return the path of a lock file."""
    return FOLDER / f"{name}.txt"


def read_pins(name: str) -> dict[str, str]:
    """Return the versions that a lock file pins, by package."""
    return dict(PINNED.findall(lock_file(name).read_text()))


def pip_arguments(name: str) -> list[str | Path]:
    """Return the arguments that make pip take what a lock file lists, and nothing else."""
    return ["--require-hashes", "--no-deps", "--requirement", lock_file(name)]


def download(python: Path, name: str, folder: Path, *, python_version: str | None = None) -> None:
    """Download the wheels of a lock file; those of pure Python for another version, if named."""
    command = [python, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
    if python_version is not None:
        command += ["--platform", "any", "--python-version", python_version]
    run([*command, "--dest", folder, *pip_arguments(name)], f"downloading the wheels of {name}")
