"""Links of pages that train a model of rows: they have the rows, the model and the form."""

import page
import share
from page import element
from pyscript import window


async def copy_link(text, rows):
    """Put a model, the form and rows into the address of the page, and copy that.

    `rows` are the name of a file and what it contains. #shared says what became of it.
    """
    try:
        address = share.link(text, rows)
    except share.UnfitLink as error:
        element("shared").textContent = page.sentence(str(error))
        return
    window.history.replaceState(None, "", address)
    copied = await page.write_clipboard(address)
    start = "Copied: the link has" if copied else "The address of this page is the link now, with"
    element(
        "shared"
    ).textContent = f"{start} the rows, the model and its settings, in {len(address):,} letters."


async def restore_link(take, prepare):
    """Take the rows of the address, then its form; return its model, None without rows.

    `take(content, name)` takes rows, and `prepare()` what the form says.
    """
    try:
        shared = share.read_link()
        if shared is None or shared.rows is None:
            return None
        name, content = shared.rows
        await take(content, name)
        share.fill(shared.values)
    except share.UnfitLink as error:
        page.show_error_text(page.sentence(str(error)))
        return None
    await prepare()
    return shared.text
