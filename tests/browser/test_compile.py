"""Parameters as constants of graphs on WebNN: the same numbers, until parameters change."""

from __future__ import annotations

import pytest

from tests.browser.harness import PyodidePage

START = """
from webnnm import Dataset, NNModel

source = '''
model:input shape=[6]; model:output shape=[3];
model:layers matmul(w, shape=[32]), add(b), tanh(), matmul(w), add(b), softmax();
'''
x = [[((7 * k + 3 * j) % 11) / 5 - 1 for j in range(6)] for k in range(30)]
y = [[float(k % 3 == j) for j in range(3)] for k in range(30)]

async def create():
    return await NNModel.create(
        source=source, backend="webnn", log=lambda _: None, seed=5,
        dataset=Dataset(x, y, split=(1, 0, 0)),
    )
"""


async def test_compiled_predictions_are_those_of_the_parameters(pyodide_page: PyodidePage) -> None:
    program = """
model = await create()
before = model.memory()
plain = (await model.predict(x[:1])).tolist()
report = await model.compile()
compiled = (await model.predict(x[:1])).tolist()
await model.train(epochs=3, seeds=0)
trained = (await model.predict(x[:1])).tolist()
other = await create()
await other.load_params(model)
result = [plain, compiled, trained, (await other.predict(x[:1])).tolist(), report.constants]
result.append(model.memory().kinds["parameters"])
model.close()
other.close()
result
"""
    found = await pyodide_page.run_python(START + program)
    plain, compiled, trained, other, constants, parameters = found
    assert compiled == [pytest.approx(plain[0], rel=1e-5)]
    assert trained == [pytest.approx(other[0], rel=1e-6)]
    assert trained != [pytest.approx(plain[0], rel=1e-3)]
    assert constants == parameters == 4 * (6 * 32 + 32 + 32 * 3 + 3)


async def test_frozen_parameters_are_constants_of_the_step(pyodide_page: PyodidePage) -> None:
    program = """
from webnnm.trainer.double_buffer import DoubleBuffer
seen = []
close = DoubleBuffer.close

async def noted(self, kept):
    seen.append([sorted(self.frozen), sorted(self.fixed)])
    await close(self, kept)

DoubleBuffer.close = noted
try:
    model = await create()
    start = {p.name: p.value.tolist() for p in model.params()}
    history = await model.train(epochs=4, freeze=0.6, micro_steps=2, seeds=0)
    moved = [p.name for p in model.params() if p.value.tolist() != start[p.name]]
finally:
    DoubleBuffer.close = close
model.close()
[seen, moved]
"""
    seen, moved = await pyodide_page.run_python(START + program)
    frozen = [name for name in ("b1", "b2", "w1", "w2") if name not in moved]
    assert frozen and moved
    assert seen == [[[f"param/{name}" for name in frozen], []]]
