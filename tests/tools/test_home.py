"""Programs that the set-up runs leave the home folder as it was."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tools.common import CACHE, run

TELL = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[1], 'w'))"
# As rustup's own does, which notes settings before it says that it has no toolchain.
RUSTC = '#!/bin/sh\nmkdir -p "${RUSTUP_HOME:-$HOME/.rustup}"\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, of somebody who has set nothing for pip and rustup."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "RUSTUP_", "XDG_"))]:
        monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def variables(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a program that the set-up runs."""
    told = tmp_path / "told.json"
    run([sys.executable, "-c", TELL, told], "telling")
    return json.loads(told.read_text())


def test_pip_keeps_its_files_in_the_checkout(home: Path, tmp_path: Path) -> None:
    given = variables(tmp_path)
    assert given["PIP_CACHE_DIR"] == str(CACHE / "pip")
    assert given["PIP_DISABLE_PIP_VERSION_CHECK"] == "1"


def test_what_the_user_has_set_is_used(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "cache"))
    (home / ".rustup").mkdir()
    given = variables(tmp_path)
    assert given["PIP_CACHE_DIR"] == str(tmp_path / "cache")
    assert "RUSTUP_HOME" not in given, "the user's compiler is there"


def test_a_rustc_that_pip_asks_for_its_version_writes_nothing_at_home(
    home: Path, tmp_path: Path
) -> None:
    rustc = tmp_path / "rustc"
    rustc.write_text(RUSTC)
    rustc.chmod(0o755)
    run([rustc, "--version"], "rustc")
    assert [*home.rglob("*")] == []
    assert (CACHE / "rustup").exists()
