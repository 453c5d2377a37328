"""The page of tables: a CSV file, a model of its columns, its test, and a page that serves it."""

import charting
from attempts import attempt
from columns import Columns
from page import element, make, read_number, table
from pyscript import when
from result_card import HOLDS, name_card, shorten
from table_reading import Pauses, read_table, show_form
from trainer import MAX_MISTAKES, class_of
from training_page import TrainingPage, describe_baselines
from what_if import WhatIf

from webnnm import DataError

NAME = "table"
"""Of the model; and of files, if the table has no name."""
MAX_TEST_ROWS = 1000
"""Rows whose columns are shuffled."""


class TablePage(TrainingPage):
    """The page's table, its dataset, its model and its training."""

    example = "penguins.csv"
    fields = "#columns select, #form input, #form select, #file, #example, #read, #suggest"

    def __init__(self):
        super().__init__(NAME)
        self.table, self.row = None, 0
        self.columns = Columns(lambda: self.soon(self.prepare))
        self.what_if = WhatIf()

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
        await self.start_over()
        self.table = loaded
        self.name = name.rpartition(".")[0] or name
        rows, columns = self.table.row_count, len(described)
        usual = loaded.dialect is None or loaded.dialect.usual
        written = "" if usual else f" It is written with {loaded.dialect}."
        about.textContent = f"{name}: {rows:,} rows, {columns} columns.{written}"
        show_form()
        self.columns.show(loaded, described)
        await self.prepare()

    async def read(self, content, name):
        """Return a table and what its columns hold; the page draws itself in between."""
        from webnnm.data.tables.description import describe_column

        about, pauses = element("about"), Pauses()
        loaded = await read_table(content, name, pauses)
        described = []
        for index in range(len(loaded.names)):
            described.append(describe_column(loaded, index))
            if await pauses.due():
                about.textContent = f"{name}: {index + 1:,} of {len(loaded.names):,} columns …"
        return loaded, described

    async def prepare(self):
        """Make the dataset that the form wants, and suggest a model for it."""
        from webnnm import suggest_model

        await self.take_over(
            self.make_dataset, lambda dataset: suggest_model(dataset, NAME), self.sources
        )

    def make_dataset(self):
        """Return the table as a dataset."""
        from webnnm import TableDataset
        from webnnm.data.tables.column_choice import (
            MAX_CATEGORIES,
            choose_hash_buckets,
            choose_input_scale,
        )

        targets, features = (
            self.columns.select_by_use("target"),
            self.columns.select_by_use("numbers", "categories"),
        )
        if not targets:
            raise DataError("NNM710", "no column is the target", hint="choose its use: target")
        if not features:
            raise DataError("NNM710", "no column is an input", hint="choose the use of one: input")
        task = element("task").value
        scales = choose_input_scale(self.table, self.columns.numbers(), targets[0], task)
        options = {
            "task": task,
            "missing": element("missing").value,
            "max_categories": MAX_CATEGORIES,
            "hash_buckets": choose_hash_buckets(
                [column for column in self.columns.described if column.name in features]
            ),
            "categorical": self.columns.select_by_use("categories"),
            "standardize": True,
            "input_scale": scales or None,
            "standardize_targets": True,
            "split": self.split(),
            "seed": int(read_number("seed")),
            "name": self.name,
        }
        return TableDataset(self.table, features, targets[0], **options)

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

    # The result.

    async def show(self, result):
        """Show the test, the worth of the columns, and what can be done with the model."""
        from webnnm import permutation_importance

        worth = await permutation_importance(
            self.model, max_samples=min(MAX_TEST_ROWS, self.dataset.size("testing"))
        )
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

    def describe(self):
        """Return the title of a card, what the model does, and what the card holds."""
        (target,) = self.columns.select_by_use("target")
        title, inputs = name_card(self.name, target), len(self.dataset.encoders)
        columns = "1 column" if inputs == 1 else f"{inputs} columns"
        task = f"predicts {shorten(target)} from {columns}"
        if self.dataset.label_encoder is not None:
            return title, task, HOLDS
        holds = (
            f"The picture holds what you see: each dot is a row of the test, with its "
            f"{shorten(target)} and the prediction; other columns of your rows are not there."
        )
        return title, task, holds

    async def show_quantity(self, result, target, tested):
        """Show how far the model is from a quantity."""
        element("score").textContent = f"R² {result.r2:.3f}"
        element(
            "samples"
        ).textContent = f"{tested}; off by {result.mae:.4g} on average (RMSE {result.rmse:.4g})"
        spread = result.rmse / (1 - result.r2) ** 0.5 if result.r2 < 1 else 0
        guess = f"Always predicting the mean of {target} has R² 0 and RMSE {spread:.4g}"
        element("baseline").textContent = describe_baselines(result, guess)
        outputs = await self.predict()
        predicted = [row[0] if isinstance(row, list) else row for row in outputs]
        actual = self.test_rows()[target]
        await charting.attempt(
            self.draw("predicted", "prediction_error", actual, predicted, target)
        )

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

    def list_row(self, row):
        """Return the cells of a row as a list."""
        node = make("dl", class_="measured")
        for name, cell in row.items():
            node.append(make("dt", name), make("dd", cell_text(cell)))
        return node

    # The model, asked.

    async def next_row(self):
        """Ask the model about another row of the test."""
        cells = self.test_rows()
        (target,) = self.columns.select_by_use("target")
        number = self.row % len(cells[target])
        self.row += 1
        row = {name: column[number] for name, column in cells.items()}
        await self.what_if.take(row, f"{target} {cell_text(row[target])}")


def cell_text(cell):
    """Return a cell as it is shown."""
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


table_page = TablePage()


@when("change", "#task, #missing, #seed, #choose, #test")
def on_change(event):
    """Take in what the dataset depends on."""
    table_page.soon(table_page.prepare)


@when("click", "#row")
async def row(event):
    """Ask about another row."""
    await attempt(table_page.next_row())


await table_page.open()
