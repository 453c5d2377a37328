"""The page that reads: one network finds lines of text, one turns them upright, one reads them."""

import math
import time

import page
from fetched import offer_models
from page import clear_error, element, log, show_error, table
from pyscript import ffi, when, window
from pyscript.js_modules import pictures
from text_lines import boxes, text_of

LEAST_SIDE, MOST_SIDE = 736, 2000
"""Pixels that the shorter side has for the detector at least, and the longer one at most."""
MULTIPLE = 32
HEIGHT = 48
"""Pixels of a line for the two networks that look at lines."""
UPRIGHT = 192
WIDTHS = (320, 480, 640, 960, 1280, 1920)
"""Widths of lines that the recogniser is compiled for."""
TALL = 1.5
"""A box that is so much higher than wide has its text on the side."""
SURE_OF_TURN = 0.9
LEAST_SHARE = 0.5
EXAMPLE = "Networks read text\nin 2026: WebNN, ONNX\nOn your device"


class Reader:
    """The three networks, and the characters that one of them knows."""

    def __init__(self):
        self.characters = []
        self.busy = False

    async def use(self, finder, turner, recogniser):
        """Take the networks, and read the example."""
        self.finder, self.turner, self.recogniser = finder, turner, recogniser
        self.characters = [*recogniser.metadata["character"].split("\n"), " "]
        pictures.write(EXAMPLE, 640)
        await self.show()

    async def find(self):
        """Return the boxes of lines in the picture that was taken, in its pixels."""
        width, height = pictures.size()
        grow = max(1.0, LEAST_SIDE / min(width, height))
        grow = min(grow, MOST_SIDE / max(width, height))
        wide, high = (max(1, round(side * grow / MULTIPLE)) * MULTIPLE for side in (width, height))
        values = await run(self.finder, pictures.planes(wide, high, True), high, wide)
        scale = width / wide, height / high
        return [
            [(x * scale[0], y * scale[1]) for x, y in box]
            for box in boxes(values.tolist(), wide, high)
        ]

    async def read(self, box):
        """Return the text in a box, and how sure it is."""
        wide, high = math.dist(box[0], box[1]), math.dist(box[0], box[3])
        if high >= TALL * wide:
            box, wide, high = [*box[1:], box[0]], high, wide
        used = min(math.ceil(HEIGHT * wide / max(high, 1)), WIDTHS[-1])
        glance = line(box, min(used, UPRIGHT), UPRIGHT)
        turned = (await run(self.turner, glance, HEIGHT, UPRIGHT))[1] > SURE_OF_TURN
        room = next(width for width in WIDTHS if width >= used)
        scores = await run(self.recogniser, line(box, used, room, turned=turned), HEIGHT, room)
        pairs = pictures.largest(ffi.to_js(scores), len(self.characters) + 1).to_py().tolist()
        return text_of(map(int, pairs[::2]), pairs[1::2], self.characters)

    async def show(self):
        """Read the picture that was taken, and show what it says."""
        if self.busy:
            return
        self.busy = True
        result = element("result")
        result.hidden = False
        result.removeAttribute("data-done")
        element("rate").textContent = "Reading …"
        try:
            await self.fill()
        except Exception as error:
            show_error(error)
            element("rate").textContent = "Nothing was read."
        finally:
            self.busy = False
        result.dataset.done = ""

    async def fill(self):
        """Frame the lines and list what they say."""
        started = time.perf_counter()
        width, height = pictures.size()
        canvas = element("picture")
        pictures.show(canvas, width, height)
        boxes, rows = await self.find(), []
        for box in boxes:
            pictures.frame(canvas, *(number for corner in box for number in corner))
        log(f"{len(boxes)} boxes after {time.perf_counter() - started:.2f} s")
        for box in boxes:
            text, share = await self.read(box)
            if share >= LEAST_SHARE:
                rows.append((text, page.percent(share)))
        seconds = time.perf_counter() - started
        lines = [table("What the lines say", ("Text", "Confidence"), rows)] if rows else []
        element("lines").replaceChildren(*lines)
        element("lines").dataset.text = "\n".join(text for text, _ in rows)
        element("copy").disabled = not rows
        many = "1 line" if len(rows) == 1 else f"{len(rows)} lines"
        where = self.finder.backend.description
        element("rate").textContent = f"{many} in {seconds:.2f} s, on {where}"


def line(box, used, room, *, turned=False):
    """Return the pixels of a line, `used` wide, beside zeros up to `room`."""
    corners = (ffi.to_js(box[corner]) for corner in (0, 1, 3))
    return pictures.part(*corners, room, HEIGHT, used, turned)


async def run(net, planes, height, width):
    """Return the numbers that a network gives for a picture."""
    (name,) = net.inputs
    data = memoryview(planes.to_py()).cast("B").cast("f", [1, 3, height, width])
    (output,) = (await net.predict({name: data})).values()
    return memoryview(output).cast("B").cast("f")


@when("change", "#file")
async def choose(event):
    """Read a picture from a file."""
    await read(element("file").files)


@when("paste", window.document)
async def paste(event):
    """Read a picture from the clipboard."""
    if event.clipboardData and event.clipboardData.files.length:
        event.preventDefault()
        await read(event.clipboardData.files)


@when("dragover", "#drop")
def allow(event):
    """Allow to drop a picture."""
    event.preventDefault()


@when("drop", "#drop")
async def drop(event):
    """Read a picture that was dropped."""
    event.preventDefault()
    await read(event.dataTransfer.files)


async def read(files):
    """Read the first of files."""
    clear_error()
    if not files.length or element("work").disabled:
        return
    try:
        await pictures.read(files.item(0))
    except Exception as error:
        show_error(error)
        return
    await reader.show()


@when("click", "#example")
async def example(event):
    """Read a picture that the page draws."""
    clear_error()
    pictures.write(EXAMPLE, 640)
    await reader.show()


@when("click", "#copy")
async def copy(event):
    """Copy the text."""
    if await page.copy(element("lines").dataset.text):
        element("copy").textContent = "Copied"


reader = Reader()
await offer_models(
    [
        "PP-OCRv6_det_small.onnx",
        "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
        "PP-OCRv6_rec_small.onnx",
    ],
    reader.use,
)
