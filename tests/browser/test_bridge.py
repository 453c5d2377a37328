"""The bridge and the WebNN backend on real WebNN, through Pyodide."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.browser.harness import PyodidePage

# What every program below starts with: a backend, and a counter whose step adds one.
START = """
import asyncio
from webnnm.core.arrays import HostArray
from webnnm.backends import pyodide_host
from webnnm.backends.probe import probe
from webnnm.backends.webnn import WebNNBackend
from webnnm.core.errors import BackendError, ContextLost
from webnnm.graph.builder import GraphBuilder
from webnnm.ops.declare.tensors import TensorType

VECTOR = TensorType("float32", (4,))

async def counter(backend):
    b = GraphBuilder()
    x = b.input("x", "float32", [4])
    step = b.input("step", "int32", [])
    executable = await backend.compile(b.build({"x'": x + 1, "step'": step + 1}))
    x = [await backend.tensor(VECTOR), await backend.tensor(VECTOR)]
    step = [await backend.tensor(TensorType("int32", ())) for _ in range(2)]
    buffers = tuple(
        ({"x": x[k], "step": step[k]}, {"x'": x[1 - k], "step'": step[1 - k]}) for k in range(2)
    )
    return executable, buffers, [(x[1], x[0]), (step[1], step[0])]

async def some_steps(backend, reads):
    while max([(await backend.read(tensor))[0].tolist() for tensor in reads[1]]) < 100:
        pass

async def failure(call):
    try:
        await call
    except BackendError as error:
        return [type(error).__name__, error.code, error.message]

backend = await WebNNBackend.open()
"""
END = "\nbackend.close()\nresult"


async def run(page: PyodidePage, program: str, **values: Any) -> Any:
    return await page.run_python(START + program + END, **values)


async def test_steps_alternate_between_the_buffers(pyodide_page: PyodidePage) -> None:
    program = """
executable, buffers, reads = await counter(backend)
result = []
first = 0
for count in (1, 2, 7, 1000):
    vector, step = await backend.run_steps(executable, buffers, first, count, reads)
    first += count
    result.append([vector.tolist(), step.tolist()])
"""
    counted = [1, 3, 10, 1010]
    assert await run(pyodide_page, program) == [[[n] * 4, n] for n in counted]


async def test_steps_leave_nothing_behind(pyodide_page: PyodidePage) -> None:
    program = """
executable, buffers, reads = await counter(backend)
await backend.run_steps(executable, buffers, 0, 10, reads)
before = backend.memory()
await backend.run_steps(executable, buffers, 10, 1000, reads)
same = backend.memory() == before
held = [before.graphs, before.tensors, before.bytes]
backend.close()
after = backend.memory()
result = [same, held, [after.graphs, after.tensors, after.bytes]]
"""
    # Two vectors, two counters, and the two constants of the graph.
    assert await run(pyodide_page, program) == [True, [1, 4, 48], [0, 0, 0]]


async def test_releasing_twice_is_allowed(pyodide_page: PyodidePage) -> None:
    program = """
executable, buffers, reads = await counter(backend)
tensors = [*buffers[0][0].values(), *buffers[1][0].values()]
backend.release(executable, *tensors)
backend.release(executable, *tensors)
usage = backend.memory()
again = await counter(backend)
result = [usage.graphs, usage.tensors, usage.bytes, backend.memory().graphs]
"""
    assert await run(pyodide_page, program) == [0, 0, 0, 1]


async def test_equal_graphs_are_built_once(pyodide_page: PyodidePage) -> None:
    program = """
(first, *_), (second, buffers, reads) = await asyncio.gather(counter(backend), counter(backend))
result = [backend.memory().graphs]
backend.release(first)
backend.release(first)
vector, step = await backend.run_steps(second, buffers, 0, 5, reads)
result.append(step.tolist())
backend.release(second)
result.append(backend.memory().graphs)
"""
    assert await run(pyodide_page, program) == [1, 5, 0]


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("float32", [1.5, -2.0, 3.0]),
        ("float16", [1.5, -2.0, 65504.0]),
        ("int64", [2**40, -1, 3]),
        ("uint64", [2**63, 1, 3]),
        ("int32", [2**31 - 1, -(2**31), 3]),
        ("uint32", [2**32 - 1, 0, 3]),
        ("int8", [-128, 127, 3]),
        ("uint8", [0, 255, 3]),
        ("int4", [-8, 7, 3]),
    ],
)
async def test_tensors_keep_what_was_written(
    pyodide_page: PyodidePage, dtype: str, values: list[float]
) -> None:
    program = """
