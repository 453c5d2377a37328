"""Writes the fixtures anew from PyTorch: `make parity-fixtures`."""

from __future__ import annotations

from tests.parity import fixtures
from tests.parity.cases import CASES
from tests.parity.pretrained.live import record as record_pretrained
from tests.parity.torch_reference import expected
from tests.parity.training.live import record
from tests.parity.tuning.live import record as record_tuning


def main() -> None:
    """Compute every case and write the file."""
    fixtures.write({str(case): fixtures.Fixture(*expected(case, fixtures.SEED)) for case in CASES})
    size = fixtures.FILE.stat().st_size / 1000
    print(f"{fixtures.FILE.name}: {len(CASES)} cases, {size:.0f} kB")
    record()
    record_pretrained()
    record_tuning()


if __name__ == "__main__":
    main()
