"""Steps that install what others publish: the Python environment and the npm packages."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import locks
from tools.common import (
    CACHE,
    NODE_MODULES,
    NPM_INSIDE,
    PYTHON,
    ROOT,
    VENV,
    VENV_PYTHON,
    fail,
    fingerprint,
    run,
    step,
)

OLDEST_NODE = 20
INSTALL_NODE = f"install Node {OLDEST_NODE} with npm from nodejs.org (Debian 12 has version 18)."


def check_tools() -> None:
    """Stop with one sentence if a program that the set-up needs is missing."""
    try:
        __import__("ensurepip")
    except ImportError:
        fail("Python has no venv module: install it with `apt-get install python3-venv`.")
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            fail(f"{program} is missing: {INSTALL_NODE}")
    answer = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)", answer.stdout)
    if version is None or int(version[1]) < OLDEST_NODE:
        fail(
            f"Node {OLDEST_NODE} or newer is needed, found {answer.stdout.strip() or 'none'}: "
            f"{INSTALL_NODE}"
        )


def python_environment() -> None:
    """Create .venv and install in it the locked development tools, then this checkout."""
    lock = locks.lock_file("development")
    key = fingerprint([ROOT / "pyproject.toml", lock], sys.version, str(ROOT))
    with step("python-environment", key, VENV_PYTHON) as needed:
        if needed:
            run([sys.executable, "-m", "venv", "--clear", VENV], "creating .venv")
            pip = [VENV_PYTHON, "-m", "pip"]
            # Python compiles what is imported; compiling everything takes longer.
            flags = ["--quiet", "--no-compile"]
            run([*pip, "install", *flags, *locks.pip_arguments("development")], "pip install")
            # Hatchling, which the checkout is installed with, came with the lock file.
            own = ["--no-deps", "--no-build-isolation", "--editable", ROOT]
            run([*pip, "install", *flags, *own], "installing the checkout")


def npm_packages() -> None:
    """Install the locked npm packages, without running their install scripts."""
    key = fingerprint([ROOT / "package.json", ROOT / "package-lock.json"])
    with step("npm-packages", key, NODE_MODULES / "pyodide") as needed:
        if needed:
            flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            run(["npm", "ci", *flags, *NPM_INSIDE], "npm ci")


def python_of(name: str) -> Path:
    """Return the Python of a virtual environment in .cache, which `python_with` creates."""
    return CACHE / name / "venv" / PYTHON


def python_with(name: str, requirements: Sequence[str] = ()) -> Path:
    """Return the Python of a virtual environment in .cache, which holds what its lock file lists.

    Instead of a lock file it can have requirements: for packages whose builds depend on the
    machine, as PyTorch's do.
    """
    python = python_of(name)
    key = fingerprint([] if requirements else [locks.lock_file(name)], *requirements, sys.version)
    with step(name, f"{key} {ROOT}", python) as needed:
        if needed:
            venv = python.parents[1]
            run([sys.executable, "-m", "venv", "--clear", venv], f"creating {venv}")
            packages = requirements or locks.pip_arguments(name)
            install = [python, "-m", "pip", "install", "--quiet", *packages]
            run(install, f"installing the packages of {name}")
    return python
