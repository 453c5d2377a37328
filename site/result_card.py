"""The button that shows a result as a picture, to copy, save or share it."""

import asyncio
import json
import math

import page
from page import element
from pyodide.ffi import JsException
from pyscript import document, ffi, js_import, when, window

COMPONENT = window.URL.new("./result_card.js", window.location.href).href
SMALLEST = 0.0001
"""A loss that is not shown as 0."""
MAX_LETTERS = 40
"""The maximum length of a name in a sentence."""
OFFLINE = "What draws the picture could not be fetched. Check your connection, then try again."
TITLE_LETTERS, NAME_LETTERS = 54, 20
"""The letters that a title has room for, and what a long name of rows keeps of them."""
HOLDS = "The picture holds what you see: names, numbers and charts, none of your rows."


class ResultCard:
    """The button #share-result, which is there while there is a result."""

    def __init__(self):
        self.opening, self.component, self.describe = asyncio.Lock(), None, None
        when("click", "#share-result")(self.open)

    def offer(self, describe):
        """Show the button.

        `describe` returns what `describe_card` does, the charts of the card, and canvases with what
        the visitor has made, which are drawn only where the visitor says so.
        """
        self.describe = describe
        element("share-result").hidden = False
        if not self.component:  # now, for there may be no connection later
            task = asyncio.ensure_future(self.prepare())
            task.add_done_callback(lambda done: done.result())

    async def prepare(self):
        """Fetch what draws cards before somebody asks for one, which tries again if this fails."""
        try:
            await self.fetch()
        except (JsException, OSError) as error:
            page.log(f"results cannot be drawn as pictures now: {error}")

    def withdraw(self):
        """Hide the button: there is no result."""
        self.describe = None
        element("share-result").hidden = True

    async def fetch(self):
        """Fetch what draws cards, as long as the page may fetch.

        Raises `JsException` or `OSError` where the connection fails; a browser imports no module
        again that has failed once, so it is fetched first.
        """
        if not self.component:
            answer = await window.fetch(COMPONENT)
            if not answer.ok:
                raise OSError(f"{COMPONENT}: {answer.status}")
            await answer.text()
            (self.component,) = await js_import(COMPONENT)

    async def open(self, event):
        """Show the card."""
        page.clear_error()
        async with self.opening:
            if document.querySelector("dialog[open]") or not self.describe:
                return
            try:
                try:
                    await self.fetch()
                except (JsException, OSError) as error:
                    page.log(f"results cannot be drawn as pictures now: {error}")
                    page.show_error_text(OFFLINE)
                    return
                card, charts, own = self.describe()
                await self.component.open(json.dumps(card), ffi.to_js(charts), ffi.to_js(own))
            except Exception as error:
                page.show_error(error)


def name_card(name, target):
    """Return the title of a card: the name of the rows, and what of them is predicted."""
    room = max(NAME_LETTERS, TITLE_LETTERS - len(target))
    return target if name == target else f"{shorten(name, room)}: {target}"


def shorten(name, limit=MAX_LETTERS):
    """Return a name as it stands in a sentence of a card."""
    return name if len(name) <= limit else f"{name[: limit - 1].rstrip()}…"


def shorten_all(names, limit):
    """Return names without their middle where they are too long; with numbers if two were alike."""
    short = [shorten_middle(name, limit) for name in names]
    if len({*short}) < len({*names}):
        short = [shorten_middle(f"{number} {name}", limit) for number, name in enumerate(names, 1)]
    return short


def shorten_middle(name, limit):
    """Return the beginning and the end of a name that is too long: clearly less than fits."""
    if len(name) <= limit:
        return name
    room = 3 * limit // 4
    end = room // 2
    return f"{name[: room - end].rstrip()}…{name[len(name) - end :].lstrip()}"


def describe_loss(loss):
    """Return a loss as pages and cards show it."""
    if not math.isfinite(loss):
        return "too large"
    return f"< {SMALLEST}" if 0 <= loss < SMALLEST else f"{loss:.4f}"


def describe_card(name, title, about, numbers, *, holds=HOLDS, link="", **parts):
    """Return what a card says, as result_card.js takes it.

    `name` is that of its file; `numbers` are pairs of a number with its unit, and what it is;
    `link` is an address to share in the place of the one of the page.
    """
    address = f"{window.location.origin}{window.location.pathname}"
    return {
        "title": title,
        "about": about,
        "numbers": [pair for pair in numbers if pair[0]],
        "address": address.removeprefix("https://"),
        "link": link or address,
        "file": f"{name}-result.png",
        "holds": holds,
        **parts,
    }
