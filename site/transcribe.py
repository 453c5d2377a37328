"""The page that transcribes: Whisper writes down what a file or the microphone says."""

import asyncio
import time

import page
from fetched import MissingModel, load
from page import clear_error, element, hand_over, make, show_error
from pretrained import model_of, offer_model, read_chosen_files
from pyscript import when, window

from webnnm import Microphone, Sound, load_sound

FILES = ("config.json", "tokenizer.json", "model.bin")
SAMPLE = "./shown/speech.wav"
SILENCE = Sound([0.0] * 16_000, 16_000)


class Scribe:
    """The model, and what it writes."""

    def __init__(self):
        self.model = self.microphone = None
        self.lines = []
        self.heard = self.spent = 0.0

    async def use(self, model):
        """Take the model, and compile it before anybody speaks."""
        self.model = model
        await model.transcribe(SILENCE, temperature=0)
        element("own").hidden = True

    async def listen(self):
        """Write down what the microphone hears until it is stopped."""
        async with Microphone() as self.microphone:
            await self.write(self.blocks(), None)

    async def blocks(self):
        """Yield what the microphone hears, and show how long it has."""
        async for sound in self.microphone:
            self.heard += sound.seconds
            element("rate").textContent = f"Listening: {self.heard:.0f} s"
            yield sound
        element("rate").textContent = "Writing …"

    async def read(self, file):
        """Write down a file, or what a server answered."""
        element("rate").textContent = "Reading the file …"
        sound = await load_sound((await file.arrayBuffer()).to_bytes())
        self.heard = sound.seconds
        await self.write(sound, sound.seconds)

    async def write(self, audio, seconds):
        """Show the segments of a transcript as they come; a recording has so many seconds."""
        began = time.perf_counter()
        async for segment in self.model.transcribe(audio):
            self.lines.append(segment.text.strip())
            line = make("li")
            line.append(make("span", f"{clock(segment.start)} ", class_="numbers"))
            line.append(self.lines[-1])
            element("segments").append(line)
            if seconds:
                element("heard").value = min(1.0, segment.end / seconds)
                element("rate").textContent = f"{segment.end:.0f} of {seconds:.0f} s"
            await asyncio.sleep(0)  # the page draws it
        self.tell(time.perf_counter() - began if seconds else None)

    def tell(self, took):
        """Say how much was heard, and how fast."""
        text = f"{self.heard:.1f} s of sound"
        if took is not None:
            text += f" in {took:.1f} s, {self.heard / took:.1f} times as fast as it was spoken"
        if not self.lines:
            text += ", nobody speaks"
        element("rate").textContent = f"{text}, on {self.model.backend.description}"
        element("rate").dataset.done = "true"


def clock(seconds):
    """Return a time as minutes and seconds."""
    return f"{int(seconds) // 60}:{seconds % 60:04.1f}"


async def folder():
    """Return the contents of the files that were chosen."""
    files = await read_chosen_files("folder")
    absent = [name for name in FILES if name not in files]
    if absent:
        raise MissingModel(f"Choose all three files together: {', '.join(absent)} is missing.")
    return files


async def work(task):
    """Run a task; while it runs, only its end can be asked for."""
    clear_error()
    scribe.lines, scribe.heard = [], 0.0
    element("result").hidden = False
    element("segments").replaceChildren()
    element("heard").value = 0
    element("rate").removeAttribute("data-done")
    hand_over(["sample", "start", "file", "copy"], ["stop"])
    try:
        await task
    except Exception as error:
        show_error(error)
        element("rate").textContent = "Nothing has been heard."
    scribe.microphone = None
    hand_over(["stop"], ["sample", "start", "file"])
    element("copy").disabled = not scribe.lines


@when("click", "#sample")
async def hear_sample(event):
    """Transcribe the sample."""
    await work(scribe.read(await window.fetch(SAMPLE)))


@when("click", "#start")
async def start(event):
    """Listen to the microphone."""
    await work(scribe.listen())


@when("click", "#stop")
def stop(event):
    """End what is heard, or what is written of a file."""
    if scribe.microphone is None:
        scribe.model.stop()
    else:
        scribe.microphone.stop()


@when("change", "#file")
async def choose(event):
    """Transcribe a file."""
    if element("file").files.length:
        await work(scribe.read(element("file").files.item(0)))


@when("change", "#folder")
async def choose_folder(event):
    """Take a model of the reader's own."""
    await load(folder, scribe.use, model_of)


@when("click", "#copy")
async def copy(event):
    """Copy what was said."""
    await page.copy(" ".join(scribe.lines))


scribe = Scribe()
await offer_model("whisper-tiny.en", scribe.use, files=FILES)
