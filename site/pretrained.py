"""Models of Hugging Face that pages load when the reader asks for them."""

from fetched import (
    FOLDER,
    foreign,
    hear,
    is_page,
    lost_connection,
    missing,
    offer_download,
    show_progress,
    tell,
)
from page import element
from pyodide.ffi import JsException
from pyscript import when, window

from webnnm import DataError, forget_downloads, from_pretrained

SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1.gguf"
HASHES = {
    SMOLLM2: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "en_US-joe-medium.onnx": "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
"""The hashes of files that are checked."""


async def offer_model(name, start, *, files=(), **settings):
    """Offer to download a model of this site and to load it; `start` is awaited with it.

    `files` are those of a folder; consoles show an error for each file that a server lacks.
    """

    async def address():
        return {file: f"{FOLDER}{name}/{file}" for file in files} if files else FOLDER + name

    async def make_models(source):
        try:
            return await model_of(source, hashes=HASHES, **settings)
        except DataError as error:
            if "answered 404" in error.message:
                raise missing(name) from error
            if error.code == "NNM715":
                raise lost_connection(error) from error
            if await page_among([source] if isinstance(source, str) else source.values()):
                raise foreign(name) from error
            raise

    when("click", "#remove")(remove)
    await offer_download(address, start, make_models)


async def page_among(addresses):
    """Return whether a page is what comes from one of these addresses of files."""
    try:
        return any([is_page(await window.fetch(address, method="HEAD")) for address in addresses])
    except JsException:
        return False


async def model_of(source, **settings):
    """Return the models of a page: the one of an address, or of files by their names."""

    def come(name, done, total):
        show_progress(done, total)
        if done == total:
            tell("Compiling …")

    keep = element("keep").checked
    return [await from_pretrained(source, keep=keep, progress=come, log=hear, **settings)]


async def remove(event):
    """Remove what the browser keeps."""
    await forget_downloads()
    element("removed").textContent = "The browser keeps no model any more."


async def read_chosen_files(field):
    """Return the contents of the files that were chosen in a field, by name."""
    tell("Reading …")
    files = element(field).files
    items = [files.item(index) for index in range(files.length)]
    return {file.name: (await file.arrayBuffer()).to_bytes() for file in items}
