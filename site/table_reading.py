"""Reads the tables of files, long ones while the page stays alive."""

import asyncio
import json
from time import perf_counter

from page import element
from pyscript import ffi, js_import, when, window

from webnnm import DataError

PARQUET = window.URL.new("./components/parquet.js", window.location.href).href

SLICE = 0.03
"""Seconds of work after which the page draws itself."""


async def read_table(content, name, pauses):
    """Return the table of a file or of a text; how many rows are read is said in #about."""
    from webnnm.data.tables.table_files import is_json, is_workbook

    if isinstance(content, str):
        content = content.encode("utf-8", "replace")
    has_sheets = is_workbook(content)
    if has_sheets:
        from webnnm.backends.pyodide_host import load_package

        await load_package("openpyxl")
    if has_sheets or is_json(content):
        import webnnm

        table = webnnm.read_table(content)
    elif content.startswith(b"PAR1"):
        table = await read_parquet(content, name)
    else:
        table = await read_rows(content, name, pauses)
    if not table.row_count:
        raise DataError("NNM705", f"{name} has no rows")
    return table


async def read_parquet(content, name):
    """Return the table of a Parquet file; what reads it is fetched then."""
    from webnnm.data.tables.columns import as_table

    (component,) = await js_import(PARQUET)
    try:
        columns = json.loads(await component.read(ffi.to_js(content)))
    except Exception as error:
        raise DataError("NNM715", f"{name} is no complete Parquet file: {error}") from error
    return as_table(dict(zip(columns["names"], columns["cells"], strict=True)))


async def read_rows(content, name, pauses):
    """Return the table of a CSV file, with pauses between its rows."""
    from webnnm.data.tables.csv_table import read_slices

    reading = read_slices(content)
    while True:
        try:
            rows = next(reading)
        except StopIteration as end:
            return end.value
        if await pauses.due():
            element("about").textContent = f"{name}: {rows:,} rows are read …"


def show_form():
    """Show the form of rows that were taken, and fold away the ways to bring some.

    What was recorded before makes room.
    """
    if recorded := element("recorded"):
        recorded.remove()
    element("form").hidden = False
    element("example").classList.remove("primary")
    inside = element("ways").contains(window.document.activeElement)
    element("ways").hidden, element("other").hidden = True, False
    if inside:
        element("other").focus()


def choose_again(event):
    """Show the ways to bring other rows."""
    element("ways").hidden, element("other").hidden = False, True
    element("file").focus()


if element("other"):  # pages whose rows stay in sight have none
    when("click", "#other")(choose_again)


class Pauses:
    """Lets the page draw itself and answer clicks while a long work goes on."""

    def __init__(self):
        self.began = perf_counter()

    async def due(self):
        """Pause if the last pause is a slice of time ago; return whether it was."""
        if perf_counter() - self.began < SLICE:
            return False
        await asyncio.sleep(0)
        self.began = perf_counter()
        return True