type = TensorType(dtype, (3,))
data = HostArray.of(values, dtype)
made = await backend.tensor(type, data)
written = await backend.tensor(type)
(zero,) = await backend.read(written)
backend.write(written, data)
result = [zero.tolist(), *(array.tolist() for array in await backend.read(made, written))]
"""
    expected = [[0, 0, 0], values, values]
    assert await run(pyodide_page, program, dtype=dtype, values=values) == expected


async def test_graphs_that_do_not_fit_are_rewritten(pyodide_page: PyodidePage) -> None:
    program = """
data = {
    "h": HostArray.of([1, 2, -0.5], "float16"),
    "u": HostArray.of([1, 200, 3], "uint8"),
    "w": HostArray.of([1, 5, 4000000000], "uint32"),
    "i": HostArray.of([1, 2, 9], "int32"),
    "k": HostArray.of([-(2**31), 7, -7], "int32"),
    "r": HostArray.of(list(range(6)), "float32", [1, 1, 2, 1, 3, 1]),
}
b = GraphBuilder()
x = {name: b.input(name, array.dtype, array.shape) for name, array in data.items()}
half = x["h"] * 2.5
graph = b.build({
    "half": half, "again": half, "input": x["w"], "constant": b.constant([1, 2], "int8"),
    "sum": x["u"] + x["u"], "difference": x["w"] - 5, "quotient": b.div(x["i"], x["i"] - 2),
    "crash": b.div(x["k"], x["i"] - 2),
    "power": b.pow(x["r"], b.constant(2.0)), "less": b.lesser(x["w"], 6),
})
executable = await backend.compile(graph)
inputs = {n: await backend.tensor(t, data[n]) for n, t in executable.inputs.items()}
outputs = {n: await backend.tensor(t) for n, t in executable.outputs.items()}
backend.dispatch(executable, inputs, outputs)
found = await backend.read(*outputs.values())
result = {n: list(a.values()) for n, a in zip(outputs, found)}
"""
    assert await run(pyodide_page, program) == {
        "half": [2.5, 5, -1.25],
        "again": [2.5, 5, -1.25],
        "input": [1, 5, 4000000000],
        "constant": [1, 2],
        "sum": [2, 144, 6],
        "difference": [2**32 - 4, 0, 3999999995],
        "quotient": [-1, 0, 1],
        "crash": [-(2**31), 0, -1],
        "power": [0, 1, 4, 9, 16, 25],
        "less": [1, 1, 0],
    }


async def test_errors_name_the_label_and_the_remedy(pyodide_page: PyodidePage) -> None:
    program = """
from webnnm.compiler.plan import lower

b = GraphBuilder()
x = b.input("x", "float32", [2, 3])
with b.place('dense "hidden"'):
    plan = lower(b.build({"y": b.matmul(x, b.constant([[1.0], [2.0], [3.0]]))}))
plan.content["operators"][0]["operands"] = [0, 0]
bridge = await pyodide_host.load_bridge()
context = await bridge.open({}, {})
result = [await failure(bridge.build(context, plan)), bridge.memory(context)["graphs"]]
bridge.close(context)
"""
    (name, code, message), graphs = await run(pyodide_page, program)
    assert (name, code, graphs) == ("BackendError", "NNM505", 0)
    assert 'refused "matmul" (dense "hidden")' in message
    assert "number of columns (3)" in message


async def test_wrong_use_is_refused_with_a_sentence(pyodide_page: PyodidePage) -> None:
    program = """
executable, buffers, reads = await counter(backend)
inputs, outputs = buffers[0]
async def dispatch(inputs, outputs):
    backend.dispatch(executable, inputs, outputs)
x = inputs["x"]
result = [
    await failure(dispatch({"x": x}, outputs)),
    await failure(dispatch({**inputs, "step": x}, outputs)),
    await failure(dispatch(inputs, {**outputs, "x'": x})),
    await failure(backend.tensor(VECTOR, HostArray.of([1], "float32"))),
]
backend.release(x)
result.append(await failure(backend.read(x)))
backend.close()
result.append(await failure(backend.tensor(VECTOR)))
"""
    found = await run(pyodide_page, program)
    assert {(name, code) for name, code, _ in found} == {("BackendError", "NNM709")}
    messages = [message for _, _, message in found]
    assert messages[0] == 'no tensor is bound to the input "step" (int32[])'
    assert messages[1] == 'the input "step" is int32[], but the tensor bound to it is float32[4]'
    assert "every output needs a tensor" in messages[2]
    assert messages[3] == "the tensor is float32[4], but the data are float32[1]"
    assert "used after its release" in messages[4]
    assert "used after its release" in messages[5]


# Keeps the browser's own context of a backend, to destroy it behind the backend's back.
CATCH = """
import js
from pyodide.code import run_js
run_js('''(() => {
  const { ml } = navigator;
  const create = ml.createContext.bind(ml);
  ml.createContext = async (options) => (globalThis.caught = await create(options));
})()''')
backend.close()
backend = await WebNNBackend.open()
run_js("delete navigator.ml.createContext")
executable, buffers, reads = await counter(backend)
"""


async def test_a_lost_context_stops_steps_and_tells_the_last_good_one(
    pyodide_page: PyodidePage,
) -> None:
    program = """
