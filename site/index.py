"""Says what runs models in this browser."""

from page import element, ready, sentence
from pyscript import when, window

from webnnm import probe


@when("click", "#copy")
async def copy(event):
    """Copy the example to the clipboard."""
    await window.navigator.clipboard.writeText(element("snippet").textContent)
    element("copy").textContent = "Copied"


found = await probe(trials=False)
element("runs").textContent = sentence(found.sentence)
element("runs").dataset.webnn = str(found.webnn).lower()
ready()
