"""The page that learns sounds by example: classes, a training, what the microphone hears now."""

import asyncio

from examples_learner import UnfitExamples
from fetched import hear
from page import element, make, percent
from pyscript import ffi, when
from pyscript.js_modules import player, spectrogram
from pyscript.js_modules import ready_examples as samples
from pyscript.js_modules import webnnm_sounds as sounds
from share import UnfitLink
from sound_learner import BANDS, FRAMES, NETWORK, RATE, SOUNDS, shift, sound_learner
from teaching import TeachingPage

SECOND = 4 * RATE
"""Bytes of an example: samples are float32."""
BLOCK = RATE // 4
"""Samples after which the microphone is heard anew."""
MAX_SECONDS = 60
"""Seconds that are taken of a file."""


class Sounds:
    """Seconds of the microphone and of files, as a kind of examples (see `TeachingPage`)."""

    noun, files, name = "sound", "audio/*", "sounds"
    several, patience, pause = 5, 0.0, 0.0
    epochs, inertia, text = 20, 0.5, NETWORK
    ready = ("Background noise", "Whistle", "Clap")
    open_folders = ()

    def __init__(self):
        self.current = self.microphone = None
        self.hear = ffi.create_proxy(self.on_block)
        self.last, self.blocks = bytes(SECOND), None
        self.recording, self.turn = None, asyncio.Lock()

    async def prepare(self):
        """Return the learner, with the microphone ready to be opened without a request."""
        await sounds.prepare(RATE)
        self.current = await sound_learner(hear)
        return self.current

    async def choose(self):
        """Return the only learner."""
        return self.current

    def find(self, basis):
        """Return the learner of a link."""
        if basis != SOUNDS:
            raise UnfitLink("the model of this link is not one of this page")
        return self.current

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

    def sample(self, name, number):
        """Return a ready sound of a class."""
        return samples.sound(name, number, RATE).to_bytes()

    def keep(self, sound):
        """Return a sound as it is."""
        return sound

    async def rows(self, sound, learner):
        """Return what is learnt of a sound: it counts at several times."""
        return [await learner.row(part) for part in shift(sound)]

    def draw(self, sound, rows, item):
        """Show a sound on a button that plays it, beside one that removes it."""
        play, canvas = make("button", type="button", data_does="Play"), make("canvas")
        paint(canvas, rows[0])
        play.append(canvas)
        when("click", play)(lambda event: asyncio.ensure_future(page.attempt(self.present, sound)))
        item.append(play, make("button", "×", type="button", data_does="Remove"))

    async def show(self, sound):
        """Show a second of sound in the place of what the microphone hears."""
        paint(element("heard"), await self.current.row(sound))

    async def present(self, sound):
        """Play a sound."""
        await player.play(floats(sound), RATE)

    def numbers(self, sound, shape):
        """Return a second of sound as models take it."""
        return sound

    def describe(self, number, shares):
        """Say what a second of a file is taken for."""
        best = max(shares, key=shares.get)
        return f"Second {number + 1}: {best} ({percent(shares[best])})"


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


def floats(data):
    """Return float32 numbers, given as bytes, as JavaScript has them."""
    return ffi.to_js(memoryview(data).cast("f"))


page = TeachingPage(Sounds())
await page.open()
