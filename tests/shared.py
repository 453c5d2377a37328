"""Where the conformance data are: beside the repository, unless an environment variable says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_path(*parts: str) -> Path:
    """Return a path below the shared folder; skip the test or module if it is not on this machine.

    The folder is that of the environment variable WEBNNM_SHARED, else `../shared` as seen from
    the repository.
    """
    beside = Path(__file__).resolve().parent.parent.parent / "shared"
    path = Path(os.environ.get("WEBNNM_SHARED", beside)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no conformance data on this machine ({path})", allow_module_level=True)
    return path
