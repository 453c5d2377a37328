"""The plain unit tests of tests/unit pass on Pyodide's Python too, in Node and in Chromium."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.browser.harness import PyodidePage, open_pyodide
from tests.work import EVERYTHING

TIME_LIMIT = 1800
"""Seconds; a minute is usual."""
DESKTOP_ONLY = frozenset({"cli", "test_batches.py"})
IN_NODE = (
    *("data/test_source.py", "core/test_atomic.py", "snapshots/test_safetensors.py"),
    *("core/test_arrays.py", "core/test_random.py", "snapshots/test_snapshot.py"),
    *("backends/test_selection.py", "backends/test_kernel_backends.py"),
    "trainer/test_progress.py",
)
"""Tests of what asks where it runs, reads and writes files, or hands memory over."""
ENVIRONMENT = {EVERYTHING: os.environ.get(EVERYTHING, ""), "WEBNNM_STRICT": "1"}
"""What the tests are told: `tests/work.py` says which draws they leave out; rules that fail are
errors."""
TEXT_FILES = (".py", ".json", ".nnm", ".txt", ".csv", ".md", ".abnf")


def packages(root: Path) -> tuple[str, ...]:
    """What is loaded before the tests: NumPy too, where there is one for Pyodide."""
    lock = json.loads((root / ".cache" / "pyodide" / "pyodide-lock.json").read_text())
    wanted = ("webnnm", "pytest", "hypothesis", "numpy")
    return tuple(name for name in wanted if name in lock["packages"])


def unit_tests(root: Path, only: Sequence[str] = ()) -> dict[str, str]:
    """What is sent: unit tests and what they read, placed beside each other as on the desktop.

    Of the tests only some, if these are named by their paths below `tests/unit`.
    """
    units = root / "tests" / "unit"
    read = ("tests/data/spec", "tests/data/chromium")
    found = {"tests/unit": units, **{name: root / name for name in read}}
    files = {
        f"/checkout/{place}/{file.relative_to(folder).as_posix()}": file
        for place, folder in found.items()
        for file in sorted(folder.rglob("*"))
        if file.suffix in TEXT_FILES
        and not ({"__pycache__"} | DESKTOP_ONLY).intersection(file.relative_to(folder).parts)
    }
    if only:
        wanted = {f"/checkout/tests/unit/{name}" for name in only}
        assert wanted <= files.keys()
        files = {
            place: file
            for place, file in files.items()
            if place in wanted or (file.suffix == ".py" and not file.name.startswith("test_"))
        }
    shared = {f"/checkout/tests/{f.name}": f for f in sorted((root / "tests").glob("*.py"))}
    return {place: file.read_text() for place, file in {**shared, **files}.items()}


def check(answer: dict[str, Any]) -> None:
    """Pass only when tests ran and none failed."""
    print(f"unit tests inside Pyodide: {answer['counts']}")
    assert not answer["failures"], "\n\n".join(answer["failures"])
    assert answer["code"] == 0 or (not answer["numpy"] and answer["code"] == 1)
    assert answer["counts"]["passed"] > 0


@pytest.fixture
async def test_page(launch: Any, site_url: str, root: Path) -> AsyncIterator[PyodidePage]:
    """A page with the distribution that has pytest in it."""
    page = await open_pyodide(
        await launch("webnn"), site_url, index="/pyodide-for-tests", packages=packages(root)
    )
    yield page
    await page.page.context.close()


@pytest.mark.slow
async def test_unit_tests_in_chromium(test_page: PyodidePage, root: Path) -> None:
    """Chromium can block on promises (JSPI), so that asynchronous tests run here as well."""
    runner = (root / "tests" / "browser" / "unit_runner.py").read_text()
    program = f"{runner}\nrun_unit_tests(files, environment)"
    found = await test_page.run_python(program, files=unit_tests(root), environment=ENVIRONMENT)
    check(found)


@pytest.mark.slow
@pytest.mark.driver_timeout(TIME_LIMIT)
def test_unit_tests_in_node(selenium_standalone: Any, root: Path) -> None:
    """pytest-pyodide starts Node with the same distribution; asynchronous tests skip there.

    Python and the package are the same WebAssembly as in Chromium, so that what they compute is
    proven there. Here run the tests of what meets the host. Node cannot wait for the other
    wheels as a page can.
    """
    selenium_standalone.p.timeout = TIME_LIMIT  # the driver's own waits for an answer
    selenium_standalone.load_package([*packages(root), "webnnm-rest", "webnnm-models"])
    runner = (root / "tests" / "browser" / "unit_runner.py").read_text()
    for name, value in {"files": unit_tests(root, IN_NODE), "environment": ENVIRONMENT}.items():
        given = f"pyodide.toPy({json.dumps(value)})"
        selenium_standalone.run_js(f"pyodide.globals.set('{name}', {given});")
    program = f"{runner}\nimport json\njson.dumps(run_unit_tests(files, environment))"
    check(json.loads(selenium_standalone.run_async(program)))
