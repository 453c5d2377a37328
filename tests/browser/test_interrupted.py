"""Trainings on WebNN that are cancelled, or lose their device, stand at a step that is known."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, async_playwright

from tests import records
from tests.browser.harness import PyodidePage, open_pyodide
from tools import chromium
from tools.common import playwright_config

MOMENTS = 12
"""Moments of cancellation; `WEBNNM_MOMENTS` asks for more."""

# The page counts the epochs of Iris in steps of 7 batches; some calls have several epochs.
SET_UP = """
import asyncio
import js
from pyodide.code import run_js
from webnnm import BackendError, ContextLost, DataError, IrisDataset, NNModel

source = '''
model:input shape=[4]; model:output shape=[3];
model:layers matmul(w, shape=[8]), add(b), tanh(), dropout(0.1), matmul(w), add(b), softmax();
'''
settings = {"epochs": 30, "batch_size": 15, "seeds": 0, "progress": "off", "optimizer": "adam"}

async def create(**more):
    data = await IrisDataset.create(standardize=True, split=split)
    return await NNModel.create(
        source=source, dataset=data, backend="webnn", log=lambda _: None, **more
    )

async def on_device(model):
    found = await model.backend.read(*model.state.parameters.tensors.values())
    return {n: a.tolist() for n, a in zip(model.state.parameters.tensors, found)}

def values(model):
    return {p.name: model.state.parameters.value(p.name).tolist() for p in model.params()}

def held(model):
    usage = model.memory()
    return [usage.graphs, usage.tensors, usage.bytes]

run_js('''(() => {
  const { ml } = navigator;
  const create = ml.createContext.bind(ml);
  ml.createContext = async (options) => (globalThis.caught = await create(options));
})()''')
"""
CANCEL = """
from webnnm.backends.pyodide_host import Bridge
from webnnm.trainer.tuner import DispatchTuner

begun, call, reached = 0, 0, asyncio.Event()
run_steps = Bridge.steps
tuned_steps, tuned_epochs = DispatchTuner.steps_per_call, DispatchTuner.epochs_per_call

async def counted(self, *given):
    global begun
    begun += 1
    if begun == call:
        reached.set()
    return await run_steps(self, *given)

Bridge.steps = counted
settings["epochs"] = epochs
DispatchTuner.steps_per_call = lambda _tuner, left: min(left, 5)
DispatchTuner.epochs_per_call = lambda _tuner, _steps, most: min(3, most)
model = await create()
start = model.state.parameters.values()
history = await model.train(settings)
whole, losses, steps = values(model), history.losses, model.step
before = held(model)
found = []
for call, turns in moments:
    for name, array in start.items():
        model.state.parameters.set(name, array)
    model.step = 0
    training = asyncio.ensure_future(model.train(settings))
    training.add_done_callback(lambda _: reached.set())
    begun = 0
    reached.clear()
    if call:  # looking for it turn by turn would take ten times as long as the training
        await reached.wait()
    for _ in range(turns):
        await asyncio.sleep(0)
    training.cancel()
    await asyncio.wait([training])
    stood, standing = model.step, model.state.checkpoint
    wrong = []
    if held(model) != before:
        wrong.append(f"usage {held(model)}, not {before}")
    if await on_device(model) != values(model):
        wrong.append("the device has other parameters than the host")
    if training.cancelled() and standing is not None:
        taken = standing.best if standing.restored else standing.parameters
        if {n: a.tolist() for n, a in taken.items()} != values(model):
            wrong.append("the checkpoint has other parameters")
        if standing.step != stood:
            wrong.append(f"step {stood}, the checkpoint is of {standing.step}")
        end = await model.train(resume=True)
        if values(model) != whole or model.step != steps:
            wrong.append(f"resumed after step {stood}, it ends otherwise")
        later = losses[end.resumed_after:]
        others = [r.epoch for r, loss in zip(end.epochs, later) if r.loss != loss]
        if others or len(later) != len(end.epochs):
            wrong.append(f"resumed after step {stood}, losses are others in epochs {others}")
    found.append([call, stood, wrong])
model.close()
Bridge.steps = run_steps
DispatchTuner.steps_per_call, DispatchTuner.epochs_per_call = tuned_steps, tuned_epochs
[steps, found]
"""
LOSE = """
model = await create()
start = model.state.parameters.values()
before = held(model)
known = []

async def keep(record):
    if record.epoch == 10:
        await model.save()
        known.append(model.step)

def stumble(record):
    if record.epoch * 7 + record.batch == at:
        js.caught.destroy()