running = asyncio.ensure_future(backend.run_steps(executable, buffers, 0, 10**9, reads))
await some_steps(backend, reads)
js.caught.destroy()
try:
    await running
except ContextLost as error:
    result = [error.code, error.step, error.message]
"""
    code, step, message = await run(pyodide_page, CATCH + program)
    assert code == "NNM716"
    assert 0 < step < 10**9
    assert "lost the device" in message


async def test_everything_after_a_loss_says_so(pyodide_page: PyodidePage) -> None:
    program = """
async def write():
    backend.write(buffers[0][0]["x"], HostArray.of([1, 2, 3, 4], "float32"))
async def dispatch():
    backend.dispatch(executable, *buffers[0])
js.caught.destroy()
# The first call comes before the browser tells of the loss.
calls = [write(), dispatch(), backend.tensor(VECTOR), backend.read(buffers[0][0]["x"])]
result = [await failure(call) for call in calls]
b = GraphBuilder()
result.append(await failure(backend.compile(b.build({"y": b.input("x", "float32", [2]) * 2}))))
"""
    found = await run(pyodide_page, CATCH + program)
    assert [name for name, _, _ in found] == ["ContextLost"] * 5


async def test_the_page_stays_alive_during_steps(pyodide_page: PyodidePage) -> None:
    """The page takes its turns while steps run that take hours."""
    program = """
running = asyncio.ensure_future(backend.run_steps(executable, buffers, 0, 10**9, reads))
await some_steps(backend, reads)
for _ in range(100):
    await asyncio.sleep(0)
result = running.done()
js.caught.destroy()
await asyncio.wait([running])
running.exception()
"""
    assert await run(pyodide_page, CATCH + program) is False


TODAY = """
import js
from pyodide.ffi import create_proxy

js.eval('''
const { createContext } = ML.prototype;
globalThis.requests = [];
globalThis.accelerated = true;
ML.prototype.createContext = function (options) {
  requests.push(options);
  return createContext.call(this);
};
Object.defineProperty(MLContext.prototype, "accelerated", {
  configurable: true, get: () => accelerated,
});
globalThis.restore = () => {
  ML.prototype.createContext = createContext;
  delete MLContext.prototype.accelerated;
};
''')
from webnnm import backend as open_backend
"""


async def test_a_context_of_todays_specification_is_asked_in_its_words(
    pyodide_page: PyodidePage,
) -> None:
    program = (
        TODAY
        + """
try:
    result = []
    for wish in ({}, {"device": "npu"}, {"accelerated": False, "power_preference": "low-power"}):
        js.accelerated = wish.get("accelerated", True)
        context = await open_backend("webnn", **wish)
        result.append([context.accelerated, context.device, context.description])
        context.close()
    seen = json.loads(js.JSON.stringify(js.requests))
    probed = (await probe(trials=False)).devices["cpu"].accelerated
finally:
    js.restore()
    js.eval("delete globalThis.restore; delete globalThis.accelerated;")
result = [result, seen, probed, backend.accelerated]
"""
    )
    opened, requests, probed, older = await run(pyodide_page, "import json\n" + program)
    assert opened == [
        [True, "cpu, accelerated", "WebNN (cpu, accelerated)"],
        [True, "cpu, accelerated (npu requested)", "WebNN (cpu, accelerated (npu requested))"],
        [
            False,
            "cpu, not accelerated (not accelerated low-power requested)",
            "WebNN (cpu, not accelerated (not accelerated low-power requested))",
        ],
    ]
    assert requests == [
        {},
        {"accelerated": True, "powerPreference": "low-power"},
        {"accelerated": False, "powerPreference": "low-power"},
    ]
    assert probed is False
    assert older is None, "contexts of this browser do not tell"


WATCH_TENSORS = """
import js, json

js.eval('''
const { createTensor } = MLContext.prototype;
globalThis.accesses = [];
MLContext.prototype.createTensor = function (descriptor) {
  accesses.push([descriptor.readable, descriptor.writable]);
  return createTensor.call(this, descriptor);
};
globalThis.restore = () => { MLContext.prototype.createTensor = createTensor; };
''')
"""


async def test_the_host_reads_and_writes_what_it_says(pyodide_page: PyodidePage) -> None:
    program = (
        WATCH_TENSORS
        + """
