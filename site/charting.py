"""Charts of webnnm.charts in pages: what draws them is fetched when the first one is shown."""

from page import log
from pyscript import js_import, window

COMPONENT = window.URL.new("./components/charts.js", window.location.href).href


async def show(holder, chart):
    """Show a chart in an element, and return it as components/charts.js has it."""
    return await present(holder, chart.to_page())


async def present(holder, text):
    """Show a chart that `Chart.to_page` wrote, as a worker may have done."""
    (component,) = await js_import(COMPONENT)
    return component.show(holder, text)


async def attempt(drawing):
    """Wait for a drawing; where it fails, as without a connection, the page goes on without it."""
    try:
        await drawing
    except Exception as error:
        log(f"a chart cannot be drawn now: {error}")
