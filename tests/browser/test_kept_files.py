"""Snapshots that a browser keeps: whole whenever the page is closed, saved when it is hidden."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page

from tests.browser.conftest import Launch
from tests.browser.harness import START, PageLog, PyodidePage, new_context

NAME = "browser:kept.webnnm.safetensors"
WITHOUT_FILES = "delete FileSystemFileHandle.prototype.createWritable;"
"""Makes the browser keep files in IndexedDB, as one without a private file system."""

# Counts what a page asks its storage to keep: savings, and the calls that they are made of.
COUNT = """
globalThis.begun = globalThis.calls = 0;
for (const [{ prototype }, name] of [
  [FileSystemFileHandle, "createWritable"], [FileSystemWritableFileStream, "write"],
  [FileSystemWritableFileStream, "close"], [IDBObjectStore, "put"],
]) {
  const call = prototype[name];
  if (call) prototype[name] = function (...given) {
    globalThis.calls += 1;
    if (name === "createWritable" || name === "put") globalThis.begun += 1;
    return call.apply(this, given);
  };
}
"""

TRAIN = """
from webnnm import Dataset, NNModel

source = '''
m:input shape=[60]; m:output shape=[2];
m:layers matmul(w, shape=[2000]), tanh(), matmul(w);
'''
rows = [[(i * j) % 7 / 7 for j in range(60)] for i in range(64)]
dataset = Dataset(rows, [[row[0], row[1]] for row in rows], split=(1, 0, 0))
model = await NNModel.create(source=source, dataset=dataset, backend="webnn", log=lambda _: None)
training = model.train(
    epochs=1_000_000, seeds=0, progress="off", patience=1_000_000, restore_best=False,
    optimizer=optimizer, autosave=name, autosave_seconds=seconds,
)
"""
FOUND = """
from webnnm import DataError, NNModel

try:
    model = await NNModel.load(name, backend="webnn", log=lambda _: None)
    found = [model.step, model.checkpoint.settings["optimizer"]]
    model.close()
except DataError as error:
    found = [error.code, ""]
found
"""


@pytest.fixture(params=["files", "database"])
async def kept_context(
    request: Any, launch: Launch, page_log: PageLog
) -> AsyncIterator[BrowserContext]:
    """A fresh context that keeps files in each of the two ways."""
    context = await new_context(await launch("webnn"), page_log)
    if request.param == "database":
        await context.add_init_script(WITHOUT_FILES)
    yield context
    await context.close()


async def opened(context: BrowserContext, log: PageLog, site_url: str) -> PyodidePage:
    page: Page = await context.new_page()
    log.watch(page)
    await page.goto(f"{site_url}/tests/empty.html")
    index = f"{site_url}/vendor/pyodide"
    await page.evaluate(START, {"index": index, "packages": ["webnnm"]})
    return PyodidePage(page, log)


async def test_a_page_closed_during_autosave_leaves_a_whole_file(
    kept_context: BrowserContext, page_log: PageLog, site_url: str
) -> None:
    """Each page looks what the one before left, then saves files of another size over it.

    A page is closed at a call of its storage that is drawn, the first two when they have saved.
    """
    draw = random.Random(0)
    await kept_context.add_init_script(COUNT)
    most = 0
    found: list[list[Any]] = []
    for number in range(11):
        page = await opened(kept_context, page_log, site_url)
        found.append(await page.run_python(FOUND, name=NAME))
        optimizer = ("adam", "sgdm")[number % 2]
        await page.run_python(TRAIN, name=NAME, seconds=0.003, optimizer=optimizer)
        if number < 2:
            await page.page.wait_for_function("begun > 2")
            most = max(most, await page.page.evaluate("calls"))
        else:
            await page.page.wait_for_function("least => calls >= least", arg=draw.randrange(most))
        await page.page.close()
    print(f"found: {found}")
    page_log.check()
    assert found[0][0] == "NNM715", "nothing is there at first"
    steps = [entry for entry in found if isinstance(entry[0], int)]
    assert len(steps) == 10
    # What was there once is there for ever.
    assert found[-len(steps) :] == steps
    assert {optimizer for _, optimizer in steps} == {"adam", "sgdm"}


HIDDEN = """
import asyncio
from pyodide.code import run_js

while not training.history.epochs:
    await asyncio.sleep(0)
before = await kept()
run_js('''
Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
document.dispatchEvent(new Event("visibilitychange"));
''')
while not (after := await kept()):
    await asyncio.sleep(0)
await training.stop()
model.close()
[before, after]
"""
KEPT = """
from webnnm.backends.browser_files import kept_file

async def kept():
    found = await kept_file(name.removeprefix("browser:"))
    return None if found is None else len(found)
"""


async def test_a_hidden_page_saves_at_once(
    kept_context: BrowserContext, page_log: PageLog, site_url: str
) -> None:
    page = await opened(kept_context, page_log, site_url)
    program = TRAIN + KEPT + HIDDEN
    before, after = await page.run_python(program, name=NAME, seconds=3600.0, optimizer="adam")
    assert before is None
    assert after > 1_000_000
    page_log.check()


LARGE = """
from webnnm import NNModel

source = '''
m:input shape=[1024]; m:output shape=[8];
m:layers matmul(w, shape=[4900]), tanh(), matmul(w);
'''
model = await NNModel.create(source=source, backend="webnn", log=lambda _: None)
await model.save(name)
again = await NNModel.load(name, backend="webnn", log=lambda _: None)
same = all(
    bytes(model.parameters.value(p.name).data) == bytes(again.parameters.value(p.name).data)
    for p in model.params()
)
from webnnm.backends.browser_files import drop_file, kept_file
size = len(await kept_file(name.removeprefix("browser:")))
model.close()
again.close()
await drop_file(name.removeprefix("browser:"))
[same, size, await kept_file(name.removeprefix("browser:")) is None]
"""


async def test_a_large_model_is_kept(
    kept_context: BrowserContext, page_log: PageLog, site_url: str
) -> None:
    page = await opened(kept_context, page_log, site_url)
    same, size, gone = await page.run_python(LARGE, name=NAME)
    page_log.check()
    assert same
    assert size > 20_000_000
    assert gone
