"""A page that is taught by example: classes, a training, a preview, and a model that is saved."""

import asyncio
import time

from editor import Editor
from example_class import ExampleClass
from example_counts import MIN_EXAMPLES, describe_lack, find_free_name
from examples_learner import UnfitExamples
from fetched import show_ready
from fetched import tell as tell_progress
from network_block import NetworkBlock
from page import (
    clear_error,
    copy,
    element,
    log,
    make,
    make_bars,
    read_number,
    sentence,
    show_error,
    show_error_text,
)
from preview import Preview
from pyscript import document, when, window
from result_card import ResultCard, describe_card, describe_loss
from saving import save_file, save_page
from share import UnfitLink
from taught_link import has_own_text, make_link, read_link

READY = 8
"""Ready examples of each class."""


class TeachingPage:
    """The classes, the learner, and the preview; `busy` while it learns or opens.

    The page's kind says what examples are, and where they come from:

    - `noun`: what an example is called; `files`: which files have some; `name`: of the files that
      are saved.
    - `several`: how many are recorded in a row, where a button does; `patience`, `pause`: seconds
      for which a button is held before it records more, and between two of them.
    - `epochs`: of a training; `text`: of the model that the page begins with.
    - `inertia`: what counts as much as the examples sensed before, of 1.
    - `prepare()`: returns the learner that the page begins with, once all is there that it takes;
      `open_folders`: of the site, which the page may fetch from after that.
    - `current`: the learner that new examples are for; `choose()` returns the one that is trained,
      and `find(basis)` the one of a link, None where that has to be downloaded first.
    - `begin()` and `end()`: open and close the camera or the microphone; `sense()` yields examples
      until `end` is called, and `capture(wait)` returns one, and calls `wait` if that takes time.
    - `read(file)`: returns the examples of a file; `ready`, `sample(name, number)`: the classes of
      ready examples, and one of them.
    - `keep(example)`: returns an example as it is kept; `rows(example, learner)`: returns what is
      learnt of it, several rows where it counts several times; `draw(example, rows, item)`: shows
      it in an item of a list.
    - `show(example)`: shows what is tried, and `present(example)` plays it, where it is a sound;
      `numbers(example, shape)` returns it for a model; `describe(number, answer)` names one of
      several examples of a file.
    """

    def __init__(self, kind):
        self.kind, self.learner = kind, None
        self.busy, self.training, self.filling = False, False, False
        self.preparing, self.trained = asyncio.Lock(), 0
        self.linked, self.card = None, ResultCard()
        self.taught = []  # the classes of the model, where it was trained here
        self.block, self.editor, self.log = NetworkBlock(), Editor(), log
        self.classes = []
        self.epochs = kind.epochs
        element("epochs").value = str(kind.epochs)
        self.editor.text = kind.text
        self.preview = Preview(self)
        for node in document.querySelectorAll("#classes > li"):
            self.classes.append(ExampleClass(self, node))
        self.listen()
        self.refresh()

    def listen(self):
        """Answer what the reader does."""
        attempting = self.attempting
        when("click", "#add")(lambda event: self.add().field.select())
        when("click", "#ready")(attempting(self.take_ready))
        when("submit", "#form")(self.learn)
        when("click", "#halt")(attempting(self.halt))
        when("click", "#save")(attempting(self.save))
        when("click", "#export")(attempting(self.export))
        when("click", "#page")(attempting(self.save_page))
        when("click", "#link")(attempting(self.copy_link))
        when("change", "#open")(self.choose_model)
        when("click", "#block")(attempting(self.prepare))
        when("click", "#send")(lambda event: asyncio.ensure_future(self.block.attempt()))
        when("hashchange", window)(attempting(self.restore))
        for kind in ("dragover", "drop"):
            when(kind, window)(keep)

    async def open(self):
        """Say that the page is ready, and take the model of the address, if it has one."""
        await show_ready()
        if window.location.hash:  # an attempt would take the error of an earlier one away
            await self.attempt(self.restore)

    async def prepare(self):
        """Get all that it takes to learn, then block network access, before anything is kept."""
        async with self.preparing:
            if self.learner:
                return
            tell_progress("Getting ready …")
            self.learner = await self.kind.prepare()
            try:
                await self.card.fetch()  # once access is blocked, nothing can be fetched
            except Exception as error:
                log(f"results cannot be drawn as pictures now: {error}")
            tell_progress(f"Ready, on {self.learner.backend.description}.")
            self.block.close(self.kind.open_folders)
            element("block").hidden, element("send").hidden = True, False

    def attempting(self, function):
        """Return what does something for an event."""
        return lambda event: asyncio.ensure_future(self.attempt(function))

    async def attempt(self, function, *arguments):
        """Do something; show its error where it fails, and return whether it did not."""
        clear_error()
        try:
            await function(*arguments)
        except UnfitExamples as error:
            show_error_text(str(error))
        except UnfitLink as error:
            show_error_text(sentence(str(error)))
        except Exception as error:
            show_error(error)
        else:
            return True
        return False

    # The classes.

    def add(self):
        """Add a class, and return it."""
        example_class = ExampleClass(self)
        self.classes.append(example_class)
        element("classes").append(example_class.element)
        names = {other.name for other in self.classes if other is not example_class}
        example_class.rename(find_free_name(names))
        return example_class

    def remove(self, example_class):
        """Remove a class with its examples."""
        self.classes.remove(example_class)
        example_class.element.remove()
        if example_class in self.taught:
            self.taught = []
        if self.learner and example_class.name in self.learner.names:
            self.card.withdraw()
            self.preview.clear()
            element("try").hidden = True
        element("add").focus()
        say(f"{example_class.name} is removed.")
        self.refresh()

    async def take_ready(self):
        """Fill classes that have no examples with ready ones, and try one that is none of them.

        Nothing is done while that is under way, or for classes that are there.
        """
        if self.filling:
            return
        self.filling = True
        try:
            await self.fill()
        finally:
            self.filling = False

    async def fill(self):
        """Add the ready classes that are missing."""
        await self.prepare()
        filled = {example_class.name for example_class in self.classes if example_class.examples}
        missing = [name for name in self.kind.ready if name not in filled]
        if not missing:
            return
        empty = [example_class for example_class in self.classes if not example_class.examples]
        for name in missing:
            example_class = empty.pop(0) if empty else self.add()
            example_class.rename(name)
            for number in range(READY):
                await example_class.add(self.kind.sample(name, number))
            example_class.thumbnails.scrollTop = 0
        element("sample").hidden = False
        await self.preview.show(self.preview.next_sample())
        if not element("learn").hidden:
            element("learn").focus()

    def refresh(self):
        """Say what is missing before the classes can be learnt, or offer to learn them."""
        names = [example_class.name for example_class in self.classes]
        counts = [len(example_class.examples) for example_class in self.classes]
        lack = describe_lack(names, counts, MIN_EXAMPLES, self.kind.noun)
        # One thing to press at a time: what is to be done next.
        element("ready").classList.toggle("primary", not any(counts) and not self.trained)
        element("needs").textContent = lack
        element("needs").hidden = not lack or self.busy
        element("learn").hidden = bool(lack) or self.busy
        element("learn").textContent = "Train again" if self.trained else "Train"
        element("halt").hidden = not self.training
        bars = element("shares")
        if bars.hasAttribute("data-example"):
            make_bars(names)
        self.rename_answers()

    def rename_answers(self):
        """Have the model answer with the names that its classes have now, once no two are alike."""
        names = [] if self.busy else [example_class.name for example_class in self.taught]
        if names and names != self.learner.names and len({*names}) == len(names):
            self.learner.rename(names)
            self.preview.rename(names)

    # The training, whose progress the package tells.

    async def learn(self, event):
        """Learn the classes, unless they are being learnt."""
        event.preventDefault()
        if not self.busy and not element("learn").hidden:
            await self.attempt(self.train)

    async def train(self):
        """Learn the classes."""
        await self.prepare()
        self.training = True
        self.card.withdraw()
        self.hand_over(True)
        element("halt").focus()
        try:
            await self.train_on(await self.kind.choose())
        except BaseException:
            element("course-text").textContent = "No result"
            raise
        finally:
            held = document.activeElement in (element("halt"), document.body)
            self.training = False
            self.hand_over(False)
            if held:
                element("learn").focus()

    async def train_on(self, learner):
        """Learn the classes, by a learner."""
        self.epochs = int(read_number("epochs"))
        course, shown = element("course"), element("course-text")
        course.hidden, course.max, course.value = False, self.epochs, 0
        shown.textContent = "Looking at the examples …"
        await asyncio.sleep(0)  # the page draws it
        classes = [*self.classes]
        names = [example_class.name for example_class in classes]
        counts = [len(example_class.examples) for example_class in classes]
        count = sum(counts)
        examples = [
            (row, number)
            for number, example_class in enumerate(classes)
            for row in await example_class.rows(learner)
        ]
        settings = {"lr": float(element("lr").value)} if element("lr").value else {}
        began = time.perf_counter()
        shown.textContent = "Looking for a good start …"
        previous, self.learner = self.learner, learner
        self.preview.reset()
        try:
            history = await learner.train(
                *(examples, names, self.editor.text, self),
                on_epoch=self.on_epoch,
                epochs=self.epochs,
                **settings,
            )
        except BaseException:
            self.learner = previous
            raise
        if previous is not learner:
            previous.forget()
        seconds = time.perf_counter() - began
        self.editor.text = learner.text
        course.value = self.epochs
        summary = (
            f"{count} {self.kind.noun}s of {len(names)} classes learnt in {seconds:.1f} s, "
            f"on {learner.backend.description}"
        )
        loss = f" · loss {describe_loss(history.epochs[-1].loss)}" if history.epochs else ""
        shown.textContent = f"{summary}{loss}"
        show_review(history.findings)
        # One that was removed meanwhile has no name any more.
        self.taught = classes if {*classes} <= {*self.classes} else []
        self.busy = False
        await self.preview.ask_again()
        self.trained += 1
        shown.dataset.trained, shown.dataset.seconds = str(self.trained), f"{seconds:.2f}"
        say(f"{summary}.")
        self.offer_card(history, counts, seconds)

    def offer_card(self, history, counts, seconds):
        """Offer a picture of what was learnt; examples are on it only where the reader says so.

        `counts` are those of the examples of each class; names are what the classes are called
        when the picture is drawn.
        """
        learner, noun, largest = self.learner, self.kind.noun, max(counts)
        loss = history.epochs[-1].loss if history.epochs else None
        numbers = [
            (f"{sum(counts)}", f"examples of {len(counts)} classes"),
            ("" if loss is None else describe_loss(loss), "training loss at the end"),
            (f"{seconds:.1f} s", f"{len(history.epochs)} epochs on {learner.backend.description}"),
        ]
        about = f"A network learnt to tell {noun}s apart in the browser."
        holds = f"The picture holds the names of the classes and how many {noun}s they have."
        own = {
            "label": f"Show the {noun} of the preview, and what the model takes it for",
            "holds": (
                f"What you share holds the {noun} of the preview as you see it here, what the "
                "model takes it for, and the names of the classes."
            ),
        }

        def describe():
            title, pairs = ", ".join(learner.names), zip(learner.names, counts, strict=True)
            bars = [(name, count / largest, f"{count} {noun}s") for name, count in pairs]
            more = {"bars": bars, "own": own | {"bars": read_bars()}}
            card = describe_card(self.kind.name, title, about, numbers, holds=holds, **more)
            stage = document.querySelector(".stage")
            shown = stage.classList.contains("filled")
            return card, (), [stage.querySelector("canvas")] if shown else []

        self.card.offer(describe)

    async def halt(self):
        """End the training after the steps on their way, with what it has learnt."""
        element("course-text").textContent = "Stopping …"
        if self.learner.training:
            await self.learner.training.stop()

    def begin(self, *_):
        """Nothing yet."""

    note = end = update = begin

    async def on_epoch(self, record, judge):
        """Show an epoch, and what the model says by now."""
        element("course").value = record.epoch
        text = f"Epoch {record.epoch} of {self.epochs} · loss {describe_loss(record.loss)}"
        element("course-text").textContent = text
        await self.preview.look(judge)

    def hand_over(self, busy):
        """Let nothing else happen while something is learnt or opened."""
        self.busy = busy
        names = self.learner.names if self.learner else []
        element("open").disabled = busy
        for name in ("try", "keeping"):
            element(name).hidden = busy or not names
        self.refresh()

    # Files.

    async def save(self):
        """Save the model among the downloads, with all that it takes to use it."""
        content = await (await self.learner.join()).save()
        tell_saved(await save_file(f"{self.kind.name}.webnnm.safetensors", content))

    async def export(self):
        """Save the model among the downloads as an ONNX file."""
        content = await (await self.learner.join()).export(batch=1, format="onnx")
        text = await save_file(f"{self.kind.name}.onnx", content)
        tell_saved(f"{text} Its outputs: {', '.join(self.learner.names)}.")

    async def save_page(self):
        """Save the archive of a page that tells the classes apart among the downloads."""
        model = await self.learner.join()
        (block,) = model.inputs()
        tell_saved(await save_page(self.kind.name, model, rows={block: self.kind.noun}))

    async def copy_link(self):
        """Put the model into the address of the page, and copy that."""
        content = await self.learner.pack()
        if not await has_own_text(content, self.learner.default):
            raise UnfitExamples(
                "A link is for models that were trained in this page with its own text. "
                "Save the model or a page instead."
            )
        address = make_link(self.learner.basis, content)
        window.history.replaceState(None, "", address)
        if await copy(address, "the address of this page is the link: copy it"):
            tell_saved(f"Copied: the link has {len(address):,} letters.")

    async def choose_model(self, event):
        """Open a model that was saved."""
        chosen = element("open").files
        if chosen.length and not self.busy:
            file = chosen.item(0)
            if await self.attempt(self.open_file, file):
                names = ", ".join(self.learner.names)
                element("course-text").textContent = f"{file.name} is opened: {names}"
            element("open").value = ""

    async def open_file(self, file):
        """Take the model of a file."""
        await self.prepare()
        await self.take((await file.arrayBuffer()).to_bytes(), self.learner)

    async def restore(self):
        """Take the model of the address; what it builds on may have to be downloaded first."""
        self.linked = read_link()
        if self.linked:
            await self.prepare()
            await self.take_linked()

    async def take_linked(self):
        """Take the model of a link, once there is what it builds on."""
        if not self.linked:
            return
        basis, content = self.linked
        learner = self.kind.find(basis)
        if learner:
            self.linked = None
            if not await has_own_text(content, learner.default):
                raise UnfitLink("the model of this link is not one of this page")
            await self.take(content, learner)
            names = ", ".join(learner.names)
            element("course-text").textContent = f"The model of the link is opened: {names}"

    async def take(self, content, learner):
        """Take a model, by a learner that it is for."""
        self.hand_over(True)
        self.card.withdraw()
        try:
            await learner.open(content, log)
            self.learner, self.taught = learner, []
            self.preview.reset()
        finally:
            self.hand_over(False)
        await self.preview.ask_again()


def read_bars():
    """Return the bars of the preview: each class, its share, and that in percent."""
    names, values = (document.querySelectorAll(f"#shares {tag}") for tag in ("dt", "dd"))
    return [
        (name.textContent, share_of(value), value.lastElementChild.textContent)
        for name, value in zip(names, values, strict=True)
    ]


def share_of(value):
    """Return the length of a bar."""
    return float(value.firstElementChild.style.getPropertyValue("--share") or 0)


def show_review(findings):
    """Show what the expert system found."""
    lines = [make("li", f"{sentence(finding.message)} {finding.remedy}") for finding in findings]
    element("findings").replaceChildren(*lines)
    element("review").hidden = not lines


def keep(event):
    """Stay on the page where a file is dropped beside the classes."""
    event.preventDefault()


def say(text):
    """Have screen readers say how things stand."""
    element("status").textContent = text


def tell_saved(text):
    """Say what is saved."""
    element("saved").textContent = text
