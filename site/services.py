"""What the editor asks while one writes, answered by the package."""

from pyscript import ffi

from webnnm.page_modules import load_rest


async def services():
    """Return the functions that components/editor.js takes, once their modules are there."""
    await load_rest()
    from webnnm.language import answers

    names = ("complete", "hover", "signature", "diagnose", "renamed", "rename", "format")
    return ffi.to_js({name: answering(getattr(answers, name)) for name in names})


def answering(function):
    """Return a function that answers with objects of JavaScript."""
    return lambda *asked: ffi.to_js(function(*asked))
