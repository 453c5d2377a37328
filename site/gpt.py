"""The GPT page: a small language model learns the letters of a text, and writes like it."""

import asyncio
import time

import charting
import verses
from loss_curve import LossCurve, read_recorded
from page import clear_error, element, log, read_number, ready, show_error, show_what_runs
from pyscript import when
from saving import save_page

from webnnm import DataError, NNModel, TextDataset
from webnnm.transformers.choice import Sampling
from webnnm.transformers.generator import Generator

LETTERS = 30_000
"""Letters of the play that the page begins with."""
LENGTH, BATCH = 64, 16
"""Letters that the model sees at a time, and rows of a step."""
SAMPLE, LONG = 60, 400
"""Letters that are written after an epoch, and on demand."""
HEAD = 32
"""The size of an attention head."""
SOURCE = """\
text:name tiny gpt;
text:input int32 shape=[] sequence=letters;
text:param table shape=[{letters}, {width}] init=normal(0.02);
text:output shape=[{letters}] sequence=letters;
text:loss SCE;
text:layers
  embedding(table),
  block(repeat={layers}),
  rmsNorm(scale),
  matmul(table, bTranspose=true);
block:layers
  rmsNorm(scale),
  attend(q, k, v, o, heads={heads}, causal=true, rope=true, window={length}),
  residual(to=input, name=attended),
  rmsNorm(scale),
  matmul(up, shape=[{inner}]),
  gelu(),
  matmul(down, shape=[{width}]),
  residual(to=attended);
"""


class Author:
    """The model of the page: what trains it, and what lets it write."""

    def __init__(self):
        self.model = self.generator = self.training = None
        self.letters = []
        self.began = 0.0

    def close(self):
        """Free the model of before."""
        if self.model:
            self.generator.close()
            self.model.close()
            self.model = None

    async def make(self, text, width, layers, seed):
        """Make a model for a text, which it has not seen yet."""
        self.close()
        data = TextDataset(text, LENGTH, split=(0.95, 0.05, 0), batch_size=BATCH, seed=seed)
        self.letters = data.labels()
        source = SOURCE.format(
            letters=len(self.letters),
            width=width,
            layers=layers,
            heads=width // HEAD,
            inner=4 * width,
            length=LENGTH,
        )
        element("source").textContent, element("model").hidden = source, False
        if not {*element("prompt").value} <= {*self.letters}:
            element("prompt").value = text.split()[0]
        self.model = await NNModel.create(source=source, dataset=data, seed=seed, log=log)
        self.generator = Generator(self.model)

    async def train(self, epochs):
        """Train the model, and return its history."""
        self.began, self.epochs = time.perf_counter(), epochs
        settings = {"lr": 2e-3, "weight_decay": 0.01, "regularization": "off", "progress": None}
        self.training = self.model.train(epochs=epochs, on_epoch=self.on_epoch, **settings)
        try:
            return await self.training
        finally:
            self.training = None

    async def on_epoch(self, record):
        """Show how far the training is, and what the model writes by now."""
        seconds = time.perf_counter() - self.began
        curve.add([[record.epoch, record.loss, record.val_loss]])
        element("progress").value = record.epoch
        text = f"Epoch {record.epoch} of {self.epochs} · loss {record.loss:.3f}"
        text += "" if record.val_loss is None else f" · kept apart {record.val_loss:.3f}"
        element("progress-text").textContent = text
        size = self.model.state.binding().dataset.size("training") * LENGTH
        self.tell(f"{size / seconds:,.0f} letters learnt per second")
        await self.write(element("prompt").value, SAMPLE, 0.7, record.epoch)
        self.began = time.perf_counter()

    async def write(self, prompt, count, temperature, seed):
        """Continue a text, and show the letters as they come."""
        numbers = {letter: index for index, letter in enumerate(self.letters)}
        strange = next((letter for letter in prompt if letter not in numbers), None)
        if strange is not None:
            message = f"the training text has no {strange!r}"
            raise DataError("NNM711", message, hint="use only characters that it contains")
        sampling = Sampling(temperature=temperature) if temperature else Sampling()
        row, shown = [numbers[letter] for letter in prompt], prompt
        async for fresh in self.generator.generate([row], count, sampling=sampling, seed=seed):
            shown += "".join(self.letters[number] for number in fresh[0])
            element("written").textContent = shown
            await asyncio.sleep(0)

    def tell(self, pace):
        """Say how fast it goes, where, and with how much memory."""
        memory = self.model.memory().bytes / 1e6
        where = self.model.backend.description
        count = f"{self.model.state.parameters.count:,} parameters"
        element("speed").textContent = f"{pace}, on {where}; {count}, {memory:.1f} MB"


author, curve = Author(), LossCurve()


def hand_over(training):
    """Enable what can be done while it trains, or while it does not."""
    element("learn").disabled, element("stop").disabled = training, not training
    element("work").disabled = training or author.model is None


@when("submit", "#form")
async def train(event):
    """Train a new model on the text."""
    clear_error()
    epochs = int(read_number("epochs"))
    element("progress").max, element("progress").value = epochs, 0
    element("progress").hidden = element("written").hidden = False
    element("recorded").hidden = True
    element("progress-text").textContent = "Making the model …"
    element("written").removeAttribute("data-done")
    curve.reset()
    hand_over(True)
    element("stop").focus()
    try:
        layers, seed = (int(read_number(name)) for name in ("layers", "seed"))
        await author.make(element("text").value, int(element("width").value), layers, seed)
        history = await author.train(epochs)
        text = f"{history.finished} epochs in {history.seconds:.0f} s"
        if history.stopped == "stop":
            text += ", stopped by you"
        element("progress-text").textContent += f" · {text}"
        element("status").textContent = f"Training has ended: {text}."
        curve.describe(
            f"Loss of a letter from {history.epochs[0].loss:.2f} to {history.epochs[-1].loss:.2f}"
        )
        element("written").dataset.done = ""
    except Exception as error:
        element("progress-text").textContent = "No result"
        show_error(error)
    hand_over(False)
    element("learn").focus()


@when("click", "#stop")
async def stop(event):
    """End the training after the steps that are on their way."""
    element("progress-text").textContent = "Stopping …"
    if author.training:
        await author.training.stop()


@when("submit", "#write-form")
async def write(event):
    """Let the model go on with the beginning."""
    clear_error()
    element("work").disabled = True
    began = time.perf_counter()
    try:
        seed = int(1000 * began) % 2**31
        await author.write(element("prompt").value, LONG, read_number("temperature"), seed)
        author.tell(f"{author.generator.speed.tokens_per_second:,.0f} letters written per second")
    except Exception as error:
        show_error(error)
    element("work").disabled = False
    element("write").focus()


@when("click", "#page")
async def save(event):
    """Save a page that tells which letter follows each one of a text."""
    clear_error()
    try:
        element("status").textContent = await save_page("gpt", author.model)
    except Exception as error:
        show_error(error)


async def show_recorded():
    """Show what a model wrote that was trained on this page, unless one trains already."""
    record = await read_recorded("gpt")
    element("recorded-text").textContent = record["text"]
    element("recorded-caption").textContent = record["caption"]
    element("recorded").hidden = not element("written").hidden


element("text").value = verses.play(LETTERS)
ready()
await charting.attempt(show_recorded())
await show_what_runs()
