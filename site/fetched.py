"""Models that are fetched when the reader asks for them, with progress."""

import asyncio

from page import clear_error, element, log, make, ready, sentence, show_error, show_what_runs
from pyodide.ffi import JsException
from pyscript import when, window

from webnnm import load_onnx

FOLDER = "./models/"
MEGABYTE = 1e6


ADDING, GUIDE = "./docs/onnx.html", "How models are added to a site"
"""The document that whoever runs a site needs, and the text of its link."""


class MissingModel(Exception):
    """A file of a model that is not there; the text says what to do, or the document `guide`."""

    def __init__(self, text, guide=""):
        super().__init__(text)
        self.guide = guide


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


async def offer_download(get, start, make_models):
    """Say what runs models, and offer to get and to load them, with the arguments of `load`."""
    when("click", "#download")(lambda event: asyncio.ensure_future(load(get, start, make_models)))
    await show_ready()


async def show_ready():
    """Say that the program runs, and what runs models."""
    ready()
    await show_what_runs()


async def load(get, start, make_models):
    """Get the contents of files, make models of them and start; enable what waits for it.

    What was recorded before makes room. Who started by keyboard goes on at the control with
    `data-first`.
    """
    focused = window.document.activeElement
    clear_error()
    element("progress-text").classList.remove("warning")
    element("download").disabled = True
    try:
        element("progress").hidden = False
        contents = await get()
        tell("Compiling …")
        await asyncio.sleep(0)  # the page draws it
        models = await make_models(contents)
        await start(*models)
    except Exception as error:
        element("download").disabled = False
        element("progress").hidden = True
        show_failure(error)
    else:
        for name in ("progress", "download", "recorded"):
            element(name).hidden = True
        element("work").disabled = False
        backend = models[0].backend
        why = f" {sentence(backend.reason)}" if backend.reason else ""
        tell(f"Ready, on {backend.description}.{why}")
        first = element("work").querySelector("[data-first]")
        if first and window.document.activeElement in (focused, window.document.body):
            first.focus()


def show_failure(error):
    """Say why there is no model."""
    if isinstance(error, MissingModel):
        tell(f"{error} ")
        element("progress-text").classList.add("warning")
        if error.guide:
            element("progress-text").append(make("a", GUIDE, href=error.guide))
    else:
        tell("Nothing is loaded.")
        show_error(error)


async def download(files):
    """Return the contents of files; show how much of them has come.

    Raises `MissingModel` for a file that the site does not have, and if the connection fails.
    """
    try:
        return await fetch_files(files)
    except JsException as error:
        raise lost_connection(error) from error


async def fetch_files(files):
    """Return the contents of files; show how much of them has come."""
    answers = [await window.fetch(FOLDER + name) for name in files]
    for name, answer in zip(files, answers, strict=True):
        if not answer.ok:
            raise missing(name)
        if is_page(answer):
            raise foreign(name)
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
    """Return the error of a file that the site does not have."""
    return MissingModel(f"This site has no {name} to download.", ADDING)


def is_page(answer):
    """Return whether the answer to a request is a page, which no file of a model is."""
    return (answer.headers.get("content-type") or "").startswith("text/html")


def foreign(name):
    """Return the error of an answer that is not the file that was asked for."""
    log(f"a page has come in the place of {name}")
    return MissingModel(
        "What came is not the model but a web page, such as the login page of a network. "
        "Open any other site to see whether you have to log in, then try again."
    )


def lost_connection(error):
    """Return the error of a download that a failing connection ended."""
    log(f"the download has ended: {error}")
    return MissingModel("The download was interrupted. Check your connection, then try again.")


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
