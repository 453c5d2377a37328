"""What the Iris page's trainer answers for a training that failed."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("numpy")
# A file of the site, which lies on the desktop.
pytestmark = pytest.mark.desktop

SITE = Path(__file__).resolve().parent.parent.parent / "site"


@pytest.fixture
def trainer() -> ModuleType:
    spec = spec_from_file_location("trainer", SITE / "trainer.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def answer(trainer: ModuleType, source: str, **hyperparameters: Any) -> dict[str, Any]:
    request = {
        "source": source,
        "seed": 0,
        "standardize": True,
        "hyperparameters": {"epochs": 3, "seeds": 0, **hyperparameters},
    }
    return json.loads(await trainer.train(json.dumps(request)))


async def test_divergence_is_among_the_findings(trainer: ModuleType) -> None:
    text = (SITE / "iris.nnm").read_text()
    told = await answer(trainer, text, lr=1e30, optimizer="sgdm")
    assert told["error"].startswith("NNM708")
    (finding,) = [f for f in told["review"]["findings"] if f["id"] == "E311"]
    assert finding["severity"] == "error"
    assert "epoch 1" in finding["message"]


async def test_what_fails_before_a_training_has_no_review(trainer: ModuleType) -> None:
    told = await answer(trainer, "m:input shape=[4];", lr=1e30)
    assert told["error"] and told["review"] is None
