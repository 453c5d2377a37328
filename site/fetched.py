"""Models that are fetched when the reader asks for them, with progress."""

import asyncio

from page import element, log, ready, sentence, show_error, show_what_runs
from pyscript import when, window

from webnnm import load_onnx

FOLDER = "./models/"
MEGABYTE = 1e6


class MissingModel(Exception):
    """A file of a model that the server does not have; the text says what to do."""


async def networks(contents, device=None):
    """Return the ONNX models in files, on a device if one is chosen."""
    first, *others = contents
    models = [await load_onnx(first, device=device, log=hear)]
    return models + [await load_onnx(content, backend=models[0].backend) for content in others]


async def offer_models(files, start):
    """Say what runs models, and offer to download ONNX files and load them.

    `start` is awaited with the loaded models in the order of their files.
    """
    await offer_download(lambda: download(files), start, networks)


async def offer_download(get, start, make):
    """Say what runs models, and offer to get and to load them, with the arguments of `load`."""
    when("click", "#download")(lambda event: asyncio.ensure_future(load(get, start, make)))
    await show_ready()


async def show_ready():
    """Say that the program runs, and what runs models."""
    ready()
    await show_what_runs()


async def nothing():
    """Return the contents of no file, for `load`."""
    return []


async def load(get, start, make):
    """Get the contents of files, make models of them and start; enable what waits for it.

    Where a page has the button #without, one can start without files. Who started by keyboard
    goes on at the control with `data-first`.
    """
    focused = window.document.activeElement
    offer = [element(name) for name in ("download", "without") if element(name)]
    for button in offer:
        button.disabled = True
    try:
        element("progress").hidden = False
        contents = await get()
        tell("Compiling …")
        await asyncio.sleep(0)  # the page draws it
        models = await make(contents)
        await start(*models)
    except MissingModel as missing:
        element("progress").hidden = True
        tell(str(missing))
        element("progress-text").classList.add("warning")
        for button in offer[1:]:
            button.disabled = False
    except Exception as error:
        for button in offer:
            button.disabled = False
        element("progress").hidden = True
        tell("Nothing is loaded.")
        show_error(error)
    else:
        for name in ("progress", "download", "without"):
            if shown := element(name):
                shown.hidden = True
        element("work").disabled = False
        backend = models[0].backend
        why = f" {sentence(backend.reason)}" if backend.reason else ""
        tell(f"Ready, on {backend.description}.{why}")
        first = element("work").querySelector("[data-first]")
        if first and window.document.activeElement in (focused, window.document.body):
            first.focus()


async def download(files):
    """Return the contents of files; show how much of them has come."""
    answers = [await window.fetch(FOLDER + name) for name in files]
    for name, answer in zip(files, answers, strict=True):
        if not answer.ok:
            raise missing(name)
    total = sum(int(answer.headers.get("content-length") or 0) for answer in answers)
    contents, done = [], 0
    for answer in answers:
        content, reader = bytearray(), answer.body.getReader()
        while not (part := await reader.read()).done:
            content += part.value.to_bytes()
            show_progress(done + len(content), total)
        done += len(content)
        contents.append(bytes(content))
    log(f"{done} bytes of models downloaded")
    return contents


def missing(name):
    """Return the error of a file that the server does not have."""
    return MissingModel(
        f"This server has no {name}. In a checkout of webnnm, “make models” fetches it "
        "from the package index; then “make serve” again."
    )


def show_progress(done, total):
    """Show how many bytes have come."""
    element("progress").value = done / max(total, 1)
    tell(f"{done / MEGABYTE:.1f} of {total / MEGABYTE:.1f} MB")


def hear(text):
    """Take in what loading logs: a page without WebNN fetches ONNX Runtime first."""
    log(text)
    if text.startswith("fetching"):
        tell(text)


def tell(text):
    """Say how the download stands."""
    element("progress-text").textContent = text
