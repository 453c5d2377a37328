"""A class in the page: its name, its examples, and the controls that add and remove them."""

import asyncio
from functools import partial

from page import make
from pyscript import when


class ExampleClass:
    """A class with its name and its examples, and what the page shows of it.

    Examples are of the page's kind; `rows` has what is learnt of each.
    """

    def __init__(self, page, number, name=None):
        self.page, self.kind = page, page.kind
        self.rows = []
        self.held, self.reading = False, None
        self.field = make("input", id=f"class-{number}", required="")
        self.field.value = name or f"Class {number}"
        label = make("label", "Name", for_=self.field.id)
        self.take = make("button", self.kind.verb, type="button", class_="take")
        self.several = make("button", f"{self.kind.verb} {self.kind.several}", type="button")
        self.several.hidden = not self.kind.several
        self.remove = make("button", "Remove class", type="button")
        self.files = make("input", type="file", id=f"files-{number}", accept=self.kind.files)
        self.files.multiple = True
        self.files_label = make("label", "Add files", for_=self.files.id)
        self.count = make("p", class_="numbers", role="status")
        self.thumbnails = make("ul", class_="thumbnails")
        buttons = make("div", class_="buttons")
        buttons.append(self.take, self.several, self.remove)
        self.element = make("li", class_="drop")
        self.element.append(
            *(field(label, self.field), buttons, field(self.files_label, self.files)),
            *(self.count, self.thumbnails),
        )
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

    def tell(self):
        """Say how many examples there are, and name the controls after the class."""
        count, noun, verb = len(self.rows), self.kind.noun, self.kind.verb
        self.count.textContent = f"{count} {noun}" + "s" * (count != 1)
        self.take.ariaLabel = f"{verb} a {noun} of {self.name}"
        self.several.ariaLabel = f"{verb} {self.kind.several} {noun}s of {self.name}"
        self.files_label.textContent = f"Add files to {self.name}"
        self.remove.ariaLabel = f"Remove class {self.name}"
        self.thumbnails.ariaLabel = f"{noun.title()}s of {self.name}"
        for number, item in enumerate(self.thumbnails.children, 1):
            for button in item.querySelectorAll("button"):
                button.ariaLabel = f"{button.dataset.does} {noun} {number} of {self.name}"

    async def press(self, event):
        """Take an example, and more of them while the button is held down."""
        if event.button or self.held:
            return
        self.held = True
        await self.page.attempt(self.shoot)
        await asyncio.sleep(self.kind.patience)
        while self.held:
            await self.page.attempt(self.shoot)
            await asyncio.sleep(self.kind.pause)

    def let_go(self, event):
        """Take no more examples."""
        self.held = False

    async def click(self, event):
        """Take an example for a click that no pointer made: of a key, or of a screen reader."""
        if not event.detail:
            await self.page.attempt(self.shoot)

    async def take_several(self, event):
        """Take several examples, one after the other."""
        await self.page.attempt(self.shoot, self.kind.several)

    async def shoot(self, count=1):
        """Take what the camera or the microphone has, which is opened first where it is not."""
        await self.page.begin_sensing()
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
        files = list(event.dataTransfer.files)
        self.reading = asyncio.ensure_future(self.page.attempt(self.read, files))

    async def read(self, files):
        """Take the examples of files, one after the other."""
        for file in files:
            for example in await self.kind.read(file):
                await self.add(example)

    async def add(self, example):
        """Take an example, and show it."""
        item = make("li")
        self.rows.append(await self.kind.learn(example, item))
        self.thumbnails.append(item)
        self.tell()

    def discard(self, event):
        """Remove an example; the focus goes to the next one."""
        button = event.target.closest("[data-does=Remove]")
        if not button or self.page.busy:
            return
        item = button.closest("li")
        following = item.nextElementSibling or item.previousElementSibling
        del self.rows[list(self.thumbnails.children).index(item)]
        item.remove()
        (following.querySelector("[data-does=Remove]") if following else self.take).focus()
        self.tell()


def field(label, control):
    """Return a label with its control."""
    box = make("div", class_="field")
    box.append(label, control)
    return box
