"""The playground: points in the plane, a model that learns them, and what it decides everywhere."""

import asyncio
import json
import time

import charting
import findings
import page
import playground_link
from dense_layers import set_inputs
from lessons import Lessons
from model_editor import ModelEditor
from network_view import NetworkView
from page import element
from plane_points import (
    GRID,
    LABELS,
    PlanePoints,
    chosen_features,
    offer_features,
    sample_plane,
)
from plane_view import PlaneView
from pyscript import when, window
from result_files import ResultFiles
from trainer import review_of, where

from webnnm import NNModel, WebNNMError, parse
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.page_modules import load_rest

PAINT_SHARE = 2
"""The boundary is painted after this many times the time that painting takes, at most."""
LOOK_SECONDS = 0.25
"""The network is drawn anew after this time, at least."""


class Playground:
    """The page's points, its model and its training."""

    def __init__(self):
        self.points = PlanePoints()
        self.model = self.training = self.begun = None
        self.start = self.steps = self.showing = None
        self.ending = asyncio.Lock()
        self.is_running = False
        self.paint_due = self.look_due = self.turn_due = 0
        self.editor = ModelEditor(shared=False)
        self.files = ResultFiles()
        self.lessons = Lessons(self.load)
        self.network = NetworkView(
            self.editor,
            describe_ends=lambda: (chosen_features(), [*LABELS]),
            sample_inputs=sample_plane,
            on_edit=self.on_edit,
            on_look=lambda: self.plane.show_shares(),
        )
        self.plane = PlaneView(self.points, draw=self.draw, unit_picture=self.network.unit_picture)

    async def open(self):
        """Take what the address holds, show the points, and say that the page is ready."""
        await load_rest()
        offer_features()
        self.read_link()
        self.showing = asyncio.ensure_future(self.plane.show())
        page.ready()
        self.network.start()
        answer = json.loads(await where("{}"))
        page.show_sentence(answer["summary"], answer["sentence"])
        await self.showing
        await charting.attempt(self.files.offer())

    # What is set.

    def settings(self):
        """Return all that is set, as texts by the names that the link has."""
        return playground_link.read_settings(self.editor, self.points)

    def write_link(self):
        """Put all that is set into the address."""
        playground_link.write_link(self.settings())

    def read_link(self):
        """Set what the address holds, and make the points."""
        settings, problems = playground_link.read_link()
        problems += playground_link.apply_settings(settings, self.editor, self.points)
        self.make_points()
        playground_link.show_problems(problems)

    async def follow(self):
        """Set what another link holds."""
        self.lessons.end()
        await self.discard()
        self.read_link()
        self.plane.show_points()
        self.editor.check()

    async def load(self, settings):
        """Set what a lesson holds, and all else as the page has it when it is first opened."""
        page.clear_error()
        await self.discard()
        element("form").reset()
        defaults = {"features": "x1,x2"}
        playground_link.apply_settings(defaults | settings, self.editor, self.points)
        self.take_over()

    def take_over(self):
        """Show what is set now, which nothing has learnt."""
        self.make_points()
        self.plane.show_points()
        self.editor.check()
        self.write_link()

    def make_points(self):
        """Make the points of the shape that is chosen; drawn ones stay as they are."""
        drawn = self.points.are_drawn
        element("drawing-tools").hidden = not drawn
        element("plane").classList.toggle("drawable", drawn)
        element("rows").disabled = element("noise").disabled = drawn
        if self.valid():
            self.points.make()

    def valid(self):
        """Return whether the form is filled in; the browser shows what is not."""
        return element("form").reportValidity()

    # What somebody changes.

    async def on_change(self, event):
        """Start over with what is set now."""
        self.lessons.end()
        element("features-note").textContent = ""
        if event.target.closest("#features"):
            if not chosen_features():
                event.target.checked = True
                element("features-note").textContent = "The network needs at least one input."
                return
            self.editor.text = set_inputs(self.editor.text, len(chosen_features()))
        await self.discard()
        self.take_over()

    async def on_edit(self, text):
        """Write the text that a button of the drawing asks for, and start over."""
        self.lessons.end()
        page.clear_error()
        self.editor.text = text
        await self.discard()
        self.take_over()

    def draw(self, text):
        """Add a point where the pointer is."""
        if self.points.are_drawn and self.points.draw(text):
            self.plane.show_points()
            self.write_link()

    def add_point(self, x, y, number):
        """Add a point; the model learns it in its next training."""
        self.points.add(x, y, number)
        self.plane.show_points()
        self.write_link()

    async def forget_points(self):
        """Forget what was learnt of points that are gone."""
        await self.discard()
        self.plane.show_points()
        self.write_link()

    # The training.

    def show_running(self, is_running):
        """Say what can be done while it trains, or is paused."""
        self.is_running = is_running
        element("train").textContent = "Pause" if is_running else "Train"
        element("page").disabled = is_running or self.model is None

    def announce(self, text):
        """Have screen readers say how things stand."""
        element("status").textContent = f"{text}. {element('progress-text').textContent}"

    async def train(self):
        """Train on, or from the start where something else is set; pause a training that runs."""
        if self.is_running:
            self.steps = 0  # after this epoch
        else:
            await self.go(None)

    async def go(self, steps):
        """Train so many epochs, None for all that are left."""
        if not self.valid():
            return
        page.clear_error()
        if not self.points.are_enough:
            page.show_error_text("Draw at least two points of each class.")
            return
        if self.training and self.settings() == self.begun:
            self.steps = steps
            self.show_running(True)
            self.announce("Training goes on")
            self.training.resume()
            return
        await self.discard()
        self.steps = steps
        self.show_running(True)
        self.announce("Training has begun")
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
                self.show_running(False)
            return
        task = asyncio.ensure_future(self.run(self.training))
        task.add_done_callback(lambda done: done.result())

    async def create(self):
        """Create a model of what is set."""
        self.begun = self.settings()
        self.write_link()
        dataset = self.points.to_dataset(elaborate(parse(self.editor.text)))
        seed = int(element("seed").value)
        return await NNModel.create(
            source=self.editor.text, dataset=dataset, seed=seed, log=page.log
        )

    def begin(self, model):
        """Begin the training of a model."""
        self.model = model
        element("runs").textContent = page.sentence(f"runs on {model.backend.description}")
        self.cells = sample_plane()
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

        async def take_in(record):
            if self.training is training:  # unless somebody has started over meanwhile
                await self.epoch(training, record)

        training = model.train(hyperparameters, on_epoch=take_in, progress=None)
        return training

    async def run(self, training):
        """Wait for the end of a training, and show how it ended."""
        failure = None
        try:
            await training
        except WebNNMError as error:
            failure = error
        if self.training is not training:
            return
        self.training = None
        self.show_running(False)
        review = review_of(training.history)
        findings.show(review, self.editor)
        if self.plane.records:
            accuracy = element("accuracy").textContent
            self.lessons.conclude(review["findings"], self.plane.records[-1], accuracy)
        if failure is not None:
            page.show_error(failure)
            return
        element("result").dataset.done = ""
        element("result").dataset.accuracy = element("accuracy").textContent
        self.announce("Training has ended")
        page.log(f"painted {self.plane.painted} times in {training.history.seconds:.2f} s")

    async def epoch(self, training, record):
        """Take in an epoch, and paint what the model decides now if it is time."""
        if record.epoch == 1:
            findings.show(review_of(training.history), self.editor)
        self.plane.add(record)
        progress = {"epoch": record.epoch, "loss": record.loss, "val_loss": record.val_loss}
        window.console.log(f"webnnm:progress {json.dumps(progress)}")
        if self.steps is not None:
            self.steps -= 1
        held = self.steps is not None and self.steps <= 0 and record.epoch < record.epochs
        if held:
            training.pause()
        is_last = held or record.epoch == record.epochs
        if is_last or time.perf_counter() >= self.paint_due:
            began = time.perf_counter()
            await self.paint()
            now = time.perf_counter()
            self.paint_due = now + (PAINT_SHARE - 1) * (now - began)
        if is_last or (time.perf_counter() >= self.look_due and self.network.follows()):
            await self.network.look(self.model, self.cells)
            self.look_due = time.perf_counter() + LOOK_SECONDS
        if held:
            self.show_running(False)
            self.announce("Paused")
        elif not is_last:
            await self.wait_for_turn()

    async def paint(self):
        """Paint what the model decides now, and how it came there."""
        predictions = (await self.model.predict(self.cells, GRID**2)).tolist()
        await self.plane.paint([round(row[-1], 3) for row in predictions])
        self.files.add_frame()

    async def wait_for_turn(self):
        """Wait as long as the speed that is chosen asks for."""
        rate, now = int(element("speed").value), time.perf_counter()
        if rate:
            self.turn_due = max(self.turn_due + 1 / rate, now)
            await asyncio.sleep(self.turn_due - now)

    async def discard(self):
        """End the training that there is, and forget what it learnt."""
        async with self.ending:  # one after the other: a model is in use until its training ends
            training, self.training, self.begun, self.start = self.training, None, None, None
            if training:
                await training.stop()
            self.network.close()
            if self.model:
                self.model.close()
                self.model = None
            element("review").hidden = True
            element("result").removeAttribute("data-done")
            self.network.redraw()
            self.plane.clear()
            self.show_running(False)


