"""Sets up a checkout so that it can be tested, served and shown."""

from __future__ import annotations

import subprocess
import sys
import time

OLDEST_PYTHON = (3, 11)
USAGE = "usage: python3 -m tools.setup [tools | wheel | site | all]"


def install() -> None:
    """Install the Python environment and the npm packages, in parallel."""
    from concurrent.futures import ThreadPoolExecutor

    from tools import chromium, environment

    environment.check_tools()
    with ThreadPoolExecutor() as pool:
        python = pool.submit(environment.python_environment)
        environment.npm_packages()
        browsers = [pool.submit(chromium.unpack, version) for version in chromium.BUNDLES]
        for command in (python, *browsers):
            command.result()


def build(goal: str) -> None:
    """Build the wheel and, unless only the wheel is requested, everything made from it."""
    from concurrent.futures import Future, ThreadPoolExecutor

    from tools import build_site, compile_wheel, page_wheel, pyodide, stdlib, wheel
    from tools.docs import documents

    with ThreadPoolExecutor() as pool:
        needs_no_wheel = (
            () if goal == "wheel" else (pyodide.download_wheels, stdlib.build, documents.build)
        )
        beside: list[Future[object]] = [pool.submit(each) for each in needs_no_wheel]
        built = page_wheel.build(wheel.build())
        if goal != "wheel":
            beside.append(pool.submit(compile_wheel.build))
        for each in beside:
            each.result()
    if goal != "wheel":
        pyodide.build(built)
        build_site.build()


def main() -> None:
    """Install with any Python, then build with that of .venv, which has the tools."""
    goal = sys.argv[1] if len(sys.argv) > 1 else "all"
    if goal not in ("tools", "wheel", "site", "all", "--build"):
        raise SystemExit(USAGE)
    if sys.version_info < OLDEST_PYTHON:
        raise SystemExit(
            "webnnm set-up: Python 3.11 or newer is needed, this is "
            f"{sys.version.split()[0]}: install it with `apt-get install python3 python3-venv` "
            "(Debian 12 or newer), or name another with `make PYTHON=python3.12 ...`."
        )
    from tools.common import ROOT, VENV_PYTHON, say

    if goal == "--build":
        build(sys.argv[2])
        return
    started = time.monotonic()
    say("setting up (everything stays inside this folder)")
    install()
    if goal != "tools":
        command = [str(VENV_PYTHON), "-m", "tools.setup", "--build", goal]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code:
            raise SystemExit(code)
    say(f"set up in {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
