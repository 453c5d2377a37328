"""What the pages share: the model editor with its diagnostics, error messages, and tables."""

import asyncio
import traceback

from pyscript import document, when, window

from webnnm import ModelError, WebNNMError, parse
from webnnm.graph.elaborate import elaborate

PAUSE_BEFORE_CHECK = 0.3


def element(name):
    """Return the element of the page with this id."""
    return document.getElementById(name)


def make(tag, text="", **attributes):
    """Return a new element; `class_` and `for_` stand for the words that Python reserves."""
    made = document.createElement(tag)
    made.textContent = text
    for name, value in attributes.items():
        made.setAttribute(name.rstrip("_").replace("_", "-"), str(value))
    return made


def ready():
    """Say that the program runs: the page enables its controls."""
    window.dispatchEvent(window.Event.new("webnnm:ready"))


def log(text):
    """Write a line to the browser's console."""
    window.console.log(f"webnnm: {text}")


def sentence(text):
    """Return a text as a sentence: a capital letter first, a full stop last."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


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
    made = make("table")
    made.append(make("caption", caption))
    head, body = make("thead"), make("tbody")
    line = make("tr")
    line.append(*(make("th", text, scope="col") for text in header))
    head.append(line)
    for name, *cells in rows:
        line = make("tr")
        line.append(make("th", name, scope="row"), *(make("td", text) for text in cells))
        body.append(line)
    made.append(head, body)
    return made


class Editor:
    """The text of a model in #source, checked while it is written; #diagnostics has the result."""

    def __init__(self):
        self.area = element("source")
        self.timer = None
        when("input", self.area)(self.check_soon)
        self.number_lines()
        self.check()

    @property
    def text(self):
        """The text of the model."""
        return self.area.value

    def check_soon(self, event):
        """Check once the writer pauses."""
        self.number_lines()
        if self.timer:
            self.timer.cancel()
        self.timer = asyncio.get_running_loop().call_later(PAUSE_BEFORE_CHECK, self.check)

    def number_lines(self):
        """Number the lines, and make the editor as high as its text."""
        count = self.text.count("\n") + 1
        element("line-numbers").textContent = "\n".join(map(str, range(1, count + 1)))
        self.area.rows = count

    def check(self):
        """Parse and elaborate the text, and show the errors, the warnings, or that all is well."""
        try:
            network = elaborate(parse(self.text))
        except ModelError as error:
            self.mark(error.line)
            found = [self.problem(each) for each in (error, *error.others)]
        else:
            self.mark(0)
            layers, tensors = len(network.layers), len(network.parameters)
            text = f"No errors. Layers: {layers}, parameter tensors: {tensors}."
            found = [make("p", text, class_="fine")]
            found += [make("p", f"Warning {warning}") for warning in network.warnings]
        element("diagnostics").replaceChildren(*found)

    def problem(self, error):
        """Return an error with its place, its excerpt, and its hint."""
        box = make("div", class_="problem")
        excerpt = [line[4:] for line in str(error).split("\n") if line.startswith("    ")]
        head = make("p")
        head.append(
            self.place(error.line, error.column), f" {error.message} ", make("small", error.code)
        )
        box.append(head, make("pre", "\n".join(excerpt), aria_hidden="true"))
        if error.hint:
            box.append(make("p", f"Hint: {error.hint}"))
        return box

    def place(self, line, column):
        """Return a button that leads to a place of the text."""
        button = make("button", f"Line {line}:{column}", type="button", class_="place")
        when("click", button)(lambda event: self.go_to(line, column))
        return button

    def go_to(self, line, column):
        """Put the cursor at a line and column, both from 1."""
        before = "".join(self.text.splitlines(keepends=True)[: line - 1])
        before += self.text[len(before) :][: column - 1]
        # Browsers count UTF-16 units, Python code points.
        start = len(before.encode("utf-16-le")) // 2
        self.area.focus()
        self.area.setSelectionRange(start, start + 1)

    def mark(self, line):
        """Mark a line of the text, or none if it is 0."""
        self.area.setAttribute("aria-invalid", "true" if line else "false")
        frame = self.area.parentElement
        frame.classList.toggle("wrong", line > 0)
        frame.style.setProperty("--wrong-line", str(line))
