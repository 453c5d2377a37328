"""The playground: points in the plane, a model that learns them, and what it decides everywhere."""

import asyncio
import json

import charting
import page
import playground_link
from dense_layers import UneditableError, set_activation, set_inputs, set_output
from lessons import Lessons
from model_editor import ModelEditor
from network_view import NetworkView
from page import element
from plane_points import (
    RANGE,
    PlanePoints,
    chosen_features,
    is_in_plane,
    offer_features,
    sample_plane,
)
from plane_training import PlaneTraining
from plane_view import PlaneView
from pyscript import when, window
from result_card import describe_loss
from result_files import ResultFiles
from trainer import where
from weight_edits import format_edits, parse_edits

from webnnm import ModelError
from webnnm.page_modules import load_rest

VALUE, CLASSES = (1, "identity"), (2, "softmax")
"""The output of models of values, and of classes: how many numbers, and their activation."""


class Playground:
    """The page's points, its model and its training."""

    def __init__(self):
        self.points = PlanePoints()
        self.editor = ModelEditor(shared=False)
        self.files = ResultFiles(self.describe)
        self.lessons = Lessons(self.load)
        self.network = NetworkView(
            self.editor,
            describe_ends=lambda: (chosen_features(), self.points.outputs),
            sample_inputs=sample_plane,
            on_edit=self.on_edit,
            on_look=lambda: self.plane.show_shares(),
            on_weight=lambda *change: self.training.set_weight(*change),
        )
        self.plane = PlaneView(self.points, draw=self.draw, unit_picture=self.network.unit_picture)
        self.training = PlaneTraining(
            self.editor,
            self.points,
            self.plane,
            self.network,
            on_paint=self.files.add_frame,
            on_end=self.conclude,
            on_running=self.offer_card,
            on_edit=self.write_link,
        )

    async def open(self):
        """Take what the address holds, show the points, and say that the page is ready."""
        await load_rest()
        offer_features()
        self.read_link()
        self.plane.begin()
        page.ready()
        self.network.start()
        answer = json.loads(await where("{}"))
        page.show_sentence(answer["summary"], answer["sentence"])
        await self.plane.showing
        await charting.attempt(self.files.offer_video())

    # What is set.

    def settings(self):
        """Return all that is set, as texts by the names that the link has."""
        return playground_link.read_settings(self.editor, self.points)

    def write_link(self):
        """Put all that is set into the address."""
        settings = self.settings()
        if self.training.edits:
            settings["weights"] = format_edits(self.training.edits)
        if self.training.epochs > element("epochs").valueAsNumber:
            settings["trained"] = str(self.training.epochs)
        playground_link.write_link(settings)

    def read_link(self):
        """Set what the address holds, and make the points."""
        settings, problems = playground_link.read_link()
        problems += playground_link.apply_settings(settings, self.editor, self.points)
        if self.points.have_values and "model" not in settings:
            try:
                self.editor.text = set_output(self.editor.text, *VALUE)
            except (ModelError, UneditableError) as error:
                problems.append(str(error))
        self.training.edits, wrong = parse_edits(settings.get("weights", ""))
        self.training.goal, unfit = playground_link.parse_epochs(settings.get("trained", ""))
        self.make_points()
        playground_link.show_problems(problems + wrong + unfit)

    async def follow(self):
        """Set what another link holds."""
        self.lessons.end()
        await self.training.discard()
        self.read_link()
        self.plane.show_points()
        self.editor.check()

    async def load(self, settings):
        """Set what a lesson holds, and all else as the page has it when it is first opened."""
        page.clear_error()
        await self.training.discard()
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
        if event.target.name == "activation":
            self.network.edit(set_activation, event.target.value)
            return
        is_other_kind = self.points.have_values != self.network.has_values
        if event.target.id == "data" and is_other_kind:
            output = VALUE if self.points.have_values else CLASSES
            if self.network.edit(set_output, *output):  # it takes over all the rest, too
                return
        if event.target.closest("#features"):
            if not chosen_features():
                event.target.checked = True
                element("features-note").textContent = "The network needs at least one input."
                return
            self.editor.text = set_inputs(self.editor.text, len(chosen_features()))
        await self.training.discard()
        self.take_over()

    async def on_edit(self, text):
        """Write the text that a button of the drawing asks for, and start over."""
        self.lessons.end()
        page.clear_error()
        self.editor.text = text
        await self.training.discard()
        self.take_over()

    def draw(self, text):
        """Add a point where the pointer is."""
        if self.points.are_drawn and self.points.draw(text):
            self.show_added()

    def add_point(self, x, y, number):
        """Add a point, which the next training learns; return whether it lies in the plane."""
        if not is_in_plane(x, y):
            page.show_error_text(f"x1 and x2 of a point are numbers {RANGE}.")
            return False
        page.clear_error()
        self.points.add(x, y, number)
        self.show_added()
        return True

    def show_added(self):
        """Show another point; the model has not learnt it, which a card would say."""
        self.files.card.withdraw()
        self.plane.show_points()
        self.write_link()

    async def forget_points(self):
        """Forget what was learnt of points that are gone."""
        await self.training.discard()
        self.plane.show_points()
        self.write_link()

    # The training.

    async def train(self):
        """Train on, or from the start where something else is set; pause a training that runs."""
        if self.training.is_running:
            self.training.pause()
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
        await self.training.go(self.settings(), steps)
        self.write_link()

    def offer_card(self, is_running):
        """Offer a picture of what is learnt, while nothing changes it and it is what is set."""
        if is_running or not self.plane.records:
            self.files.card.withdraw()
            return
        if self.training.begun == self.settings():
            self.files.offer_card()
        self.write_link()  # which holds the epochs, too

    def describe(self):
        """Return the title of a card, what is learnt, and the numbers."""
        from webnnm.model.report import parameter_count

        model, seconds = self.training.model, self.training.seconds
        network = model.state.network if model else self.editor.network
        size = f" of {parameter_count(network).partition(', ')[0]}" if network else ""
        count = len(self.points.points)
        aim = f"to tell {count} points of two classes apart"
        if self.points.have_values:
            aim = f"a surface from {count} points"
        about = f"A network{size} learns {aim}, in the browser."
        shape = element("data").selectedOptions.item(0).textContent
        title = "Points drawn by hand" if self.points.are_drawn else shape
        if not self.plane.records:
            return title, about, []
        record = self.plane.records[-1]
        device = f"{record.epoch} epochs on {model.backend.description}"
        validation = "" if record.val_loss is None else f", validation {record.val_loss:.4f}"
        numbers = [
            (element("accuracy").textContent, element("samples").textContent),
            (describe_loss(record.loss), f"training loss{validation}"),
            (f"{seconds:.2f} s" if seconds else "", device),
        ]
        return title, about, numbers

    def conclude(self, review):
        """Say what the training of a lesson showed."""
        accuracy = element("accuracy").textContent
        self.lessons.conclude(review["findings"], self.plane.records[-1], accuracy)


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
    await playground.training.discard()
    playground.write_link()


@when("change", "#form")
async def on_change(event):
    """Take in what was changed."""
    await playground.on_change(event)


@when("click", "#add-point")
def add_point(event):
    """Add the point whose numbers are written."""
    x, y = (float(element(name).value or 0) for name in ("point-x", "point-y"))
    if playground.add_point(x, y, int(element("brush").value)):
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


@when("click", "#record")
async def record(event):
    """Record a video, or save it."""
    await playground.files.record()


@when("click", "#page")
async def save_page(event):
    """Save a page that runs the model."""
    await playground.files.save_page(playground.training.model)


@when("hashchange", window)
async def follow(event):
    """Take what another link holds."""
    await playground.follow()


await playground.open()
