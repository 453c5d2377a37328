"""Settings that every test shares."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# The machines of continuous integration are slow now and then: no example has a deadline,
# and every run draws the same examples.
settings.register_profile("webnnm", deadline=None, derandomize=True)
settings.load_profile("webnnm")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return ROOT
