"""Snapshots that a browser keeps: whole whenever the page is closed, saved when it is hidden."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page

from tests.browser.harness import PageLog, PyodidePage, open_pyodide_in
from tests.work import everything

NAME = "browser:kept.webnnm.safetensors"
PAGES = 11 if everything() else 7
"""Pages that are closed while they save."""
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
    // What is known of the browser is stored in the same way, but is not a file.
    if (name === "createWritable" || given[0] instanceof Blob) globalThis.begun += 1;
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
    found = [model.step, model.state.checkpoint.settings.optimizer]
    model.close()
except DataError as error:
    found = [error.code, error.message]
found
"""


@dataclass
class Kept:
    """A context where nothing is kept yet, and the scripts that its pages run first."""

    context: BrowserContext
    scripts: list[str]


@pytest.fixture(params=["files", "database"])
def scripts(request: Any) -> list[str]:
    """Has pages keep files in each of the two ways."""
    return [WITHOUT_FILES] if request.param == "database" else []


@pytest.fixture
def kept_context(scripts: list[str], webnn_context: BrowserContext) -> Kept:
    """The context that tests share, empty."""
    return Kept(webnn_context, scripts)


@pytest.fixture
def kept_profile(scripts: list[str], profile: BrowserContext) -> Kept:
    """A context of its own: the process of its pages ends with the last one."""
    return Kept(profile, scripts)


async def open_model(kept: Kept, log: PageLog, site_url: str) -> PyodidePage:
    return await open_pyodide_in(kept.context, log, site_url, scripts=kept.scripts)


async def test_a_page_closed_during_autosave_leaves_a_whole_file(
    kept_profile: Kept, page_log: PageLog, site_url: str
) -> None:
    """Each page looks what the one before left; but for the last, it then saves larger or smaller.

    A page is closed at a call of its storage that is drawn, the first two when they have saved. Of
    every three, two go while the next one is there already, and one with its process.
    """
    draw = random.Random(0)
    kept_profile.scripts.append(COUNT)
    most = 0
    found: list[list[Any]] = []
    following: PyodidePage | None = None
    last = PAGES - 1
    for number in range(last + 1):
        page = following or await open_model(kept_profile, page_log, site_url)
        beside = number % 3 and number < last
        following = await open_model(kept_profile, page_log, site_url) if beside else None
        found.append(await page.run_python(FOUND, name=NAME))
        if number == last:
            break
        optimizer = ("adam", "sgdm")[number % 2]
        await page.run_python(TRAIN, name=NAME, seconds=0.003, optimizer=optimizer)
        if number < 2:
            await page.page.wait_for_function("begun > 2")
            most = max(most, await page.page.evaluate("calls"))
        else:
            await page.page.wait_for_function("least => calls >= least", arg=draw.randrange(most))
        await page.page.close()
    print(f"found: {found}")
    assert found[0][0] == "NNM715", "nothing is there at first"
    steps = [entry for entry in found if isinstance(entry[0], int)]
    assert len(steps) == last
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
from webnnm.backends.browser_files import read_kept_file

async def kept():
    found = await read_kept_file(name.removeprefix("browser:"))
    return None if found is None else len(found)
"""


async def test_a_hidden_page_saves_at_once(
    kept_context: Kept, page_log: PageLog, site_url: str
) -> None:
    page = await open_model(kept_context, page_log, site_url)
    program = TRAIN + KEPT + HIDDEN
    before, after = await page.run_python(program, name=NAME, seconds=3600.0, optimizer="adam")
    assert before is None
    assert after > 1_000_000


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
    bytes(model.state.parameters.value(p.name).data)
    == bytes(again.state.parameters.value(p.name).data)
    for p in model.params()
)
from webnnm.backends.browser_files import drop_file, read_kept_file
size = len(await read_kept_file(name.removeprefix("browser:")))
model.close()
again.close()
await drop_file(name.removeprefix("browser:"))
[same, size, await read_kept_file(name.removeprefix("browser:")) is None]
"""


async def test_a_large_model_is_kept(kept_context: Kept, page_log: PageLog, site_url: str) -> None:
    page = await open_model(kept_context, page_log, site_url)
    same, size, gone = await page.run_python(LARGE, name=NAME)
    assert same
    assert size > 20_000_000
    assert gone


