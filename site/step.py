"""One training step of a network of nine weights, phase by phase; the reader moves the weights."""

from pathlib import Path

import nine_weights
from attempts import Queue, show_errors
from page import element, make, ready, show_what_runs
from pyscript import document, when

from webnnm import xp

START = {"w-11": 0.8, "w-12": 0.6, "b-1": -0.3, "w-21": -0.5, "w-22": -0.9, "b-2": 0.2}
START |= {"v-1": 0.7, "v-2": 0.5, "c": 0.1}
"""The fields of the weights, and the values that they have at first."""
ROWS = (((0.0, 0.0), 0.0), ((0.0, 1.0), 1.0), ((1.0, 0.0), 1.0), ((1.0, 1.0), 0.0))
"""Two inputs and a target each: exclusive or, which no single line divides."""
FORWARD, LOSS, BACKWARD, UPDATE = range(4)
PHASES = (
    "Forward: compute the answer",
    "Loss: compare it with the target",
    "Backward: ask every weight",
    "Update: move every weight",
)
NEXT = ("Next: loss", "Next: backward", "Next: update", "Next: another row")
MANY = 100
LEARNT = 0.01
"""The mean loss of the rows below which the network counts as trained."""
LARGEST = 1e6
"""The mean loss from which the training has diverged."""
SUBSCRIPTS = str.maketrans("12", "₁₂")
THICKNESS = 4
"""The width of the line of a weight of 1, in pixels of the drawing."""


