"""Questions of the playground: data and a model to train, and what the expert finds in it."""

from typing import NamedTuple

from findings import replace_remedies
from page import element, make
from pyscript import document, when

REMEDIES = {
    "E303": "Choose relu as the activation, and remove layers.",
    "E304": "Remove layers with × in the network.",
    "E305": "Lower the learning rate, or leave its field empty: each optimizer has a default.",
    "E309": "Choose an activation for the hidden layers, such as relu.",
    "E310": "Choose leakyRelu as the activation.",
    "E324": "Raise the learning rate, or leave its field empty: each optimizer has a default.",
    "E405": "Remove units and layers in the network, or have more points.",
    "E603": "Choose “× 100, standardised” as the scale of the inputs.",
    "E618": "Have more points, or a smaller training share.",
    "E901": "Raise the learning rate, or leave its field empty: each optimizer has a default.",
    "E902": "Choose more inputs, or add units and layers with + in the network.",
    "E903": "Raise L2, remove units and layers in the network, or have more points.",
    "E905": "Raise L2, remove units and layers in the network, or have more points.",
    "E908": "Lower the learning rate, or choose leakyRelu as the activation.",
    "E909": "Lower the learning rate.",
    "E922": "Add units and layers with + in the network, and train more epochs.",
}
"""What to press in the page for what rules of the expert advise."""
DENSE = "dense:layers\n  matmul(w),\n  add(b),\n  activation();"


def write_model(*layers, macro=DENSE, inputs=2):
    """Return the text of a model with hidden layers, as they are written, before the output."""
    calls = ",\n  ".join([*layers, "dense(shape=[2], activation=softmax)"])
    head = f"plane:name plane;\nplane:input shape=[{inputs}];\nplane:output shape=[2];\n"
    return f"{head}plane:layers\n  {calls};\n{macro}"


def write_layers(count, units, activation):
    """Return hidden layers of equally many units."""
    return [f"dense(shape=[{units}], activation={activation})"] * count


NOISY = {
    "data": "moons",
    "rows": "40",
    "noise": "0.3",
    "epochs": "400",
    "lr": "0.01",
    "model": write_model(*write_layers(2, 32, "relu")),
}


class Run(NamedTuple):
    """A training of a lesson.

    - `text`: what is about to be trained, and what to look at.
    - `settings`: what it sets, by the names of links; all else is as the page opens.
    - `conclusion`: what it showed; `{accuracy}` stands for the share of right answers among the
      points that were kept apart, `{loss}` and `{val_loss}` for the last losses.
    - `rules`: the rules of the expert that find it.
    """

    text: str
    settings: dict
    conclusion: str
    rules: tuple = ()


class Lesson(NamedTuple):
    """What goes wrong, and what helps: `label` is what the button between the two says."""

    problem: Run
    label: str
    remedy: Run


