"""Charts of webnnm.charts in pages: what draws them is fetched when the first one is shown."""

from pyscript import js_import, window

COMPONENT = window.URL.new("./components/charts.js", window.location.href).href


async def show(holder, chart):
    """Show a chart in an element, and return it as components/charts.js has it."""
    (component,) = await js_import(COMPONENT)
    return component.show(holder, chart.to_page())
