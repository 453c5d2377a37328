"""The records of what Chromium does fit the bundled versions and the known faults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import records
from tools import chromium
from webnnm.compiler.traps import ALL_TRAPS
from webnnm.compiler.traps.evidence import Untried


def test_versions_are_those_of_the_npm_packages(tmp_path: Path) -> None:
    packages = {
        "chromium-second": "npm:@sparticuz/chromium@153.0.0",
        "@sparticuz/chromium": "160.0.1",
    }
    package_file = tmp_path / "package.json"
    package_file.write_text(json.dumps({"devDependencies": packages}))
    bundles = chromium.bundles(package_file)
    assert [*bundles] == ["160", "153"]
    assert [bundle.folder.name for bundle in bundles.values()] == ["chromium-160", "chromium-153"]


def test_two_packages_of_one_major_version_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = dict.fromkeys(chromium.PACKAGES, "npm:@sparticuz/chromium@153.0.1")
    package_file = tmp_path / "package.json"
    package_file.write_text(json.dumps({"devDependencies": packages}))
    with pytest.raises(SystemExit):
        chromium.bundles(package_file)
    assert "different major versions" in capsys.readouterr().err


def test_every_bundled_version_is_recorded() -> None:
    assert chromium.BUNDLES.keys() <= set(records.versions()), "`make chromium` records it"


def test_every_fault_that_is_tried_was_seen() -> None:
    """What shows in no browser is no evidence."""
    tried = {trap.reason for trap in ALL_TRAPS if not isinstance(trap.evidence, Untried)}
    seen = {fault for version in records.versions() for fault in records.read(version)["faults"]}
    assert seen == tried, "`make operators` records the faults anew"
