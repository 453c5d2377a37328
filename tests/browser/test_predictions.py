"""Predictions on WebNN: one call into the bridge each, at the same time, cancelled, and failing."""

from __future__ import annotations

import pytest

from tests.browser.harness import PyodidePage

START = """
import asyncio
from pyodide.ffi import can_run_sync, run_sync
from webnnm import BackendError, ContextLost, GraphBuilder, NNModel
from webnnm.backends import pyodide_host
from webnnm.backends.webnn import WebNNBackend
from webnnm.core.arrays import HostArray

SOURCE = '''
m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[8]), relu(), matmul(w), softmax();
'''
rows = [[k / 7, 1 - k / 9, (k % 3) / 2, -k / 40] for k in range(100)]

async def create(**settings):
    given = {"source": SOURCE, "backend": "webnn", "log": lambda _: None, "seed": 3}
    return await NNModel.create(**given | settings)

async def failure(call):
    try:
        return await call
    except BackendError as error:
        return [type(error).__name__, error.code, error.message]
"""
COUNT = """
calls = []
module = (await pyodide_host.load_bridge()).module

class Counted:
    def __getattr__(self, name):
        found = getattr(module, name)
        def call(*given):
            calls.append(name)
            return found(*given)
        return call

pyodide_host.BRIDGES[0].module = Counted()
"""


async def test_a_prediction_is_one_call_of_the_bridge(pyodide_page: PyodidePage) -> None:
    program = """
model = await create()
await model.predict(rows[:1])
await model.predict(rows)
calls.clear()
await model.predict(rows[0])
result = [calls[:]]
await model.predict(rows)
model.close()
pyodide_host.BRIDGES[0].module = module
[*result, calls]
"""
    found = await pyodide_page.run_python(START + COUNT + program)
    assert found == [["run"], ["run", "run", "run", "close"]]


async def test_predictions_at_the_same_time_are_those_of_each(pyodide_page: PyodidePage) -> None:
    program = """
model = await create()
sizes = [1, 3, 20, 100, 2, 1, 70, 16] * 2
alone = [[list(row) for row in (await model.predict(rows[:n])).tolist()] for n in sizes]
found = await asyncio.gather(*(model.predict(rows[:n]) for n in sizes))
result = [values.tolist() == expected for values, expected in zip(found, alone, strict=True)]
model.close()
result
"""
    assert await pyodide_page.run_python(START + program) == [True] * 16


async def test_predictions_that_are_cancelled_leave_the_next_ones_right(
    pyodide_page: PyodidePage,
) -> None:
    program = """
model = await create()
expected = (await model.predict(rows[:4])).tolist()
held = model.memory()
result = []
for turns in range(8):
    tasks = [asyncio.ensure_future(model.predict(rows[n : n + 4])) for n in range(5)]
    for _ in range(turns):
        await asyncio.sleep(0)
    for task in tasks[:4]:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    result.append(all(isinstance(e, asyncio.CancelledError) or len(e) == 4 for e in ended))
    result.append(len(ended[4]) == 4 and (await model.predict(rows[:4])).tolist() == expected)
result.append(model.memory() == held)
model.close()
result
"""
    assert await pyodide_page.run_python(START + program) == [True] * 17


async def test_who_predicted_can_still_wait_without_await(pyodide_page: PyodidePage) -> None:
    program = """
model = await create()
waits = can_run_sync()
from webnnm import sync
found = await model.predict(rows[:1])
result = [can_run_sync() == waits]
if waits:
    result.append(run_sync(model.predict(rows[:1])).tolist() == found.tolist())
    beside = asyncio.ensure_future(model.predict(rows[:1]))
    run_sync(asyncio.sleep(0))
    result.append((await beside).tolist() == found.tolist())
model.close()
result
"""
    found = await pyodide_page.run_python(START + program)
    assert all(found)


async def test_a_turn_of_the_event_loop_lets_who_predicted_wait(pyodide_page: PyodidePage) -> None:
    program = """
model = await create()
waits = can_run_sync()
await model.predict(rows[:1])
await asyncio.sleep(0)
result = can_run_sync() == waits
model.close()
result
"""
    assert await pyodide_page.run_python(START + program)


