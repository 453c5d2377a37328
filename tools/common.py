"""Folders, messages and stamp files that all scripts of this package share."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
    from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
NPM_INSIDE = ("--cache", str(CACHE / "npm"), "--no-update-notifier")
"""Arguments that keep npm's own files in the checkout."""
VENV = ROOT / ".venv"
NODE_MODULES = ROOT / "node_modules"
SITE = ROOT / "build" / "site"
DOCUMENTS = ROOT / "build" / "docs"
JUPYTER = ROOT / "build" / "jupyter"
DISTRIBUTION = CACHE / "pyodide"
PYTHON = "Scripts/python.exe" if os.name == "nt" else "bin/python"
"""The interpreter of a virtual environment, in its folder."""
VENV_PYTHON = VENV / PYTHON


def say(message: str) -> None:
    """Print and flush one line, so that it keeps its place among a child's output."""
    print(message, flush=True)


def fail(sentence: str) -> NoReturn:
    """End the program with one sentence that says what to do, without a traceback."""
    print(f"webnnm set-up: {sentence}", file=sys.stderr, flush=True)
    raise SystemExit(1)


def inside() -> dict[str, str]:
    """Return environment variables that make pip write to the checkout, not the home folder."""
    environment = {"PIP_CACHE_DIR": str(CACHE / "pip"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    # pip asks for rustc's version, and a rustup that was never set up then writes settings.
    if not (Path.home() / ".rustup").exists():
        environment["RUSTUP_HOME"] = str(CACHE / "rustup")
    return environment


def run(
    arguments: Sequence[str | Path], what: str, *, folder: Path = ROOT, **environment: str
) -> None:
    """Run a command in a folder, by default the checkout; show its output only if it fails."""
    finished = subprocess.run(
        [str(argument) for argument in arguments],
        cwd=folder,
        env={**inside(), **os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        print(finished.stdout, file=sys.stderr, flush=True)
        fail(f"{what} failed; the output above says why.")


def fingerprint(paths: Iterable[Path], *facts: str) -> str:
    """Hash the contents of files (of folders, all files below them) together with some facts."""
    digest = hashlib.sha256()
    for path in paths:
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        for file in files:
            if "__pycache__" in file.parts:
                continue
            digest.update(str(file.relative_to(ROOT)).encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    for fact in facts:
        digest.update(fact.encode() + b"\0")
    return digest.hexdigest()


def without(folder: Path, pattern: str) -> Path:
    """Return a folder, created if necessary, without the files that match a pattern."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob(pattern):
        stale.unlink()
    return folder


@contextmanager
def step(name: str, key: str, *products: Path) -> Generator[bool]:
    """Yield whether the step must run; store its key once its block has succeeded."""
    stamp = CACHE / "stamps" / name
    fresh = stamp.exists() and stamp.read_text() == key
    needed = not fresh or not all(product.exists() for product in products)
    started = time.monotonic()
    if needed:
        stamp.unlink(missing_ok=True)
        say(f"  {name} ...")
    yield needed
    if needed:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(key)
        say(f"  {name}: done in {time.monotonic() - started:.1f} s")


def playwright_config() -> ModuleType:
    """Load playwright.config.py, whose name cannot be imported."""
    name = "playwright_config"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "playwright.config.py")
        if spec is None or spec.loader is None:
            fail("playwright.config.py is missing from the checkout.")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@asynccontextmanager
async def open_browser(project: str = "webnn") -> AsyncGenerator[Any]:
    """Start the browser of a project of playwright.config.py."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        options = playwright_config().launch_options(project)
        browser = await playwright.chromium.launch(**options)
        try:
            yield browser
        finally:
            await browser.close()


async def open_empty_page(browser: Any, url: str) -> Any:
    """Return a new page with nothing in it, of the server at this address."""
    page = await browser.new_page(service_workers="block")
    address = f"{url}/empty.html"
    await page.route(address, lambda route: route.fulfill(body="", content_type="text/html"))
    await page.goto(address)
    return page
