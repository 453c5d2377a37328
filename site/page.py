"""What the pages share: elements, error messages, tables and bars."""

import math
import traceback

from pyscript import document, window

from webnnm import DataError, WebNNMError, probe
from webnnm.page_modules import load_rest

TURN_ON = (
    "For WebNN, use Chrome or Edge 147 or newer on a desktop and turn on the WebNN API: enter "
    "chrome://flags/#web-machine-learning-neural-network as the address, choose Enabled, restart."
)
"""What to do in a browser without WebNN; pages cannot link to such addresses."""
LONG = 12
"""Letters of a name that leaves too little room beside it."""
HOW = "./docs/backends.html#webnn-in-browsers"
"""The document that says more of it; the build adds the documentation to the site."""


def element(name):
    """Return the element of the page with this id."""
    return document.getElementById(name)


def make(tag, text="", **attributes):
    """Return a new element; `class_` and `for_` stand for the words that Python reserves."""
    node = document.createElement(tag)
    node.textContent = text
    for name, value in attributes.items():
        node.setAttribute(name.rstrip("_").replace("_", "-"), str(value))
    return node


def ready():
    """Say that the program runs: the page enables its controls."""
    window.dispatchEvent(window.Event.new("webnnm:ready"))


def hand_over(off, on):
    """Disable controls and enable others; the focus goes from the first kind to the second."""
    focused = document.activeElement.id  # before it is lost with what is disabled
    for name in on:
        element(name).disabled = False
    for name in off:
        element(name).disabled = True
    if focused in off and on:
        element(on[0]).focus()


def read_number(name, empty=0):
    """Return the number in a field, however it is written; `empty` if nothing is.

    Raises `DataError` NNM704, in the words of the browser, if the field does not take it.
    """
    field = element(name)
    if not field.checkValidity():
        label = field.labels[0].textContent.strip()
        raise DataError("NNM704", f"{label}: {field.validationMessage}")
    number = field.valueAsNumber
    return empty if math.isnan(number) else number


def percent(share, digits=0):
    """Return a share as a percentage; all pages write them alike."""
    return f"{share:z.{digits}%}"


def log(text):
    """Write a line to the browser's console."""
    window.console.log(f"webnnm: {text}")


def sentence(text):
    """Return a text as a sentence: a capital letter first, a full stop last."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


async def show_what_runs():
    """Show what runs models here, and return it.

    Without WebNN the second wheel knows that: importing it before it has come holds up the page.
    """
    if not hasattr(window.navigator, "ml"):
        await load_rest()
    report = await probe(trials=False)
    show_sentence(report.summary, report.sentence)
    return report


def show_sentence(summary, exact=""):
    """Show what runs models here; folded, the exact words, and how WebNN could run them."""
    parts = [sentence(exact)] if exact != summary and exact else []
    if not window.isSecureContext:
        parts.append(" WebNN needs https, or localhost.")
    elif not hasattr(window.navigator, "ml"):
        parts += [f" {TURN_ON} ", make("a", "More on WebNN in browsers", href=HOW), "."]
    element("runs").replaceChildren(sentence(summary), " ")
    if parts:
        more, text = make("details"), make("p")
        text.append(*parts)
        more.append(make("summary", "More"), text)
        element("runs").append(more)


async def write_clipboard(text):
    """Write a text to the clipboard; return whether the browser let the page."""
    try:
        await window.navigator.clipboard.writeText(text)
    except Exception as error:  # there is no clipboard without https, either
        log(f"the clipboard cannot be written: {error}")
        return False
    return True


async def copy(text, remedy="select the text and copy it"):
    """Write a text to the clipboard; where the browser refuses, say so and return False."""
    clear_error()
    copied = await write_clipboard(text)
    if not copied:
        show_error_text(f"The browser does not let this page copy: {remedy}.")
    return copied


def show_error(error):
    """Show an error where screen readers announce it at once."""
    if isinstance(error, WebNNMError):
        text = str(error)
    else:
        text = "".join(traceback.format_exception(error)).strip()
        log(text)
    show_error_text(text)


def show_error_text(text):
    """Show the text of an error, its excerpt and hint in lines of their own."""
    alert = element("alert")
    alert.replaceChildren(make("h2", "This did not work"), make("pre", text))
    alert.scrollIntoView(block="nearest")


def clear_error():
    """Take the last error away."""
    element("alert").replaceChildren()


def table(caption, header, rows):
    """Return a table; every row begins with the name of the row."""
    node = make("table")
    node.append(make("caption", caption))
    head, body = make("thead"), make("tbody")
    line = make("tr")
    line.append(*(make("th", text, scope="col") for text in header))
    head.append(line)
    for name, *cells in rows:
        line = make("tr")
        line.append(make("th", name, scope="row"), *(make("td", text) for text in cells))
        body.append(line)
    node.append(head, body)
    return node


def show_shares(shares):
    """Show the probability of each class as a bar, and return the most probable class in words."""
    shown = element("shares")
    if [node.textContent for node in shown.querySelectorAll("dt")] != list(shares):
        make_bars(shares)
    for value, share in zip(shown.querySelectorAll("dd"), shares.values(), strict=True):
        value.firstElementChild.style.setProperty("--share", f"{share:.4f}")
        value.lastElementChild.textContent = percent(share, 1)
    best = max(shares, key=shares.get)
    return f"{best} ({percent(shares[best], 1)})"


def make_bars(labels):
    """Show the names of classes and their bars, whose values are not known yet."""
    shown = element("shares")
    shown.replaceChildren(*(node for label in labels for node in make_bar(label)))
    shown.toggleAttribute("data-long", any(len(label) > LONG for label in labels))


def make_bar(label):
    """Return the name of a class and its bar, whose value is not known yet, for a list."""
    value = make("dd")
    value.append(make("div", class_="bar"), make("span"))
    return make("dt", label), value
