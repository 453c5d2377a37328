"""Arrays on WebNN: eager operations, traced functions, gradients; memory goes with the names."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.browser.harness import PyodidePage

START = """
import gc
from webnnm import recompute, custom_gradient, grad, hessian, jit, scan, tree_map
from webnnm import value_and_grad, vmap, xp

device = await xp.open_device("webnn", device="cpu", host_elements=0)
xp.set_default_device(device)
def held():
    gc.collect()
    memory = device.memory()
    return [memory.arrays, memory.bytes]
"""

LOOP = """
from webnnm import NNModel, jit, optimizer, random, schedule, value_and_grad, xp
TEXT = '''
m:input shape=[3]; m:output shape=[1];
m:layers matmul(w, shape=[16], init=constant(0.3)), add(b, init=uniform(-1, 1)), tanh(),
  dropout(0.1), matmul(w, init=constant(0.1));
'''
def run(model, traced, steps=60):
    adam = optimizer("adamw", lr=schedule("cosine", lr=0.05, epochs=steps), weight_decay=0.01)
    x = random.normal(random.key(0), (64, 3))
    y = xp.sin(xp.sum(x, axis=1, keepdims=True))
    @traced
    def step(params, state, key):
        def loss(params):
            return xp.mean((model.apply(params, x, training=True, key=key)[0] - y) ** 2)
        value, gradients = value_and_grad(loss)(params)
        return *adam.update(gradients, state, params), value
    params = model.param_arrays()
    state, losses, builds = adam.init(params), [], []
    for number in range(steps):
        params, state, value = step(params, state, random.fold_in(random.key(1), number))
        losses.append(float(value))
        builds.append(x.device.builds)
    return losses, params, builds[-1] - builds[2]
"""
LOOP_ENDS = """
model = await NNModel.create(source=TEXT, backend=device.backend, log=lambda _: None)
losses, params, builds = run(model, jit(donate_argnames=["params", "state"]))
values = xp.reshape(params["w2"], (-1,)).tolist()
params = None
model.close()
[*losses, *values, held(), builds]
"""


async def test_programs_compute_on_webnn(pyodide_page: PyodidePage) -> None:
    program = """
x = xp.asarray([1.0, 2.0, 3.0])
y = x
for _ in range(20):
    y = y * 1.1 + 0.5
before = device.dispatches
total = float(xp.sum(y))
chain = device.dispatches - before
a = xp.reshape(xp.arange(24), (2, 3, 4))
a[a > 20] = -1
@jit
def newton(x):
    return scan(lambda c, _: (c - (c * c - x) / (2 * c), c), xp.ones_like(x), None, length=6)[0]
[
    round(total, 2), chain,
    a[1, ::-2, 1:3].tolist(), (await xp.sort(xp.asarray([3, 1, 2])).numpy()).tolist(),
    hessian(lambda v: xp.sum(v**3))(x).tolist(),
    vmap(grad(lambda v: xp.sum(xp.sin(v))))(xp.zeros((2, 2))).tolist(),
    [round(each, 4) for each in newton(xp.asarray([4.0, 9.0])).tolist()],
    str(x @ x), str(x[0] > 0),
    grad(lambda v: xp.sum(recompute(lambda a: a * a * a)(v)))(x).tolist(),
    grad(lambda v: xp.sum(custom_gradient(lambda a: (a, lambda g: g * 5))(v)))(x).tolist(),
]
"""
    y = [1.0, 2.0, 3.0]
    for _ in range(20):
        y = [each * 1.1 + 0.5 for each in y]
    assert await pyodide_page.run_python(START + program) == [
        round(sum(y), 2),
        1,
        [[-1, -1], [13, 14]],
        [1, 2, 3],
        [[6.0, 0.0, 0.0], [0.0, 12.0, 0.0], [0.0, 0.0, 18.0]],
        [[1.0, 1.0], [1.0, 1.0]],
        [2.0, 3.0],
        "Array(14.0, dtype=float32)",
        "Array(True, dtype=bool)",
        [3.0, 12.0, 27.0],
        [5.0, 5.0, 5.0],
    ]


async def test_small_arrays_are_computed_by_numpy_and_large_ones_by_webnn(
    pyodide_page: PyodidePage,
) -> None:
    program = """
