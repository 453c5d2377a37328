"""Trainings on WebNN go as they do in PyTorch: the same fixtures as on the reference."""

from __future__ import annotations

import pytest

from tests.browser.harness import PyodidePage
from tests.parity.training import fixtures, runs
from tests.parity.training.runs import Run


@pytest.mark.parametrize(
    "some", [runs.TRAININGS, runs.LOSSES], ids=["a hundred steps", "losses and gradients"]
)
async def test_trainings_go_as_in_pytorch(pyodide_page: PyodidePage, some: tuple[Run, ...]) -> None:
    """Losses of every batch, the last of them short, and parameters after all of them."""
    recorded = fixtures.read()
    jobs = {str(run): run for run in some}
    found = await pyodide_page.call(runs.train_all, jobs, "webnn", fixtures.SEED)
    apart = {name: runs.difference(found[name], recorded[name]) for name in jobs}
    for name, value in apart.items():
        print(f"{name}: {value:.1e}")
    above = {name: value for name, value in apart.items() if value > jobs[name].limit}
    assert not above
