"""Says what runs models in this browser."""

from page import element, ready, show_what_runs
from pyscript import when, window


@when("click", "#copy")
async def copy(event):
    """Copy the example to the clipboard."""
    await window.navigator.clipboard.writeText(element("snippet").textContent)
    element("copy").textContent = "Copied"


found = await show_what_runs()
element("runs").dataset.webnn = str(found.webnn).lower()
ready()