from webnnm.compiler.plan import lower
try:
    another = await WebNNBackend.open()
    b = GraphBuilder()
    plan = lower(b.build({"y": b.input("x", "float32", [2]) + 1}))
    once = await another._bridge.once(another._context, plan, bytes(8))
    asked = json.loads(js.JSON.stringify(js.accesses))
    await another.tensor(VECTOR)
    last = json.loads(js.JSON.stringify(js.accesses))[-1]
    another.close()
finally:
    js.restore()
    js.eval("delete globalThis.restore; delete globalThis.accesses;")
result = [asked, last, list(once.cast("f"))]
"""
    )
    asked, last, once = await run(pyodide_page, program)
    assert [False, True] in asked and [True, False] in asked
    assert not {(True, True), (False, False)} & set(map(tuple, asked)), "of trials and questions"
    assert last == [True, True], "a model's tensors may be moved to another backend"
    assert once == [1.0, 1.0]


@pytest.mark.usefixtures("numpy_in_pages")
async def test_probe_without_webnn(pyodide_page_without_webnn: PyodidePage) -> None:
    program = """
from webnnm.backends.probe import probe
found = await probe()
[found.webnn, found.sentence, await_error]
"""
    failing = """
from webnnm.backends.webnn import WebNNBackend
try:
    await WebNNBackend.open()
except Exception as error:
    await_error = str(error)
"""
    webnn, sentence, error = await pyodide_page_without_webnn.run_python(failing + program)
    assert not webnn
    why = "this browser has no WebNN (navigator.ml): "
    assert sentence.startswith(f"{why}small models run on NumPy, larger ones on ONNX Runtime")
    assert "NNM709: WebNN is not available: this browser has no WebNN" in error


async def test_a_bridge_registered_by_the_page_is_preferred(pyodide_page: PyodidePage) -> None:
    program = """
import js, sys
packed = list(pyodide_host.BRIDGES)
pyodide_host.BRIDGES.clear()
js.pyodide.registerJsModule("webnnm_bridge", packed[0].module)
try:
    registered = await WebNNBackend.open()
    bridge = pyodide_host.BRIDGES[0]
    own = bridge.module is sys.modules["webnnm_bridge"]
    result = [own, bridge is not packed[0], registered.device]
    registered.close()
finally:
    js.pyodide.unregisterJsModule("webnnm_bridge")
    sys.modules.pop("webnnm_bridge", None)
    pyodide_host.BRIDGES[:] = packed
"""
    assert await run(pyodide_page, program) == [True, True, "cpu"]


WORKER = """
async ({ index, code }) => {
  const source = `
    const { loadPyodide } = await import("${index}/pyodide.mjs");
    try {
      const pyodide = await loadPyodide({ indexURL: "${index}", packages: ["webnnm"] });
      const result = await pyodide.runPythonAsync(${JSON.stringify(code)});
      postMessage({ result });
    } catch (error) {
      postMessage({ error: String(error) });
    }
  `;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(address, { type: "module" });
  const { result, error } = await new Promise((resolve) => {
    worker.onmessage = (event) => resolve(event.data);
    worker.onerror = (event) => resolve({ error: event.message });
  });
  worker.terminate();
  if (error) throw new Error(error);
  return result;
}
"""


@pytest.mark.projects("worker")
async def test_the_same_runs_in_a_module_worker(page: Any, site_url: str, project: Any) -> None:
    program = """
executable, buffers, reads = await counter(backend)
vector, step = await backend.run_steps(executable, buffers, 0, 100, reads)
import json, js
result = json.dumps([hasattr(js, "document"), step.tolist(), backend.device])
"""
    await page.goto(f"{site_url}/tests/empty.html")
    given = {"index": f"{site_url}/vendor/pyodide", "code": START + program + END}
    assert json.loads(await page.evaluate(WORKER, given)) == [False, 100, "cpu"]


async def test_the_browser_shuffles_as_python_does(pyodide_page: PyodidePage) -> None:
    program = """
from webnnm.core import random

by_browser = list(random.FAST_SHUFFLES)
assert by_browser, "loading the bridge says so"
result = []
for n in (0, 1, 2, 3, 10, 257, 5000):
    one = random.Stream(4, 2, n).permutation(n)
    random.FAST_SHUFFLES.clear()
    result.append(one == random.Stream(4, 2, n).permutation(n))
    random.FAST_SHUFFLES.extend(by_browser)
from array import array
result.append(by_browser[-1](array("I", [2**32 - 1, 0]), 3) == array("i"))
result.append(by_browser[-1](array("I", [2**32 - 2, 0]), 3) != array("i"))
streams = [random.Stream(4, 2, n) for n in range(9)]
together = random.permutations(streams, 11)
one_by_one = [random.Stream(4, 2, n).permutation(11) for n in range(9)]
result.append([order.tolist() for order in together] == one_by_one)
"""
    assert await run(pyodide_page, program) == [True] * 10
