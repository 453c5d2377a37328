"""What the set-up installs has been recorded, hash by hash, and fits what is declared."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import pyodide
from tools.common import ROOT
from tools.locks import FOLDER, lock_file, pip_arguments, read_pins
from tools.renew_locks import TARGETS

ENTRY = re.compile(r"^(?=\S)(?!#)", re.MULTILINE)


def declared(name: str) -> list[str]:
    """Return the ranges from which a lock file is resolved."""
    if name == "development":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        return [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    lines = (FOLDER / f"{name}.in").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_every_lock_file_has_a_target() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {*TARGETS}


@pytest.mark.parametrize("name", TARGETS)
def test_every_package_is_pinned_with_hashes(name: str) -> None:
    text = lock_file(name).read_text()
    entries = [entry for entry in ENTRY.split(text) if entry and not entry.startswith("#")]
    assert entries
    for entry in entries:
        assert re.match(r"[\w.-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


@pytest.mark.parametrize("name", TARGETS)
def test_pinned_versions_are_in_the_declared_ranges(name: str) -> None:
    versions = {canonicalize_name(package): number for package, number in read_pins(name).items()}
    for line in declared(name):
        requirement = Requirement(line)
        number = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(number), f"{line}: {number}; run `make locks`"


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path) -> None:
    """pip itself refuses it, with the arguments that the set-up passes."""
    (tmp_path / "thing-1.0-py3-none-any.whl").write_bytes(b"not what was recorded")
    lock = tmp_path / "lock.txt"
    lock.write_text(f"thing==1.0 --hash=sha256:{'0' * 64}\n")
    arguments = [*pip_arguments("docs")[:-1], lock, "--no-index", "--find-links", tmp_path]
    command = [sys.executable, "-m", "pip", "download", "--dest", tmp_path / "into", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_numpy_from_beside_the_checkout_has_a_recorded_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pyodide, "NEIGHBOUR", tmp_path)
    monkeypatch.delenv("WEBNNM_NUMPY_WHEEL", raising=False)
    wheel = tmp_path / next(iter(pyodide.NUMPY_BUILDS))
    wheel.write_bytes(b"something else")
    with pytest.raises(SystemExit):
        pyodide.find_numpy()
    message = capsys.readouterr().err
    assert str(wheel) in message
    assert "WEBNNM_NUMPY_WHEEL" in message
    monkeypatch.setitem(pyodide.NUMPY_BUILDS, wheel.name, pyodide.sha256(wheel))
    assert pyodide.find_numpy() == wheel