LESSONS = {
    "features": Lesson(
        Run(
            "This network has no hidden layer: it weighs x1 and x2, and its border is a straight "
            "line. Can a line part a ring from what is inside?",
            {"data": "circles", "noise": "0.05", "model": write_model()},
            "No line does it: {accuracy} of the points that training did not see are right.",
            ("E902", "E926"),
        ),
        "Add the squares x1² and x2²",
        Run(
            "The same network is told the squares, too. A circle is a line in them.",
            {
                "data": "circles",
                "noise": "0.05",
                "features": "x1,x2,x1²,x2²",
                "model": write_model(inputs=4),
            },
            "With the right inputs a single layer is enough: {accuracy} are right.",
        ),
    ),
    "relu": Lesson(
        Run(
            "Two hidden layers of 8 units, and no activation between them. Train it: what "
            "borders can it draw?",
            {
                "data": "circles",
                "noise": "0.05",
                "model": write_model(*write_layers(2, 8, "identity")),
            },
            "Sums of sums are sums: the border is still a straight line, and {accuracy} of the "
            "points that training did not see are right.",
            ("E309",),
        ),
        "Put relu in",
        Run(
            "With relu, each unit is 0 on one side of a line of its own.",
            {
                "data": "circles",
                "noise": "0.05",
                "model": write_model(*write_layers(2, 8, "relu")),
            },
            "The units bend the border around the points inside: {accuracy} are right.",
        ),
    ),
    "depth": Lesson(
        Run(
            "One hidden layer of 3 units has two spirals to part.",
            {
                "data": "spirals",
                "rows": "400",
                "noise": "0.02",
                "epochs": "300",
                "model": write_model(*write_layers(1, 3, "relu")),
            },
            "Three bends are too few: {accuracy} of the points that training did not see "
            "are right.",
            ("E922",),
        ),
        "Use three layers of 6",
        Run(
            "Each layer bends what the layer before it has bent. Look at the units: they grow "
            "more winding from left to right.",
            {
                "data": "spirals",
                "rows": "400",
                "noise": "0.02",
                "epochs": "300",
                "model": write_model(*write_layers(3, 6, "relu")),
            },
            "Layers build on one another: {accuracy} are right.",
        ),
    ),
    "overfitting": Lesson(
        Run(
            "40 noisy points, and two layers of 32 units that can learn them by heart. Watch the "
            "two curves of the loss.",
            NOISY,
            "The loss of the training fell to {loss}, that of the points kept apart ended at "
            "{val_loss}: the border goes around single points, which says nothing of others.",
            ("E905",),
        ),
        "Penalise large weights",
        Run(
            "The same points and the same network, with L2 = 0.01: large weights cost, and steep "
            "borders need them.",
            NOISY | {"l2": "0.01"},
            "The border is smooth, and the loss of the points kept apart ends at {val_loss}; that "
            "of the training is {loss}.",
        ),
    ),
    "dead": Lesson(
        Run(
            "A layer of 8 relu units, and a learning rate that is far too high. Watch their "
            "pictures: a unit that turns blank is 0 everywhere.",
            {
                "data": "circles",
                "noise": "0.05",
                "optimizer": "sgdm",
                "lr": "3",
                "epochs": "100",
                "model": write_model(*write_layers(1, 8, "relu")),
            },
            "A unit that is 0 for every point has no gradient, and never comes back. {accuracy} "
            "of the points that training did not see are right.",
            ("E908", "E310"),
        ),
        "Use the default rate",
        Run(
            "The same units, and the rate that this optimizer has by default.",
            {
                "data": "circles",
                "noise": "0.05",
                "optimizer": "sgdm",
                "epochs": "100",
                "model": write_model(*write_layers(1, 8, "relu")),
            },
            "The units live and share the work: {accuracy} are right.",
        ),
    ),
    "scale": Lesson(
        Run(
            "The same points, in units a hundred times smaller: inputs are numbers up to 130.",
            {
                "data": "circles",
                "scale": "100",
                "epochs": "100",
                "model": write_model(*write_layers(2, 8, "tanh")),
            },
            "Large inputs drive tanh to its ends, where it hardly learns: {accuracy} of the "
            "points that training did not see are right.",
            ("E603",),
        ),
        "Standardise the inputs",
        Run(
            "The same numbers, less their mean and divided by their deviation.",
            {
                "data": "circles",
                "scale": "standard",
                "epochs": "100",
                "model": write_model(*write_layers(2, 8, "tanh")),
            },
            "Nothing else was changed: {accuracy} are right.",
        ),
    ),
}


class Lessons:
    """The questions of the page; `on_load(settings)` is called with what a run sets."""

    def __init__(self, on_load):
        self.on_load = on_load
        self.lesson = self.run = None
        self.buttons = document.querySelectorAll("[data-lesson]")
        for button in self.buttons:
            when("click", button)(self.choose)
        when("click", "#lesson-next")(self.go_on)

    async def choose(self, event):
        """Load the problem of a question."""
        name = event.target.dataset.lesson
        self.lesson = LESSONS[name]
        self.mark(name)
        await self.load(self.lesson.problem)

    def mark(self, name):
        """Mark the button of a question, or none."""
        for button in self.buttons:
            button.ariaPressed = str(button.dataset.lesson == name).lower()

    async def go_on(self, event):
        """Load the remedy of the question."""
        await self.load(self.lesson.remedy)
        element("train").focus()  # the button that was clicked is hidden

    async def load(self, run):
        """Set what a run sets, and say what it is about."""
        self.run = None  # so that the changes do not end it
        await self.on_load(run.settings)
        self.run = run
        element("lesson-text").textContent = run.text
        element("lesson-finding").hidden = element("lesson-next").hidden = True
        element("lesson").hidden = False

    def end(self):
        """Say nothing more: what is set is no longer that of a question."""
        if self.run:
            self.run = None
            self.mark("")
            element("lesson").hidden = True

    def conclude(self, findings, record, accuracy):
        """Say what a run showed: what the expert found, its last epoch, and how much is right."""
        if self.run is None:
            return
        losses = {"loss": f"{record.loss:.2f}", "val_loss": f"{record.val_loss:.2f}"}
        conclusion = self.run.conclusion.format(accuracy=accuracy, **losses)
        element("lesson-text").textContent = conclusion
        findings = replace_remedies(findings, REMEDIES)
        ranks = {rule: rank for rank, rule in enumerate(self.run.rules)}
        relevant = sorted(
            (finding for finding in findings if finding["id"] in ranks),
            key=lambda finding: ranks[finding["id"]],
        )
        is_problem = self.run is self.lesson.problem
        element("lesson-finding").hidden = not relevant
        if relevant:
            message = relevant[0]["message"]
            remedy = f"Press “{self.lesson.label}”." if is_problem else relevant[0]["remedy"]
            element("lesson-finding").replaceChildren(
                make("strong", "The expert: "),
                f"{message}. {remedy} ",
                make("small", relevant[0]["id"]),
            )
        element("lesson-next").hidden = not is_problem
        element("lesson-next").textContent = self.lesson.label
