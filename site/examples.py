"""The page that learns from examples: classes of pictures, a training, what the camera sees now."""

import asyncio
import time

from editor import Editor
from examples_learner import BACKBONE, Learner, UnfitExamples
from fetched import downloaded, hear, load, offered
from page import clear_error, element, log, make, show_error, show_error_text, show_shares
from pyscript import when, window
from pyscript.js_modules import pictures
from sealed import Seal

from webnnm import backend

THUMBNAIL = 96
PREVIEW = 224
PATIENCE, PAUSE = 0.5, 0.1
"""Seconds for which a button is held before it takes more pictures, and between two of them."""
WORK = 60.0
"""Seconds that NumPy takes for about one training of the small network."""
DOWNLOAD = "download:examples"


class ExampleClass:
    """A class with its name and its pictures, and what the page shows of it."""

    def __init__(self, number):
        self.rows = []
        self.held, self.reading = False, None
        self.field = make("input", id=f"class-{number}", value=f"Class {number}", required="")
        label = make("label", "Name", for_=self.field.id)
        self.take = make("button", "Take", type="button", class_="take")
        self.remove = make("button", "Remove class", type="button")
        self.files = make("input", type="file", id=f"files-{number}", accept="image/*")
        self.files.multiple = True
        self.files_label = make("label", "Add files", for_=self.files.id)
        self.count = make("p", class_="numbers", role="status")
        self.thumbnails = make("ul", class_="thumbnails")
        buttons = make("div", class_="buttons")
        buttons.append(self.take, self.remove)
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
        """Say how many pictures there are, and name the controls after the class."""
        count = len(self.rows)
        self.count.textContent = f"{count} picture" + "s" * (count != 1)
        self.take.ariaLabel = f"Take a picture of {self.name}"
        self.files_label.textContent = f"Add files to {self.name}"
        self.remove.ariaLabel = f"Remove class {self.name}"
        self.thumbnails.ariaLabel = f"Pictures of {self.name}"
        for number, button in enumerate(self.thumbnails.querySelectorAll("button"), 1):
            button.ariaLabel = f"Remove picture {number} of {self.name}"

    async def press(self, event):
        """Take a picture, and more of them while the button is held down."""
        if event.button or self.held:
            return
        self.held = True
        await page.attempt(self.shoot)
        await asyncio.sleep(PATIENCE)
        while self.held:
            await page.attempt(self.shoot)
            await asyncio.sleep(PAUSE)

    def let_go(self, event):
        """Take no more pictures."""
        self.held = False

    async def click(self, event):
        """Take a picture for a click that no pointer made: of a key, or of a screen reader."""
        if not event.detail:
            await page.attempt(self.shoot)

    async def shoot(self):
        """Take the picture that the camera has, which is opened first where it is not."""
        await page.open_camera()
        await self.add(pictures.seen())

    async def choose(self, event):
        """Take the pictures of files."""
        files = list(self.files.files)
        self.files.value = ""
        await page.attempt(self.read, files)

    def drop(self, event):
        """Take the pictures of files that were dropped, which the event has only now."""
        files = list(event.dataTransfer.files)
        self.reading = asyncio.ensure_future(page.attempt(self.read, files))

    async def read(self, files):
        """Take the pictures of files, one after the other."""
        for file in files:
            await self.add(await decoded(file))

    async def add(self, picture):
        """Take the middle of a picture as an example."""
        canvas = make("canvas")
        pictures.middle(picture, canvas, THUMBNAIL)
        numbers = pictures.pixels(picture, page.learner.side).to_bytes()
        self.rows.append(await page.learner.row(numbers))
        item, button = make("li"), make("button", type="button")
        button.append(canvas)
        item.append(button)
        self.thumbnails.append(item)
        self.tell()

    def discard(self, event):
        """Remove a picture; the focus goes to the next one."""
        item = event.target.closest("li")
        if not item or page.busy:
            return
        following = item.nextElementSibling or item.previousElementSibling
        del self.rows[list(self.thumbnails.children).index(item)]
        item.remove()
        (following.querySelector("button") if following else self.take).focus()
        self.tell()


