"""The editors of the pages: numbered lines, and a mark on the one that is wrong."""

from page import element, make
from pyscript import when


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
        self.select(start, start + 1)

    def select(self, start, end):
        """Select a stretch of the text, in UTF-16 units."""
        self.area.focus()
        self.area.setSelectionRange(start, end)

    def mark(self, line):
        """Mark a line of the text, or none if it is 0."""
        self.area.setAttribute("aria-invalid", "true" if line else "false")
        frame = self.area.parentElement
        frame.classList.toggle("wrong", line > 0)
        frame.style.setProperty("--wrong-line", str(line))
