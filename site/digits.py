"""The digits page: what its form wants of a training, and the digits that are drawn or taken."""

import json

from page import element, make, read_number, show_shares
from pyscript import ffi, when, window
from pyscript.js_modules import pad
from training import TrainingPage

BLACK = 16
"""The number of a black pixel in the table of the digits; the model takes 0 … 1."""
LEARNING = "It learns from other digits first, then reads yours …"
DRAW = "Draw a digit here."
URL = window.URL.new("./digits.csv.gz", window.location.href).href
EMPTY = [0] * 64


class Question:
    """The digit that the model is asked about: classified again and again while it is drawn."""

    def __init__(self):
        self.pixels = None
        self.busy = False

    async def ask(self, pixels):
        """Show a digit, 64 numbers or None, and what the model takes it for."""
        self.pixels = pixels
        pad.picture(element("seen"), json.dumps(pixels or EMPTY))
        element("eyes").hidden = pixels is None
        if pixels:
            element("clear").disabled = False
        self.hint(LEARNING if pixels else DRAW)
        if self.busy:
            return
        self.busy = True
        try:
            # A drawing goes on while the model answers: then it is asked for the latest.
            answered = ()
            while self.pixels is not answered and digits.has_model and not digits.running:
                answered = self.pixels
                await self.answer(answered)
        finally:
            self.busy = False

    async def answer(self, pixels):
        """Have the model classify 64 numbers."""
        if pixels is None:
            self.hint(DRAW)
            return
        image = [[pixels[row : row + 8] for row in range(0, 64, 8)]]
        image = [[[number / BLACK for number in row] for row in rows] for rows in image]
        answer = await digits.attempt(digits.trainer.classify, row=image)
        if answer:
            element("answer").textContent = show_shares(answer["shares"])
            self.hint("")

    def hint(self, text):
        """Say what to do, or why there is no answer, unless there is one."""
        answered = self.pixels and digits.has_model and not digits.running
        element("hint").textContent = "" if answered else text
        if not answered:
            element("answer").textContent = ""
            element("shares").replaceChildren()


def read_form():
    """Return what the form says of model, data and training."""
    hyperparameters = {
        "epochs": int(read_number("epochs")),
        "optimizer": element("optimizer").value,
    }
    if element("lr").value:
        hyperparameters["lr"] = float(element("lr").value)
    return {
        "source": digits.editor.text,
        "seed": int(read_number("seed")),
        "validate": element("validate").checked,
        "url": URL,
        "hyperparameters": hyperparameters,
    }


async def show_examples():
    """Offer a digit of each kind of those that training never sees."""
    examples = await digits.attempt(digits.trainer.examples, url=URL)
    for name, ((*rows,),) in (examples or {}).items():
        pixels = [round(BLACK * number) for row in rows for number in row]
        button = make("button", type="button", aria_label=f"A {name} of the testing part")
        canvas = make("canvas")
        pad.picture(canvas, json.dumps(pixels))
        button.append(canvas)
        when("click", button)(taking(pixels))
        element("examples").append(button)


def taking(pixels):
    """Return what takes a digit in place of the drawing."""

    async def take(event):
        pad.clear()
        await question.ask(pixels)
        await learn_first()

    return take


async def on_draw(text):
    """Take in a drawing."""
    await question.ask(json.loads(text))


async def ask_again():
    """Ask the model that is there now."""
    await question.ask(question.pixels)


@when("pointerup", "#pad")
async def on_stroke(event):
    """Have a network learn to read what was drawn, if there is none."""
    if question.pixels:
        await learn_first()


async def learn_first():
    """Train a network if there is none to ask, nor one that the browser keeps."""
    if not (digits.has_model or digits.running or digits.kept.note):
        await digits.train(None)


@when("click", "#clear")
async def clear(event):
    """Empty the pad."""
    pad.clear()
    await question.ask(None)


question = Question()


def picture(row):
    """Return the picture of a digit of the testing part."""
    canvas = make("canvas", role="img", aria_label="A digit")
    ((*rows,),) = row
    pad.picture(canvas, json.dumps([round(BLACK * number) for line in rows for number in line]))
    return canvas


digits = TrainingPage("digits", "digits", "digit", read_form, picture, ask_again)
pad.listen(ffi.create_proxy(on_draw))
pad.picture(element("seen"), json.dumps(EMPTY))
await digits.open()
await show_examples()