class ExamplesPage:
    """The classes, the learner, and the camera; `busy` while something is learnt or opened."""

    def __init__(self):
        self.classes, self.numbered = [], 0
        self.learner = None
        self.filming = self.busy = False
        self.opening, self.following = asyncio.Lock(), None
        self.epochs = self.answered = self.trained = 0
        self.seal, self.editor = Seal(), Editor()
        self.log = log

    async def use(self, learner):
        """Take the learner, then seal the page, before there is anything to keep to it."""
        self.learner = learner
        self.editor.text = learner.text
        self.seal.close()
        element("send").disabled = False
        self.add()
        self.add()

    async def attempt(self, function, *given):
        """Do something; show its error where it fails."""
        clear_error()
        try:
            await function(*given)
        except UnfitExamples as error:
            show_error_text(str(error))
        except Exception as error:
            show_error(error)

    # The classes.

    def add(self):
        """Add a class, and return it."""
        self.numbered += 1
        made = ExampleClass(self.numbered)
        self.classes.append(made)
        element("classes").append(made.element)
        return made

    def remove(self, gone):
        """Remove a class with its pictures."""
        self.classes.remove(gone)
        gone.element.remove()
        element("add").focus()
        say(f"{gone.name} is removed.")

    # The training, whose progress the package tells.

    async def train(self):
        """Learn the classes."""
        self.epochs = int(element("epochs").value)
        element("course").max, element("course").value = self.epochs, 0
        element("course-text").textContent = "Looking for a good start …"
        self.hand_over(True)
        examples = [(row, number) for number, each in enumerate(self.classes) for row in each.rows]
        names = [each.name for each in self.classes]
        began = time.perf_counter()
        try:
            history = await self.learner.train(examples, names, self.editor.text, self.epochs, self)
        except BaseException:
            element("course-text").textContent = "No result"
            raise
        finally:
            self.hand_over(False)
        seconds = time.perf_counter() - began
        self.editor.text = self.learner.text
        element("course").value = self.epochs
        told = (
            f"{len(examples)} pictures of {len(names)} classes learnt in {seconds:.1f} s, "
            f"on {self.learner.backend.description}"
        )
        shown = element("course-text")
        shown.textContent = f"{told} · loss {history.epochs[-1].loss:.4f}"
        self.trained += 1
        shown.dataset.trained, shown.dataset.seconds = str(self.trained), f"{seconds:.2f}"
        say(f"{told}.")

    def begin(self, *_):
        """Nothing yet."""

    note = end = begin

    def update(self, record, eta_seconds):
        """Show an epoch."""
        element("course").value = record.epoch
        told = f"Epoch {record.epoch} of {self.epochs} · loss {record.loss:.4f}"
        element("course-text").textContent = told

    def hand_over(self, busy):
        """Let nothing else happen while something is learnt or opened."""
        self.busy = busy
        ready = not busy and bool(self.learner.names)
        element("learn").disabled = element("open").disabled = busy
        element("try").disabled = element("save").disabled = element("export").disabled = not ready

    # The trial.

    async def ask(self, picture):
        """Show a picture, and what the model takes it for."""
        pictures.middle(picture, element("camera"), PREVIEW)
        if self.busy or not self.learner.names:
            return
        began = time.perf_counter()
        shares = await self.learner.shares(lambda side: pictures.pixels(picture, side).to_bytes())
        self.answered += 1
        element("answer").textContent = show_shares(shares)
        rate = element("rate")
        seconds = time.perf_counter() - began
        rate.textContent = f"{1000 * seconds:.0f} ms, on {self.learner.backend.description}"
        rate.dataset.count = str(self.answered)

    async def try_file(self, file):
        """Show what the model takes the picture of a file for, in the place of the camera's."""
        self.filming = False
        if self.following:
            await self.following
        await self.ask(await decoded(file))

    async def open_camera(self):
        """Open the camera, and follow what it sees."""
        async with self.opening:
            if not self.filming:
                await self.film()

    async def film(self):
        """Have the browser ask for the camera."""
        try:
            await pictures.open(640)
        except Exception as error:
            raise UnfitExamples(
                f"The camera cannot be opened: {error}\n"
                "Allow it in the settings of this page, or add pictures from files."
            ) from error
        self.filming = True
        element("start").disabled, element("stop").disabled = True, False
        self.following = asyncio.ensure_future(self.attempt(self.follow))

    async def follow(self):
        """Show what the camera sees, and what the model takes it for, until it is stopped."""
        try:
            while self.filming:
                await self.ask(pictures.seen())
                await pictures.drawn()
        finally:
            pictures.close()
            self.filming = False
            element("start").disabled, element("stop").disabled = False, True

    # Files.

    async def save(self):
        """Save the model among the downloads, with its backbone and the names of its classes."""
        await self.learner.save(f"{DOWNLOAD}.webnnm.safetensors")
        say("examples.webnnm.safetensors is saved.")

    async def export(self):
        """Save the model among the downloads as a file of ONNX."""
        await self.learner.export(f"{DOWNLOAD}.onnx")
        say(f"examples.onnx is saved. Its outputs: {', '.join(self.learner.names)}.")

    async def open(self, file):
        """Take the model of a file."""
        self.hand_over(True)
        try:
            await self.learner.open((await file.arrayBuffer()).to_bytes(), log)
            names = ", ".join(self.learner.names)
            element("course-text").textContent = f"{file.name} is opened: {names}"
        finally:
            self.hand_over(False)


