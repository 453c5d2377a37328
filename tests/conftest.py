"""Settings that every test shares."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from tests.work import everything

ROOT = Path(__file__).resolve().parent.parent

# Assertions in modules that tests share show their values, as those in tests do.
pytest.register_assert_rewrite(
    *(f"tests.{folder.name}" for folder in (ROOT / "tests").iterdir() if folder.is_dir()),
    "tests.records",
)

# Matrices of tests are small, and tests run in several processes: more threads would only wait,
# busily. NumPy reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What XLA made of a graph is kept: of an equal graph it makes the same in every run.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# Tests show how programs are written for XLA, not how well it makes machine code of them, which
# takes a third of the time; the fuzzer and `make parity` let it do so.
if not everything():
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

# pytest-pyodide types commands into a shell, which would keep them in the home folder.
os.environ["HISTFILE"] = os.devnull
# A rule of the expert system that fails is a finding for users, and an error in tests.
os.environ["WEBNNM_STRICT"] = "1"
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # it would write into the home folder

# The machines of continuous integration are slow now and then: no example has a deadline,
# and every run draws the same examples.
settings.register_profile("webnnm", deadline=None, derandomize=True)
settings.load_profile("webnnm")

GARBAGE = 100_000
"""Allocations until garbage is collected: with as few as usual, unit tests take 7 % longer."""

SHORT = 0.01
"""Seconds; a set-up or an end of a test that takes less is not reported if nothing fails in it."""

LONGEST = (
    "tests/browser/test_units_in_pyodide.py",
    "tests/browser/test_kept_trainings.py",
    "tests/browser/test_kept_files.py",
    "tests/browser/test_pages.py",
    "tests/browser/test_keeping.py",
    "tests/browser/test_fallback.py",
    "tests/browser/test_policy.py",
    "tests/browser/test_onnx_cases.py",
    "tests/browser/test_digits_page.py",
    "tests/laws/test_types.py",
    "tests/unit/backends/test_jax.py",
    "tests/unit/snapshots/test_damaged.py",
    "tests/unit/backends/test_jax_devices.py",
    "tests/unit/ops/test_operator_laws.py",
    "tests/unit/backends/test_jax_training.py",
    "tests/unit/trainer/test_interrupted.py",
    "tests/unit/core/test_atomic.py",
    "tests/unit/snapshots/test_killed_saves.py",
    "tests/browser/test_own_pages.py",
    "tests/browser/test_worker_page.py",
    "tests/browser/test_wpt.py",
    "tests/unit/trainer/test_resume.py",
    "tests/unit/model/test_model.py",
    "tests/unit/cli/test_lasting.py",
)
"""Files of tests that take longest: they begin first, so that no process is left with one."""


def pytest_configure() -> None:
    """Check all plans where everything is tested: each graph is then compiled three times."""
    if everything():
        from tests.strict_plans import check_all_plans

        check_all_plans()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from what lasts as long as the process, again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(GARBAGE)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; those of a file stay together."""
    if not everything() and not any("::" in word for word in config.args):
        leave_out_unusual(config, items)
    first = {ROOT / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(item.path, len(first)))


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and report its set-up and its end only if there is something to say about them.

    Each report goes from a process to the one that began it: three of each test took as long as
    most of the tests.
    """
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > SHORT:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def leave_out_unusual(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the sets of parameters of tests marked `usual` that it does not name."""
    found: dict[str, set[str]] = {}
    unusual: list[pytest.Item] = []
    for item in items:
        if marker := item.get_closest_marker("usual"):
            function, _, parameters = item.nodeid.removesuffix("]").partition("[")
            found.setdefault(function, set(marker.args)).discard(parameters)
            if parameters not in marker.args:
                unusual.append(item)
    if missing := {function: names for function, names in found.items() if names}:
        raise pytest.UsageError(f"marked usual, but no parameters of the test: {missing}")
    config.hook.pytest_deselected(items=unusual)
    left = set(unusual)
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return ROOT
