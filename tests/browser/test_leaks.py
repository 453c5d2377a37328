"""Nothing is left behind on the device or in JavaScript: training, testing, opening, closing."""

from __future__ import annotations

from tests.browser.harness import PyodidePage

START = """
import gc
from webnnm import IrisDataset, NNModel
SOURCE = '''
model:input shape=[4]; model:output shape=[3];
model:layers dense(shape=[3], activation=relu), dense(shape=[3], activation=softmax);
dense:layers matmul(w), add(b), activation();
'''

async def create():
    dataset = await IrisDataset.create(standardize=True, split=(0.7, 0.15, 0.15))
    return await NNModel.create(
        source=SOURCE, dataset=dataset, backend="webnn", log=lambda _: None
    )

def held(model):
    ledger = model.memory()
    return [ledger.graphs, ledger.tensors, ledger.bytes]
"""


async def test_a_thousand_steps_hold_what_ten_steps_held(pyodide_page: PyodidePage) -> None:
    """105 rows in batches of 11 are 10 steps an epoch."""
    program = """
model = await create()
before = held(model)
during = {}
await model.train(
    epochs=100, batch_size=11,
    on_epoch=lambda record: during.update({record.epoch: held(model)}) and None,
)
after = held(model)
steps = model.step
model.close()
[steps, before, during[1], during[100], len(set(map(tuple, during.values()))), after, held(model)]
"""
    steps, before, tenth, last, kinds, after, closed = await pyodide_page.run_python(
        START + program
    )
    assert steps == 1000
    assert tenth == last
    assert kinds == 1
    assert after == before
    assert closed == [0, 0, 0]


async def test_open_and_close_leave_nothing(pyodide_page: PyodidePage) -> None:
    program = """
found = []
for _ in range(5):
    async with await create() as model:
        await model.train(epochs=2)
        await model.test()
        await model.predict([[1, 2, 3, 4]] * 9, batch_size=4)
        context = await model.create_context()
        context.randomize()
        await model.run(context)
        open = held(model)
    found.append([open, held(model)])
found
"""
    found = await pyodide_page.run_python(START + program)
    assert all(entry == found[0] for entry in found)
    assert found[0][1] == [0, 0, 0]
    assert found[0][0][1] > 0


async def test_errors_leave_nothing(pyodide_page: PyodidePage) -> None:
    program = """
model = await create()
before = held(model)
codes = []
class Stumble(Exception):
    pass
def stumble(record):
    raise Stumble
for settings in ({"on_epoch": stumble}, {"optimizer": "sgdm", "lr": 1e30}):
    try:
        await model.train(epochs=20, **settings)
    except Exception as error:
        codes.append(getattr(error, "code", type(error).__name__))
after = held(model)
model.close()
[codes, before == after]
"""
    assert await pyodide_page.run_python(START + program) == [["Stumble", "NNM708"], True]


async def test_predictions_keep_one_graph(pyodide_page: PyodidePage) -> None:
    program = """
model = await create()
await model.predict([[1, 2, 3, 4]] * 100)
before = held(model)
for rows in (1, 5, 64, 65, 100) * 3:
    await model.predict([[1, 2, 3, 4]] * rows)
after = held(model)
model.close()
[before, after]
"""
    before, after = await pyodide_page.run_python(START + program)
    assert before == after


async def test_proxies_do_not_grow(pyodide_page: PyodidePage) -> None:
    """Pyodide numbers the JavaScript objects that Python holds: the numbers do not rise."""
    program = """
from pyodide.code import run_js
alive = run_js("() => pyodide._module._hiwire_num_refs()")
model = await create()
await model.train(epochs=5, batch_size=11)
counts = []
for _ in range(4):
    await model.train(epochs=20, batch_size=11)
    await model.test()
    gc.collect()
    counts.append(alive())
model.close()
counts
"""
    counts = await pyodide_page.run_python(START + program)
    print(f"JavaScript objects that Python holds after each training: {counts}")
    assert counts[-1] <= counts[0] + 2
