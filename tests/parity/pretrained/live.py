"""Models of Hugging Face beside `transformers`, live: part of `make parity`."""

from __future__ import annotations

import transformers

from tests.parity.pretrained import fixtures
from tests.parity.pretrained.cases import CASES
from tests.parity.pretrained.in_transformers import computed
from tests.parity.pretrained.outcome import LIMIT, difference, outputs


def report(seed: int) -> bool:
    """Print how far every model is from `transformers`; tell whether all are near enough."""
    print(f"\nModels of Hugging Face, transformers {transformers.__version__}, limit {LIMIT:g}")
    wrong = 0
    for case in CASES:
        wanted = computed(case, seed)
        found = difference(outputs(wanted, seed), wanted)
        wrong += found > LIMIT
        print(f"{case!s:22}  {found:.1e}{'  <- above' if found > LIMIT else ''}")
    print(f"{len(CASES) - wrong} of {len(CASES)} models agree with transformers.")
    return not wrong


def record() -> None:
    """Write the fixtures anew."""
    fixtures.write({str(case): computed(case, fixtures.SEED) for case in CASES})
    size = fixtures.FILE.stat().st_size / 1000
    print(f"pretrained/{fixtures.FILE.name}: {len(CASES)} models, {size:.0f} kB")


if __name__ == "__main__":
    record()
