"""What pages share that train a model of a dataset, test it, and let it be taken away."""

import json

import charting
import findings
import insights
import page
import saving
from attempts import Delayed, attempt
from closer import Closer
from confusion import Confusion
from diagram import ModelDiagram
from loss_curve import LossCurve
from model_editor import ModelEditor
from page import element, table
from pyscript import when, window
from result_card import ResultCard, describe_card, describe_loss
from trainer import class_of, curve, review_of, where
from watch import LayerWatch

from webnnm import DataError, NNModel, WebNNMError
from webnnm.page_modules import load_rest


class TrainingPage(Delayed):
    """The page's dataset, its model and its training.

    A kind of page has `fields`, a selector of what cannot be changed while it trains, `example`, a
    file of the site, and methods: `take(content, name)` takes the rows of a file, `prepare()` makes
    the dataset that the form wants, `show(result)` shows the test of a model, `predict()` returns
    the probabilities of the rows of the test, and `mistakes(actual, predicted)` rows of a class
    that were taken for another; `list_row(row)` makes an element of one of them. `describe()`
    returns the title of a card of the result, what the model does, and what the card holds. A page
    that shows more while it trains has `on_epoch(record)`.
    """

    fields = example = ""
    on_epoch = None

    def __init__(self, name):
        super().__init__()
        self.dataset = self.model = self.training = None
        self.name, self.suggested = name, ""
        self.history = self.result = None
        self.drawn = {}
        self.reported = 0
        self.editor = ModelEditor(shared=False)
        self.diagram = ModelDiagram(self.editor)
        self.editor.on_network = self.on_network
        self.curve = LossCurve()
        self.confusion = Confusion("rows", "class", self.mistakes, self.list_row)
        self.closer, self.watch = Closer(self.look_closer), LayerWatch()
        self.card = ResultCard()
        self.listen()

    def listen(self):
        """Answer what the reader does with the model."""
        when("click", "#suggest")(self.suggest)
        when("submit", "#form")(self.submit)
        when("click", "#stop")(self.stop)
        when("click", "#save")(attempting(self.save))
        when("click", "#onnx")(attempting(self.save_onnx))
        when("click", "#page")(attempting(self.save_page))
        when("change", "#file")(self.choose)
        when("dragover", "#drop")(lambda event: event.preventDefault())
        when("drop", "#drop")(self.drop)
        when("click", "#read")(attempting(self.read_pasted))
        when("click", "#example")(attempting(self.read_example))

    # The rows.

    async def choose(self, event):
        """Read the file that was chosen."""
        await self.read_file(event.target.files)

    async def drop(self, event):
        """Read a file that was dropped."""
        event.preventDefault()
        await self.read_file(event.dataTransfer.files)

    async def read_file(self, files):
        """Read the first of files."""
        if files.length and not element("file").disabled:
            file = files.item(0)
            content = (await file.arrayBuffer()).to_bytes()
            await attempt(self.take(content, file.name))

    async def read_pasted(self):
        """Read the rows that were pasted."""
        await self.take(element("pasted").value, "pasted")

    async def read_example(self):
        """Read the example."""
        answer = await window.fetch(f"./{self.example}")
        await self.take(await answer.text(), self.example)

    # The model.

    def suggest(self, event):
        """Write the model that suits the dataset."""
        self.editor.text = self.suggested
        self.editor.check()

    async def submit(self, event):
        """Train."""
        event.preventDefault()
        await attempt(self.train())

    async def stop(self, event):
        """End the training after this epoch, with what it has learnt."""
        if self.training:
            await self.training.stop()

    def on_network(self, network):
        """Draw another model, and have it reviewed."""
        self.diagram.show(network)
        self.soon(self.review)

    async def open(self):
        """Say that the page is ready, and what will run models."""
        await load_rest()
        page.ready()
        await show_where()

    async def take_over(self, make_dataset, suggest, describe):
        """Make a dataset and the text of a model for it, or say what is wrong with the form."""
        await self.discard()
        self.dataset, text = None, ""
        try:
            self.dataset = make_dataset()
            text = suggest(self.dataset)
        except WebNNMError as error:
            element("sources").textContent = page.sentence(str(error))
        else:
            element("sources").textContent = describe()
            if self.editor.text.strip() in ("", self.suggested.strip()):
                self.editor.text = text
            self.suggested = text
        element("sources").classList.toggle("warning", self.dataset is None)
        element("train").disabled = self.dataset is None
        self.editor.check()

    def split(self):
        """Return the shares of the rows that train, choose the best epoch, and test."""
        validation, testing = (float(element(name).value or 0) for name in ("choose", "test"))
        if min(validation, testing) < 0 or validation + testing >= 100:
            raise DataError(
                "NNM704",
                f"{validation:g}% of the rows for validation and {testing:g}% for the test",
                hint="leave some for training",
            )
        if not testing:
            raise DataError("NNM704", "no rows for the test", hint="such as 15%")
        return 1 - (validation + testing) / 100, validation / 100, testing / 100

    # Review and training.

    async def review(self):
        """Show what the expert system thinks of model and rows, before any training."""
        from webnnm import review

        if self.dataset is None or self.model or not self.editor.network:
            element("review").hidden = self.model is None
            return
        try:
            report = review(self.editor.text, self.dataset).to_dict()
        except WebNNMError as error:
            page.log(f"no review: {error}")
            element("review").hidden = True
            return
        findings.show({"findings": report["findings"]}, self.editor)

    async def train(self):
        """Train a model, test it, and show all that there is to say of it."""
        page.clear_error()
        if self.dataset is None:
            return
        await self.discard()
        self.buttons(running=True)
        try:
            await self.run()
        except WebNNMError as error:
            page.show_error(error)
            if self.training:
                findings.show(review_of(self.training.history), self.editor)
        finally:
            self.training = None
            self.buttons(running=False)

    async def run(self):
        """Train, and show the result."""
        hyperparameters = {
            "epochs": int(page.read_number("epochs")),
            "optimizer": element("optimizer").value,
        }
        if element("lr").value:
            hyperparameters["lr"] = float(element("lr").value)
        element("progress").max, element("progress").hidden = hyperparameters["epochs"], False
        element("progress-text").textContent = "Reviewing the model …"
        self.curve.reset()
        self.reported = 0
        dataset, seed = self.dataset, int(page.read_number("seed"))
        self.model = model = await NNModel.create(
            source=self.editor.text, dataset=dataset, seed=seed, log=page.log
        )
        element("runs").textContent = page.sentence(f"runs on {model.backend.description}")
        self.training = model.train(hyperparameters, progress=self, on_epoch=self.on_epoch)
        history = await self.training
        self.follow()
        self.history = history
        findings.show(review_of(history), self.editor)
        self.result = result = await model.test()
        await self.show(result)
        self.card.offer(self.describe_card)
        element("result").dataset.seconds = f"{history.seconds:.2f}"
        element("result").dataset.done = ""
        how = f"Training has ended after {len(history.epochs)} epochs."
        score = element("score").textContent
        element("progress-text").textContent += f" · test {score}"
        element("see").hidden = False
        element("status").textContent = f"{how} Test: {score}."

    # What a training tells of its progress, as webnnm.trainer.progress has it.

    def begin(self, *_):
        """Nothing yet."""

    note = end = begin

    def update(self, record, eta_seconds):
        """Show the epochs since the last ones, and what the review found."""
        if not self.reported:
            findings.show(review_of(self.training.history), self.editor)
        self.follow()

    def follow(self):
        """Show the epochs that are not shown yet."""
        records = self.training.history.epochs[self.reported :]
        if not records:
            return
        self.reported += len(records)
        self.curve.add(curve(records))
        self.closer.refresh()
        last = records[-1]
        element("progress").value = last.epoch
        parts = [f"Epoch {last.epoch} of {last.epochs}", f"loss {describe_loss(last.loss)}"]
        parts += [f"validation {describe_loss(last.val_loss)}"] if last.val_loss is not None else []
        element("progress-text").textContent = " · ".join(parts)
        first = self.training.history.epochs[0].loss
        words = f"Training loss from {first:.3f} to {last.loss:.3f} in {last.epoch} epochs"
        self.curve.describe(words)

    async def discard(self):
        """End the training that there is, and forget its model."""
        training, self.training = self.training, None
        if training:
            await training.stop()
        if self.model:
            self.model.close()
            self.model = None
        self.card.withdraw()
        self.watch.close()
        self.watch = LayerWatch()
        self.history = self.result = None
        self.closer.refresh()
        for name in ("result", "ask", "take", "review"):
            element(name).hidden = True
        self.tell_saved("")
        element("status").textContent = ""
        element("result").removeAttribute("data-done")
        element("progress").value, element("progress").hidden = 0, True
        element("progress-text").textContent, element("see").hidden = "", True

    async def start_over(self):
        """Forget the model and all trainings, for rows of another file."""
        await self.discard()
        self.curve.clear()

    def buttons(self, *, running):
        """Say what can be done while it trains, or does not."""
        for field in window.document.querySelectorAll(self.fields):
            field.disabled = running
        element("stop").disabled = not running
        element("train").disabled = running
        focused = window.document.activeElement
        if focused in (element("train"), element("stop"), window.document.body):
            element("stop" if running else "train").focus()

    # The result.

    def describe_card(self):
        """Return the card of the result, and its charts."""
        from webnnm.model.report import parameter_count

        title, task, holds = self.describe()
        size = parameter_count(self.model.state.network).partition(", ")[0]
        rows = self.dataset.size("training")
        about = f"A network of {size} {task}. It learnt {rows:,} rows in the browser."
        last, device = self.history.epochs[-1], self.model.backend.description
        numbers = [
            (element("score").textContent, element("samples").textContent),
            (describe_loss(last.loss), "training loss at the end"),
            (f"{self.history.seconds:.2f} s", f"{len(self.history.epochs)} epochs on {device}"),
        ]
        is_quantity = self.dataset.label_encoder is None
        chart = self.drawn.get("predicted") if is_quantity else self.confusion.chart
        charts = [each for each in (chart, self.curve.chart) if each]
        return describe_card(self.name, title, about, numbers, holds=holds), charts, ()

    async def draw(self, name, kind, *values):
        """Draw a chart of webnnm.charts in the element of a name."""
        from webnnm import charts

        if name in self.drawn:
            self.drawn.pop(name).close()
        self.drawn[name] = await charting.show(element(name), getattr(charts, kind)(*values))

    def classes(self):
        """Return the numbers of the classes of the rows of the test."""
        (classes,) = self.dataset.output_arrays("testing").values()
        return [class_of(label) for label in classes.tolist()]

    async def show_classes(self, result, target, tested):
        """Show how often the model is right, and what it takes for what."""
        element("score").textContent = page.percent(result.accuracy, 1)
        element("samples").textContent = f"{tested}; macro F1 {result.macro_f1:.3f}"
        labels = [str(label) for label in result.labels]
        largest, label = max(zip(result.support, labels, strict=True))
        share = page.percent(largest / result.samples, 1)
        guess = f"Always predicting {label} is right for {share} of them"
        element("baseline").textContent = describe_baselines(result, guess)
        confusion = self.confusion.show(labels, [list(row) for row in result.counts])
        rows = [
            [label, *(f"{score:.3f}" for score in scores), str(support)]
            for label, *scores, support in zip(
                labels, result.precision, result.recall, result.f1, result.support, strict=True
            )
        ]
        header = [target, "Precision", "Recall", "F1", "Rows"]
        element("tables").replaceChildren(confusion, table("Scores of each class", header, rows))
        await charting.attempt(self.confusion.draw())

    async def look_closer(self):
        """Return more charts of the training, and of its model once that is tested."""
        if self.training and not self.result:
            await self.watch.look(self.training, self.model, self.dataset)
        if not self.result:
            records = self.training.history.epochs if self.training else []
            return insights.course(records) + insights.layers(self.watch.looks)
        charts = insights.course(self.history.epochs)
        if self.dataset.label_encoder is not None:
            labels = [str(label) for label in self.result.labels]
            shares = await self.predict()
            charts += insights.answers(labels, self.classes(), shares, self.result.calibration)
        from webnnm import inspect_model

        return charts + insights.layers(self.watch.course(await inspect_model(self.model)))

    # The model, taken away.

    async def save(self):
        """Save the model among the downloads."""
        content = await self.model.save(optimizer=False)
        self.tell_saved(await saving.save_file(f"{self.name}.webnnm.safetensors", content))

    async def save_onnx(self):
        """Save the model as an ONNX file among the downloads."""
        content = await self.model.export(format="onnx")
        self.tell_saved(await saving.save_file(f"{self.name}.onnx", content))

    async def save_page(self):
        """Save the archive of a page that runs the model among the downloads."""
        self.tell_saved(await saving.save_page(self.name, self.model))

    def tell_saved(self, text):
        """Say which file is saved."""
        element("saved").textContent = text


async def show_where():
    """Show what will run models here."""
    report = json.loads(await where("{}"))
    page.show_sentence(report["summary"], report["sentence"])


def attempting(method):
    """Return what calls a method for an event, and shows its error where it fails."""

    async def on_event(event):
        await attempt(method())

    return on_event


def describe_baselines(result, guess):
    """Say how a model does beside simple ones; where there are none, that it must beat a guess."""
    verdicts = [page.sentence(baselines.verdict) for baselines in result.baselines.values()]
    return f"{guess}. {verdicts[0]}" if verdicts else f"{guess}: the model must do better."
