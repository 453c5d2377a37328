"""Writes the fixtures anew from PyTorch, or those of some groups: `make parity-fixtures`."""

from __future__ import annotations

import sys
from functools import partial

from tests.parity import fixtures
from tests.parity.cases import CASES
from tests.parity.pretrained.families import FAMILIES
from tests.parity.pretrained.live import record as record_pretrained
from tests.parity.pretrained.live import record_texts
from tests.parity.tasks.in_pipelines import record as record_pictures
from tests.parity.tasks.in_processors import record as record_processors
from tests.parity.tasks.in_segments import record as record_segments
from tests.parity.tasks.in_sounds import record as record_sounds
from tests.parity.tasks.in_speech import record as record_speech
from tests.parity.torch_reference import expected
from tests.parity.training.live import record as record_training
from tests.parity.tuning.live import record as record_tuning


def record_operators() -> None:
    """Compute the cases of operators."""
    fixtures.write({str(case): fixtures.Fixture(*expected(case, fixtures.SEED)) for case in CASES})
    size = fixtures.FILE.stat().st_size / 1000
    print(f"{fixtures.FILE.name}: {len(CASES)} cases, {size:.0f} kB")


GROUPS = {
    "operators": record_operators,
    "training": record_training,
    **{family: partial(record_pretrained, family) for family in FAMILIES},
    "texts": record_texts,
    "processors": record_processors,
    "picture-tasks": record_pictures,
    "segments": record_segments,
    "sound-tasks": record_sounds,
    "speech-tasks": record_speech,
    "tuning": record_tuning,
}


def main(groups: list[str]) -> None:
    """Compute every case of the groups, by default of all, and write their files."""
    if unknown := [group for group in groups if group not in GROUPS]:
        raise SystemExit(f"unknown groups: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    for group in groups or GROUPS:
        GROUPS[group]()


if __name__ == "__main__":
    main(sys.argv[1:])
