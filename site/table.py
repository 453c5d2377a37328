"""The page of tables: a CSV file, a model of its columns, its test, and a page that serves it."""

import asyncio
import json
from time import perf_counter

import charting
import findings
import insights
import page
import saving
from closer import Closer
from columns import Columns
from confusion import Confusion
from diagram import ModelDiagram
from loss_curve import LossCurve
from model_editor import ModelEditor
from page import element, make, table
from pyscript import when, window
from trainer import MAX_MISTAKES, class_of, curve, review_of, where
from watch import LayerWatch
from what_if import WhatIf

from webnnm import DataError, NNModel, WebNNMError
from webnnm.page_modules import load_rest

EXAMPLE = "./penguins.csv"
NAME = "table"
"""Of the model; and of files, if the table has no name."""
PAUSE = 0.2
"""Seconds without a change after which the review looks at what is set."""
SLICE = 0.03
"""Seconds of work after which the page draws itself."""
MAX_TEST_ROWS = 1000
"""Rows whose columns are shuffled."""


class TablePage:
    """The page's table, its dataset, its model and its training."""

    def __init__(self):
        self.table = self.dataset = self.model = self.training = None
        self.name, self.suggested = NAME, ""
        self.history = self.result = None
        self.drawn = {}
        self.waiting = {}
        self.reported = self.row = 0
        self.editor = ModelEditor(shared=False)
        self.diagram = ModelDiagram(self.editor)
        self.editor.on_network = self.on_network
        self.curve = LossCurve()
        self.columns = Columns(lambda: self.soon(self.prepare))
        self.confusion = Confusion("rows", "class", self.mistakes, list_cells)
        self.what_if = WhatIf()
        self.closer, self.watch = Closer(self.look_closer), LayerWatch()

    def on_network(self, network):
        """Draw another model, and have it reviewed."""
        self.diagram.show(network)
        self.soon(self.review)

    async def open(self):
        """Say that the page is ready, and what will run models."""
        await load_rest()
        page.ready()
        page.show_sentence(json.loads(await where("{}"))["sentence"])

    # The table.

    async def take(self, content, name):
        """Read a table, and show what its columns hold."""
        about = element("about")
        before = about.textContent
        try:
            loaded, described = await self.read(content, name)
        except BaseException:
            about.textContent = before
            raise
        await self.discard()
        self.table = loaded
        self.name = name.rpartition(".")[0] or name
        rows, columns = self.table.row_count, len(described)
        written = "" if loaded.dialect.usual else f" It is written with {loaded.dialect}."
        about.textContent = f"{name}: {rows:,} rows, {columns} columns.{written}"
        element("form").hidden = False
        self.columns.show(loaded, described)
        await self.prepare()

    async def read(self, content, name):
        """Return a table and what its columns hold; the page draws itself in between."""
        from webnnm.data.tables.csv_table import read_slices
        from webnnm.data.tables.description import describe_column

        about = element("about")
        reading, pauses = read_slices(content), Pauses()
        while True:
            try:
                rows = next(reading)
            except StopIteration as end:
                loaded = end.value
                break
            if await pauses.due():
                about.textContent = f"{name}: {rows:,} rows are read …"
        if not loaded.row_count:
            raise DataError("NNM705", f"{name} has no rows")
        described = []
        for index in range(len(loaded.names)):
            described.append(describe_column(loaded, index))
            if await pauses.due():
                about.textContent = f"{name}: {index + 1:,} of {len(loaded.names):,} columns …"
        return loaded, described

    def soon(self, function):
        """Call a method once nobody has wanted it anew for a moment."""
        name = function.__name__
        if name in self.waiting:
            self.waiting[name].cancel()
        self.waiting[name] = asyncio.ensure_future(self.later(function))

    async def later(self, function):
        """Wait for the pause, and call a method."""
        await asyncio.sleep(PAUSE)
        del self.waiting[function.__name__]
        await show_errors(function())

    async def prepare(self):
        """Make the dataset that the form wants, and suggest a model for it."""
        from webnnm import suggest_model

        await self.discard()
        self.dataset, text = None, ""
        try:
            self.dataset = self.make_dataset()
            text = suggest_model(self.dataset, NAME)
        except WebNNMError as error:
            element("sources").textContent = page.sentence(str(error))
        else:
            element("sources").textContent = self.sources()
            if self.editor.text.strip() in ("", self.suggested.strip()):
                self.editor.text = text
            self.suggested = text
        element("sources").classList.toggle("warning", self.dataset is None)
        element("train").disabled = self.dataset is None
        self.editor.check()

    def make_dataset(self):
        """Return the table as a dataset."""
        from webnnm import TableDataset
        from webnnm.data.tables.column_choice import MAX_CATEGORIES

        targets, features = (
            self.columns.select_by_use("target"),
            self.columns.select_by_use("numbers", "categories"),
        )
        if not targets:
            raise DataError("NNM710", "no column is the target", hint="choose its use: target")
        if not features:
            raise DataError("NNM710", "no column is an input", hint="choose the use of one: input")
        options = {
            "task": element("task").value,
            "missing": element("missing").value,
            "max_categories": MAX_CATEGORIES,
            "categorical": self.columns.select_by_use("categories"),
            "standardize": True,
            "split": self.split(),
            "seed": int(element("seed").value or 0),
            "name": self.name,
        }
        dataset = TableDataset(self.table, features, targets[0], **options)
        if dataset.label_encoder is None:
            dataset = TableDataset(
                self.table, features, targets[0], standardize_targets=True, **options
            )
        return dataset

    def split(self):
        """Return the shares of the rows that train, choose the best epoch, and test."""
        validation, testing = (float(element(name).value or 0) for name in ("choose", "test"))
        if min(validation, testing) < 0 or validation + testing >= 100:
            raise DataError(
                "NNM704",
                f"{validation:g} % of the rows for validation and {testing:g} % for the test",
                hint="leave some for training",
            )
        if not testing:
            raise DataError("NNM704", "no rows for the test", hint="such as 15 %")
        return 1 - (validation + testing) / 100, validation / 100, testing / 100

    def sources(self):
        """Say what the dataset makes of the table."""
        sizes = [self.dataset.size(part) for part in ("training", "validation", "testing")]
        (target,) = self.columns.select_by_use("target")
        encoder = self.dataset.label_encoder
        kind = "is a quantity" if encoder is None else f"has {len(encoder.classes)} classes"
        dropped = self.dataset.report.dropped
        out = f"; {dropped} are left out because cells are missing" if dropped else ""
        return (
            f"{target} {kind}, predicted from {len(self.dataset.encoders)} columns. "
            f"Rows: {sizes[0]} for training, {sizes[1]} for validation, {sizes[2]} for the test"
            f"{out}."
        )

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
            "epochs": int(element("epochs").value),
            "optimizer": element("optimizer").value,
        }
        if element("lr").value:
            hyperparameters["lr"] = float(element("lr").value)
        element("progress").max = hyperparameters["epochs"]
        element("progress-text").textContent = "Reviewing the model …"
        self.curve.reset()
        self.reported = 0
        dataset, seed = self.dataset, int(element("seed").value)
        self.model = model = await NNModel.create(
            source=self.editor.text, dataset=dataset, seed=seed, log=page.log
        )
        element("runs").textContent = page.sentence(f"runs on {model.backend.description}")
        self.training = model.train(hyperparameters, progress=self)
        history = await self.training
        self.follow()
        self.history = history
        findings.show(review_of(history), self.editor)
        self.result = result = await model.test()
        from webnnm import permutation_importance

        worth = await permutation_importance(
            model, max_samples=min(MAX_TEST_ROWS, dataset.size("testing"))
        )
        await self.show(result, worth)
        element("result").dataset.seconds = f"{history.seconds:.2f}"
        element("result").dataset.done = ""
        how = f"Training has ended after {len(history.epochs)} epochs."
        element("status").textContent = f"{how} Test: {element('score').textContent}."

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
        parts = [f"Epoch {last.epoch} of {last.epochs}", f"loss {last.loss:.4f}"]
        parts += [f"validation {last.val_loss:.4f}"] if last.val_loss is not None else []
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
        self.watch.close()
        self.watch = LayerWatch()
        self.history = self.result = None
        self.closer.refresh()
        for name in ("result", "ask", "take", "review"):
            element(name).hidden = True
        self.tell_saved("")
        element("result").removeAttribute("data-done")
        element("progress").value = 0
        element("progress-text").textContent = "Not trained yet"

    def buttons(self, *, running):
        """Say what can be done while it trains, or does not."""
        fields = "#columns select, #form input, #form select, #file, #example, #read, #suggest"
        for field in window.document.querySelectorAll(fields):
            field.disabled = running
        element("stop").disabled = not running
        element("train").disabled = running
        focused = window.document.activeElement
        if focused in (element("train"), element("stop"), window.document.body):
            element("stop" if running else "train").focus()

    # The result.

    async def show(self, result, worth):
        """Show the test, the worth of the columns, and what can be done with the model."""
        encoder = self.dataset.label_encoder
        (target,) = self.columns.select_by_use("target")
        for name in ("result", "ask", "take"):
            element(name).hidden = False
        element("classes").hidden = encoder is None
        element("quantity").hidden = encoder is not None
        tested = f"on {result.samples} rows that training never saw"
        if encoder is None:
            await self.show_quantity(result, target, tested)
        else:
            await self.show_classes(result, target, tested)
        ranked = sorted(
            zip(worth.columns, worth.importances_mean, worth.importances_std, strict=True),
            key=lambda each: -each[1],
        )
        rows = [(name, f"{mean:z.3f}", f"{std:.3f}") for name, mean, std in ranked]
        loss = "Accuracy lost" if encoder else "R² lost"
        element("importances").replaceChildren(
            table("What each column is worth", ["Column", loss, "Standard deviation"], rows)
        )
        await charting.attempt(self.draw("importance", "permutation_importance", worth))
        self.closer.refresh()
        self.diagram.show_backend(self.model.backend.description, self.model.backend.rewrites)
        self.what_if.open(self.model, self.columns.described, target)
        self.row = 0
        await self.next_row()

    async def show_quantity(self, result, target, tested):
        """Show how far the model is from a quantity."""
        element("score").textContent = f"R² {result.r2:.3f}"
        element(
            "samples"
        ).textContent = f"{tested}; off by {result.mae:.4g} on average (RMSE {result.rmse:.4g})"
        spread = result.rmse / (1 - result.r2) ** 0.5 if result.r2 < 1 else 0
        element("baseline").textContent = (
            f"Always predicting the mean of {target} has R² 0 and RMSE {spread:.4g}: the model "
            "must do better."
        )
        outputs = await self.predict()
        predicted = [row[0] if isinstance(row, list) else row for row in outputs]
        actual = self.test_rows()[target]
        await charting.attempt(
            self.draw("predicted", "prediction_error", actual, predicted, target)
        )

    async def show_classes(self, result, target, tested):
        """Show how often the model is right, and what it takes for what."""
        element("score").textContent = f"{result.accuracy:.1%}"
        element("samples").textContent = f"{tested}; macro F1 {result.macro_f1:.3f}"
        labels = [str(label) for label in result.labels]
        largest, label = max(zip(result.support, labels, strict=True))
        element("baseline").textContent = (
            f"Always predicting {label} is right for {largest / result.samples:.1%} of them: "
            "the model must do better."
        )
        confusion = await self.confusion.show(labels, [list(row) for row in result.counts])
        rows = [
            [label, *(f"{score:.3f}" for score in scores), str(support)]
            for label, *scores, support in zip(
                labels, result.precision, result.recall, result.f1, result.support, strict=True
            )
        ]
        header = [target, "Precision", "Recall", "F1", "Rows"]
        element("tables").replaceChildren(confusion, table("Scores of each class", header, rows))
        await charting.attempt(self.confusion.draw())

    async def draw(self, name, kind, *values):
        """Draw a chart of webnnm.charts in the element of a name."""
        from webnnm import charts

        if name in self.drawn:
            self.drawn.pop(name).close()
        self.drawn[name] = await charting.show(element(name), getattr(charts, kind)(*values))

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

    def test_rows(self):
        """Return the cells of the rows of the test, by column: numbers as numbers."""
        from webnnm.data.tables.column_reading import read_column

        rows = [self.dataset.kept[row] for row in self.dataset.rows("testing")]
        numbers = {*self.columns.numbers()}
        if self.dataset.label_encoder is None:
            numbers.update(self.columns.select_by_use("target"))
        cells_by_column = {}
        for index, name in enumerate(self.table.names):
            cells = self.table.columns[index]
            if name in numbers:
                values = read_column(self.table, index, True).numbers
                cells_by_column[name] = [
                    values[row] if values[row] == values[row] else None for row in rows
                ]
            else:
                cells_by_column[name] = [cells[row] for row in rows]
        return cells_by_column

    async def predict(self):
        """Return what the model answers for the rows of the test."""
        cells = self.test_rows()
        features = self.columns.select_by_use("numbers", "categories")
        return (await self.model.predict({name: cells[name] for name in features})).tolist()

    def classes(self):
        """Return the numbers of the classes of the rows of the test."""
        (classes,) = self.dataset.output_arrays("testing").values()
        return [class_of(label) for label in classes.tolist()]

    async def mistakes(self, actual, predicted):
        """Return rows of the test of one class that the model takes for another."""
        shares = await self.predict()
        pairs = zip(self.classes(), map(class_of, shares), strict=True)
        chosen = [row for row, pair in enumerate(pairs) if pair == (actual, predicted)]
        cells, features = self.test_rows(), self.columns.select_by_use("numbers", "categories")
        return [
            {"row": {name: cells[name][row] for name in features}, "shares": shares[row]}
            for row in chosen[:MAX_MISTAKES]
        ]

    # The model, asked and taken away.

    async def next_row(self):
        """Ask the model about another row of the test."""
        cells = self.test_rows()
        (target,) = self.columns.select_by_use("target")
        number = self.row % len(cells[target])
        self.row += 1
        row = {name: column[number] for name, column in cells.items()}
        await self.what_if.take(row, f"{target} {cell_text(row[target])}")

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


