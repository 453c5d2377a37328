"""What the pages that train share: the buttons, the progress, the result, files, what is kept.

trainer.py does the work, in the page or, with ?worker in the address, in a worker.
"""

import asyncio
import json
import os
from base64 import b64decode, b64encode

import charting
import findings
import page
from closer import Closer
from confusion import Confusion
from diagram import ModelDiagram
from kept import UNKEPT, Kept, tell
from loss_curve import LossCurve
from model_editor import ModelEditor
from page import element, make, table
from pyscript import create_named_worker, ffi, when, window
from result_card import ResultCard, describe_card, describe_loss
from saving import save_file

from webnnm import WebNNMError

ENDINGS = {"epochs": "finished", "stop": "stopped by you", "patience": "no longer improving"}
FETCHING = "fetching"
"""Lines of the log that begin so tell how far ONNX Runtime is, which a training waits for."""
IN_WORKER = window.URLSearchParams.new(window.location.search).has("worker")
WHERE = "in a worker" if IN_WORKER else "in the page"


class TrainingPage:
    """A page with a model, its training and its test.

    - `name`: of the data, of the files, and of the training that the browser keeps.
    - `rows`, `kind`: what a row of the data is called, and its class: "flowers", "species".
    - `read_form`: returns the request of the form for the trainer.
    - `picture`: makes an element of the numbers of a row.
    - `on_model`: called, and awaited, when there is another model to ask, or none any more.
    """

    def __init__(self, name, rows, kind, read_form, picture, on_model=None):
        self.name, self.rows, self.kind, self.read_form = name, rows, kind, read_form
        self.on_model = on_model
        self.running = self.has_model = False
        self.looked = asyncio.Event()
        self.epochs = 0
        self.records = []
        self.editor = ModelEditor()
        self.curve = LossCurve(recorded=name)
        self.confusion = Confusion(rows, kind, self.mistakes, picture)
        self.tested = {}
        self.closer, self.card = Closer(self.look_closer), ResultCard()
        self.diagram = ModelDiagram(self.editor)
        self.kept = Kept(name, self.go_on, self.discard)
        when("submit", "#form")(self.train)
        when("click", "#stop")(self.stop)
        when("click", "#pause")(self.pause)
        when("click", "#save")(self.save)
        when("click", "#page")(self.save_page)
        when("change", "#open")(self.load)
        when("visibilitychange", window.document)(self.look_away)
        when("beforeunload", window)(self.leave)
        hint = f"It learns from most {rows}, and is tested on the rest."
        element("progress-text").textContent = hint
        self.address = f"{name} {os.urandom(16).hex()}"
        self.channel = window.BroadcastChannel.new(self.address)
        self.channel.onmessage = ffi.create_proxy(self.hear)

    async def open(self):
        """Start the trainer, say that the page is ready, and offer what the browser keeps."""
        if IN_WORKER:
            config = ("./trainer.py", "trainer", "./trainer.json")
            self.trainer = await create_named_worker(*config)
        else:
            import trainer

            self.trainer = trainer
        page.ready()
        kept = await self.say_where()
        try:
            if self.kept.read():
                await self.offer()
        finally:
            self.looked.set()
        await self.attempt(self.trainer.prepare, kept=kept)

    async def say_where(self):
        """Say what will run models before a training; return if that is a cached ONNX Runtime."""
        report = await self.attempt(self.trainer.where)
        if not report:
            element("runs").textContent = "What runs models here shows with the first training."
            return False
        page.show_sentence(report["summary"], report["sentence"])
        if report["bytes"]:
            text = f"Fetch ONNX Runtime now ({report['bytes'] / 1e6:.0f} MB)"
            button = make("button", text, type="button", id="fetch")
            when("click", button)(self.fetch)
            element("runs").append(" ", button)
        return report["kept"]

    async def fetch(self, event):
        """Fetch what makes trainings without WebNN fast, and say what runs then."""
        event.target.disabled = True
        fetched = await self.attempt(self.trainer.fetch)
        event.target.disabled = False
        if fetched is not None:
            await self.say_where()
            if not self.running:
                element("progress-text").textContent = "ONNX Runtime is ready"

    async def call(self, function, **request):
        """Call a function of trainer.py and return its answer."""
        request = {"data": self.name, "keep": self.name, "channel": self.address} | request
        answer = json.loads(await function(json.dumps(request)))
        if "error" in answer:
            if answer.get("review"):
                findings.show(answer["review"], self.editor)
            raise RuntimeError(answer["error"])
        return answer

    async def attempt(self, function, **request):
        """Call a function of trainer.py; show its error and return None where it fails."""
        try:
            return await self.call(function, **request)
        except RuntimeError as error:
            page.show_error_text(str(error))
        except Exception as error:
            page.show_error(error)
        return None

    # The training.

    async def train(self, event):
        """Train on what the form says until the end or Stop, then show the result."""
        if not self.looked.is_set():
            await self.looked.wait()
            if self.kept.note:  # offered just now: the reader has not seen it yet
                return
        if self.running:
            return
        request = self.read_request()
        if request is None:
            return
        self.begin(request["hyperparameters"]["epochs"], [])
        keep = await self.claim()
        if keep and self.kept.other():
            await self.step_back()
            return
        if keep:
            if self.kept.note:
                await self.discard()
            self.kept.begin()
        await self.run(**request, keep=keep)

    async def go_on(self, epochs, records):
        """Resume the training that the browser keeps, whose curve so far is known."""
        if self.running:
            return
        request = self.read_request()
        if request is None:
            return
        self.begin(epochs, records)
        note, keep = self.kept.note, await self.claim()
        self.kept.note = note
        if not keep or self.kept.other():
            await self.step_back()
            return
        await self.run(**request, resume=True)

    def read_request(self):
        """Return the request of the form, or None, having shown which field has to change."""
        try:
            return self.read_form()
        except WebNNMError as error:
            page.show_error(error)
            return None

    async def claim(self):
        """Return the name under which the training is kept, or None, having told why."""
        answer = await self.attempt(self.trainer.claim)
        if answer == {}:
            return self.name
        reason = answer["refused"] if answer else ""
        # What lies in the browser is that of another tab from now on.
        self.kept.note = None
        tell(f"{UNKEPT} {reason}", warning=True)
        return None

    async def step_back(self):
        """Leave things as they are: another tab has kept a training, which is offered instead."""
        await self.call(self.trainer.release)
        self.end()
        element("progress-text").textContent = "Not trained: another tab has kept a training"
        self.kept.read()
        await self.offer()

    async def run(self, **request):
        """Have the trainer train, and show what came out."""
        self.tested = request
        if self.on_model:
            await self.on_model()
        answer = await self.attempt(self.trainer.train, **request)
        self.end()
        self.closer.refresh()
        is_kept = request.get("keep", True)
        has_ended = answer is not None and answer["stopped"] != "stop"
        if is_kept and has_ended:  # before the result shows: the reader may then leave at once
            self.kept.forget()
            if not element("kept").classList.contains("warning"):
                tell("The training has ended. “Save model” keeps what it has learnt in a file.")
        if answer is None:
            element("progress-text").textContent = "No result"
            element("save").disabled = True
        else:
            await self.show(answer)
        if is_kept and not has_ended:
            await self.offer()

    def begin(self, epochs, records):
        """Set the page up for a training."""
        self.running, self.epochs, self.records = True, epochs, [*records]
        self.kept.withdraw()
        self.card.withdraw()
        page.clear_error()
        page.log(f"training {WHERE}")
        for name in ("progress", "score", "kept"):
            element(name).hidden = False
        self.curve.reset()
        self.curve.add(records)
        done = records[-1][0] if records else 0
        element("progress").max, element("progress").value = epochs, done
        words = "Resuming the training …" if records else "Reviewing the model, looking for a "
        element("progress-text").textContent = words if records else f"{words}good start …"
        element("result").removeAttribute("data-done")
        for name in ("accuracy", "samples", "baseline", "backend"):
            element(name).textContent = ""
        self.has_model = False
        element("result").hidden = element("review").hidden = True
        self.allow_questions(False)
        element("open").disabled = element("save").disabled = element("page").disabled = True
        self.announce("The training resumes." if records else "Training has begun.")

    def allow_stop(self):
        """Hand over from Train to Stop and Pause; the focus goes with it."""
        element("stop").disabled = element("pause").disabled = element("save").disabled = False
        if window.document.activeElement.id == "train":
            element("stop").focus()
        element("train").disabled = True

    def end(self):
        """Give the page back to the reader."""
        self.running = False
        element("train").disabled = element("open").disabled = False
        if window.document.activeElement.id in ("stop", "pause"):
            element("train").focus()
        element("stop").disabled = element("pause").disabled = True
        element("pause").textContent = "Pause"

    def allow_questions(self, allowed):
        """Open or close the form that asks the model, where the page has one: that is next then."""
        if element("try"):
            element("try").disabled = not allowed
            element("see").hidden = not allowed
            element("train").classList.toggle("primary", not allowed)

    def announce(self, text):
        """Have screen readers say how things stand; called now and then only."""
        element("status").textContent = text

    def hear(self, event):
        """Show what the trainer tells: a line for the log, or epochs."""
        message = json.loads(event.data)
        if "log" in message:
            page.log(message["log"])
            if message["log"].startswith(FETCHING):
                element("progress-text").textContent = message["log"]
        elif "kept" in message:
            self.on_kept(message["kept"])
        elif not self.running:
            return
        elif "review" in message:
            findings.show(message["review"], self.editor)
            self.announce(f"The review found: {element('review-summary').textContent}")
        else:
            if element("stop").disabled:
                self.allow_stop()
            self.add(message["epochs"])
            self.closer.refresh()
            self.kept.curve(self.records)
            self.progress(*message["epochs"][-1], message["metrics"], message["left"])

    def on_kept(self, failure):
        """Show that the training was kept just now, or why it was not."""
        if failure:
            if not element("kept").classList.contains("warning"):
                self.announce("The browser could not keep the training.")
            tell(f"Not kept this time; the training continues. {failure}", warning=True)
        elif not self.kept.unnoted:
            tell(f"Kept by the browser at {window.Date.new().toLocaleTimeString('en-GB')}.")

    def add(self, records):
        """Add epochs to the curve, but for those that are there already."""
        last = self.records[-1][0] if self.records else 0
        self.records += [record for record in records if record[0] > last]
        self.curve.add(records)

    def progress(self, epoch, loss, val_loss, metrics, left):
        """Show how far the training is, and how many seconds it is expected to take yet."""
        epochs, bar = self.epochs, element("progress")
        quarters_before, bar.value = 4 * int(bar.value) // epochs, epoch
        losses = {"loss": loss} | ({} if val_loss is None else {"validation": val_loss})
        parts = [f"{name} {describe_loss(value)}" for name, value in losses.items()]
        parts += [f"{name} {value:.4f}" for name, value in metrics.items()]
        parts += [f"{left:.0f} s left"] if left is not None and epoch < epochs else []
        element("progress-text").textContent = " · ".join([f"Epoch {epoch} of {epochs}", *parts])
        state = json.dumps({"epoch": epoch, "epochs": epochs, "loss": loss, "val_loss": val_loss})
        window.console.log(f"webnnm:progress {state}")
        if 4 * epoch // epochs > quarters_before:
            self.announce(f"Epoch {epoch} of {epochs}, loss {loss:.3f}.")

    async def stop(self, event):
        """End the training after the present chunk; `run` then shows the result."""
        element("progress-text").textContent = "Stopping …"
        await self.trainer.stop()

    async def pause(self, event):
        """Hold the training, or go on."""
        button = element("pause")
        held = button.textContent == "Pause"
        button.textContent = "Resume" if held else "Pause"
        self.announce("Paused." if held else "Training resumed.")
        await (self.trainer.pause() if held else self.trainer.resume())

    # What is kept, and files.

    async def offer(self):
        """Offer to go on with the training that the browser keeps, if there is one to end."""
        standing = await self.attempt(self.trainer.find_kept)
        # Another training may have begun meanwhile, and ended.
        if self.running or not self.kept.note:
            return
        if standing is None:
            await self.discard()
        elif standing:
            self.kept.offer(standing)
        else:
            self.kept.forget()

    async def discard(self):
        """Have the browser keep the training no longer."""
        if await self.attempt(self.trainer.discard) is not None:
            self.kept.forget()
            self.announce("The training that was kept is discarded.")

    async def look_away(self, event):
        """Keep what there is when the page is hidden, for it may not come back."""
        if window.document.visibilityState == "hidden":
            await self.leave(event)

    async def leave(self, event):
        """Keep what there is before the page goes, as far as there is time."""
        if self.running and self.kept.note:
            self.kept.curve(self.records, now=True)
            if IN_WORKER:
                await self.trainer.keep()

    async def save(self, event):
        """Let the browser save the model among the downloads."""
        await self.save_as(f"{self.name}.webnnm.safetensors")

    async def save_page(self, event):
        """Let the browser save the archive of a page that runs the model among the downloads."""
        await self.save_as(f"{self.name}.zip", format="page")

    async def save_as(self, name, **options):
        """Let the browser save what the trainer makes of the model."""
        page.clear_error()
        answer = await self.attempt(self.trainer.save, **options)
        if answer:
            try:
                self.announce(await save_file(name, b64decode(answer["file"])))
            except Exception as error:
                page.show_error(error)

    async def load(self, event):
        """Take the model of a file, and show how it does."""
        field = event.target
        chosen = field.files.item(0)
        if self.running or chosen is None:
            return
        page.clear_error()
        content = (await chosen.arrayBuffer()).to_bytes()
        # The same file may be chosen again.
        field.value = ""
        request = self.read_request()
        if request is None:
            return
        file = b64encode(content).decode()
        answer = await self.attempt(self.trainer.load, **request, file=file)
        if answer:
            self.tested = request
            self.editor.text = answer["source"]
            self.closer.refresh()
            self.curve.hide()
            await self.show(answer)
            element("progress").hidden = True
            element("progress-text").textContent = f"{chosen.name} is opened"

    # The result.

    async def show(self, result):
        """Show the test result, and open the form that asks the trained model."""
        self.has_model = True
        element("score").hidden = False
        backend = result["backend"]
        about = f"Tested on {backend}, {WHERE}."
        if "stopped" in result:
            about = self.course(result, backend)
        if result["why"]:
            about += f" {page.sentence(result['why'])}"
        accuracy, labels = page.percent(result["accuracy"], 1), result["labels"]
        element("accuracy").textContent = accuracy
        unseen = "that training never saw" if "stopped" in result else "of the testing part"
        element("samples").textContent = f"of {result['samples']} {self.rows} {unseen}"
        element("baseline").textContent = " ".join(map(page.sentence, result["verdicts"]))
        element("backend").textContent = about
        confusion = self.confusion.show(labels, result["counts"])
        columns = [result[name] for name in ("precision", "recall", "f1")]
        scores = [
            [label, *(f"{score:.3f}" for score in three), total]
            for label, *three, total in zip(labels, *columns, result["support"], strict=True)
        ]
        header = [self.kind.capitalize(), "Precision", "Recall", "F1", self.rows.capitalize()]
        shown = table(f"Scores of each {self.kind}", header, scores)
        element("tables").replaceChildren(confusion, shown)
        element("summary").textContent = result["summary"]
        self.diagram.show_backend(result["backend"], result["rewrites"])
        shown = element("result")
        shown.dataset.accuracy = f"{result['accuracy']:.4f}"
        shown.dataset.backend = backend
        shown.dataset.seconds = f"{result.get('seconds', 0):.2f}"
        shown.hidden = False
        self.allow_questions(True)
        element("save").disabled = element("page").disabled = False
        shown.dataset.done = ""
        page.log(f"test accuracy {accuracy}, {backend}")
        await charting.attempt(self.confusion.draw())
        self.offer_card(result)
        how = "Training has ended." if "stopped" in result else "The model is opened."
        self.announce(f"{how} Test accuracy {accuracy}, on {backend}.")
        if self.on_model:
            await self.on_model()

    def offer_card(self, result):
        """Offer a picture of the result."""
        classes = len(result["labels"])
        about = (
            f"A network of {result['parameters']} tells {classes} classes of {self.rows} apart. "
        )
        numbers = [(element("accuracy").textContent, element("samples").textContent)]
        if "stopped" in result:
            about += f"It learnt {result['learnt']:,} {self.rows} in the browser."
            epochs, loss = len(result["epochs"]), result["epochs"][-1][1]
            numbers += [
                (describe_loss(loss), "training loss at the end"),
                (f"{result['seconds']:.2f} s", f"{epochs} epochs on {result['backend']}"),
            ]
        else:
            numbers.append((describe_loss(result["loss"]), f"test loss, on {result['backend']}"))
        title = window.document.querySelector("nav [aria-current]").textContent  # its short name
        card = describe_card(self.name, title, about.rstrip(), numbers)

        def describe():
            charts = [self.confusion.chart, self.curve.chart if "stopped" in result else None]
            return card, [chart for chart in charts if chart], ()

        self.card.offer(describe)

    async def look_closer(self):
        """Return more charts of the training and of its model."""
        answer = await self.attempt(self.trainer.closer, **self.tested)
        return answer and answer["charts"]

    async def mistakes(self, actual, predicted):
        """Return rows of the test of one class that the model takes for another."""
        pair = {"actual": actual, "predicted": predicted}
        answer = await self.attempt(self.trainer.mistakes, **(self.tested | pair))
        return answer and answer["rows"]

    def course(self, result, backend):
        """Show the course of the training, and return it in a sentence."""
        self.add(result["epochs"])
        findings.show(result["review"], self.editor)
        done = result["finished"]
        if self.records:
            element("progress").value = done
            (_, first, _), (_, last, val_loss) = self.records[0], self.records[-1]
            how = ENDINGS.get(result["stopped"], result["stopped"])
            text = f"loss {describe_loss(last)}"
            text += "" if val_loss is None else f" · validation {describe_loss(val_loss)}"
            element("progress-text").textContent = f"Epoch {done} of {self.epochs} · {text} · {how}"
            words = f"Training loss from {first:.3f} to {last:.3f} in {done} epochs"
            words += "" if val_loss is None else f", validation loss {val_loss:.3f} at the end"
            self.curve.describe(words)
        return (
            f"Trained {len(result['epochs'])} epochs on {backend}, {WHERE}, in "
            f"{result['seconds']:.2f} s. Kept: the parameters of epoch {result['best_epoch']}."
        )
