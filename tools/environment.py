"""Steps that install what others publish: the Python environment and the npm packages."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from tools.common import (
    NODE_MODULES,
    NPM_INSIDE,
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
    """Create .venv and install this checkout in it with its development tools."""
    key = fingerprint([ROOT / "pyproject.toml"], sys.version, str(ROOT))
    with step("python-environment", key, VENV_PYTHON) as needed:
        if needed:
            run([sys.executable, "-m", "venv", "--clear", VENV], "creating .venv")
            pip = [VENV_PYTHON, "-m", "pip"]
            # Python compiles what is imported; compiling everything takes longer.
            flags = ["--quiet", "--no-compile"]
            run([*pip, "install", *flags, "--editable", ".[dev]"], "pip install")


def npm_packages() -> None:
    """Install the locked npm packages, without running their install scripts."""
    key = fingerprint([ROOT / "package.json", ROOT / "package-lock.json"])
    with step("npm-packages", key, NODE_MODULES / "pyodide") as needed:
        if needed:
            flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            run(["npm", "ci", *flags, *NPM_INSIDE], "npm ci")
