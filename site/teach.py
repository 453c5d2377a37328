"""The page that teaches a style: an adapter of a language model learns the reader's sentences."""

import time
from pathlib import Path

from loss_curve import LossCurve
from page import clear_error, element, read_number, show_error
from pretrained import SMOLLM2, offer_model
from pyscript import when

ASKED = "Write a sentence."
"""What each of the sentences is the answer to, while they are learnt."""
MAX_TOKENS = 40
"""Tokens of an answer at most."""
HELD_BACK = 0.15


class Teacher:
    """The model of the page, and what it is taught."""

    def __init__(self):
        self.model = None
        self.taught = False
        self.began = self.tokens = self.epochs = 0

    async def use(self, model):
        """Take the model."""
        self.model = model

    async def answer(self, target):
        """Ask the model, and show what it answers as it comes."""
        target.textContent = ""
        messages = [{"role": "user", "content": element("prompt").value}]
        async for piece in self.model.generate(messages, max_new_tokens=MAX_TOKENS):
            target.textContent += piece
        speed = self.model.speed.tokens_per_second
        self.tell(f"{speed:.1f} tokens written per second")

    async def teach(self, sentences, epochs, rank):
        """Train an adapter on sentences, and return the history."""
        if self.taught:
            await self.model.remove_lora()
            self.taught = False
        await self.answer(element("before"))
        await self.model.add_lora(rank=rank)
        self.taught = True
        messages = [{"role": "user", "content": ASKED}]
        prompt = self.model.apply_chat_template(messages)
        texts = [(prompt, line) for line in sentences]
        encode = self.model.tokenizer.encode
        size = len(encode(prompt)) + sum(len(encode(line)) for line in sentences) / len(texts)
        self.tokens = size * len(texts) * (1 - HELD_BACK)
        self.epochs, self.began = epochs, time.perf_counter()
        return await self.model.train_on(
            texts, held_back=HELD_BACK, epochs=epochs, on_epoch=self.on_epoch, progress=None
        )

    def on_epoch(self, record):
        """Show how far the training is."""
        seconds = time.perf_counter() - self.began
        self.began = time.perf_counter()
        curve.add([[record.epoch, record.loss, record.val_loss]])
        element("course").value = record.epoch
        text = f"Epoch {record.epoch} of {self.epochs} · loss {record.loss:.3f}"
        text += "" if record.val_loss is None else f" · kept apart {record.val_loss:.3f}"
        element("course-text").textContent = text
        self.tell(f"{self.tokens / seconds:,.0f} tokens learnt per second")

    def tell(self, pace):
        """Say how fast it goes, where, and with how much memory."""
        memory = self.model.memory().bytes / 1e6
        where = self.model.backend.description
        element("speed").textContent = f"{pace}, on {where}, {memory:,.0f} MB"


teacher, curve = Teacher(), LossCurve()


def hand_over(busy):
    """Enable what can be done while it learns or answers, or while it does not."""
    element("settings").disabled, element("stop").disabled = busy, not busy
    element("ask").disabled = element("save").disabled = busy or not teacher.taught


@when("submit", "#form")
async def teach(event):
    """Teach the model the sentences, and ask it before and after."""
    clear_error()
    epochs = int(read_number("epochs"))
    element("course").max, element("course").value = epochs, 0
    element("course").hidden = element("answers").hidden = False
    element("course-text").textContent = "Asking, then reading the sentences …"
    element("after").textContent = "…"
    element("after").removeAttribute("data-done")
    curve.reset()
    hand_over(True)
    element("stop").focus()
    try:
        lines = [line.strip() for line in element("sentences").value.splitlines() if line.strip()]
        history = await teacher.teach(lines, epochs, int(read_number("rank")))
        text = f"{history.finished} epochs in {history.seconds:.0f} s"
        element("course-text").textContent += f" · {text}"
        element("status").textContent = f"Training has ended: {text}."
        if history.epochs:
            first, last = history.epochs[0].loss, history.epochs[-1].loss
            curve.describe(f"Loss of a token from {first:.2f} to {last:.2f}")
        await teacher.answer(element("after"))
        element("after").dataset.done = ""
    except Exception as error:
        element("course-text").textContent = "No result"
        show_error(error)
    hand_over(False)
    element("teach").focus()


@when("click", "#stop")
async def stop(event):
    """End what is going on: an answer, or a training after the steps on their way."""
    element("course-text").textContent = "Stopping …"
    teacher.model.stop()
    if teacher.model.training:
        await teacher.model.training.stop()


@when("click", "#ask")
async def ask(event):
    """Ask the model that was taught."""
    clear_error()
    hand_over(True)
    try:
        await teacher.answer(element("after"))
    except Exception as error:
        show_error(error)
    hand_over(False)
    element("ask").focus()


@when("click", "#save")
async def save(event):
    """Let the browser save the adapter among the downloads."""
    clear_error()
    try:
        await teacher.model.save_lora("download:adapter_model.safetensors")
        element("status").textContent = "adapter_model.safetensors is saved."
    except Exception as error:
        show_error(error)


element("sentences").value = Path("pirate.txt").read_text().strip()
await offer_model(SMOLLM2, teacher.use)
