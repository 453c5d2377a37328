"""The playground: points in the plane, a model that learns them, and what it decides everywhere."""

import asyncio
import json
import re
import time

import charting
import findings
import page
import saving
from model_editor import ModelEditor
from page import element, make
from pyscript import ffi, when, window
from share import MAX_BYTES, UnfitLink, modest, take
from trainer import review_of, where

from webnnm import NNModel, WebNNMError, parse
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.page_modules import load_rest

LABELS = ("blue", "orange")
EXTENT = (-1.3, 1.3)
GRID = 40
"""Cells of the plane in each direction."""
SPLIT = (0.7, 0.3, 0)
CURVES = ("training", "validation")
FIELDS = ("data", "rows", "noise", "seed", "optimizer", "lr", "l2", "batch", "epochs")
"""Fields of the form that stand in the link under their names."""
SHAPE = re.compile(r"(:input\b[^;]*?shape=\[)\d+(\])")
PAINT_SHARE = 2
"""The boundary is painted after this many times the time that painting takes, at most."""
MAX_POINTS = 1000
"""The maximum number of points of a link."""
MAX_PROBLEMS = 3
"""The maximum number of problems of a link that are told."""
NEAR = 0.02
"""Points drawn by dragging are as far apart, at least."""


class Playground:
    """The page's points, its model and its training."""

    def __init__(self):
        self.points, self.classes = [], []
        self.model = self.training = self.begun = None
        self.start = self.steps = None
        self.records, self.unshown = [], []
        self.paint_due = self.painted = 0
        self.plane = self.curve = self.showing = None
        self.editor = ModelEditor(shared=False)

    async def open(self):
        """Take what the address holds, show the points, and say that the page is ready."""
        await load_rest()
        self.offer_features()
        self.read_link()
        self.showing = asyncio.ensure_future(self.show())
        page.ready()
        answer = json.loads(await where("{}"))
        page.show_sentence(answer["summary"], answer["sentence"])
        await self.showing

    # What is set.

    def offer_features(self):
        """Offer a check box for each feature that a model may be told."""
        from webnnm.data.examples.plane import FEATURES

        for number, name in enumerate(FEATURES):
            box = make("div", class_="check")
            field = make("input", type="checkbox", id=f"feature-{number}", value=name)
            field.checked = number < 2
            box.append(field, make("label", name, for_=field.id))
            element("features").append(box)

    def features(self):
        """Return the names of the features that are chosen."""
        boxes = element("features").querySelectorAll("input")
        return [box.value for box in boxes if box.checked]

    def settings(self):
        """Return all that is set, as texts by the names that the link has."""
        values = {name: element(name).value for name in FIELDS}
        values |= {"features": ",".join(self.features()), "model": self.editor.text}
        if values["data"] == "drawn":
            rows = zip(self.points, self.classes, strict=True)
            values["points"] = ";".join(f"{x:.2f},{y:.2f},{number}" for (x, y), number in rows)
        return values

    def write_link(self):
        """Put all that is set into the address."""
        query = window.URLSearchParams.new()
        for name, value in self.settings().items():
            query.set(name, value)
        window.history.replaceState(None, "", f"#{query.toString()}")

    def read_link(self):
        """Set what the address holds, and make the points."""
        query = window.URLSearchParams.new(window.location.hash[1:])
        problems = []
        if len(window.location.hash) > MAX_BYTES:
            query = window.URLSearchParams.new()
            problems.append("it is too long")
        for name in FIELDS:
            if query.has(name):
                try:
                    take(element(name), query.get(name))
                except UnfitLink as error:
                    problems.append(str(error))
        if query.has("features"):
            chosen = query.get("features").split(",")
            for box in element("features").querySelectorAll("input"):
                box.checked = box.value in chosen
        if query.has("model"):
            try:
                self.editor.text = modest(query.get("model"))
            except UnfitLink as error:
                problems.append(str(error))
        if element("data").value == "drawn":
            problems += self.take_points(query.get("points") or "")
        self.make_points()
        if problems:
            more = len(problems) - MAX_PROBLEMS
            page.show_error_text(
                f"Parts of this link were left out: {'; '.join(problems[:MAX_PROBLEMS])}"
                f"{f'; {more} more' if more > 0 else ''}."
            )

    def take_points(self, text):
        """Take the points of a link: x, y and the class of each. Return what was wrong with it."""
        self.points, self.classes = [], []
        parts = [part for part in text.split(";") if part]
        problems = []
        if len(parts) > MAX_POINTS:
            problems.append(f"{len(parts):,} points, of which {MAX_POINTS:,} are shown")
        wrong = 0
        for part in parts[:MAX_POINTS]:
            try:
                x, y, number = part.split(",")
                x, y = float(x), float(y)
            except ValueError:
                wrong += 1
                continue
            if all(
                EXTENT[0] <= coordinate <= EXTENT[1] for coordinate in (x, y)
            ):  # which NaN is not
                self.points.append((x, y))
                self.classes.append(int(number == "1"))
            else:
                wrong += 1
        if wrong:
            problems.append(f"{wrong} points that are none, or not in the plane")
        return problems

    def make_points(self):
        """Make the points of the shape that is chosen; drawn ones stay as they are."""
        import webnnm

        drawn = element("data").value == "drawn"
        element("drawing-tools").hidden = not drawn
        element("plane").classList.toggle("drawing", drawn)
        element("rows").disabled = element("noise").disabled = drawn
        if drawn or not self.valid():
            return
        make_shape = getattr(webnnm, f"make_{element('data').value}")
        noise, seed = float(element("noise").value), int(element("seed").value)
        rows = int(element("rows").value)
        self.points, self.classes = make_shape(rows, noise=noise, seed=seed)

    def valid(self):
        """Return whether the form is filled in; the browser shows what is not."""
        return element("form").reportValidity()

    # What is shown.

    async def show(self):
        """Show the points, on a plane that nothing is known of yet, and an empty curve."""
        from webnnm import charts

        empty = [[0.5] * GRID for _ in range(GRID)]
        chart = charts.decision_boundary(
            empty, self.points, self.classes, x=EXTENT, y=EXTENT, labels=LABELS
        )
        self.plane = await charting.show(element("plane"), chart)
        self.plane.onDraw(ffi.create_proxy(self.draw))
        self.curve = await charting.show(element("chart"), charts.curves("Loss", [], names=CURVES))
        self.describe()

    def show_points(self):
        """Show the points as they are now."""
        from webnnm.charts.boundary import point_rows

        if self.plane:
            rows = point_rows(self.points, self.classes, LABELS)
            self.plane.set("points", json.dumps(rows))
            self.describe()

    def describe(self, share=None):
        """Say in words what the plane shows."""
        counts = [self.classes.count(number) for number in range(2)]
        text = f"{counts[0]} blue circles and {counts[1]} orange squares. "
        if share is None:
            text += "The model has not learnt them yet."
        else:
            text += (
                f"After {self.records[-1].epoch} epochs the model takes {100 * share:.0f} % of the "
                f"plane for orange, {element('accuracy').textContent} of the points kept apart are "
                "right."
            )
        self.plane.describe(text)

    def clear(self):
        """Show that nothing is learnt."""
        self.records, self.unshown = [], []
        element("progress").value = 0
        element("progress-text").textContent = "Not trained yet"
        element("accuracy").textContent = element("samples").textContent = ""
        element("review").hidden = True
        element("result").removeAttribute("data-done")
        if self.curve:
            self.plane.paint("grid", "p", json.dumps([0.5] * GRID**2))
            self.curve.set("epochs", "[]")
            self.curve.describe("Training loss, no epochs yet")
            self.describe()

    # The training.

    async def train(self):
        """Train on, or from the start where something else is set."""
        await self.go(None)

    async def step(self):
        """Train one epoch."""
        await self.go(1)

    async def go(self, steps):
        """Train so many epochs, None for all that are left."""
        if not self.valid():
            return
        page.clear_error()
        self.steps = steps
        self.buttons(running=True)
        self.announce("Training has begun")
        if self.training and self.settings() == self.begun:
            self.training.resume()
            return
        await self.discard()
        start = self.start = object()  # which whoever starts over meanwhile replaces
        await self.showing  # a training paints on the charts
        if self.start is not start:
            return
        try:
            model = await self.create()
            if self.start is not start:
                model.close()
                return
            self.training = self.begin(model)
        except WebNNMError as error:
            if self.start is start:
                page.show_error(error)
                self.buttons(running=False)
            return
        task = asyncio.ensure_future(self.run(self.training))
        task.add_done_callback(lambda done: done.result())

    async def create(self):
        """Create a model of what is set."""
        self.begun = self.settings()
        self.write_link()
        seed = int(element("seed").value)
        return await NNModel.create(
            source=self.editor.text, dataset=self.dataset(), seed=seed, log=page.log
        )

    def begin(self, model):
        """Begin the training of a model."""
        self.model = model
        element("runs").textContent = page.sentence(f"runs on {model.backend.description}")
        self.grid = self.inputs_of_grid()
        l2 = float(element("l2").value)
        hyperparameters = {
            "epochs": int(element("epochs").value),
            "optimizer": element("optimizer").value,
            # What is shown is the model as it is, with the regularisation that the form says.
            "lambda2": l2,
            "regularization": "L2" if l2 else "off",
            "restore_best": False,
            "weight_decay": 0,
        }
        if element("lr").value:
            hyperparameters["lr"] = float(element("lr").value)
        element("progress").max = hyperparameters["epochs"]
        element("progress-text").textContent = "Reviewing the model …"
        return model.train(hyperparameters, on_epoch=self.epoch, progress=None)

    def dataset(self):
        """Return the points as the model is told them; 3 in 10 are kept apart for validation."""
        from webnnm import DataError, Dataset, plane_features

        if min(self.classes.count(number) for number in range(2)) < 2:
            raise DataError("NNM705", "there are not two points of each class", hint="draw some")
        names = self.features()
        network = elaborate(parse(self.editor.text))
        one = str(network.outputs[0].source.features) == "[1]"
        classes = [[float(number)] for number in self.classes] if one else self.classes
        return Dataset(
            plane_features(self.points, names),
            classes,
            name="points",
            labels=LABELS,
            features=names,
            split=SPLIT,
            batch_size=min(int(element("batch").value), len(self.points)),
            seed=int(element("seed").value),
        )

    def inputs_of_grid(self):
        """Return what the model is told of the middle of each cell."""
        from webnnm import plane_features
        from webnnm.core.arrays import HostArray

        wide = (EXTENT[1] - EXTENT[0]) / GRID
        places = [EXTENT[0] + (k + 0.5) * wide for k in range(GRID)]
        cells = [(x, y) for y in places for x in places]
        return HostArray.of(plane_features(cells, self.features()), "float32")

    async def run(self, training):
        """Wait for the end of a training, and show how it ended."""
        try:
            history = await training
        except WebNNMError as error:
            if self.training is training:
                page.show_error(error)
                self.training = None
                self.buttons(running=False)
                findings.show(review_of(training.history), self.editor)
            return
        if self.training is not training:
            return
        self.training = None
        findings.show(review_of(history), self.editor)
        self.buttons(running=False)
        element("result").dataset.done = ""
        element("result").dataset.accuracy = element("accuracy").textContent
        self.announce("Training has ended")
        page.log(f"painted {self.painted} times in {history.seconds:.2f} s")

    async def epoch(self, record):
        """Take in an epoch, and paint what the model decides now if it is time."""
        if record.epoch == 1:
            self.painted = 0
            findings.show(review_of(self.training.history), self.editor)
        self.records.append(record)
        self.unshown.append(record)
        progress = {"epoch": record.epoch, "loss": record.loss, "val_loss": record.val_loss}
        window.console.log(f"webnnm:progress {json.dumps(progress)}")
        if self.steps is not None:
            self.steps -= 1
        held = self.steps is not None and self.steps <= 0 and record.epoch < record.epochs
        if held:
            self.training.pause()
        if held or record.epoch == record.epochs or time.perf_counter() >= self.paint_due:
            began = time.perf_counter()
            await self.paint()
            now = time.perf_counter()
            self.paint_due = now + (PAINT_SHARE - 1) * (now - began)
        if held:
            self.buttons(running=False)
            self.announce("Held")

    async def paint(self):
        """Paint what the model decides now, and how it came there."""
        from webnnm.charts.course import series

        record = self.records[-1]
        predictions = (await self.model.predict(self.grid, GRID**2)).tolist()
        shares = [round(row[-1], 3) for row in predictions]
        epochs = [(entry.epoch, entry.loss) for entry in self.unshown]
        rows = series("", "training", epochs)
        rows += series("", "validation", [(entry.epoch, entry.val_loss) for entry in self.unshown])
        self.unshown = []
        self.curve.add("epochs", json.dumps(rows))
        self.plane.paint("grid", "p", json.dumps(shares))
        element("progress").value = record.epoch
        element("progress-text").textContent = (
            f"Epoch {record.epoch} of {record.epochs} · loss {record.loss:.4f} · "
            f"validation {record.val_loss:.4f}"
        )
        if "accuracy" in record.val_metrics:
            element("accuracy").textContent = f"{100 * record.val_metrics['accuracy']:.1f} %"
            element("samples").textContent = "of the points that training does not see"
        self.describe(sum(share > 0.5 for share in shares) / len(shares))
        self.curve.describe(
            f"Training loss {self.records[0].loss:.3f} at first, {record.loss:.3f} after "
            f"{record.epoch} epochs, validation loss {record.val_loss:.3f}"
        )
        self.painted += 1
        # The browser paints before the training goes on.
        await self.plane.settle()

    async def discard(self):
        """End the training that there is, and forget what it learnt."""
        training, self.training, self.begun, self.start = self.training, None, None, None
        if training:
            await training.stop()
        if self.model:
            self.model.close()
            self.model = None
        self.clear()

    def buttons(self, *, running):
        """Say what can be done while it trains, or is held."""
        start, stop = ["train", "step"], ["stop"]
        page.hand_over(*((start, stop) if running else (stop, start)))
        element("page").disabled = running or self.model is None

    def announce(self, text):
        """Have screen readers say how things stand."""
        element("status").textContent = f"{text}. {element('progress-text').textContent}"

    async def on_change(self, event):
        """Start over with what is set now."""
        field = event.target
        if field.parentElement.parentElement.id == "features":
            count = len(self.features())
            self.editor.text = SHAPE.sub(rf"\g<1>{count}\g<2>", self.editor.text, count=1)
        await self.discard()
        self.buttons(running=False)
        self.make_points()
        self.show_points()
        self.write_link()

    async def save_page(self):
        """Save the archive of a page that runs the model among the downloads."""
        page.clear_error()
        try:
            text = await saving.save_page("playground", self.model)
        except WebNNMError as error:
            page.show_error(error)
        else:
            element("status").textContent = text

    # Points by hand.

    def draw(self, text):
        """Add a point where the pointer is."""
        if element("data").value != "drawn":
            return
        x, y, first, other = json.loads(text)
        if not first and any(abs(x - a) < NEAR and abs(y - b) < NEAR for a, b in self.points[-1:]):
            return
        self.add_point(x, y, int(element("brush").value) ^ bool(other))

    def add_point(self, x, y, number):
        """Add a point; the model learns it in its next training."""
        self.points.append((round(x, 2), round(y, 2)))
        self.classes.append(number)
        self.show_points()
        self.write_link()


