"""The Iris page: what its form wants of a training, and the flower that it asks about."""

from page import clear_error, element, make, read_number, show_shares
from pyscript import when
from training import TrainingPage

MEASUREMENTS = ("sepal-length", "sepal-width", "petal-length", "petal-width")


def read_form():
    """Return what the form says of model, data and training."""
    hyperparameters = {
        "epochs": int(read_number("epochs")),
        "optimizer": element("optimizer").value,
    }
    if element("lr").value:
        hyperparameters["lr"] = float(element("lr").value)
    return {
        "source": iris.editor.text,
        "seed": int(read_number("seed")),
        "standardize": element("standardize").checked,
        "validate": element("validate").checked,
        "hyperparameters": hyperparameters,
    }


class Question:
    """The flower that the model is asked about: again when there is another model."""

    def __init__(self):
        self.flower = None

    async def ask(self, flower):
        """Ask for the species of a flower."""
        self.flower = flower
        await self.ask_again()

    async def ask_again(self):
        """Show what the model that is there now answers; nothing before it is trained."""
        answer = None
        if self.flower is not None and iris.has_model:
            request = {"row": self.flower, "compare": True, "validate": element("validate").checked}
            answer = await iris.attempt(iris.trainer.classify, **request)
        if answer:
            element("species").textContent = show_shares(answer["shares"])
            element("outside").textContent = describe_outside(answer["outside"])
        else:
            for name in ("species", "outside", "shares"):
                element(name).replaceChildren()


@when("submit", "#ask")
async def classify(event):
    """Ask the trained model for the species of one flower."""
    clear_error()
    await question.ask([read_number(name) for name in MEASUREMENTS])


def describe_outside(outside):
    """Say which measurements are outside of what training saw, nothing where none are."""
    ranges = [
        f"{MEASUREMENTS[number].replace('-', ' ')}s from {low:g} to {high:g} cm"
        for number, low, high in outside
    ]
    if not ranges:
        return ""
    return f"Training saw only {', '.join(ranges)}: outside of that, the answer is a guess."


def picture(row):
    """Return the measurements of a flower as a list."""
    measurements = make("dl", class_="measured")
    for name, number in zip(MEASUREMENTS, row, strict=True):
        words = name.replace("-", " ").capitalize()
        measurements.append(make("dt", words), make("dd", f"{number:g} cm"))
    return measurements


question = Question()
iris = TrainingPage("iris", "flowers", "species", read_form, picture, question.ask_again)
await iris.open()