REFUSED = """
from webnnm import DataError
from webnnm.snapshots import storage

async def refusal(work):
    try:
        await work
    except DataError as error:
        return str(error)
"""
CLAIM = """
await storage.claim(name)
await storage.store(name, [b"whole"])
"""
OTHERS = """
found = [await refusal(work) for work in (
    storage.claim(name), storage.store(name, [b"other"]), storage.discard(name)
)]
found + [bytes(await storage.fetch(name)).decode()]
"""
RELEASED = """
await storage.store(name, [b"mine again"])
await storage.release(name)
await storage.store(name, [b"nobody's"])
await storage.claim(name)
await storage.claim(name)
await storage.release(name)
bytes(await storage.fetch(name)).decode()
"""


async def test_a_file_that_another_page_claims_is_neither_written_nor_removed(
    kept_context: Kept, page_log: PageLog, site_url: str
) -> None:
    one = await open_model(kept_context, page_log, site_url)
    other = await open_model(kept_context, page_log, site_url)
    await one.run_python(REFUSED + CLAIM, name=NAME)
    *refusals, kept = await other.run_python(REFUSED + OTHERS, name=NAME)
    assert kept == "whole"
    name = NAME.removeprefix("browser:")
    for text in refusals:
        assert text == (
            f'NNM807: another tab or window of this site is using the training "{name}"\n'
            "hint: files saved so far are unchanged; "
            "close it there, then try again here"
        )
    # A page may do with what it claimed whatever it likes, also when it has given it back once.
    assert await one.run_python(REFUSED + RELEASED, name=NAME) == "nobody's"
    assert (await other.run_python(REFUSED + OTHERS, name=NAME))[-1] == "nobody's"
    # The browser takes back what a page had that is closed.
    await one.page.close()
    program = REFUSED + "await refusal(storage.store(name, [b'other']))"
    async with asyncio.timeout(20):
        while await other.run_python(program, name=NAME):
            await asyncio.sleep(0.05)


TOLD = """
import builtins
builtins.told, builtins.lines = [], []

def heard(failure):
    told.append(str(failure) if failure else "")
"""
WATCHED = TRAIN.replace("lambda _: None", "lines.append").replace(
    "autosave=name", "autosave=name, on_autosave=heard"
)
UNTIL = """
import asyncio
from pathlib import Path
from webnnm import NNModel
from webnnm.snapshots import storage

count = len(told)
while len(told) < count + 2 or bool(told[-1]) is not failing:
    await asyncio.sleep(0.01)
content = bytes(await storage.fetch(name))
snapshot = await NNModel.load(content, log=lambda line: None)
step = snapshot.step
snapshot.close()
[told[-1], step]
"""
END = """
history = await training.stop()
model.close()
[len(history.epochs), history.stopped, [line for line in lines if "autosave" in line]]
"""


FULL_DATABASE = """
(full) => {
  globalThis.put ??= IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = full ? function (...record) {
    throw new DOMException("no room", "QuotaExceededError");
  } : globalThis.put;
}
"""


async def quota(page: Page, site_url: str, size: int | None) -> None:
    """Give the site so many bytes of storage as long as the page is there; None: as before."""
    session = await page.context.new_cdp_session(page)
    wanted = {} if size is None else {"quotaSize": size}
    await session.send("Storage.overrideQuotaForOrigin", {"origin": site_url, **wanted})


async def test_a_full_storage_costs_a_warning_and_the_file_before_stays(
    kept_context: Kept, page_log: PageLog, site_url: str, request: Any
) -> None:
    """The room is taken away while a training is kept, and comes back before it ends."""
    page = await open_model(kept_context, page_log, site_url)

    async def fill(size: int | None) -> None:
        if "files" in request.node.name:
            await quota(page.page, site_url, size)
        else:  # Chromium lets blobs of IndexedDB pass that are larger than the quota
            await page.page.evaluate(FULL_DATABASE, size is not None)

    share = "\nbuiltins.model, builtins.training = model, training"
    await page.run_python(TOLD + WATCHED + share, name=NAME, seconds=0.02, optimizer="adam")
    told, before = await page.run_python(UNTIL, name=NAME, failing=False)
    assert told == "" and before > 0
    await fill(1000)
    told, kept = await page.run_python(UNTIL, name=NAME, failing=True)
    assert told.startswith('NNM807: keeping "kept.webnnm.safetensors" in the browser failed: ')
    assert "this site's storage quota is full" in told
    assert kept >= before, "what was kept last is whole"
    await fill(None)
    told, after = await page.run_python(UNTIL, name=NAME, failing=False)
    assert told == "" and after > kept
    epochs, stopped, lines = await page.run_python(END)
    assert epochs > 0 and stopped == "stop"
    assert any("NNM807" in line for line in lines)