def list_cells(row):
    """Return the cells of a row as a list."""
    node = make("dl", class_="measured")
    for name, cell in row.items():
        node.append(make("dt", name), make("dd", cell_text(cell)))
    return node


def cell_text(cell):
    """Return a cell as it is shown."""
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


class Pauses:
    """Lets the page draw itself and answer clicks while a long work goes on."""

    def __init__(self):
        self.began = perf_counter()

    async def due(self):
        """Pause if the last pause is a slice of time ago; return whether it was."""
        if perf_counter() - self.began < SLICE:
            return False
        await asyncio.sleep(0)
        self.began = perf_counter()
        return True


table_page = TablePage()


async def attempt(doing):
    """Wait for what somebody asked for, and show the error that it ends with, and no older one."""
    page.clear_error()
    await show_errors(doing)


async def show_errors(doing):
    """Wait for something, and show the error that it ends with."""
    try:
        await doing
    except Exception as error:
        page.show_error(error)


async def read(files):
    """Read the first of files."""
    if files.length and not element("file").disabled:
        file = files.item(0)
        content = (await file.arrayBuffer()).to_bytes()
        await attempt(table_page.take(content, file.name))


@when("change", "#file")
async def choose(event):
    """Read the file that was chosen."""
    await read(event.target.files)


