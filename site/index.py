"""Says what runs models in this browser."""

import page
from page import element, ready, show_what_runs
from pyscript import when


@when("click", "#copy")
async def copy(event):
    """Copy the example to the clipboard."""
    if await page.copy(element("snippet").textContent):
        element("copy").textContent = "Copied"


report = await show_what_runs()
element("runs").dataset.webnn = str(report.webnn).lower()
ready()
