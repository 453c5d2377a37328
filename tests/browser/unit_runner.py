"""Runs a folder of unit tests with pytest inside Pyodide; the text itself is sent there."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

NO_NUMPY = "No module named 'numpy'"


def folder_of(item: pytest.Item) -> str:
    """Return the folder of tests/unit that a test lies in, "" for none."""
    _, _, *folders, _ = item.nodeid.partition("::")[0].split("/")
    return folders[0] if folders else ""


class Report:
    """A pytest plugin that counts outcomes and runs `async def` tests by blocking on them."""

    def __init__(self, blocking: bool, numpy: bool) -> None:
        self.blocking = blocking
        self.numpy = numpy
        self.counts: dict[str, int] = {"passed": 0, "failed": 0, "skipped": 0}
        self.failures: list[str] = []

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what `tests/work.py` says that one set of parameters shows here."""
        from tests.work import WHOLE, is_shortened

        if not is_shortened():
            return
        kept: dict[str, pytest.Item] = {}
        for item in items:
            function, _, _ = item.nodeid.partition("[")
            kept.setdefault(function if folder_of(item) in WHOLE else item.nodeid, item)
        config.hook.pytest_deselected(items=sorted(set(items) - set(kept.values()), key=str))
        items[:] = kept.values()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1
        if report.failed:
            self.failures.append(f"{report.nodeid}\n{report.longreprtext}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped or (report.failed and not self.numpy and NO_NUMPY in report.longreprtext):
            self.counts["skipped"] += 1
        elif report.failed:
            self.counts["failed"] += 1
            self.failures.append(f"{report.nodeid}\n{report.longreprtext}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        if not self.blocking:
            pytest.skip("this JavaScript engine cannot block on a promise")
        from pyodide.ffi import run_sync

        names = inspect.signature(pyfuncitem.obj).parameters
        given = {name: pyfuncitem.funcargs[name] for name in names if name in pyfuncitem.funcargs}
        run_sync(pyfuncitem.obj(**given))
        return True


def run_unit_tests(files: dict[str, str], environment: dict[str, str]) -> dict[str, Any]:
    """Write files to their absolute paths, run pytest in /checkout, and return what came out.

    `environment` are variables of the environment that the tests find.
    """
    import importlib.util
    import os
    import sys
    from pathlib import Path

    from pyodide.ffi import can_run_sync

    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    os.environ.update(environment)
    os.chdir("/checkout")
    sys.path.insert(0, "/checkout")
    from tests.work import is_shortened

    numpy = importlib.util.find_spec("numpy") is not None
    report = Report(blocking=can_run_sync(), numpy=numpy)
    # There is neither a terminal nor a cache in the page, and faulthandler needs threads.
    without = ["cacheprovider", "faulthandler", "terminal"]
    # Of most tests these take longer than the test; the desktop has them.
    without += ["logging", "threadexception", "unraisableexception", "warnings"]
    disabled = ["--capture=no", *(f"-pno:{name}" for name in without)]
    left = ["slow", "desktop", *(["alike"] if is_shortened() else [])]
    marks = " and ".join(f"not {mark}" for mark in left)
    options = ["--import-mode=importlib", "-m", marks, *disabled]
    # To rewrite the assertions of all files takes a quarter of the time; the desktop explains them.
    options += ["--assert=plain"]
    # Without NumPy the modules about it cannot be collected; the others run all the same.
    options += [] if numpy else ["--continue-on-collection-errors"]
    code = pytest.main([*options, "tests/unit"], plugins=[report])
    return {"code": int(code), "numpy": numpy, "counts": report.counts, "failures": report.failures}
