"""A page that is taught by example: classes, a training, a trial, and files that keep the model."""

import asyncio
import time

from editor import Editor
from example_class import ExampleClass
from examples_learner import UnfitExamples
from page import clear_error, element, log, make, show_error, show_error_text, show_shares
from pyscript import when, window
from saving import save_file, save_page
from sealed import Seal


class TeachingPage:
    """The classes, the learner, and what the page senses; `busy` while it learns or opens.

    The page's kind says what examples are, and where they come from:

    - `noun`: what an example is called; `verb`: what taking one is called; `files`: which files
      have some; `name`: of the files that are saved.
    - `several`: how many are taken in a row, where a button does; `patience`, `pause`: seconds for
      which a button is held before it takes more, and between two of them.
    - `epochs`: of a training; `classes`: names of the first ones, None for the usual.
    - `inertia`: what counts as much as the examples sensed before, of 1.
    - `begin()` and `end()`: open and close the camera or the microphone; `sense()` yields examples
      until `end` is called, and `capture(wait)` returns one, and calls `wait` if that takes time.
    - `read(file)`: returns the examples of a file.
    - `learn(example, item)`: returns what is learnt of an example, several rows where it counts
      several times, and shows it in an item of a list.
    - `show(example)`: shows what is tried; `numbers(example, shape)` returns it for a model;
      `describe(number, answer)` names one of several examples of a file.
    """

    def __init__(self, kind):
        self.kind = kind
        self.classes, self.numbered = [], 0
        self.learner = None
        self.sensing = self.busy = False
        self.opening, self.following = asyncio.Lock(), None
        self.answered = self.trained = 0
        self.steady = {}
        self.seal, self.editor = Seal(), Editor()
        self.log = log
        self.epochs = kind.epochs
        element("epochs").value = str(kind.epochs)
        self.listen()

    def listen(self):
        """Answer what the reader does."""
        when("click", "#add")(lambda event: self.add().field.select())
        when("submit", "#form")(self.learn)
        when("click", "#start")(self.start)
        when("click", "#stop")(self.stop)
        when("change", "#file")(self.choose)
        when("click", "#save")(lambda event: asyncio.ensure_future(self.attempt(self.save)))
        when("click", "#export")(lambda event: asyncio.ensure_future(self.attempt(self.export)))
        when("click", "#page")(lambda event: asyncio.ensure_future(self.attempt(self.save_page)))
        when("change", "#open")(self.choose_model)
        when("click", "#send")(lambda event: asyncio.ensure_future(self.seal.attempt()))
        for kind in ("dragover", "drop"):
            when(kind, window)(keep)

    async def use(self, learner):
        """Take the learner, then seal the page, before there is anything to keep to it."""
        self.learner = self.kind.learner = learner
        self.editor.text = learner.text
        self.seal.close()
        element("send").disabled = False
        for name in self.kind.classes:
            self.add(name)

    async def attempt(self, function, *arguments):
        """Do something; show its error where it fails."""
        clear_error()
        try:
            await function(*arguments)
        except UnfitExamples as error:
            show_error_text(str(error))
        except Exception as error:
            show_error(error)

    # The classes.

    def add(self, name=None):
        """Add a class, and return it."""
        self.numbered += 1
        example_class = ExampleClass(self, self.numbered, name)
        self.classes.append(example_class)
        element("classes").append(example_class.element)
        return example_class

    def remove(self, gone):
        """Remove a class with its examples."""
        self.classes.remove(gone)
        gone.element.remove()
        element("add").focus()
        say(f"{gone.name} is removed.")

    # The training, whose progress the package tells.

    async def learn(self, event):
        """Learn the classes, unless they are being learnt."""
        if not self.busy:
            await self.attempt(self.train)

    async def train(self):
        """Learn the classes."""
        self.epochs = int(element("epochs").value)
        element("course").max, element("course").value = self.epochs, 0
        element("course-text").textContent = "Looking for a good start …"
        self.hand_over(True)
        count = sum(len(example_class.rows) for example_class in self.classes)
        examples = [
            (row, number)
            for number, example_class in enumerate(self.classes)
            for rows in example_class.rows
            for row in rows
        ]
        names = [example_class.name for example_class in self.classes]
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
        self.steady = {}
        element("course").value = self.epochs
        summary = (
            f"{count} {self.kind.noun}s of {len(names)} classes learnt in {seconds:.1f} s, "
            f"on {self.learner.backend.description}"
        )
        shown = element("course-text")
        shown.textContent = f"{summary} · loss {history.epochs[-1].loss:.4f}"
        self.trained += 1
        shown.dataset.trained, shown.dataset.seconds = str(self.trained), f"{seconds:.2f}"
        say(f"{summary}.")

    def begin(self, *_):
        """Nothing yet."""

    note = end = begin

    def update(self, record, eta_seconds):
        """Show an epoch."""
        element("course").value = record.epoch
        text = f"Epoch {record.epoch} of {self.epochs} · loss {record.loss:.4f}"
        element("course-text").textContent = text

    def hand_over(self, busy):
        """Let nothing else happen while something is learnt or opened."""
        self.busy = busy
        ready = not busy and bool(self.learner.names)
        element("learn").disabled = element("open").disabled = busy
        for name in ("try", "save", "export", "page"):
            element(name).disabled = not ready

    # The trial.

    async def ask(self, example):
        """Show what was sensed, and what the model takes it for."""
        await self.kind.show(example)
        if self.busy or not self.learner.names:
            return
        shares, seconds = await self.judge(example)
        before = self.steady if self.steady.keys() == shares.keys() else shares
        part = self.kind.inertia
        self.steady = {
            name: part * before[name] + (1 - part) * share for name, share in shares.items()
        }
        self.tell(self.steady, seconds)

    async def judge(self, example):
        """Return how probable each class is, and the seconds that it took to find that."""
        began = time.perf_counter()
        shares = await self.learner.shares(lambda shape: self.kind.numbers(example, shape))
        return shares, time.perf_counter() - began

    def tell(self, shares, seconds):
        """Show an answer."""
        self.answered += 1
        element("answer").textContent = show_shares(shares)
        rate = element("rate")
        rate.textContent = f"{1000 * seconds:.0f} ms, on {self.learner.backend.description}"
        rate.dataset.count = str(self.answered)

    async def choose(self, event):
        """Try the model on a file."""
        if element("file").files.length:
            await self.attempt(self.try_file, element("file").files.item(0))

    async def try_file(self, file):
        """Show what the model takes a file for, in the place of what is sensed.

        Of several examples in a file each is told, and their mean is shown.
        """
        await self.end_sensing()
        element("parts").replaceChildren()
        examples = await self.kind.read(file)
        answers, spent = [], 0.0
        for example in examples:
            await self.kind.show(example)
            shares, seconds = await self.judge(example)
            answers.append(shares)
            spent += seconds
        names = answers[0]
        mean = {name: sum(answer[name] for answer in answers) / len(answers) for name in names}
        self.tell(mean, spent / len(answers))
        if len(answers) > 1:
            parts = [self.kind.describe(number, answer) for number, answer in enumerate(answers)]
            element("parts").replaceChildren(*(make("li", part) for part in parts))

    # The camera or the microphone.

    async def start(self, event):
        """Begin to sense."""
        await self.attempt(self.begin_sensing)
        if self.sensing:
            element("stop").focus()

    async def stop(self, event):
        """Sense no more."""
        await self.end_sensing()
        element("start").focus()

    async def begin_sensing(self):
        """Open the camera or the microphone, and follow what it senses."""
        async with self.opening:
            if self.sensing:
                return
            await self.kind.begin()
            element("parts").replaceChildren()
            self.sensing, self.steady = True, {}
            element("start").disabled, element("stop").disabled = True, False
            self.following = asyncio.ensure_future(self.attempt(self.follow))

    async def end_sensing(self):
        """Close the camera or the microphone after what it senses now."""
        if self.sensing:
            self.sensing = False
            self.kind.end()
            await self.following

    async def follow(self):
        """Show what is sensed, and what the model takes it for, until that is to end."""
        try:
            async for example in self.kind.sense():
                if not self.sensing:
                    break
                await self.ask(example)
        finally:
            self.sensing = False
            await self.kind.close()
            element("start").disabled, element("stop").disabled = False, True

    # Files.

    async def save(self):
        """Save the model among the downloads, with all that it takes to use it."""
        content = await (await self.learner.join()).save()
        say(await save_file(f"{self.kind.name}.webnnm.safetensors", content))

    async def export(self):
        """Save the model among the downloads as an ONNX file."""
        content = await (await self.learner.join()).export(batch=1, format="onnx")
        text = await save_file(f"{self.kind.name}.onnx", content)
        say(f"{text} Its outputs: {', '.join(self.learner.names)}.")

    async def save_page(self):
        """Save the archive of a page that tells the classes apart among the downloads."""
        model = await self.learner.join()
        (block,) = model.inputs()
        say(await save_page(self.kind.name, model, rows={block: self.kind.noun}))

    async def choose_model(self, event):
        """Open a model that was saved."""
        chosen = element("open").files
        if chosen.length and not self.busy:
            await self.attempt(self.open, chosen.item(0))
            element("open").value = ""

    async def open(self, file):
        """Take the model of a file."""
        self.hand_over(True)
        try:
            await self.learner.open((await file.arrayBuffer()).to_bytes(), log)
            self.steady = {}
            names = ", ".join(self.learner.names)
            element("course-text").textContent = f"{file.name} is opened: {names}"
        finally:
            self.hand_over(False)


def keep(event):
    """Stay on the page where a file is dropped beside the classes."""
    event.preventDefault()


def say(text):
    """Have screen readers say how things stand."""
    element("status").textContent = text
