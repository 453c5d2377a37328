"""The speech page: a recurrent network hears whether somebody speaks, frame by frame."""

import asyncio
import time
from collections import deque

from fetched import offer_models
from page import clear_error, element, hand_over, make, percent, show_error, show_error_text
from pyscript import ffi, when, window
from pyscript.js_modules import webnnm_sounds as sounds
from stretches import Stretches

RATE, FRAME = 16_000, 512
CONTEXT = 64
"""Samples of the frame before, which the network takes as well."""
STATE = [2, 1, 128]
BEHIND = 64
"""Frames that may wait: of more, the oldest are dropped, and the page says so."""
SAMPLE = "./shown/speech.wav"
BETWEEN = 16
"""Frames of a file after which the page draws."""
POINTS = 320
"""Points of the curve: as many frames while somebody listens, else what was heard in all."""


class Listener:
    """The network with its state from frame to frame, and what it has heard."""

    def __init__(self):
        self.net = None
        self.waiting = deque()
        self.dropped = 0
        self.arrived = asyncio.Event()
        self.listening = False
        self.hear = ffi.create_proxy(self.take)
        self.reset()

    def reset(self):
        """Forget what was heard."""
        self.state = memoryview(bytes(4 * 2 * 128)).cast("f", STATE)
        self.before = bytes(4 * CONTEXT)
        self.speech = Stretches(FRAME / RATE)
        self.waiting.clear()
        self.dropped = self.count = 0
        self.busy = 0.0
        self.probabilities = []
        element("stretches").replaceChildren()
        element("none").hidden = False

    async def use(self, net):
        """Take the network, and compile it before anybody speaks."""
        self.net = net
        await self.frame(bytes(4 * FRAME))
        self.reset()

    def take(self, samples):
        """Keep a frame of the microphone until the network is free."""
        if len(self.waiting) == BEHIND:
            self.waiting.popleft()
            self.dropped += 1
        self.waiting.append(samples.to_bytes())
        self.arrived.set()

    async def frame(self, samples):
        """Return how probable speech is in a frame, float32 numbers as bytes."""
        started = time.perf_counter()
        data = memoryview(self.before + samples).cast("f", [1, CONTEXT + FRAME])
        answer = await self.net.predict({"input": data, "state": self.state, "sr": RATE})
        self.state = answer["stateN"]
        self.before = samples[-4 * CONTEXT :]
        self.busy += time.perf_counter() - started
        self.count += 1
        probability = memoryview(answer["output"]).cast("B").cast("f")[0]
        self.probabilities.append(probability)
        return probability

    async def follow(self):
        """Hear the microphone until it is stopped."""
        while self.listening:
            self.arrived.clear()
            while self.waiting:
                probability = await self.frame(self.waiting.popleft())
                ended = self.speech.add(probability)
                self.show(probability, ended)
            self.tell()
            await self.arrived.wait()
        self.finish()

    async def read(self, samples):
        """Hear the samples of a file as fast as the network goes; what is left over is silence."""
        size = 4 * FRAME
        samples += bytes(-len(samples) % size)
        for start in range(0, len(samples), size):
            probability = await self.frame(samples[start : start + size])
            ended = self.speech.add(probability)
            if ended or not start // size % BETWEEN:
                self.show(probability, ended)
                await asyncio.sleep(0)
        self.finish()
        self.tell()

    def finish(self):
        """Show the stretch that the end of the sound ended."""
        self.show(0.0, self.speech.end())
        self.draw(self.probabilities)
        element("heard").textContent = element("share").textContent = ""

    def show(self, probability, ended):
        """Show what is heard now, and a stretch that has ended."""
        element("heard").textContent = "Speech" if self.speech.speaking else "Silence"
        element("share").textContent = percent(probability)
        element("level").style.setProperty("--share", f"{probability:.3f}")
        self.draw(self.probabilities[-POINTS:])
        if ended:
            begin, end = self.speech.found[-1]
            element("stretches").append(make("li", f"{begin:.1f} to {end:.1f} s"))
            element("none").hidden = True

    def draw(self, probabilities):
        """Draw how probable speech was over time; of many frames the most probable ones."""
        step = max(1, -(-len(probabilities) // POINTS))
        peaks = [
            max(probabilities[start : start + step]) for start in range(0, len(probabilities), step)
        ]
        points = (f"{x},{100 - 100 * peak:.0f}" for x, peak in enumerate(peaks))
        curve = element("curve")
        curve.setAttribute("viewBox", f"0 0 {max(len(peaks) - 1, 1)} 100")
        curve.firstElementChild.setAttribute("points", " ".join(points))

    def tell(self):
        """Say how fast it is, and where."""
        heard = self.count * FRAME / RATE
        text = (
            f"{heard:.1f} s of sound in {self.busy:.1f} s, "
            f"{1000 * self.busy / max(self.count, 1):.1f} ms a frame, "
            f"on {self.net.backend.description}"
        )
        if self.dropped:
            text += f"; {self.dropped} frames were dropped, as this device is too slow"
        element("rate").textContent = text
        element("rate").dataset.count = str(self.count)


@when("click", "#start")
async def start(event):
    """Open the microphone and listen."""
    begin()
    try:
        microphone = await sounds.open(RATE, FRAME, listener.hear)
    except Exception as error:
        show_error_text(
            f"The microphone cannot be opened: {error}\n"
            "Allow it in the settings of this page, or choose a file."
        )
        return
    listener.listening = True
    hand_over(["sample", "start", "file"], ["stop"])
    try:
        await listener.follow()
    except Exception as error:
        show_error(error)
    await microphone.close()
    listener.listening = False
    hand_over(["stop"], ["start", "sample", "file"])


@when("click", "#stop")
def stop(event):
    """Stop listening."""
    listener.listening = False
    listener.arrived.set()


@when("change", "#file")
async def choose(event):
    """Hear a file."""
    if element("file").files.length:
        await hear(element("file").files.item(0))


@when("click", "#sample")
async def hear_sample(event):
    """Hear the sample."""
    await hear(await window.fetch(SAMPLE))


async def hear(file):
    """Hear a file, or what a server answered."""
    begin()
    focused = window.document.activeElement
    hand_over(["sample", "start", "file"], [])
    try:
        data = (await file.arrayBuffer()).to_bytes()
        samples = await sounds.decode(memoryview(data), RATE)
        await listener.read(samples.to_bytes())
    except Exception as error:
        show_error(error)
    hand_over([], ["sample", "start", "file"])
    focused.focus()


def begin():
    """Make room for what is heard."""
    clear_error()
    listener.reset()
    element("result").hidden = False


listener = Listener()
await offer_models(["silero_vad_16k_op15.onnx"], listener.use)
