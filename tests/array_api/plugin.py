"""What the test suite of the array API standard has to know of `webnnm.xp`, as a plugin of pytest.

Complex numbers are refused by name, so tests of them are left out.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

os.environ["ARRAY_API_TESTS_MODULE"] = "webnnm.xp"
os.environ.setdefault("ARRAY_API_TESTS_SKIP_DTYPES", "complex64,complex128")


@contextmanager
def tolerant_max() -> Iterator[None]:
    """Let the suite look for the widest complex type where there is none."""
    largest: Any = builtins.max

    def tolerant(*values: Any, **options: Any) -> Any:
        return (None, None) if values == ([],) else largest(*values, **options)

    builtins.max = tolerant
    try:
        yield
    finally:
        builtins.max = largest


with tolerant_max():
    helpers: Any = import_module("array_api_tests.dtype_helpers")
helpers.widest_complex_dtype = helpers.widest_real_dtype


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is said of complex numbers, and names of the extension that returns them."""
    words = ("imag(", "real(", "[fft-", "_conj")
    kept = [item for item in items if not any(word in item.nodeid for word in words)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
