"""The page that reads aloud: a voice speaks what the reader writes, sentence by sentence."""

import asyncio
import time

from fetched import download, load
from page import clear_error, element, hand_over, make, read_number, show_error
from pretrained import model_of, offer_model, read_chosen_files
from pyscript import when, window
from pyscript.js_modules import player
from saving import save_file

VOICE = "en_US-joe-medium"
FILES = (f"{VOICE}.onnx", f"{VOICE}.onnx.json")
DICTIONARY = "cmudict.dict"
RECORDED = "./shown/aloud.wav"


class Reader:
    """The voice, and what it has read."""

    def __init__(self):
        self.speak = self.phonemize = None
        self.sounds = []
        self.rate = 0
        self.goes_on = False

    async def use(self, model, dictionary=None):
        """Take a voice; voices that speak phonemes need the text of a dictionary."""
        from webnnm import EnglishPhonemes, pipeline

        self.speak = await pipeline("text-to-speech", model)
        self.phonemize = EnglishPhonemes(dictionary) if dictionary else None
        speakers = model.config.get("num_speakers") or 1
        element("speakers").hidden = speakers == 1
        element("speaker").max = speakers - 1
        element("own").hidden = True

    async def read(self, text, speaker, pace):
        """Read a text, and play each sentence after the one before."""
        began, seconds = time.perf_counter(), 0.0
        stream = self.speak.stream(
            text, speaker_id=speaker, speaking_rate=pace, phonemize=self.phonemize
        )
        async for sentence in stream:
            if not self.goes_on:
                break
            self.sounds.append(sentence["audio"])
            self.rate = sentence["sampling_rate"]
            seconds += len(sentence["audio"]) / self.rate
            await player.queue(floats(sentence["audio"]), self.rate)
            element("sentences").append(make("li", sentence["text"]))
            self.tell(seconds, time.perf_counter() - began)
            await asyncio.sleep(0)  # the page draws it

    def tell(self, seconds, took):
        """Say how much has been read, and how fast."""
        element(
            "rate"
        ).textContent = (
            f"{seconds:.1f} s of speech in {took:.1f} s, on {self.speak.model.backend.description}"
        )

    def wav(self):
        """Return what was read as a file of sound."""
        from webnnm import encode_wav

        return encode_wav([value for sound in self.sounds for value in sound], self.rate)


def floats(samples):
    """Return samples for JavaScript."""
    from pyodide.ffi import to_js

    return to_js(memoryview(samples))


async def use_offered(model):
    """Take the voice of this site, with its dictionary."""
    (content,) = await download([DICTIONARY])
    await reader.use(model, content.decode())


@when("change", "#folder")
async def choose_folder(event):
    """Take a voice of the reader's own."""
    files = await read_chosen_files("folder")
    words = files.pop(DICTIONARY, b"").decode()

    async def contents():
        return files

    await load(contents, lambda model: reader.use(model, words), model_of)


@when("submit", "#form")
async def read_aloud(event):
    """Read the text."""
    event.preventDefault()
    clear_error()
    player.stop()
    reader.sounds, reader.goes_on = [], True
    element("result").hidden = False
    element("sentences").replaceChildren()
    element("saved").textContent = ""
    element("rate").removeAttribute("data-done")
    element("rate").textContent = "Reading …"
    hand_over(["speak", "save"], ["stop"])
    try:
        speaker = int(read_number("speaker"))
        await reader.read(element("text").value, speaker, float(element("pace").value))
    except Exception as error:
        show_error(error)
        element("rate").textContent = "Nothing has been read."
    element("rate").dataset.done = "true"
    element("save").disabled = not reader.sounds
    await player.silence()
    hand_over(["stop"], ["speak"])


@when("click", "#stop")
def stop(event):
    """Be silent, and compute no further sentence."""
    reader.goes_on = False
    player.stop()


@when("click", "#save")
async def save(event):
    """Save what was read."""
    element("saved").textContent = await save_file("aloud.wav", reader.wav())


@when("click", "#listen")
async def listen(event):
    """Play what was recorded."""
    from webnnm import load_sound

    clear_error()
    try:
        answer = await window.fetch(RECORDED)
        sound = await load_sound((await answer.arrayBuffer()).to_bytes())
        await player.play(floats(sound.samples), sound.rate)
    except Exception as error:
        show_error(error)


reader = Reader()
await offer_model(VOICE, use_offered, files=FILES)