playground = Playground()


@when("click", "#train")
async def train(event):
    """Train, or pause."""
    await playground.train()


@when("click", "#step")
async def step(event):
    """Train one epoch."""
    await playground.go(1)


@when("click", "#again")
async def again(event):
    """Forget what was learnt."""
    page.clear_error()
    await playground.discard()


@when("change", "#form")
async def on_change(event):
    """Take in what was changed."""
    await playground.on_change(event)


@when("click", "#add-point")
def add_point(event):
    """Add the point whose numbers are written."""
    x, y = (float(element(name).value or 0) for name in ("point-x", "point-y"))
    playground.add_point(x, y, int(element("brush").value))
    element("status").textContent = f"{len(playground.points.points)} points."


@when("click", "#clear-points")
def clear_points(event):
    """Remove all points, before others are drawn."""
    playground.points.clear()
    task = asyncio.ensure_future(playground.forget_points())
    task.add_done_callback(lambda done: done.result())


@when("click", "#share")
async def share(event):
    """Copy the address."""
    playground.write_link()
    if await page.copy(window.location.href, "copy the address instead"):
        element("status").textContent = element("share").textContent = "The link is copied"


@when("click", "#copy-picture")
async def copy_picture(event):
    """Copy a picture of what is shown."""
    await playground.files.copy_picture()


@when("click", "#save-picture")
async def save_picture(event):
    """Save a picture of what is shown."""
    await playground.files.save_picture()


@when("click", "#record")
async def record(event):
    """Record a video, or save it."""
    await playground.files.record()


@when("click", "#page")
async def save_page(event):
    """Save a page that runs the model."""
    await playground.files.save_page(playground.model)


@when("hashchange", window)
async def follow(event):
    """Take what another link holds."""
    await playground.follow()


await playground.open()
