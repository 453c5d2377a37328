"""Nothing is left behind on the device or in JavaScript: training, testing, opening, closing."""

from __future__ import annotations

import os

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
    usage = model.memory()
    return [usage.graphs, usage.tensors, usage.bytes]
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


async def test_predictions_keep_a_few_graphs(pyodide_page: PyodidePage) -> None:
    program = """
model = await create()
for rows in (1, 4, 16, 64):
    await model.predict([[1, 2, 3, 4]] * rows)
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


async def test_a_long_training_holds_what_its_first_epochs_held(pyodide_page: PyodidePage) -> None:
    """Memory of device and page, objects of Python; `WEBNNM_STEPS=1000000` takes its time."""
    program = """
from pyodide.code import run_js
from webnnm import Dataset, NNModel
heap = run_js("() => pyodide._module.HEAP8.length")
rows = 5000
source = "m:input shape=[2]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), add(b);"
x = [[k / rows, 1 - k / rows] for k in range(rows)]
data = Dataset(x, [[a - b] for a, b in x], split=(1, 0, 0))
model = await NNModel.create(source=source, dataset=data, backend="webnn", log=lambda _: None)
seen = []

def look(record):
    gc.collect()
    seen.append([*held(model), len(gc.get_objects()), heap()])

await model.train(
    epochs=steps // rows, batch_size=1, seeds=0, validation_split=0, patience=10**6,
    progress="off", on_epoch=look
)
told = [model.step, seen]
model.close()
told
"""
    steps = int(os.environ.get("WEBNNM_STEPS", "20000"))
    done, seen = await pyodide_page.run_python(START + program, steps=steps)
    assert done == steps
    graphs, tensors, sizes, objects, heaps = zip(*seen[1:], strict=True)
    print(f"{done:,} steps: {objects[0]:,} to {objects[-1]:,} objects, heap {heaps[0]:,} B")
    assert len(set(zip(tensors, sizes, strict=True))) <= 2, (
        "before and after steps share dispatches"
    )
    assert max(graphs) <= graphs[0] + 1
    # What is kept of an epoch is its record.
    assert objects[-1] - objects[0] < 20 * len(seen)
    assert heaps[-1] == heaps[0]
