"""The page that learns from examples: classes of pictures, a training, what the camera sees now."""

from examples_learner import UnfitExamples
from fetched import download, hear, load, nothing, offer_download
from page import element, make
from picture_learner import BACKBONE, picture_learner
from pyscript import when
from pyscript.js_modules import pictures
from teaching import TeachingPage

THUMBNAIL = 96
PREVIEW = 224
WIDTH = 640
"""Of the pictures that the camera takes, about."""


class Pictures:
    """Pictures of the camera and of files, as a kind of examples (see `TeachingPage`)."""

    noun, verb, files, name = "picture", "Take", "image/*", "examples"
    several, patience, pause = 0, 0.5, 0.1
    epochs, classes, inertia = 50, (None, None), 0.0

    def __init__(self):
        self.learner = None
        self.seeing = False

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

    async def learn(self, picture, item):
        """Show the middle of a picture on a button that removes it; return what is learnt of it."""
        button, canvas = make("button", type="button", data_does="Remove"), make("canvas")
        pictures.middle(picture, canvas, THUMBNAIL)
        button.append(canvas)
        item.append(button)
        return [await self.learner.row(self.numbers(picture, self.learner.shape))]

    async def show(self, picture):
        """Show a picture in the place of the camera's."""
        pictures.middle(picture, element("camera"), PREVIEW)

    def numbers(self, picture, shape):
        """Return the middle of a picture at a model's size."""
        return pictures.pixels(picture, shape[-1]).to_bytes()


async def make_learner(contents):
    """Return the learner on the files that were downloaded, or on none."""
    return [await picture_learner(contents, hear)]


@when("click", "#without")
async def without(event):
    """Start without the backbone."""
    await load(nothing, page.use, make_learner)


page = TeachingPage(Pictures())
await offer_download(lambda: download([BACKBONE]), page.use, make_learner)
