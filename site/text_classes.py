"""Classes of texts in a page: the name of each, and a field with a sentence in each line."""

import csv
import io

from example_counts import MIN_EXAMPLES, describe_lack, find_free_name
from page import element
from pyscript import document, when

MAX_CLASSES, MAX_ROWS = 12, 2000
"""Of tables whose rows are shown in fields."""


class TextClass:
    """A class: its name, its field and its count. `on_change` is called when one of them is new."""

    def __init__(self, node, on_change, on_remove):
        self.element = node
        self.field, self.area = node.querySelector("input"), node.querySelector("textarea")
        self.count, self.remove = node.querySelector(".numbers"), node.querySelector(".remove")
        self.on_change = on_change
        for control in (self.field, self.area):
            when("input", control)(lambda event: self.change())
        when("click", self.remove)(lambda event: on_remove(self))
        self.tell()

    @property
    def name(self):
        """What the class is called."""
        return self.field.value.strip() or "Nameless"

    @property
    def lines(self):
        """The sentences."""
        return [line.strip() for line in self.area.value.splitlines() if line.strip()]

    def change(self):
        """Take in another name or other sentences."""
        self.tell()
        self.on_change()

    def tell(self):
        """Say how many sentences there are, and name the controls after the class."""
        count = len(self.lines)
        self.count.textContent = f"{count} sentence" + "s" * (count != 1)
        self.area.ariaLabel = f"Sentences of {self.name}, one per line"
        self.remove.ariaLabel = f"Remove class {self.name}"


class TextClasses:
    """The classes in #kinds; `on_change` is called with their rows as CSV, "" if some lack."""

    def __init__(self, on_change):
        self.on_change = on_change
        nodes = document.querySelectorAll("#kinds > li")
        self.classes = [TextClass(node, self.change, self.remove) for node in nodes]
        when("click", "#add")(lambda event: self.add_by_hand())

    def add(self, name):
        """Add a class, and return it."""
        node = document.importNode(element("class").content, True).firstElementChild
        node.querySelector("input").value = name
        element("kinds").append(node)
        self.classes.append(TextClass(node, self.change, self.remove))
        return self.classes[-1]

    def add_by_hand(self):
        """Add a class that is to be named."""
        self.add(find_free_name({text_class.name for text_class in self.classes}))
        self.classes[-1].field.select()
        self.change()

    def remove(self, text_class):
        """Remove a class with its sentences."""
        self.classes.remove(text_class)
        text_class.element.remove()
        element("add").focus()
        self.change()

    def change(self):
        """Say what is missing, and pass the rows on."""
        lack = self.describe_lack()
        element("needs").textContent = lack
        self.on_change("" if lack else self.rows())

    def describe_lack(self):
        """Return what is missing before the classes can be learnt, or nothing."""
        names = [text_class.name for text_class in self.classes]
        counts = [len(text_class.lines) for text_class in self.classes]
        return describe_lack(names, counts, MIN_EXAMPLES, "sentence", verb="Write")

    def rows(self):
        """Return the sentences and their classes as CSV."""
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(["sentence", "class"])
        for text_class in self.classes:
            writer.writerows([line, text_class.name] for line in text_class.lines)
        return file.getvalue()

    def show(self, texts, labels):
        """Show the rows of a table, unless they are too many."""
        rows = [
            (" ".join(str(text).split()), str(label))
            for text, label in zip(texts, labels, strict=True)
            if text is not None and label is not None
        ]
        names = list(dict.fromkeys(name for _, name in rows))
        fits = len(names) <= MAX_CLASSES and len(rows) <= MAX_ROWS
        for name in ("kinds", "add"):
            element(name).hidden = not fits
        if not fits:
            return
        for text_class in [*self.classes]:
            text_class.element.remove()
        self.classes = []
        for name in names:
            text_class = self.add(name)
            text_class.area.value = "\n".join(text for text, kind in rows if kind == name)
            text_class.tell()
