"""Losses, gradients and adapters are those of Hugging Face, as the committed fixtures have it."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.parity.tuning import cases
from tests.parity.tuning.cases import ADAPTED, CAUSAL, LIMIT, PAIRED, Learnt
from webnnm.formats.peft import CONFIG, WEIGHTS

models = cache(cases.models)
recorded = cache(cases.read)


@pytest.mark.parametrize("name", [*CAUSAL, *PAIRED])
async def test_a_step_is_that_of_transformers(name: str, tmp_path: Path) -> None:
    found = await cases.learnt(models()[name], tmp_path)
    assert found.apart(Learnt(*recorded()["learnt"][name])) <= LIMIT


@pytest.mark.parametrize("name", ADAPTED)
async def test_adapters_of_peft_give_its_logits(name: str, tmp_path: Path) -> None:
    fixture, adapter = models()[name], recorded()["adapters"][name]
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / CONFIG).write_text(json.dumps(adapter["config"]))
    (folder / WEIGHTS).write_bytes(base64.b64decode(adapter["file"]))
    async with await cases.open_model(fixture, tmp_path) as model:
        before = np.asarray((await model.predict(**fixture.inputs))["logits"])[0, -1]
        await model.load_lora(folder)
        found = np.asarray((await model.predict(**fixture.inputs))["logits"])[0, -1]
    assert cases.scores_apart(found, np.array(adapter["last"]), np.ones(1)) <= LIMIT
    assert np.abs(found - before).max() > 0.01
