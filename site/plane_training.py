"""The model of the playground and its training, which rests and goes on as the buttons ask."""

import asyncio
import json
import time
from dataclasses import replace

import findings
import page
from dense_layers import UneditableError
from lessons import REMEDIES
from page import element
from plane_points import GRID, UnfitNetworkError, sample_plane
from pyscript import window
from trainer import review_of
from weight_edits import WeightEdit

from webnnm import NNModel, WebNNMError, parse
from webnnm.graph.elaboration.elaborate import elaborate

PAINT_SHARE = 2
"""The boundary is painted after this many times the time that painting takes, at most."""
LOOK_SECONDS = 0.25
"""The network is drawn anew after this time, at least."""
LOOK_SHARE = 10
"""It is drawn anew after this many times the time that drawing takes, at least."""


class PlaneTraining:
    """Trains a model for as many epochs as somebody asks for, and shows what it decides meanwhile.

    - `editor`, `points`: the text of the model, and what it learns.
    - `plane`, `network`: the views that follow the training.
    - `on_paint()` is called once the plane is painted, `on_end(review)` when a training has ended,
      `on_running(is_running)` when one begins, rests or ends, and when nothing is learnt any more,
      `on_edit()` when `edits` has another one.

    `seconds` are those of the trainings that have ended, 0 while another one rests.
    """

    def __init__(self, editor, points, plane, network, *, on_paint, on_end, on_running, on_edit):
        self.editor, self.points, self.plane, self.network = editor, points, plane, network
        self.on_paint, self.on_end = on_paint, on_end
        self.on_running, self.on_edit = on_running, on_edit
        self.spent = 0.0
        self.model = self.training = self.begun = self.start = None
        self.is_running = False
        self.steps = None  # epochs until it rests, None if it does not
        self.changes = []  # of weights, which a training takes in between two epochs
        self.edits = []  # of weights by somebody or a link, each after its epoch
        self.goal = 0  # epochs of a link that were more than one training
        self.turn, self.ending, self.wake = asyncio.Lock(), asyncio.Lock(), asyncio.Event()
        self.paint_due = self.look_due = self.turn_due = 0

    @property
    def seconds(self):
        """How long the model was trained, if that is known."""
        return 0.0 if self.training else self.spent

    @property
    def epochs(self):
        """How many epochs a link restores: those that are learnt, or that its own link has."""
        return max(self.goal, self.plane.epochs)

    @property
    def rests(self):
        """Whether it has trained all epochs that somebody has asked for."""
        return self.steps is not None and self.steps <= 0

    # What somebody asks for.

    async def go(self, settings, steps):
        """Train so many epochs more, None for all that are left, of a model of these settings.

        A model that has learnt all its epochs is trained once more as long.
        """
        async with self.turn:  # one click after the other, or the second would end the first
            if self.begun != settings:
                if self.begun is not None or self.model:
                    await self.discard()
                self.begun = settings
            elif self.is_running:
                self.steps = None if steps is None else (self.steps or 0) + steps
                return
            self.steps = steps
            self.show_running(True)
        if self.training:
            self.announce("Training goes on")
            self.wake.set()
            return
        self.announce("Training has begun")
        start = self.start = object()  # which whoever starts over meanwhile replaces
        await self.plane.showing  # a training paints on the charts
        try:
            if self.start is start and self.model is None:
                model = await self.create()
                if self.start is not start:
                    model.close()
                    return
                self.model = model
            if self.start is start:
                self.training = self.begin(self.model)
        except (WebNNMError, UnfitNetworkError) as error:
            if self.start is start:
                if isinstance(error, WebNNMError):
                    page.show_error(error)
                else:
                    page.show_error_text(str(error))
                self.show_running(False)
            return
        if self.start is start:
            task = asyncio.ensure_future(self.run(self.training))
            task.add_done_callback(lambda done: done.result())

    def pause(self):
        """Rest after the present epoch."""
        self.steps = 0

    async def set_weight(self, *change):
        """Set a weight as `NetworkView.write` takes it; a training goes on from it."""
        self.changes.append(change)
        self.wake.set()  # a training that rests takes it in at once, any other after its epoch
        async with self.ending:
            if self.model and not self.training:
                await self.apply_changes()

    async def discard(self):
        """End the training that there is, and forget what it learnt."""
        async with self.ending:  # one after the other: a model is in use until its training ends
            training, self.training, self.begun, self.start = self.training, None, None, None
            self.wake.set()
            if training:
                await training.stop()
            self.network.close()
            if self.model:
                self.model.close()
                self.model = None
            self.changes, self.edits, self.spent, self.goal = [], [], 0.0, 0
            element("review").hidden = True
            element("result").removeAttribute("data-done")
            self.network.redraw()
            self.plane.clear()
            self.show_running(False)

    # How it goes.

    def show_running(self, is_running):
        """Say what can be done while it trains, or rests."""
        self.is_running = is_running
        element("train").textContent = "Pause" if is_running else "Train"
        element("page").disabled = is_running or self.model is None
        self.on_running(is_running)

    def announce(self, text):
        """Have screen readers say how things stand."""
        element("status").textContent = f"{text}. {element('progress-text').textContent}"

    async def create(self):
        """Create a model of what is set."""
        dataset = self.points.to_dataset(elaborate(parse(self.editor.text)))
        seed = int(page.read_number("seed"))
        return await NNModel.create(
            source=self.editor.text, dataset=dataset, seed=seed, log=page.log
        )

    def begin(self, model):
        """Begin a training of the model, whose epochs follow those that it has learnt."""
        element("runs").textContent = page.sentence(f"runs on {model.backend.description}")
        self.cells = sample_plane()
        l2 = page.read_number("l2")
        hyperparameters = {
            "epochs": int(page.read_number("epochs")),
            "optimizer": element("optimizer").value,
            # What is shown is the model as it is, with the regularisation that the form says.
            "lambda2": l2,
            "regularization": "L2" if l2 else "off",
            "restore_best": False,
            "weight_decay": 0,
        }
        if element("lr").value:
            hyperparameters["lr"] = float(element("lr").value)
        before = self.plane.epochs
        element("progress").max = before + hyperparameters["epochs"]
        element("progress").hidden = False
        element("progress-text").textContent = "Reviewing the model …"

        async def take_in(record):
            if self.training is not training:  # somebody has started over meanwhile
                return
            if record.epoch == 1:
                findings.show(review_of(training.history), self.editor, REMEDIES)
            if before:
                epoch, epochs = before + record.epoch, before + record.epochs
                record = replace(record, epoch=epoch, epochs=epochs)
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
        async with self.ending:
            if self.training is not training:
                return
            self.training = None
            self.spent += training.history.seconds
            await self.apply_changes()  # those that came after its last epoch
        self.show_running(False)
        review = review_of(training.history)
        findings.show(review, self.editor, REMEDIES)
        if self.plane.epochs:
            self.on_end(review)
        if failure is not None:
            self.begun = None  # there is nothing to go on with
            page.show_error(failure)
            return
        element("result").dataset.done = ""
        element("result").dataset.accuracy = element("accuracy").textContent
        self.announce("Training has ended")
        page.log(f"painted {self.plane.painted} times in {training.history.seconds:.2f} s")
        left = self.goal - self.plane.epochs
        if left > 0 and self.steps is None:
            epochs = int(page.read_number("epochs"))
            await self.go(self.begun, None if left >= epochs else left)

    async def epoch(self, training, record):
        """Take in an epoch, show the model if it is time, and rest if nobody asks for another."""
        self.plane.add(record)
        progress = {"epoch": record.epoch, "loss": record.loss, "val_loss": record.val_loss}
        window.console.log(f"webnnm:progress {json.dumps(progress)}")
        if self.steps is not None:
            self.steps -= 1
        is_last = record.epoch == record.epochs
        at_once = is_last or self.rests
        if not await self.apply_changes(record.epoch):
            await self.show(at_once)
        if is_last:
            return
        if self.rests and not at_once:  # somebody has asked for a rest meanwhile
            await self.show()
        if self.rests:
            self.show_running(False)
            self.announce("Paused")
        # It rests here, where its parameters can be read and written.
        while self.rests and self.training is training:
            if not await self.apply_changes():
                self.wake.clear()
                await self.wake.wait()
        await self.wait_for_turn()

    async def show(self, at_once=True):
        """Show what the model decides, and its network, each now or if it is due."""
        if at_once or time.perf_counter() >= self.paint_due:
            began = time.perf_counter()
            predictions = (await self.model.predict(self.cells, GRID**2)).tolist()
            await self.plane.paint(self.points.to_shares([row[-1] for row in predictions]))
            self.on_paint()
            now = time.perf_counter()
            self.paint_due = now + (PAINT_SHARE - 1) * (now - began)
        if at_once or (time.perf_counter() >= self.look_due and self.network.follows()):
            began = time.perf_counter()
            await self.network.look(self.model, self.cells)
            now = time.perf_counter()
            self.look_due = now + max(LOOK_SECONDS, (LOOK_SHARE - 1) * (now - began))

    async def apply_changes(self, epoch=None):
        """Set the weights that somebody has changed, and show the model; return if some are.

        After an epoch those of a link are set as well.
        """
        edits = [edit for edit in self.edits if edit.epoch == epoch]
        changes, self.changes = self.changes, []
        for change in changes:
            edits.append(WeightEdit(self.plane.epochs, *change))
            self.edits.append(edits[-1])
        for edit in edits:
            try:
                await self.network.write(self.model, *edit[1:])
            except UneditableError as error:
                self.edits.remove(edit)
                page.show_error_text(page.sentence(str(error)))
        if edits:
            self.on_edit()
            self.plane.replace_last(await self.evaluate(self.plane.records[-1]))
            await self.show()
            self.announce("The weight is set")
        return bool(edits)

    async def evaluate(self, record):
        """Return the record of an epoch with the losses of the model as it is now."""
        from webnnm.runtime.testing.testing import test

        state = self.model.state
        result = await test(state, "training", baselines=False)
        record = replace(record, loss=result.loss)
        if record.val_loss is None:
            return record
        result = await test(state, "validation", baselines=False)
        metrics = {name: getattr(result, name) for name in record.val_metrics}
        return replace(record, val_loss=result.loss, val_metrics=metrics)

    async def wait_for_turn(self):
        """Wait as long as the speed that is chosen asks for."""
        rate, now = int(element("speed").value), time.perf_counter()
        if rate:
            self.turn_due = max(self.turn_due + 1 / rate, now)
            await asyncio.sleep(self.turn_due - now)
