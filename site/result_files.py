"""What the playground gives away: a card, a video and a page of its result."""

import json

import page
import saving
from page import element
from pyscript import document, ffi, js_import, window
from result_card import ResultCard, describe_card

from webnnm import WebNNMError

COMPONENT = window.URL.new("./result_video.js", window.location.href).href
HOLDS = (
    "The picture holds the network, the points, also those that you drew, and what it decides, "
    "as the page shows them."
)


class ResultFiles:
    """The buttons below the plane; `video` is result_video.js once it is there.

    `describe` returns the title of a card, what is learnt, and the numbers.
    """

    def __init__(self, describe):
        self.describe, self.video = describe, None
        self.is_recording = False
        self.card = ResultCard()

    async def offer_video(self):
        """Fetch what records videos, and show its button where this browser can."""
        (self.video,) = await js_import(COMPONENT)
        element("record").hidden = not self.video.ending()

    def offer_card(self):
        """Offer a picture of the result that is shown."""
        self.card.offer(lambda: (self.describe_card(), find_drawings(), ()))

    def describe_card(self):
        """Return what a card says of what is shown now."""
        return describe_card("playground", *self.describe(), holds=HOLDS, link=window.location.href)

    def frame(self):
        """Return what the video shows now."""
        return json.dumps(self.describe_card()), ffi.to_js(find_drawings())

    def add_frame(self):
        """Add what is shown now to the video, while one is recorded."""
        if self.is_recording:
            self.video.frame(*self.frame())

    async def record(self):
        """Begin a video of all that is painted from now on, or end it and save it."""
        self.is_recording = not self.is_recording
        element("record").textContent = "Save the video" if self.is_recording else "Record a video"
        if self.is_recording:
            await self.video.record(*self.frame())
            return
        content = (await self.video.finish()).to_bytes()
        name = f"playground.{self.video.ending()}"
        element("status").textContent = await saving.save_file(name, content)

    async def save_page(self, model):
        """Save the archive of a page that runs a model."""
        page.clear_error()
        try:
            text = await saving.save_page("playground", model)
        except WebNNMError as error:
            page.show_error(error)
        else:
            element("status").textContent = text


def find_drawings():
    """Return the drawing of the network, where it is drawn as units, and the plane."""
    parts = map(document.querySelector, ("#network-view:not([hidden]) .stack", "#plane canvas"))
    return [part for part in parts if part]
