"""What the playground gives away: pictures, videos and pages of its result."""

import page
import saving
from page import element
from pyscript import js_import, window

from webnnm import WebNNMError

COMPONENT = window.URL.new("./result_picture.js", window.location.href).href


class ResultFiles:
    """The buttons below the plane; `pictures` is result_picture.js once it is there."""

    def __init__(self):
        self.pictures = None
        self.is_recording = False

    async def offer(self):
        """Fetch what draws pictures, and show the buttons of what this browser can do."""
        (self.pictures,) = await js_import(COMPONENT)
        element("save-picture").hidden = False
        element("record").hidden = not self.pictures.ending()
        element("copy-picture").hidden = not hasattr(window, "ClipboardItem")

    def caption(self):
        """Return what pictures say below the network and the plane."""
        return element("progress-text").textContent

    def add_frame(self):
        """Add what is shown now to the video, while one is recorded."""
        if self.is_recording:
            self.pictures.draw(self.caption())

    async def record(self):
        """Begin a video of all that is painted from now on, or end it and save it."""
        self.is_recording = not self.is_recording
        element("record").textContent = "Save the video" if self.is_recording else "Record a video"
        if self.is_recording:
            self.pictures.record(self.caption())
            return
        content = (await self.pictures.finish()).to_bytes()
        name = f"playground.{self.pictures.ending()}"
        element("status").textContent = await saving.save_file(name, content)

    async def save_picture(self):
        """Save a picture among the downloads."""
        content = (await self.pictures.picture(self.caption())).to_bytes()
        element("status").textContent = await saving.save_file("playground.png", content)

    async def copy_picture(self):
        """Copy a picture to the clipboard."""
        page.clear_error()
        try:
            await self.pictures.copy(self.caption())
        except Exception as error:  # a browser may refuse, for reasons of its own
            page.log(f"the clipboard cannot be written: {error}")
            page.show_error_text("The browser does not let this page copy: save the picture.")
        else:
            element("status").textContent = element("copy-picture").textContent = (
                "The picture is copied"
            )

    async def save_page(self, model):
        """Save the archive of a page that runs a model."""
        page.clear_error()
        try:
            text = await saving.save_page("playground", model)
        except WebNNMError as error:
            page.show_error(error)
        else:
            element("status").textContent = text