import numpy
device = await xp.open_device("webnn", device="cpu")
x = xp.asarray([1.0, 2.0, 3.0], device=device)
small = (xp.exp(x) * 2).tolist()
none = device.dispatches
large = xp.ones(5000, device=device) * x[1]
total = float(xp.sum(large))
[small, none, total, device.dispatches, (await (x + 1).numpy()).tolist(), device.dispatches]
"""
    small, *rest = await pyodide_page.run_python(START + program)
    assert small == pytest.approx([2 * math.exp(k) for k in (1, 2, 3)], rel=1e-6)
    assert rest == [0, 10000.0, 1, [2.0, 3.0, 4.0], 1]


async def test_an_array_can_be_what_a_promise_is_fulfilled_with(
    pyodide_page: PyodidePage,
) -> None:
    program = """
import asyncio
from pyodide.code import run_js
async def doubled(x):
    return await (x * 2)
x = xp.ones(5000)
shape, then = await run_js('''async (doubled, x) => {
  const found = await doubled(x);
  return [String(found.shape), typeof found.then];
}''')(doubled, x)
y = asyncio.run(doubled(x))
z = await asyncio.ensure_future(x + 1)
more = await (y + z)
[shape, then, float(xp.sum(more)), isinstance(z, xp.Array), str(type(y)), more.tolist()[:2]]
"""
    shape, then, *rest = await pyodide_page.run_python(START + program)
    assert "5000" in shape
    assert then == "undefined"
    assert rest == [20000.0, True, "<class 'webnnm.eager.array.Array'>", [4.0, 4.0]]


async def test_training_by_hand_builds_nothing_and_holds_what_it_held(
    pyodide_page: PyodidePage,
) -> None:
    program = """
def loss(p, x, y):
    return xp.mean((xp.tanh(x @ p["w"]) @ p["v"] - y) ** 2)
def step(p, x, y, rate):
    value, gradient = value_and_grad(loss)(p, x, y)
    return tree_map(lambda a, g: a - rate * g, p, gradient), value
def run(step, p, steps):
    losses = []
    for number in range(steps):
        p, value = step(p, x, y, 0.1 + number / 1e4)
        losses.append(float(value))
        if number == 2:
            built = device.builds
            memory = held()
    return p, losses, device.builds - built, memory == held()
x = xp.reshape(xp.linspace(-1, 1, 32), (16, 2))
y = xp.sum(x, axis=1, keepdims=True)
start = {"w": xp.reshape(xp.linspace(-1, 1, 16), (2, 8)), "v": xp.ones((8, 1)) * 0.1}
eager = run(step, start, 100)
traced = run(jit(donate_argnames=["p"])(step), tree_map(lambda a: a + 0.0, start), 100)
x = y = start = None
found = [eager[1][0], eager[1][-1], traced[1][-1], eager[2:], traced[2:]]
eager = traced = None
[*found, held()]
"""
    first, last, jitted, eager, traced, left = await pyodide_page.run_python(START + program)
    assert last < 0.05 * first
    assert abs(jitted - last) < 1e-4 * first
    assert [*eager] == [0, True]
    assert [*traced] == [0, True]
    assert left == [0, 0]


async def test_a_browser_that_cannot_wait_is_told_to_await(pyodide_page: PyodidePage) -> None:
    program = """
device.backend.can_wait = lambda: False
x = xp.asarray([1.0, 2.0]) * 3
try:
    x.tolist()
except Exception as error:
    told = [type(error).__name__, str(error)]
shown = repr(x)
await x
[*told, shown, x.tolist(), (await (x + 1).numpy()).tolist()]
"""
    name, message, shown, known, awaited = await pyodide_page.run_python(START + program)
    assert name == "ArrayValueError"
    assert "await x.numpy()" in message
    assert shown == "Array(float32[2], to be awaited)"
    assert (known, awaited) == ([3.0, 6.0], [4.0, 7.0])


async def test_a_model_is_trained_by_hand_as_on_a_desktop(pyodide_page: PyodidePage) -> None:
    """The loop of docs/arrays.md, with dropout: the same numbers as on NumPy, and no leak."""
    found = await pyodide_page.run_python(START + LOOP + LOOP_ENDS)
    here: dict[str, Any] = {}
    exec(LOOP, here)
    model = await here["NNModel"].create(source=here["TEXT"], backend="numpy", log=lambda _: None)
    losses, params, _ = here["run"](model, here["jit"](donate_argnames=["params", "state"]))
    wanted = [*losses, *here["xp"].reshape(params["w2"], (-1,)).tolist()]
    *values, held, builds = found
    assert values == pytest.approx(wanted, abs=1e-4)
    assert losses[-1] < 0.5 * losses[0]
    assert (held, builds) == ([0, 0], 0)


async def test_a_function_is_the_loss_of_a_training(pyodide_page: PyodidePage) -> None:
    program = """
