"""Step that assembles a self-hosted Pyodide distribution with its own lock file."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools import locks, stdlib
from tools.common import (
    CACHE,
    DISTRIBUTION,
    NODE_MODULES,
    ROOT,
    VENV_PYTHON,
    fail,
    fingerprint,
    say,
    step,
)

PACKAGE = NODE_MODULES / "pyodide"
WHEELS = CACHE / "wheels"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
NEIGHBOUR = ROOT.parent / "shared" / "pyodide"

PAGES, TESTS = "pages", "page-tests"
"""The lock files of the wheels that pages load, and of those that run tests inside Pyodide."""
NUMPY_BUILDS = {
    "numpy-2.4.6-cp314-cp314-pyemscripten_2026_0_wasm32.whl": (
        "ce6a2ddc6266fe7f96733163a11fd1a62593928308e14f5445c844d85a44e531"
    ),
}
"""The hashes of the wheels that may lie beside the checkout."""


def lock_of_package() -> dict[str, Any]:
    """Return the lock file of the npm package."""
    return json.loads((PACKAGE / "pyodide-lock.json").read_text())


def version() -> str:
    """Return Pyodide's version."""
    return json.loads((PACKAGE / "package.json").read_text())["version"]


def python_version() -> str:
    """Return the version of the Python inside Pyodide, as in 3.14."""
    return ".".join(lock_of_package()["info"]["python"].split(".")[:2])


def download_wheels() -> None:
    """Fetch the pure wheels for Pyodide's Python from the package index."""
    key = fingerprint([locks.lock_file(name) for name in (PAGES, TESTS)], python_version())
    with step("pyodide-wheels", key, WHEELS) as needed:
        if needed:
            shutil.rmtree(WHEELS, ignore_errors=True)
            for name in (PAGES, TESTS):
                locks.download(VENV_PYTHON, name, WHEELS, python_version=python_version())


def find_numpy() -> Path | None:
    """Return a NumPy wheel for Pyodide: a named one, one next to the checkout, or Pyodide's own."""
    named = os.environ.get("WEBNNM_NUMPY_WHEEL", "")
    if named.lower() == "none":
        return None
    if named:
        if not Path(named).is_file():
            fail(f"WEBNNM_NUMPY_WHEEL names {named}, which is not a file.")
        return Path(named).resolve()
    beside = sorted(NEIGHBOUR.glob("numpy-*wasm32.whl"))
    return check_hash(beside[-1], NUMPY_BUILDS) if beside else download_numpy()


def check_hash(wheel: Path, hashes: Mapping[str, str]) -> Path:
    """Return a wheel if it has the hash that is recorded for its name; end the program if not."""
    if hashes.get(wheel.name) != sha256(wheel):
        fail(
            f"{wheel} does not have a hash that tools/pyodide.py records: remove it, or name a "
            "wheel that you trust with WEBNNM_NUMPY_WHEEL."
        )
    return wheel


def download_numpy() -> Path | None:
    """Download NumPy from Pyodide's distribution; None if it cannot be reached."""
    package = lock_of_package()["packages"]["numpy"]
    target = CACHE / "numpy" / package["file_name"]
    if target.exists():
        return target
    address = f"https://cdn.jsdelivr.net/pyodide/v{version()}/full/{package['file_name']}"
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            content = answer.read()
    except (urllib.error.URLError, OSError):
        say(
            f"  NumPy for Pyodide cannot be fetched from {address}: pages run on WebNN only, "
            "without the NumPy fallback (set WEBNNM_NUMPY_WHEEL to a wheel to have it)."
        )
        return None
    if hashlib.sha256(content).hexdigest() != package["sha256"]:
        fail(f"the NumPy wheel from {address} does not have the hash in Pyodide's lock file.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


def sha256(path: Path) -> str:
    """Return the hash of a wheel in a lock file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wheels_of(lock: str) -> list[Path]:
    """Return the downloaded wheels of a lock file."""
    versions = locks.read_pins(lock).items()
    names = [f"{name.replace('-', '_')}-{number}-*.whl" for name, number in versions]
    return [path for name in names for path in WHEELS.glob(name)]


def write_distribution(target: Path, wheels: list[Path]) -> None:
    """Write Pyodide's core, the wheels and a lock file that names exactly these wheels."""
    from pyodide_lock import PackageSpec, PyodideLockSpec
    from pyodide_lock.spec import InfoSpec
    from pyodide_lock.utils import add_wheels_to_spec

    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in [*(PACKAGE / name for name in CORE), *stdlib.build(), *wheels]:
        shutil.copyfile(file, target / file.name)
    info = lock_of_package()["info"] | {"version": version()}
    lock = PyodideLockSpec(info=InfoSpec(**info), packages={})
    pure = [target / wheel.name for wheel in wheels if wheel.name.endswith("-any.whl")]
    lock = add_wheels_to_spec(lock, pure, base_path=target)
    for wheel in wheels:
        # pyodide-lock refuses the platform tag of compiled wheels that Pyodide 314 uses, so
        # their entry is made from the one in Pyodide's own lock file.
        if not wheel.name.endswith("-any.whl"):
            name, number = wheel.name.split("-")[:2]
            entry = lock_of_package()["packages"][name] | {"version": number}
            entry.pop("tool", None)
            entry |= {"file_name": wheel.name, "sha256": sha256(wheel)}
            lock.packages[name] = PackageSpec(**entry)
    lock.to_json(target / "pyodide-lock.json", indent=1)


def build(built: Sequence[Path]) -> None:
    """Build the distribution for tests, with pytest in it, in the cache."""
    download_wheels()
    numpy = find_numpy()
    wheels = [*wheels_of(PAGES), *built, *([numpy] if numpy else [])]
    everything = list(dict.fromkeys([*wheels, *wheels_of(TESTS)]))
    recipe = ROOT / "tools" / "pyodide.py"
    inputs = [*built, recipe, *stdlib.build()]
    key = fingerprint(inputs, version(), " ".join(path.name for path in everything))
    with step("pyodide-distribution", key, DISTRIBUTION / "pyodide-lock.json") as needed:
        if needed:
            write_distribution(DISTRIBUTION, everything)
            # pytest-pyodide starts Node with the CommonJS build, which pages do not need.
            shutil.copyfile(PACKAGE / "pyodide.js", DISTRIBUTION / "pyodide.js")


def page_wheels(built: Sequence[Path]) -> list[Path]:
    """Return the wheels that are served with the pages."""
    numpy = sorted(DISTRIBUTION.glob("numpy-*.whl"))
    return [*wheels_of(PAGES), *built, *numpy]
