"""The camera page: a network paints what the camera sees, picture by picture."""

import time

from fetched import offer_models
from page import clear_error, element, show_error, show_error_text
from pyscript import ffi, when
from pyscript.js_modules import pictures

STYLES = 26
MULTIPLE = 4
"""Sizes of pictures that the network takes are multiples of it."""
SMOOTHING = 0.9


class Painter:
    """The network with the picture that it paints; `running` while the camera is on."""

    def __init__(self):
        self.net = None
        self.running = False
        self.seconds = 0.0
        self.count = 0

    async def use(self, net):
        """Take the network, and compile it for the usual size before anybody waits for it."""
        self.net = net
        width, height = 256, 192
        await net.compile({"image": [1, 3, height, width]})

    async def paint(self):
        """Paint the picture that was taken."""
        width, height = pictures.size()
        side = int(element("side").value)
        wide = max(1, round(side / MULTIPLE)) * MULTIPLE
        high = max(1, round(side * height / width / MULTIPLE)) * MULTIPLE
        pictures.show(element("camera"), wide, high)
        numbers = pictures.planes(wide, high).to_py()
        started = time.perf_counter()
        answer = await self.net.predict(
            {
                "image": memoryview(numbers).cast("B").cast("f", [1, 3, high, wide]),
                "style_weights": weights(),
            }
        )
        seconds = time.perf_counter() - started
        flat = memoryview(answer["stylized"]).cast("B").cast("f")
        pictures.paint(element("painted"), ffi.to_js(flat), wide, high)
        self.count += 1
        self.seconds = seconds + SMOOTHING * (self.seconds - seconds) * (self.count > 1)
        return wide, high

    async def follow(self):
        """Paint what the camera sees until it is stopped."""
        last = time.perf_counter()
        while self.running:
            pictures.take()
            wide, high = await self.paint()
            await pictures.drawn()
            now = time.perf_counter()
            self.tell(f"{1 / (now - last):.1f} pictures per second of {wide} × {high} pixels")
            last = now

    def tell(self, text):
        """Say how fast it is, and where."""
        where = self.net.backend.description
        rate = element("rate")
        rate.textContent = f"{text}, {1000 * self.seconds:.0f} ms in the network, on {where}"
        rate.dataset.count = str(self.count)


def weights():
    """Return how much of each style is wanted: all of one."""
    style = min(max(int(element("style").value or 1), 1), STYLES)
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
    painter.running = True
    element("start").disabled, element("stop").disabled = True, False
    element("stop").focus()
    try:
        await painter.follow()
    except Exception as error:
        show_error(error)
    pictures.close()
    painter.running = False
    element("start").disabled, element("stop").disabled = False, True


@when("click", "#stop")
def stop(event):
    """Stop after this picture."""
    painter.running = False
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
    if painter.count and not painter.running:
        await still()


async def still(file=None):
    """Paint one picture, of a file or once more that which is there."""
    try:
        if file:
            await pictures.read(file)
        wide, high = await painter.paint()
    except Exception as error:
        show_error(error)
        return
    painter.tell(f"A picture of {wide} × {high} pixels")


painter = Painter()
await offer_models(["multistyle26.onnx"], painter.use)
