"""Damaged ONNX models: errors of the package alone, in bounded time."""

from __future__ import annotations

import os
import random

from tests.conformance.onnx_cases import cases
from webnnm.core.errors import WebNNMError
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.reader import read_model

CASES = cases()
SMALL = sorted(name for name, case in CASES.items() if len(case.model) < 4_000)
SEEDS = 400
"""Files that are damaged here; WEBNNM_DAMAGED_FILES sets another number."""


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return a file with a few bytes changed, repeated, or left out."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(found))
        what = rng.random()
        if what < 0.7:
            found[place] = (
                rng.randrange(256) if what < 0.5 else found[place] ^ 1 << rng.randrange(8)
            )
        elif what < 0.85 and len(found) > 2:
            del found[place : place + rng.randint(1, 8)]
        else:
            found[place:place] = found[place : place + rng.randint(1, 16)]
        if not found:
            return b"\0"
    return bytes(found)


def test_damaged_models_raise_errors_of_the_package_alone() -> None:
    rng = random.Random(7)
    imported = 0
    for _ in range(int(os.environ.get("WEBNNM_DAMAGED_FILES", SEEDS))):
        case = CASES[rng.choice(SMALL)]
        data = damage(case.model, rng)
        try:
            import_model(read_model(data), {name: s for name, (_, s, _) in case.inputs.items()})
            imported += 1
        except WebNNMError as error:
            assert error.code.startswith(("NNM7", "NNM8")), error
    assert imported