@when("dragover", "#drop")
def allow(event):
    """Allow to drop a file."""
    event.preventDefault()


@when("drop", "#drop")
async def drop(event):
    """Read a file that was dropped."""
    event.preventDefault()
    await read(event.dataTransfer.files)


@when("click", "#read")
async def read_rows(event):
    """Read the rows that were pasted."""
    await attempt(table_page.take(element("pasted").value, "pasted"))


@when("click", "#example")
async def example(event):
    """Read the example."""
    answer = await window.fetch(EXAMPLE)
    await attempt(table_page.take(await answer.text(), "penguins.csv"))


@when("change", "#task, #missing, #seed, #choose, #test")
def on_change(event):
    """Take in what the dataset depends on."""
    table_page.soon(table_page.prepare)


@when("click", "#suggest")
async def suggest(event):
    """Write the model that suits the table."""
    table_page.editor.text = table_page.suggested
    table_page.editor.check()


@when("submit", "#form")
async def train(event):
    """Train."""
    event.preventDefault()
    await attempt(table_page.train())


@when("click", "#stop")
async def stop(event):
    """End the training after this epoch, with what it has learnt."""
    if table_page.training:
        await table_page.training.stop()


@when("click", "#row")
async def row(event):
    """Ask about another row."""
    await attempt(table_page.next_row())


@when("click", "#save")
async def save(event):
    """Save the model."""
    await attempt(table_page.save())


@when("click", "#onnx")
async def save_onnx(event):
    """Save the model as ONNX."""
    await attempt(table_page.save_onnx())


@when("click", "#page")
async def save_page(event):
    """Save a page that serves the model."""
    await attempt(table_page.save_page())


await table_page.open()
