"""A class in the page: its name, its examples, and the controls that add and remove them."""

import asyncio
from functools import partial
from typing import Any, NamedTuple

from page import element, make
from pyscript import document, when


class Example(NamedTuple):
    """An example; a learner, and what that learns of the example: `rows`."""

    content: Any
    learner: Any
    rows: list


class ExampleClass:
    """A class with its name and its examples, and what the page shows of it.

    Examples are of the page's kind.
    """

    def __init__(self, page, node=None):
        self.page, self.kind = page, page.kind
        self.examples = []
        self.held, self.reading = False, None
        if not node:
            node = document.importNode(element("class").content, True).firstElementChild
            for control in node.querySelectorAll("[data-waits]"):
                control.disabled = False
        self.element = node
        self.field = node.querySelector("input")
        self.take, self.several, self.remove, self.files, self.count, self.thumbnails = (
            node.querySelector(selector)
            for selector in (".take", ".several", ".remove", "[type=file]", ".numbers", "ul")
        )
        self.several.textContent = f"Record {self.kind.several}"
        self.several.hidden = not self.kind.several
        self.files.accept = self.kind.files
        when("input", self.field)(lambda event: self.tell())
        when("pointerdown", self.take)(self.press)
        for kind in ("pointerup", "pointerleave", "pointercancel"):
            when(kind, self.take)(self.let_go)
        when("click", self.take)(self.click)
        when("click", self.several)(self.take_several)
        when("change", self.files)(self.choose)
        when("drop", self.element)(self.drop)
        when("click", self.thumbnails)(self.discard)
        when("click", self.remove)(lambda event: page.remove(self))
        self.tell()

    @property
    def name(self):
        """What the class is called."""
        return self.field.value.strip() or "Nameless"

    def rename(self, name):
        """Call the class something."""
        self.field.value = name
        self.tell()

    def tell(self):
        """Say how many examples there are, and name the controls after the class."""
        count, noun = len(self.examples), self.kind.noun
        self.count.textContent = f"{count} {noun}" + "s" * (count != 1)
        self.take.ariaLabel = f"Hold to record {noun}s of {self.name}"
        self.several.ariaLabel = f"Record {self.kind.several} {noun}s of {self.name}"
        self.files.ariaLabel = f"Choose files for {self.name}"
        self.remove.ariaLabel = f"Remove class {self.name}"
        self.thumbnails.ariaLabel = f"{noun.title()}s of {self.name}"
        for number, item in enumerate(self.thumbnails.children, 1):
            for button in item.querySelectorAll("button"):
                button.ariaLabel = f"{button.dataset.does} {noun} {number} of {self.name}"
        self.page.refresh()

    async def press(self, event):
        """Take an example, and more of them while the button is held down."""
        if event.button or self.held:
            return
        self.held = True
        self.held = await self.page.attempt(self.record) and self.held
        await asyncio.sleep(self.kind.patience)
        while self.held:
            self.held = await self.page.attempt(self.record) and self.held
            await asyncio.sleep(self.kind.pause)

    def let_go(self, event):
        """Take no more examples."""
        self.held = False

    async def click(self, event):
        """Take an example for a click that no pointer made: of a key, or of a screen reader."""
        if not event.detail:
            await self.page.attempt(self.record)

    async def take_several(self, event):
        """Take several examples, one after the other."""
        await self.page.attempt(self.record, self.kind.several)

    async def record(self, count=1):
        """Take what the camera or the microphone has, which is opened first where it is not."""
        await self.page.preview.begin_sensing()
        try:
            for number in range(1, count + 1):
                message = "Recording …" if count == 1 else f"Recording {number} of {count} …"
                await self.add(await self.kind.capture(partial(self.wait, message)))
        finally:
            self.element.classList.remove("taking")
            self.tell()

    def wait(self, message):
        """Show that an example takes its time from now on."""
        self.element.classList.add("taking")
        self.count.textContent = message

    async def choose(self, event):
        """Take the examples of files."""
        files = list(self.files.files)
        self.files.value = ""
        await self.page.attempt(self.read, files)

    def drop(self, event):
        """Take the examples of files that were dropped, which the event has only now."""
        event.preventDefault()
        files = list(event.dataTransfer.files)
        self.reading = asyncio.ensure_future(self.page.attempt(self.read, files))

    async def read(self, files):
        """Take the examples of files, one after the other, and show the last one."""
        await self.page.prepare()
        content = None
        for file in files:
            for content in await self.kind.read(file):
                await self.add(content)
        if content is not None:
            await self.page.preview.show(content)

    async def add(self, content):
        """Take an example, and show it."""
        item, learner = make("li"), self.kind.current
        content = self.kind.keep(content)
        rows = await self.kind.rows(content, learner)
        self.kind.draw(content, rows, item)
        self.examples.append(Example(content, learner, rows))
        self.thumbnails.append(item)
        self.thumbnails.scrollTop = self.thumbnails.scrollHeight
        self.tell()

    async def rows(self, learner):
        """Return what a learner learns of the examples."""
        for number, example in enumerate(self.examples):
            if example.learner is not learner:
                rows = await self.kind.rows(example.content, learner)
                self.examples[number] = Example(example.content, learner, rows)
        return [row for example in self.examples for row in example.rows]

    def discard(self, event):
        """Remove an example; the focus goes to the next one."""
        button = event.target.closest("[data-does=Remove]")
        if not button or self.page.busy:
            return
        item = button.closest("li")
        following = item.nextElementSibling or item.previousElementSibling
        del self.examples[list(self.thumbnails.children).index(item)]
        item.remove()
        (following.querySelector("[data-does=Remove]") if following else self.take).focus()
        self.tell()