async def test_a_prediction_without_its_device_says_so(pyodide_page: PyodidePage) -> None:
    program = """
model = await create()
await model.predict(rows[:1])
context = await model.create_context()
context.set_data(rows[0])
await model.run(context)
model.close()
result = [await failure(model.predict(rows[:1])), await failure(model.run(context))]
[[name, code] for name, code, _ in result]
"""
    found = await pyodide_page.run_python(START + program)
    assert found == [["BackendError", "NNM709"]] * 2


async def test_a_runner_on_webnn(pyodide_page: PyodidePage) -> None:
    """What docs/backends.md promises of runners, and that none is left behind."""
    program = """
backend = await WebNNBackend.open()
b = GraphBuilder()
x, k = b.input("x", "float32", [2]), b.input("k", "int32", [2])
graph = await backend.compile(b.build({"y": x * 2, "z": k + 1}))
held = backend.memory()
given = {n: await backend.tensor(t) for n, t in graph.inputs.items()}
found = {n: await backend.tensor(t) for n, t in graph.outputs.items()}
runner = backend.runner(graph, given, found, ["k", "x"], ["z", "y"])
data = [HostArray.of([1, 2], "int32"), HostArray.of([3, 4])]
result = [[array.tolist() for array in await runner.run(data)] for _ in range(2)]
result.append((await failure(runner.run(data[::-1])))[:2])
fixed = backend.runner(graph, given, found, ["x"], ["y"])
result.append([array.tolist() for array in await fixed.run([HostArray.of([5, 6])])])
fixed.close()
fixed.close()
result.append((await failure(fixed.run([HostArray.of([5, 6])])))[:2])
backend.release(found["z"])
result.append((await failure(runner.run(data)))[:2])
runner.close()
backend.release(*given.values(), *found.values())
result.append(backend.memory() == held)
backend.close()
result
"""
    run = [[2, 3], [6, 8]]
    gone = ["BackendError", "NNM709"]
    assert await pyodide_page.run_python(START + program) == [
        run, run, gone, [[10, 12]], gone, gone, True
    ]  # fmt: skip


async def test_a_run_ends_though_its_runner_is_closed(pyodide_page: PyodidePage) -> None:
    program = """
backend = await WebNNBackend.open()
b = GraphBuilder()
graph = await backend.compile(b.build({"y": b.input("x", "float32", [2]) * 2}))
given = {"x": await backend.tensor(graph.inputs["x"])}
found = {"y": await backend.tensor(graph.outputs["y"])}
runner = backend.runner(graph, given, found, ["x"], ["y"])
running = runner.begin([HostArray.of([1.0, 2.0], "float32")])
runner.close()
[result] = await running
backend.close()
result.tolist()
"""
    assert await pyodide_page.run_python(START + program) == [2, 4]


async def test_a_context_that_is_lost_during_a_prediction(pyodide_page: PyodidePage) -> None:
    program = """
from pyodide.code import run_js
fail = run_js('''() => {
  const { readTensor } = MLContext.prototype;
  MLContext.prototype.readTensor = async function lost() {
    this.destroy();
    throw new DOMException("gone", "InvalidStateError");
  };
  return () => { MLContext.prototype.readTensor = readTensor; };
}''')
model = await create()
await model.predict(rows[:1])
mend = fail()
try:
    result = await failure(model.predict(rows[:1]))
finally:
    mend()
again = await failure(model.predict(rows[:1]))
model.close()
[result[:2], again[:2]]
"""
    assert await pyodide_page.run_python(START + program) == [["ContextLost", "NNM716"]] * 2


@pytest.mark.parametrize("rows", [1, 64])
async def test_javascript_objects_do_not_grow_with_predictions(
    pyodide_page: PyodidePage, rows: int
) -> None:
    program = """
import gc
from pyodide.code import run_js
alive = run_js("() => pyodide._module._hiwire_num_refs()")
model = await create()
counts = []
for _ in range(4):
    for _ in range(20):
        await model.predict(rows[:count])
    gc.collect()
    counts.append(alive())
model.close()
len({*counts})
"""
    assert await pyodide_page.run_python(START + program, count=rows) == 1
