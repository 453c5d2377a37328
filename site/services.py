"""What the editor asks while one writes, answered by the package."""

from pyodide.ffi import create_proxy
from pyodide_js import loadPackage
from pyscript import ffi

QUIET = create_proxy(lambda text: None)
"""Hears what is being loaded; it lasts, for packages that are loaded meanwhile tell it too."""


async def load_rest():
    """Wait for the second wheel: imports from it would hold the page up until it is fetched."""
    await loadPackage("webnnm-rest", messageCallback=QUIET)


async def services():
    """Return the functions that components/editor.js takes, once their modules are there."""
    await load_rest()
    from webnnm.language import answers

    names = ("complete", "hover", "signature", "diagnose", "renamed", "rename", "format")
    return ffi.to_js({name: answering(getattr(answers, name)) for name in names})


def answering(function):
    """Return a function that answers with objects of JavaScript."""
    return lambda *asked: ffi.to_js(function(*asked))
