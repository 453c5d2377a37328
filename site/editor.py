"""The editors of the pages: numbered lines, and a mark on the one that is wrong."""

import asyncio

from page import element, make
from pyscript import when

from webnnm import ModelError, parse
from webnnm.graph.elaborate import elaborate

PAUSE_BEFORE_CHECK = 0.3


class Editor:
    """The text in #source, in numbered lines of which one may be marked as wrong."""

    def __init__(self):
        self.area = element("source")
        when("input", self.area)(self.change)
        self.number_lines()

    @property
    def text(self):
        """What is written there."""
        return self.area.value

    @text.setter
    def text(self, text):
        self.area.value = text
        self.area.setSelectionRange(0, 0)
        self.area.scrollLeft = 0
        self.mark(0)
        self.change(None)

    def change(self, event):
        """Do what another text takes: its lines are numbered anew."""
        self.number_lines()

    def number_lines(self):
        """Number the lines, and make the editor as high as its text."""
        count = self.text.count("\n") + 1
        element("line-numbers").textContent = "\n".join(map(str, range(1, count + 1)))
        self.area.rows = count

    def problem(self, line, column, message, code="", hint="", excerpt=""):
        """Return a message with its place, and what belongs to it, if there is any."""
        box, head = make("div", class_="problem"), make("p")
        head.append(self.place(line, column), f" {message} ", make("small", code))
        box.append(head)
        if excerpt:
            box.append(make("pre", excerpt, aria_hidden="true"))
        if hint:
            box.append(make("p", f"Hint: {hint}"))
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


class ModelEditor(Editor):
    """The text of a model, checked while it is written; #diagnostics has the result."""

    def __init__(self):
        self.timer = None
        super().__init__()
        self.check()

    def change(self, event):
        """Check once the writer pauses."""
        super().change(event)
        if self.timer:
            self.timer.cancel()
        self.timer = asyncio.get_running_loop().call_later(PAUSE_BEFORE_CHECK, self.check)

    def check(self):
        """Parse and elaborate the text, and show the errors, the warnings, or that all is well."""
        try:
            network = elaborate(parse(self.text))
        except ModelError as error:
            self.mark(error.line)
            found = [self.shown(each) for each in (error, *error.others)]
        else:
            self.mark(0)
            layers, tensors = len(network.layers), len(network.parameters)
            text = f"No errors. Layers: {layers}, parameter tensors: {tensors}."
            found = [make("p", text, class_="fine")]
            found += [make("p", f"Warning {warning}") for warning in network.warnings]
        element("diagnostics").replaceChildren(*found)

    def shown(self, error):
        """Return an error with its place, its excerpt, and its hint."""
        excerpt = [line[4:] for line in str(error).split("\n") if line.startswith("    ")]
        facts = error.message, error.code, error.hint, "\n".join(excerpt)
        return self.problem(error.line, error.column, *facts)
