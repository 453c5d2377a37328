"""Several steps per dispatch on WebNN: the same numbers, with nothing left behind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.harness import PyodidePage

PROGRAM = """
from webnnm import IrisDataset, NNModel
from webnnm.trainer.double_buffer import DoubleBuffer
from webnnm.trainer.tuner import DispatchTuner

source = '''
model:input shape=[4]; model:output shape=[3];
model:layers matmul(w, shape=[16]), add(b), relu(), dropout(0.1), matmul(w), add(b), softmax();
'''
chosen = []
unroll = DoubleBuffer.unroll

async def noted(self, times):
    chosen.append(times)
    await unroll(self, times)

# What a quiet machine measures; how this one does is not what the test is about.
record, decide = DispatchTuner.record, DispatchTuner.micro_steps
COSTS = {"dispatch": 8e-5, "device_build": 0.003, "build": 0.03}

DoubleBuffer.unroll = noted
DispatchTuner.record = lambda tuner, steps, _: record(tuner, steps, steps * 1e-4)
DispatchTuner.micro_steps = lambda tuner, **facts: decide(tuner, **{**facts, **COSTS})
result = []
try:
    for micro_steps in choices:
        chosen.clear()
        model = await NNModel.create(
            source=source, backend="webnn", dataset=await IrisDataset.create(standardize=True),
            log=lambda _: None, seed=3,
        )
        before = model.backend.memory()
        history = await model.train(
            epochs=epochs, batch_size=16, micro_steps=micro_steps, seeds=0, patience=10**6
        )
        after = model.backend.memory()
        result.append({
            "losses": [repr(loss) for loss in history.losses],
            "weights": [repr(p.value.tolist()) for p in model.params()],
            "best": history.best_epoch,
            "chosen": max(chosen),
            "grown": [after.graphs - before.graphs, after.tensors - before.tensors],
        })
        model.close()
finally:
    DoubleBuffer.unroll, DispatchTuner.record, DispatchTuner.micro_steps = unroll, record, decide
result
"""


async def train(page: PyodidePage, epochs: int, *choices: Any) -> list[dict[str, Any]]:
    return await page.run_python(PROGRAM, epochs=epochs, choices=list(choices))


async def test_numbers_are_the_same_to_the_last_digit(pyodide_page: PyodidePage) -> None:
    first, *others = await train(pyodide_page, 12, 1, 2, 7, 16)
    for other in others:
        assert {**other, "chosen": 1} == first
    assert first["grown"] == [0, 0]


async def test_a_long_training_of_a_small_model_shares_dispatches(
    pyodide_page: PyodidePage,
) -> None:
    single, found = await train(pyodide_page, 600, 1, "auto")
    assert found["losses"] == single["losses"]
    assert found["weights"] == single["weights"]
    assert found["chosen"] > 1
    assert found["grown"] == [0, 0]


@pytest.mark.parametrize("epochs", [1, 3])
async def test_a_short_training_builds_one_graph(pyodide_page: PyodidePage, epochs: int) -> None:
    (found,) = await train(pyodide_page, epochs, "auto")
    assert found["chosen"] == 1
