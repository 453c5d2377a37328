"""Runs the test suite of the array API standard in Chromium, where arrays live on a page's backend.

    python -m tests.array_api.in_page SUITE PACKAGES BACKEND [arguments of pytest]

PACKAGES is the folder of the Python packages that the suite needs and Pyodide does not bring.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright

from tests.browser.harness import ONLY_LOCAL, open_pyodide
from tests.browser.test_units_in_pyodide import packages
from tools.common import ROOT, playwright_config
from tools.serve import SiteServer

BROUGHT = ("ndindex", "pytest_jsonreport", "pytest_metadata")
OWN = ("array_api/__init__.py", "array_api/plugin.py")
RUN = """
import os, sys
from pathlib import Path

import pytest

from webnnm import xp
from webnnm.backends import onnxruntime_web

# The distribution with pytest does not lie beside ONNX Runtime Web.
onnxruntime_web.FOLDER = "vendor/onnxruntime"
for name, text in files.items():
    path = Path("/suite", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
os.chdir("/suite")
sys.path.insert(0, "/suite")
# The suite's arrays are small: what the host would compute is left to the backend.
xp.set_default_device(await xp.open_device(backend, host_elements=0))
computed = xp.__array_namespace_info__().dtypes()
lacking = [name for name in ("float64", "uint64") if name not in computed]
os.environ["ARRAY_API_TESTS_SKIP_DTYPES"] = ",".join(["complex64", "complex128", *lacking])


class Report:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1
        if report.failed:
            self.failures.append([report.nodeid, report.longreprtext])
            print("FAILED", report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.failures.append([report.nodeid, report.longreprtext])


without = ["cacheprovider", "faulthandler", "terminal", "logging", "threadexception"]
options = ["-p", "tests.array_api.plugin", "-p", "pytest_jsonreport.plugin", "-p",
           "pytest_metadata.plugin", "--assert=plain", "--capture=no", *given]
code = pytest.main([*options, *(f"-pno:{name}" for name in without)], plugins=[Report()])
[int(code), repr(xp.memory()), Report.counts, Report.failures]
"""


def texts(suite: Path, installed: Path) -> dict[str, str]:
    """Return what the page is sent: the suite, what it needs, and our plugin for it."""
    found = {f"tests/{name}": ROOT / "tests" / name for name in OWN}
    for folder in (suite, *(installed / name for name in BROUGHT)):
        base = suite if folder is suite else installed
        for file in (*folder.rglob("*.py"), *folder.glob("array-api/spec/**/index.rst")):
            place = file.relative_to(base)
            if "meta_tests" not in place.parts and "ndindex/tests" not in place.as_posix():
                found[place.as_posix()] = file
    found["pytest.ini"] = suite / "pytest.ini"
    return {place: file.read_text(encoding="utf-8") for place, file in found.items()}


async def run(files: dict[str, str], backend: str, given: list[str]) -> Any:
    """Return what pytest said in a page: its code, the memory held, counts and failures."""
    config = playwright_config()
    options = config.launch_options("webnn")
    options["args"] = [*options["args"], ONLY_LOCAL]
    with SiteServer(config.SITE_ROOT, extra_roots=config.EXTRA_ROOTS) as server:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(**options)
            page = await open_pyodide(
                browser, server.url, index="/pyodide-for-tests", packages=packages(ROOT)
            )
            page.page.on("console", lambda line: print(line.text, flush=True))
            return await page.run_python(RUN, files=files, backend=backend, given=given)


def main() -> None:
    """Run the suite, print what failed and the counts, and end with pytest's code."""
    suite, installed, backend, *given = sys.argv[1:]
    files = texts(Path(suite), Path(installed))
    code, memory, counts, failures = asyncio.run(run(files, backend, given))
    for name, text in failures:
        print(f"\n{name}\n{text[-1500:]}")
    print(f"on {backend} in Chromium: {json.dumps(counts)}, {memory}")
    raise SystemExit(code)


if __name__ == "__main__":
    main()
