"""The page that learns from examples: classes of pictures, a training, what the camera sees now."""

import asyncio

from examples_learner import UnfitExamples
from fetched import MissingModel, download, hear, tell
from page import element, make
from picture_learner import (
    BACKBONE,
    HEAD,
    NETWORK,
    PHOTOGRAPHS,
    PIXELS,
    photograph_learner,
    pixel_learner,
)
from pyscript import when
from pyscript.js_modules import pictures
from pyscript.js_modules import ready_examples as samples
from share import UnfitLink
from teaching import TeachingPage

THUMBNAIL = 96
PREVIEW = 224
"""Pixels along a side of the preview, and of examples that are kept: what the backbone takes."""
WIDTH = 640
"""Of the pictures that the camera takes, about."""


class Pictures:
    """Pictures of the camera and of files, as a kind of examples (see `TeachingPage`)."""

    noun, files, name = "picture", "image/*", "examples"
    several, patience, pause = 0, 0.5, 0.1
    epochs, inertia, text = 50, 0.0, HEAD
    ready = ("Sun", "Leaf")
    open_folders = ("./models/", "./vendor/")

    def __init__(self):
        self.pixels = self.photographs = None
        self.seeing, self.downloading = False, asyncio.Lock()

    # What learns.

    async def prepare(self):
        """Return what learns from pixels."""
        self.pixels = await pixel_learner(hear)
        return self.pixels

    @property
    def current(self):
        """What learns from new examples, as far as it is there."""
        photographs = None if element("without").checked else self.photographs
        return photographs or self.pixels

    async def choose(self):
        """Return the learner that is to be trained; the first training downloads what it takes."""
        if not element("without").checked:
            try:
                await self.download()
            except MissingModel as missing:
                warn(f"{missing} The network learns from pixels instead.")
                element("without").checked = True
                self.show_text()
        return self.current

    async def download(self):
        """Download what the learner of photographs builds on, unless it is there; block access."""
        await page.prepare()
        async with self.downloading:
            if self.photographs:
                return
            offer, bar = element("later"), element("progress")
            offer.hidden, bar.hidden = True, False
            try:
                (content,) = await download([BACKBONE])
                element("progress-text").classList.remove("warning")
                tell("Compiling …")
                await asyncio.sleep(0)  # the page draws it
                self.photographs = await photograph_learner(content, self.pixels.backend, hear)
            except BaseException:
                offer.hidden = False
                raise
            finally:
                bar.hidden = True
            tell(f"It is here, on {self.photographs.backend.description}.")
            page.block.close()

    def find(self, basis):
        """Return the learner of a link, None if what it builds on is not there yet."""
        if basis not in (PIXELS, PHOTOGRAPHS):
            raise UnfitLink("the model of this link is not one of this page")
        element("without" if basis == PIXELS else "with").checked = True
        self.show_text()
        if basis == PHOTOGRAPHS and not self.photographs:
            tell("The model of this link builds on it: download it to see what it says.")
        return self.pixels if basis == PIXELS else self.photographs

    def show_text(self):
        """Show the text of the model that is trained next."""
        without = element("without").checked
        learner = self.pixels if without else self.photographs
        page.editor.text = learner.text if learner else NETWORK if without else HEAD

    # Where pictures come from.

    async def begin(self):
        """Have the browser ask for the camera."""
        try:
            await pictures.open(WIDTH)
        except Exception as error:
            raise UnfitExamples(
                f"The camera cannot be opened: {error}\n"
                "Allow it in the settings of this page, or add pictures from files."
            ) from error
        self.seeing = True

    def end(self):
        """Yield no more pictures."""
        self.seeing = False

    async def close(self):
        """Close the camera."""
        pictures.close()

    async def sense(self):
        """Yield what the camera sees, as often as the page is drawn."""
        while self.seeing:
            yield pictures.seen()
            await pictures.drawn()

    async def capture(self, wait):
        """Return the picture that the camera has."""
        return pictures.seen()

    async def read(self, file):
        """Return the picture of a file."""
        try:
            return [await pictures.decode(file)]
        except Exception as error:
            raise UnfitExamples(
                f"{file.name} is not a picture that this browser reads. Save it as PNG or JPEG."
            ) from error

    def sample(self, name, number):
        """Return a ready picture of a class; the first ones let pixels be learnt, which suffice."""
        if not self.photographs and not element("without").checked:
            element("without").checked = True
            self.show_text()
        return samples.picture(name, number)

    # What is done with them.

    def keep(self, picture):
        """Return a picture as large as it is needed."""
        return pictures.reduced(picture, PREVIEW)

    async def rows(self, picture, learner):
        """Return what is learnt of a picture."""
        return [await learner.row(self.numbers(picture, learner.shape))]

    def draw(self, picture, rows, item):
        """Show a picture on a button that removes it."""
        button, canvas = make("button", type="button", data_does="Remove"), make("canvas")
        pictures.middle(picture, canvas, THUMBNAIL)
        button.append(canvas)
        item.append(button)

    async def show(self, picture):
        """Show a picture in the place of the camera's."""
        pictures.middle(picture, element("camera"), PREVIEW)

    async def present(self, picture):
        """Do nothing more: it is shown."""

    def numbers(self, picture, shape):
        """Return the middle of a picture at a model's size."""
        return pictures.pixels(picture, shape[-1]).to_bytes()


def warn(text):
    """Say why what pictures build on is not there."""
    tell(text)
    element("progress-text").classList.add("warning")


async def download_now():
    """Download what the learner of photographs builds on, and take the model of the link."""
    try:
        await kind.download()
    except MissingModel as missing:
        warn(str(missing))
        return
    element("with").checked = True
    kind.show_text()
    await page.take_linked()


@when("change", "#basis")
def on_basis(event):
    """Show the model of what was chosen."""
    kind.show_text()


kind = Pictures()
page = TeachingPage(kind)
when("click", "#download")(page.attempting(download_now))
await page.open()