from webnnm import Dataset
async def trained(**settings):
    rows = [[(7 * row * (k + 2) % 11) / 5 - 1 for k in range(3)] for row in range(30)]
    data = Dataset(rows, [[a * b - c] for a, b, c in rows], split=(0.7, 0.3, 0))
    settings |= {"epochs": 5, "batch_size": 8, "progress": "off", "seeds": 0}
    text = TEXT.replace("m:layers", "m:loss MSE; m:layers").replace("dropout(0.1), ", "")
    model = await NNModel.create(
        source=text, dataset=data, backend=device.backend, log=lambda _: None
    )
    history = await model.train(settings)
    model.close()
    return [loss for each in history.epochs for loss in (each.loss, each.val_loss)]
def weighed(y, t, weights):
    return xp.sum(weights * (y - t)[:, 0] ** 2) / xp.sum(weights)
[await trained(), await trained(loss=lambda y, t: xp.mean((y - t) ** 2, axis=-1)),
 await trained(loss=weighed)]
"""
    wanted, *found = await pyodide_page.run_python(START + LOOP + program)
    assert wanted[-2] < wanted[0]
    for each in found:
        assert each == pytest.approx(wanted, rel=1e-5)


async def test_float64_is_refused_by_name(pyodide_page: PyodidePage) -> None:
    program = """
namespace = xp.__array_namespace_info__()
try:
    (xp.ones(2, dtype=xp.float64) * 2).tolist()
except Exception as error:
    told = [type(error).__name__, str(error)]
[*told, [name for name in ("float64", "uint64", "float32") if name in namespace.dtypes()]]
"""
    name, message, known = await pyodide_page.run_python(START + program)
    assert name == "BackendError"
    assert "does not compute float64" in message
    assert "xp.open_device" in message
    assert known == ["float32"]


# Keeps the browser's own context of a device, to destroy it behind the device's back.
CAUGHT = """
import js
import sys
from pyodide.code import run_js
from webnnm.core.errors import WebNNMError
run_js('''(() => {
  const { ml } = navigator;
  const create = ml.createContext.bind(ml);
  ml.createContext = async (options) => (globalThis.caught = await create(options));
})()''')
device = await xp.open_device("webnn", device="cpu", host_elements=0)
xp.set_default_device(device)
run_js("delete navigator.ml.createContext")
def failure(use):
    try:
        return use()
    except WebNNMError as error:
        return [type(error).__name__, error.code]
"""


async def test_arrays_of_a_lost_device_say_so_and_new_ones_are_computed(
    pyodide_page: PyodidePage,
) -> None:
    program = """
twice = jit(lambda a: a * 2)
x = xp.asarray([float(k) for k in range(2000)])  # too large to be kept by the host
y = x + 1
z = twice(x)
before = [float(y[1]), float(z[1])]
js.caught.destroy()
told = [failure(use) for use in (
    y.tolist, z.tolist, (y + 1).tolist, twice(y).tolist, lambda: float(xp.sum(x)),
)]
device = await xp.open_device("webnn", device="cpu", host_elements=0)
xp.set_default_device(device)
after = [(xp.asarray([1.0, 2.0]) * 3).tolist(), twice(xp.asarray([1.0])).tolist()]
lost = x.device
x = y = z = None
sys.last_exc = sys.last_value = sys.last_traceback = None  # Pyodide keeps the last error
gone = held()
[before, told, after, gone, lost.memory().arrays]
"""
    before, told, after, gone, lost = await pyodide_page.run_python(START + CAUGHT + program)
    assert before == [2.0, 2.0]
    assert told == [["ContextLost", "NNM716"]] * 5
    assert after == [[3.0, 6.0], [2.0]]
    assert gone == [0, 0]
    assert lost == 0


async def test_thousands_of_operations_hold_what_a_few_held(pyodide_page: PyodidePage) -> None:
    program = """
x = xp.ones(16)
def run(operations):
    y = x
    for number in range(operations // 4):
        y = xp.tanh(y * 0.5 + x) - 0.1
        if number % 50 == 0:
            float(y[0])
    return float(y[0])
def state():
    usage = device.backend.memory()
    return [*held(), usage.tensors, usage.graphs, device.builds]
run(800)
run(800)  # by now the ones are computed
before = state()
run(4000)
[before, state()]
"""
    before, after = await pyodide_page.run_python(START + program)
    assert after == before
