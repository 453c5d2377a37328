"""The camera page: a network paints what the camera sees, picture by picture."""

import asyncio
import time

from fetched import download, networks, offer_download
from page import clear_error, element, show_error, show_error_text
from pyscript import when, window
from pyscript.js_modules import pictures

from webnnm import open_painter

MODEL = "multistyle26.onnx"
STYLES = 26
MULTIPLE = 4
"""Sizes of pictures that the network takes are multiples of it."""
SMOOTHING = 0.9


class Studio:
    """The network with the picture that it paints; `running` while the camera is on."""

    def __init__(self):
        self.net = self.painter = None
        self.running = False
        self.seconds = 0.0
        self.count = 0
        self.turn = asyncio.Lock()

    async def use(self, net):
        """Take the network, and paint a landscape, which compiles it."""
        self.net = net
        element("device").disabled = True
        pictures.landscape()
        wide, high = await self.paint()
        self.tell(f"A picture of {wide} × {high} pixels")
        element("result").hidden = False

    async def fit(self, width, height):
        """Return the painter of pictures of a size."""
        if self.painter and self.painter.size != (width, height):
            self.painter.close()
            self.painter = None
        self.painter = self.painter or await open_painter(self.net, size=(width, height))
        return self.painter

    async def paint(self):
        """Paint the current picture after those that are being painted, and return its size."""
        async with self.turn:
            return await self.paint_now()

    async def paint_now(self):
        """Paint the current picture, and return its size."""
        width, height = pictures.size()
        side = int(element("side").value)
        wide = max(1, round(side / MULTIPLE)) * MULTIPLE
        high = max(1, round(side * height / width / MULTIPLE)) * MULTIPLE
        painter = await self.fit(wide, high)
        source = element("camera")
        started = time.perf_counter()
        pictures.show(source, wide, high)
        await painter.paint(source, element("painted"), {"style_weights": weights()})
        seconds = time.perf_counter() - started
        self.count += 1
        self.seconds = seconds + SMOOTHING * (self.seconds - seconds) * (self.count > 1)
        return wide, high

    async def follow(self):
        """Paint what the camera sees until it is stopped."""
        last = time.perf_counter()
        while self.running:
            wide, high = await self.paint()
            now = time.perf_counter()
            self.tell(f"{1 / (now - last):.1f} pictures per second of {wide} × {high} pixels")
            last = now
            await pictures.drawn()

    def tell(self, text):
        """Say how fast it is, by which way, and where."""
        way = {"WebGPU": "over WebGPU", "host": "over the host"}[self.painter.route]
        where = self.net.backend.description
        rate = element("rate")
        rate.textContent = f"{text}, {1000 * self.seconds:.0f} ms each {way}, on {where}"
        rate.title = self.painter.reason
        rate.dataset.count = str(self.count)


def weights():
    """Return how much of each style is wanted: all of one."""
    style = min(max(int(float(element("style").value or 1)), 1), STYLES)
    return [float(number == style) for number in range(1, STYLES + 1)]


@when("click", "#start")
async def start(event):
    """Open the camera and paint."""
    clear_error()
    try:
        await pictures.open(640)
    except Exception as error:
        show_error_text(
            f"The camera cannot be opened: {error}\n"
            "Allow it in the settings of this page, or choose a picture."
        )
        return
    studio.running = True
    element("start").disabled, element("stop").disabled = True, False
    element("stop").focus()
    try:
        await studio.follow()
    except Exception as error:
        show_error(error)
    pictures.take()  # for other styles
    pictures.close()
    studio.running = False
    element("start").disabled, element("stop").disabled = False, True


@when("click", "#stop")
def stop(event):
    """Stop after this picture."""
    studio.running = False
    element("start").disabled = False
    element("start").focus()


@when("change", "#file")
async def choose(event):
    """Paint a picture from a file."""
    clear_error()
    files = element("file").files
    if files.length:
        await still(files.item(0))


@when("change", "#style, #side")
async def change(event):
    """Paint the same picture in another style; the camera's next one has it anyway."""
    if studio.net and not studio.running:
        await still()


async def still(file=None):
    """Paint one picture, of a file or once more that which is there."""
    try:
        if file:
            await pictures.read(file)
        wide, high = await studio.paint()
    except Exception as error:
        show_error(error)
        return
    studio.tell(f"A picture of {wide} × {high} pixels")


studio = Studio()
element("webgpu").disabled = not hasattr(window.navigator, "gpu")
await offer_download(
    lambda: download([MODEL]),
    studio.use,
    lambda contents: networks(contents, element("device").value or None),
)