class Step:
    """The weights, the row that is shown, and the phase of its step."""

    def __init__(self):
        self.begin()

    def begin(self):
        """Take the first weights, and show the third row."""
        self.weights = START
        self.row, self.phase, self.steps = 2, FORWARD, 0
        self.gradients = self.before = None

    async def show(self):
        """Compute all that the present phase shows, and show it."""
        x, target = ROWS[self.row]
        weights = to_arrays(self.weights)
        (loss, (answer, hidden)), gradients = nine_weights.loss_and_gradients(
            weights, xp.asarray(x), target
        )
        answers, _ = nine_weights.predict_rows(weights, xp.asarray([inputs for inputs, _ in ROWS]))
        self.loss, self.answer = await to_number(loss), await to_number(answer)
        self.hidden = await to_list(hidden)
        if self.phase != UPDATE:  # which shows the gradients that it followed
            self.gradients = await from_arrays(gradients)
        self.show_rows(await to_list(answers))
        self.show_weights()
        self.show_units(x)
        element("phase").textContent = PHASES[self.phase]
        explain = (
            self.explain_forward,
            self.explain_loss,
            self.explain_backward,
            self.explain_update,
        )
        element("explanation").textContent = explain[self.phase](x, target)
        element("next").textContent = NEXT[self.phase]
        element("network").setAttribute(
            "class", f"nine {'back' if self.phase == BACKWARD else 'forward'}"
        )
        for number in range(len(PHASES)):
            item = element(f"phase-{number}")
            if number == self.phase:
                item.setAttribute("aria-current", "step")
            else:
                item.removeAttribute("aria-current")

    def show_rows(self, answers):
        """Show target, answer and loss of each row."""
        lines, losses = [], []
        for number, ((inputs, target), answer) in enumerate(zip(ROWS, answers, strict=True)):
            losses.append((answer - target) ** 2)
            choice, label = (
                make("input", type="radio", name="row", id=f"row-{number}"),
                make("label", ", ".join(f"{value:g}" for value in inputs), for_=f"row-{number}"),
            )
            box = make("div", class_="check")
            box.append(choice, label)
            choice.value, choice.checked = str(number), number == self.row
            head, line = make("th", scope="row"), make("tr")
            head.append(box)
            cells = f"{target:g}", decimal(answer), f"{losses[-1]:.3f}"
            line.append(head, *(make("td", text) for text in cells))
            lines.append(line)
        focused = document.activeElement.id
        element("rows").replaceChildren(*lines)
        if focused.startswith("row-"):
            element(focused).focus()
        mean = sum(losses) / len(losses)
        steps = "step" if self.steps == 1 else "steps"
        text = f"Mean loss {mean:.3f} after {self.steps} {steps}"
        if mean < LEARNT:
            text += ": it has learnt all four."
        elif not mean < LARGEST:
            text = (
                f"After {self.steps} {steps} the numbers are too large to compute with: the "
                "learning rate was too high. Press “Start again”, and lower it."
            )
        element("learnt").textContent = text

    def show_weights(self):
        """Show every weight, and its gradient once it is known."""
        for field, weight in self.weights.items():
            gradient = self.gradients[field]
            element(field).value = f"{weight:.4f}"
            element(f"value-{field}").textContent = decimal(weight)
            shown = self.phase >= BACKWARD
            element(f"gradient-{field}").textContent = f"∂ {decimal(gradient)}" if shown else ""
            if field[0] in "wv":  # biases have no line
                line = element(f"line-{field}")
                line.setAttribute(
                    "stroke-width", f"{1 + THICKNESS * (abs(weight) if abs(weight) < 3 else 3):.1f}"
                )
                line.classList.toggle("negative", weight < 0)
                text = f"∂ {decimal(gradient)}" if self.phase == BACKWARD else decimal(weight)
                element(f"on-{field}").textContent = text

    def show_units(self, x):
        """Show the value of each unit, and in the backward phase its gradient."""
        values = {"x-1": x[0], "x-2": x[1], "h-1": self.hidden[0], "h-2": self.hidden[1]}
        for name, value in (values | {"y": self.answer}).items():
            element(f"at-{name}").textContent = f"{value:g}" if name[0] == "x" else decimal(value)
        # The gradient of a bias is that of the sum it is part of.
        sums = {
            "h-1": self.gradients["b-1"],
            "h-2": self.gradients["b-2"],
            "y": self.gradients["c"],
        }
        for name, gradient in sums.items():
            element(f"back-{name}").textContent = (
                f"∂ {decimal(gradient)}" if self.phase == BACKWARD else ""
            )

    def explain_forward(self, x, target):
        """Return how the answer is computed."""
        w11, w12, b1, _, _, _, v1, v2, c = map(term, self.weights.values())
        h1, h2 = self.hidden
        return (
            f"x₁ = {x[0]:g} and x₂ = {x[1]:g} go in. Each unit multiplies what comes in by its "
            "weights and adds its bias; hidden units bend the sum by tanh: "
            f"h₁ = tanh({w11} · {x[0]:g} + {w12} · {x[1]:g} + {b1}) = {decimal(h1)}, and h₂ = "
            f"{decimal(h2)} in the same way. The answer is y = {v1} · {term(h1)} + {v2} · "
            f"{term(h2)} + {c} = {decimal(self.answer)}."
        )

    def explain_loss(self, x, target):
        """Return how the loss is computed, and what it is for."""
        return (
            f"The target is {target:g}, the answer {decimal(self.answer)}. The loss says in one "
            "number how wrong that is: the square of the difference, "
            f"({decimal(self.answer)} − {target:g})² = {self.loss:.3f}. To learn is to make it "
            "smaller."
        )

    def explain_backward(self, x, target):
        """Return what the gradients say."""
        field = self.steepest()
        name, gradient = name_of(field), self.gradients[field]
        if abs(gradient) < LEARNT:
            advice = "All are nearly zero here: this row is learnt."
        else:
            direction = "rises" if gradient > 0 else "falls"
            advice = (
                f"{name} matters most: if it grows a little, the loss {direction} "
                f"{abs(gradient):.2f} times as much."
            )
        return (
            "The gradient ∂ of a weight says how the loss changes when that weight grows a "
            "little. It is computed from right to left: first for the answer, "
            f"2 · ({decimal(self.answer)} − {target:g}) = {decimal(self.gradients['c'])}; then, by "
            f"the chain rule, for the hidden units and all weights. {advice}"
        )

    def explain_update(self, x, target):
        """Return how a weight moved, and what the step did to the loss."""
        field, (weights, loss, rate) = self.steepest(), self.before
        if f"{loss:.3f}" == f"{self.loss:.3f}":
            result = f"The loss of this row stays {loss:.3f}."
        elif self.loss < loss:
            result = f"The loss of this row fell from {loss:.3f} to {self.loss:.3f}."
        else:
            result = (
                f"The loss of this row rose from {loss:.3f} to {self.loss:.3f}: the step went too "
                "far. Try a smaller learning rate."
            )
        return (
            f"Every weight moves against its gradient, by {rate:.2f} of it: {name_of(field)} = "
            f"{decimal(weights[field])} − {rate:.2f} · {term(self.gradients[field])} = "
            f"{decimal(self.weights[field])}. {result}"
        )

    def steepest(self):
        """Return the field of the weight with the largest gradient."""
        return max(self.gradients, key=lambda field: abs(self.gradients[field]))

    async def advance(self):
        """Go on to the next phase."""
        if self.phase == BACKWARD:
            await self.update(1)
        elif self.phase == UPDATE:
            self.row = (self.row + 1) % len(ROWS)
        self.phase = (self.phase + 1) % len(PHASES)
        await self.show()

    async def update(self, count):
        """Apply so many steps, on one row after the other, beginning with the one that is shown."""
        rate = float(element("rate").value)
        self.before = self.weights, self.loss, rate
        weights = to_arrays(self.weights)
        for number in range(count):
            x, target = ROWS[(self.row + number) % len(ROWS)]
            weights = nine_weights.step(weights, xp.asarray(x), target, rate)
        self.weights = await from_arrays(weights)
        self.steps += count

    async def train(self, count):
        """Apply so many steps, and show what they led to."""
        await self.update(count)
        self.phase = FORWARD
        await self.show()

    async def reset(self):
        """Begin with the first weights again."""
        self.begin()
        await self.show()

    async def move(self, field, value):
        """Give a weight another value."""
        self.weights = self.weights | {field: value}
        self.phase = FORWARD
        await self.show()

    async def choose_row(self, row):
        """Show another row."""
        self.row, self.phase = row, FORWARD
        await self.show()