WITHOUT_ROOM = """
const full = () => { throw new QuotaExceededError("no room"); };
FileSystemDirectoryHandle.prototype.getDirectoryHandle = async () => full();
for (const name of ["get", "put", "delete"]) IDBObjectStore.prototype[name] = full;
"""
ASKED = """
[await refusal(work) for work in (
    storage.store(name, [b"new"]), storage.fetch(name), storage.discard(name)
)]
"""


async def test_a_storage_without_room_answers_whatever_it_is_asked(
    kept_context: Kept, page_log: PageLog, site_url: str
) -> None:
    """Its error is one that Pyodide does not take for an error, and is thrown at once."""
    kept_context.scripts.append(WITHOUT_ROOM)
    page = await open_model(kept_context, page_log, site_url)
    texts = await page.run_python(REFUSED + ASKED, name=NAME)
    begun = ("NNM807: keeping", "NNM715: reading", "NNM807: removing")
    for text, beginning in zip(texts, begun, strict=True):
        assert text.startswith(f'{beginning} "kept.webnnm.safetensors"')
        assert "failed: no room" in text
        assert "this site's storage quota is full" in text


REFUSING = """
const refuse = () => { throw new DOMException("not in this window", "SecurityError"); };
StorageManager.prototype.getDirectory = async () => refuse();
const { open } = IDBFactory.prototype;
IDBFactory.prototype.open = function (name, ...rest) {
  return name === "webnnm" ? refuse() : open.call(this, name, ...rest);
};
"""


async def test_a_browser_that_keeps_nothing_is_told_and_the_training_goes_on(
    webnn_context: BrowserContext, page_log: PageLog, site_url: str
) -> None:
    """As some private windows do."""
    page = await open_model(Kept(webnn_context, [REFUSING]), page_log, site_url)
    program = (
        TOLD
        + WATCHED
        + """
while not told:
    await asyncio.sleep(0.01)
"""
        + END.replace("training.stop()", "ended(training)")
    )
    program = (
        """
import asyncio
from webnnm import DataError

async def ended(training):
    try:
        await training.stop()
    except DataError as error:
        lines.append(f"at the end: {error}")
    return training.history
"""
        + program
    )
    epochs, stopped, lines = await page.run_python(
        program, name=NAME, seconds=0.02, optimizer="adam"
    )
    assert epochs > 0 and stopped == "stop"
    assert "NNM807" in lines[0] and "not in this window" in lines[0]
    assert "private windows and browser settings" in lines[0]


async def test_a_page_that_is_left_saves_before_it_goes(
    kept_context: Kept, page_log: PageLog, site_url: str
) -> None:
    """A reload is announced before the page goes: what is saved meanwhile is there afterwards."""
    page = await open_model(kept_context, page_log, site_url)
    share = "\nimport builtins\nbuiltins.kept_model = model"
    await page.run_python(TRAIN + share, name=NAME, seconds=3600.0, optimizer="adam")
    other = await open_model(kept_context, page_log, site_url)
    there = (
        "from webnnm.backends.browser_files import read_kept_file\n"
        "await read_kept_file(name) is not None"
    )
    name = NAME.removeprefix("browser:")

    async def slowly(route: Any) -> None:
        async with asyncio.timeout(40):
            while not await other.run_python(there, name=name):
                await asyncio.sleep(0.05)
        await route.continue_()

    await page.page.route("**/tests/empty.html", slowly)
    await page.page.reload()
    (found, _) = await other.run_python(FOUND, name=NAME)
    assert found > 0