async def decoded(file):
    """Return the picture of a file."""
    try:
        return await pictures.decode(file)
    except Exception as error:
        raise UnfitExamples(f"{file.name} is no picture that this browser reads.") from error


def field(label, control):
    """Return a label with its control."""
    made = make("div", class_="field")
    made.append(label, control)
    return made


def say(text):
    """Have screen readers say how things stand."""
    element("status").textContent = text


async def made(contents):
    """Return the learner on the files that were downloaded, or on none."""
    if contents:
        return [await Learner.create(contents, "auto", hear)]
    return [await Learner.create([], await backend("auto", log=hear, work=lambda: WORK), hear)]


async def nothing():
    """Return no file."""
    return []


@when("click", "#without")
async def without(event):
    """Start without the backbone."""
    await load(nothing, page.use, made)


@when("click", "#add")
def add(event):
    """Add a class, and go to its name."""
    page.add().field.select()


@when("submit", "#form")
async def train(event):
    """Learn the classes."""
    if not page.busy:
        await page.attempt(page.train)


@when("click", "#start")
async def start(event):
    """Open the camera."""
    await page.attempt(page.open_camera)
    if page.filming:
        element("stop").focus()


@when("click", "#stop")
async def stop(event):
    """Close the camera after this picture."""
    page.filming = False
    await page.following
    element("start").focus()


@when("change", "#file")
async def choose(event):
    """Try the model on a picture."""
    if element("file").files.length:
        await page.attempt(page.try_file, element("file").files.item(0))


@when("click", "#save")
async def save(event):
    """Save the model."""
    await page.attempt(page.save)


@when("click", "#export")
async def export(event):
    """Export the model."""
    await page.attempt(page.export)


@when("change", "#open")
async def open_model(event):
    """Open a model that was saved."""
    chosen = element("open").files
    if chosen.length and not page.busy:
        await page.attempt(page.open, chosen.item(0))
        element("open").value = ""


@when("click", "#send")
async def send(event):
    """Show that the browser refuses what the page would send."""
    await page.seal.attempt()


@when("dragover", window)
@when("drop", window)
def keep(event):
    """Stay on the page where a file is dropped beside the classes."""
    event.preventDefault()


page = ExamplesPage()
await offered(lambda: downloaded([BACKBONE]), page.use, made)