playground = Playground()


@when("click", "#train")
async def train(event):
    """Train."""
    await playground.train()


@when("click", "#step")
async def step(event):
    """Train one epoch."""
    await playground.step()


@when("click", "#stop")
def stop(event):
    """Hold the training after this epoch."""
    playground.steps = 0


@when("click", "#again")
async def again(event):
    """Forget what was learnt."""
    page.clear_error()
    await playground.discard()
    playground.buttons(running=False)


@when("change", "#form")
async def on_change(event):
    """Take in what was changed."""
    await playground.on_change(event)


@when("click", "#add-point")
def add_point(event):
    """Add the point whose numbers are written."""
    x, y = (float(element(name).value or 0) for name in ("point-x", "point-y"))
    playground.add_point(x, y, int(element("brush").value))
    element("status").textContent = f"{len(playground.points)} points."


@when("click", "#clear-points")
async def clear_points(event):
    """Remove all points."""
    await playground.discard()
    playground.points, playground.classes = [], []
    playground.show_points()
    playground.write_link()


@when("click", "#share")
async def share(event):
    """Copy the address."""
    playground.write_link()
    if await page.copy(window.location.href, "copy the address instead"):
        element("status").textContent = element("share").textContent = "The link is copied"


@when("click", "#page")
async def save_page(event):
    """Save a page that runs the model."""
    await playground.save_page()


@when("hashchange", window)
async def follow(event):
    """Take what another link holds."""
    await playground.discard()
    playground.read_link()
    playground.show_points()


await playground.open()
