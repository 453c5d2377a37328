"""The page that learns sounds by example: classes, a training, what the microphone hears now."""

import asyncio

from examples_learner import UnfitExamples
from fetched import hear, load, nothing, show_ready
from page import element, make
from pyscript import ffi, when
from pyscript.js_modules import player, spectrogram
from pyscript.js_modules import webnnm_sounds as sounds
from sound_learner import BANDS, FRAMES, RATE, shift, sound_learner
from teaching import TeachingPage

SECOND = 4 * RATE
"""Bytes of an example: samples are float32."""
BLOCK = RATE // 4
"""Samples after which the microphone is heard anew."""
MAX_SECONDS = 60
"""Seconds that are taken of a file."""


class Sounds:
    """Seconds of the microphone and of files, as a kind of examples (see `TeachingPage`)."""

    noun, verb, files, name = "sound", "Record", "audio/*", "sounds"
    several, patience, pause = 5, 0.0, 0.0
    epochs, classes, inertia = 20, ("Background noise", None), 0.5

    def __init__(self):
        self.learner = self.microphone = None
        self.hear = ffi.create_proxy(self.on_block)
        self.last, self.blocks = bytes(SECOND), None
        self.recording, self.turn = None, asyncio.Lock()

    async def begin(self):
        """Have the browser ask for the microphone."""
        self.blocks = asyncio.Queue()
        self.last = bytes(SECOND)
        try:
            self.microphone = await sounds.open(RATE, BLOCK, self.hear)
        except Exception as error:
            raise UnfitExamples(
                f"The microphone cannot be opened: {error}\n"
                "Allow it in the settings of this page, or add sounds from files."
            ) from error

    def on_block(self, samples):
        """Take in what the microphone heard."""
        block = samples.to_bytes()
        self.last = self.last[len(block) :] + block
        self.blocks.put_nowait(True)
        if self.recording:
            self.recording.put_nowait(block)

    def end(self):
        """Yield no more sounds."""
        self.blocks.put_nowait(False)

    async def close(self):
        """Close the microphone; what is being recorded ends."""
        await self.microphone.close()
        if self.recording:
            self.recording.put_nowait(None)

    async def sense(self):
        """Yield the last second, after each block; blocks that came meanwhile are passed over."""
        while await self.blocks.get():
            if self.blocks.empty():
                yield self.last

    async def capture(self, wait):
        """Return a second of what the microphone hears from now on."""
        async with self.turn:
            wait()
            self.recording, samples = asyncio.Queue(), b""
            try:
                while len(samples) < SECOND:
                    block = await self.recording.get()
                    if block is None:
                        raise UnfitExamples("The microphone was stopped. Record the sound again.")
                    samples += block
            finally:
                self.recording = None
        if not any(samples):
            raise UnfitExamples(
                "The microphone receives no sound at all. It may be switched off or muted: "
                "look for its switch, and choose it in the settings of your system."
            )
        return samples

    async def read(self, file):
        """Return the seconds of a file."""
        data = (await file.arrayBuffer()).to_bytes()
        try:
            samples = (await sounds.decode(memoryview(data), RATE)).to_bytes()
        except Exception as error:
            raise UnfitExamples(
                f"{file.name} is not a sound that this browser reads. Save it as WAV or MP3."
            ) from error
        return cut(samples)

    async def learn(self, samples, item):
        """Show a sound on a button that plays it, beside one that removes it; return its rows."""
        rows = [await self.learner.row(part) for part in shift(samples)]
        play, canvas = make("button", type="button", data_does="Play"), make("canvas")
        paint(canvas, rows[0])
        play.append(canvas)
        when("click", play)(lambda event: asyncio.ensure_future(page.attempt(play_back, samples)))
        item.append(play, make("button", "×", type="button", data_does="Remove"))
        return rows

    async def show(self, samples):
        """Show a second of sound in the place of what the microphone hears."""
        paint(element("heard"), await self.learner.row(samples))

    def numbers(self, samples, shape):
        """Return a second of sound as models take it."""
        return samples

    def describe(self, number, shares):
        """Say what a second of a file is taken for."""
        best = max(shares, key=shares.get)
        return f"Second {number + 1}: {best} ({100 * shares[best]:.0f} %)"


def cut(samples):
    """Return the seconds of a sound.

    What is left over is dropped if it is less than half a second; a sound that is shorter than a
    second gets silence on both sides.
    """
    if len(samples) < SECOND:
        before = (SECOND - len(samples)) // 8 * 4
        return [bytes(before) + samples + bytes(SECOND - before - len(samples))]
    ends = [*range(SECOND, len(samples) + 1, SECOND)]
    if len(samples) - ends[-1] >= SECOND // 2:
        ends.append(len(samples))
    return [samples[end - SECOND : end] for end in ends[:MAX_SECONDS]]


def paint(canvas, row):
    """Show what the network hears, on a canvas."""
    spectrogram.paint(canvas, floats(row), FRAMES, BANDS)


async def play_back(samples):
    """Play a sound."""
    await player.play(floats(samples), RATE)


def floats(data):
    """Return float32 numbers, given as bytes, as JavaScript has them."""
    return ffi.to_js(memoryview(data).cast("f"))


async def make_learner(contents):
    """Return the learner, with the microphone ready to be opened without a request."""
    await sounds.prepare(RATE)
    return [await sound_learner(hear)]


@when("click", "#without")
async def begin(event):
    """Load what there is, and seal the page."""
    await load(nothing, page.use, make_learner)


page = TeachingPage(Sounds())
await show_ready()
