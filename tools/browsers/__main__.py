"""Goes through the pages of the site in the browsers of all engines, and records what they showed.

make browsers                           # the tests of WebNN in both Chromiums, all journeys
make browsers ARGS="firefox webkit"     # the journeys in these browsers
make browsers ARGS="firefox iris docs"  # those whose names have one of these words
make browsers ARGS="--pictures"         # also with pictures of all pages in build/browsers
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tools import generated
from tools.browsers.engines import ENGINES, Engine
from tools.browsers.record import FOLDER, PICTURES, merge
from tools.chromium import SECOND
from tools.common import ROOT, say

IMAGES = ROOT / "build" / "browsers"


def install(engine: Engine) -> bool:
    """Install a browser that is missing where this user may; return whether it is there."""
    if engine.is_installed():
        return True
    may = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")
    if may and engine.packages:
        say(f"installing {engine.title} ...")
        # A machine that has installed nothing yet has no list of packages.
        for command in (["update"], ["install", "--no-install-recommends", *engine.packages]):
            ended = subprocess.run(["apt-get", "--yes", *command], capture_output=True, text=True)
            if ended.returncode:
                say(f"apt-get {command[0]} failed: {ended.stderr.strip()[-300:]}")
    if not engine.is_installed():
        say(f"left out: {engine.reason}")
        return False
    return True


def test(arguments: list[str], variables: Mapping[str, str]) -> bool:
    """Run tests, and return whether they passed."""
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    return not subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}).returncode


def main() -> None:
    """Run what the command line asks for, write docs/browsers.md anew."""
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    engines = [engine for engine in ENGINES.values() if engine.name in names]
    pages = [name for name in names if name not in ENGINES]
    passed = True
    if not names:
        for version in ("", SECOND):
            say(f"tests of WebNN in the {'second' if version else 'bundled'} Chromium:")
            variables = {"WEBNNM_CHROMIUM": version} if version else {}
            parts = ["-n", "2", "--dist", "loadfile", "-m", "webnn", "tests/browser"]
            passed &= test(parts, variables)
    with tempfile.TemporaryDirectory() as folder:
        variables = {"WEBNNM_TESTS": "all", FOLDER: folder}
        if "--pictures" in sys.argv:
            variables[PICTURES] = str(IMAGES)
        for engine in filter(install, engines or ENGINES.values()):
            say(f"journeys in {engine.title}:")
            chosen = f"[{engine.name}" + (f" and ({' or '.join(pages)})" if pages else "")
            passed &= test(["-n", "0", "tests/journeys", "-k", chosen], variables)
        merge(Path(folder))
    generated.main()
    raise SystemExit(not passed)


if __name__ == "__main__":
    main()
