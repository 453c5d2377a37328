"""The committed file: what PyTorch made of every training, its losses and then its parameters."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.parity.training.runs import RUNS, Outcome, Run, steps
from webnnm.core.shapes import count

FILE = Path(__file__).with_name("fixtures.npz")
SEED = 0
REMEDY = "`make parity-fixtures` writes them anew"


def write(outcomes: Mapping[str, Outcome]) -> None:
    """Write the file anew, one array per run."""
    flat = {
        name: np.concatenate([outcome.losses, *outcome.parameters.values()], dtype=np.float32)
        for name, outcome in outcomes.items()
    }
    np.savez_compressed(FILE, allow_pickle=False, **flat)


def read() -> dict[str, Outcome]:
    """Return the outcomes by the names of the runs. Raises `ValueError` for an old file."""
    runs = {str(run): run for run in RUNS}
    with np.load(FILE) as file:
        strange = [name for name in file.files if name not in runs]
        if strange:
            raise ValueError(f"fixtures of no run: {', '.join(strange)}; {REMEDY}")
        return {name: _outcome(runs[name], file[name]) for name in file.files}


def _outcome(run: Run, flat: np.ndarray) -> Outcome:
    sizes = [steps(run), *map(count, run.network.parameters.values())]
    if len(flat) != sum(sizes):
        raise ValueError(f"the fixture of {run} has {len(flat)} numbers; {REMEDY}")
    parts = (array("f", part.tolist()) for part in np.split(flat, np.cumsum(sizes)[:-1]))
    losses, *parameters = parts
    return Outcome(losses, dict(zip(run.network.parameters, parameters, strict=True)))
