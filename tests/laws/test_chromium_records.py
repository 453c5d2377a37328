"""The records of what Chromium does fit the bundled versions and the known faults."""

from __future__ import annotations

from tests import records
from tools import chromium
from webnnm.compiler.traps import ALL_TRAPS
from webnnm.compiler.traps.evidence import Untried


def test_every_bundled_version_is_recorded() -> None:
    assert chromium.BUNDLES.keys() <= set(records.versions()), "`make chromium` records it"


def test_every_fault_that_is_tried_was_seen() -> None:
    """What shows in no browser is no evidence."""
    tried = {trap.reason for trap in ALL_TRAPS if not isinstance(trap.evidence, Untried)}
    seen = {fault for version in records.versions() for fault in records.read(version)["faults"]}
    assert seen == tried, "`make operators` records the faults anew"