def to_arrays(weights):
    """Return the weights as arrays of the device."""
    w11, w12, b1, w21, w22, b2, v1, v2, c = weights.values()
    arrays = {"w": [[w11, w12], [w21, w22]], "b": [b1, b2], "v": [v1, v2], "c": c}
    return {name: xp.asarray(values) for name, values in arrays.items()}


async def from_arrays(arrays):
    """Return the weights, or their gradients, by field."""
    lists = {name: await to_list(array) for name, array in arrays.items()}
    (row1, row2), (b1, b2) = lists["w"], lists["b"]
    return dict(zip(START, [*row1, b1, *row2, b2, *lists["v"], lists["c"]], strict=True))


async def to_number(array):
    """Return an array without axes as a number."""
    await array
    return array.item()


async def to_list(array):
    """Return an array as a number or as lists of numbers."""
    await array
    return array.tolist()


def name_of(field):
    """Return the name of the weight of a field, as formulas write it."""
    return field.replace("-", "").translate(SUBSCRIPTS)


def decimal(value):
    """Return a number with two digits, and a minus sign as printed in books."""
    if not abs(value) < LARGEST:
        return "∞"
    text = f"{value:.2f}"
    return text.replace("-", "−") if text != "-0.00" else "0.00"


def term(value):
    """Return a number as part of a formula: negative ones in parentheses."""
    text = decimal(value)
    return f"({text})" if text.startswith("−") else text


state, queue = Step(), Queue()


@when("click", "#next")
async def go_on(event):
    """Go on to the next phase."""
    await queue.attempt(state.advance)


@when("click", "#many")
async def train(event):
    """Train a hundred steps."""
    await queue.attempt(state.train, MANY)


@when("click", "#reset")
async def reset(event):
    """Begin with the first weights again."""
    await queue.attempt(state.reset)


@when("input", "#form")
async def change(event):
    """Take a weight that was moved, or another row; the learning rate counts from the next step."""
    field, value = event.target.id, event.target.value
    if field == "rate":
        element("value-rate").textContent = f"{float(value):.2f}"
    elif field in START:
        await queue.attempt(state.move, field, float(value))
    else:
        await queue.attempt(state.choose_row, int(value))


element("program").textContent = Path("nine_weights.py").read_text()
ready()
await show_errors(queue.run(state.show))
await show_what_runs()