lost = None
try:
    await model.train(settings, on_epoch=keep, on_batch=stumble)
except ContextLost as error:
    lost = error
step = known[-1] if known else 0
file = await model.save()
answer = [
    model.step == step, f"step {step}" in lost.hint, held(model)[1:] <= before[1:],
    known or values(model) == {n: a.tolist() for n, a in start.items()},
]
stood = values(model)
model.close()
again = await NNModel.load(file, dataset=(await create()).state.binding().dataset, backend="webnn",
    log=lambda _: None)
answer.append(values(again) == stood)
end = await again.train(resume=True, on_epoch=None, on_batch=None)
answer.append(len(end.epochs) == 30 - step // 7)
reference = await create()
await reference.train(settings, on_batch=lambda record: None)
answer.append(values(again) == values(reference))
again.close()
reference.close()
[lost.code, list(map(bool, answer))]
"""
KILL = """
model = await create()
training = model.train(**{**settings, "epochs": 100_000, "patience": 100_000})
async for record in training:
    if record.epoch > 20:
        await model.save()  # the last state that the host knows
        stood = model.state.checkpoint
        break
js.document.title = "training"
try:
    await training
    result = "it ended"
except ContextLost as error:
    standing = model.state.checkpoint
    file = await model.save()
    result = [error.code, model.step == standing.step > 0, held(model)]
    host = values(model)
    while True:  # the browser may still be starting its process again
        try:
            await model.reopen()
            break
        except BackendError as refused:
            assert "service connection" in str(refused), refused
            await asyncio.sleep(0)
    result += [await on_device(model) == host, held(model)[1] == len(host)]
    end = await model.train(resume=True, epochs=standing.epoch + 3)
    result += [len(end.epochs), model.step == (standing.epoch + 3) * 7]
    again = await NNModel.load(file, backend="webnn", log=lambda _: None)
    result += [values(again) == host]
result
"""


def moments(seed: int, count: int, calls: int) -> list[tuple[int, int]]:
    """Return after how many calls, and turns of the event loop behind, to cancel."""
    draw = random.Random(seed)
    return [(draw.randrange(calls), draw.randrange(30)) for _ in range(count)]


@pytest.mark.parametrize(
    ("split", "epochs", "calls"),
    [([0.7, 0.15, 0.15], 15, 30), ([0.7, 0, 0.3], 30, 10)],
    ids=["each", "several"],
)
async def test_cancelled_at_any_moment_it_stands_at_a_known_step_and_goes_on(
    pyodide_page: PyodidePage, split: list[float], epochs: int, calls: int
) -> None:
    count = int(os.environ.get("WEBNNM_MOMENTS", MOMENTS)) // 2
    steps, found = await pyodide_page.run_python(
        SET_UP + CANCEL, moments=moments(7, count, calls), split=split, epochs=epochs
    )
    assert not [each for each in found if each[2]]
    stood = {step for _, step, _ in found}
    print(f"{len(found)} moments, {len(stood)} different steps of {steps}")
    assert len(stood) > 3


@pytest.mark.parametrize("at", [8, 20, 83, 150])
async def test_a_lost_context_leaves_what_the_host_knows(
    pyodide_page: PyodidePage, at: int
) -> None:
    code, answer = await pyodide_page.run_python(SET_UP + LOSE, at=at, split=[0.7, 0.15, 0.15])
    assert code == "NNM716"
    assert answer == [True] * 7


@pytest.fixture
async def own_page(site_url: str) -> AsyncIterator[tuple[PyodidePage, Browser]]:
    """A page in a browser of its own whose WebNN has another process than the page."""
    config = playwright_config()
    projects = {chromium.DEFAULT: "webnn", chromium.SECOND: config.SECOND}
    apart = [name for v, name in projects.items() if records.read(v)["process"] == "GPU"]
    if not apart:
        pytest.skip("WebNN computes in the page's process in all bundled Chromiums")
    async with async_playwright() as playwright:
        options = config.launch_options(apart[0])
        browser = await playwright.chromium.launch(**options)
        yield await open_pyodide(browser, site_url), browser
        await browser.close()


async def test_a_killed_process_of_webnn_leaves_what_the_host_knows(
    own_page: tuple[PyodidePage, Browser],
) -> None:
    page, browser = own_page
    program = asyncio.ensure_future(page.run_python(SET_UP + KILL, split=[0.7, 0, 0.3]))
    await page.page.wait_for_function("document.title === 'training'")
    session = await browser.new_browser_cdp_session()
    processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
    devices = [process["id"] for process in processes if process["type"] == "GPU"]
    assert len(devices) == 1, "WebNN runs in the process of the graphics"
    os.kill(devices[0], signal.SIGKILL)
    code, *answer = await program
    assert code == "NNM716"
    same_step, held, *others = answer
    assert same_step
    assert held[0] == 0, "no graph is left"
    assert others == [True, True, 3, True, True]


async def test_models_train_side_by_side(pyodide_page: PyodidePage) -> None:
    program = """
async def one(**more):
    model = await create()
    before = held(model)
    try:
        await model.train(settings, **more)
    except ZeroDivisionError:
        await model.train(resume=True, on_epoch=None)
    return model, held(model) == before

def stumble(record):
    if record.epoch == 11:
        1 / 0

found = await asyncio.gather(one(), one(), one(on_epoch=stumble), one())
result = [same for _, same in found] + [values(m) == values(found[0][0]) for m, _ in found]
for model, _ in found:
    model.close()
result
"""
    assert await pyodide_page.run_python(SET_UP + program, split=[0.7, 0.15, 0.15]) == [True] * 8


async def test_a_tensor_too_large_for_the_device_is_told(pyodide_page: PyodidePage) -> None:
    program = """
codes = []
model = await create()
before, weights = held(model), values(model)
wide = source.replace("shape=[8]", "shape=[300000000]")
try:
    await NNModel.create(source=wide, backend="webnn", log=lambda _: None)
except Exception as error:
    codes.append(getattr(error, "code", repr(error)))
history = await model.train(settings)
model.close()
[codes, held(model), history.stopped, before[1] == len(weights)]
"""
    codes, closed, stopped, whole = await pyodide_page.run_python(
        SET_UP + program, split=[0.7, 0.15, 0.15]
    )
    assert codes == ["NNM709"]
    assert (closed, stopped, whole) == ([0, 0, 0], "epochs", True)


# A training in a worker, which ends without a word, and one that goes on with what was kept.
WORKER = """
async ({ index, begin, go }) => {
  const text = `
    onmessage = async ({ data: { index, begin, go } }) => {
      const { loadPyodide } = await import(index + "/pyodide.mjs");
      const pyodide = await loadPyodide({ indexURL: index, packages: ["webnnm"] });
      pyodide.globals.set("epochs", begin);
      pyodide.runPythonAsync(go).then(postMessage, reportError);
    };
  `;
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const worker = new Worker(address, { type: "module" });
  const answer = new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
  });
  worker.postMessage({ index, begin, go });
  if (begin > 1000) {  // it is ended when there is something to go on with
    const root = await navigator.storage.getDirectory();
    const kept = async () => {
      const folder = await root.getDirectoryHandle("webnnm", { create: true });
      const file = await folder.getFileHandle("cut").then((it) => it.getFile(), () => null);
      return file?.size > 0;
    };
    const looking = (async () => {
      while (!await kept()) await new Promise((resolve) => { setTimeout(resolve, 50); });
    })();
    await Promise.race([looking, answer]);
    worker.terminate();
    return "terminated";
  }
  const told = await answer;
  worker.terminate();
  return told;
}
"""
IN_WORKER = """
import json
from webnnm import DataError, IrisDataset, NNModel
from webnnm.snapshots.storage import discard
source = "model:input shape=[4]; model:output shape=[3]; model:layers matmul(w), add(b), softmax();"
data = await IrisDataset.create(standardize=True)
if epochs > 1000:
    model = await NNModel.create(source=source, dataset=data, backend="webnn", log=lambda _: None)
    await model.train(epochs=epochs, patience=epochs, seeds=0, lr=1e-6, autosave="browser:cut",
        autosave_seconds=0.2)
else:
    model = await NNModel.load("browser:cut", dataset=data, backend="webnn", log=lambda _: None)
    standing = model.state.checkpoint
    history = await model.train(resume=True, epochs=standing.epoch + epochs)
    await discard("browser:cut")
    result = [len(history.epochs), history.resumed_after == standing.epoch]
json.dumps(result)
"""


async def test_a_training_goes_on_after_its_worker_was_terminated(
    pyodide_page: PyodidePage, site_url: str
) -> None:
    index = f"{site_url}/vendor/pyodide"
    for epochs, expected in ((10**7, "terminated"), (5, "[5, true]")):
        given = {"index": index, "begin": epochs, "go": IN_WORKER}
        assert await pyodide_page.page.evaluate(WORKER, given) == expected
