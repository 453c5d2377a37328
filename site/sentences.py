"""The page of texts: sentences with labels, a model of them, and which words decide."""

import asyncio
import time

from attempts import attempt, show_errors
from page import element, make, make_bars, percent, read_number, show_shares, table
from pyscript import when, window
from result_card import HOLDS
from rows_link import copy_link, restore_link
from table_reading import Pauses, read_table
from text_classes import TextClasses
from trainer import MAX_MISTAKES, class_of
from training_page import TrainingPage

from webnnm import DataError

NAME = "texts"
"""Of the model; and of files, if the rows have no name."""
TYPED = "sentences"
"""The name of rows that were written into the fields of the classes."""
LOOK = 0.05
"""Seconds between two looks at a model that is being trained."""
MAX_COLUMNS = 100
"""Columns among which texts and labels can be chosen."""
UNKNOWN = "[UNK]"
"""The token of words that no training row has."""
FULL = 4
"""A token is marked fully that changes the probability by one part of so many."""
VISIBLE = 0.02
"""A token that changes less than this share of the probability is not marked."""


class SentencesPage(TrainingPage):
    """The page's sentences, their dataset, its model and its training."""

    example = "messages.csv"
    fields = (
        "#form :is(input, select), #kinds :is(textarea, button), #add, #example, #read, #suggest"
    )

    def __init__(self):
        super().__init__(NAME)
        self.table, self.row, self.rows = None, 0, None
        self.classes_shown = TextClasses(self.on_written)
        self.written, self.look_due = "", 0.0

    async def open(self):
        """Say that the page is ready, and take what its address has."""
        await super().open()
        await show_errors(self.restore())

    async def restore(self):
        """Take the rows, the form and the model of the address, if it has some."""
        text = await restore_link(self.take, self.prepare)
        if text is not None:
            self.editor.text = text
            self.editor.check()

    # The sentences.

    def on_written(self, rows):
        """Take the sentences of the classes, once nobody has written for a moment."""
        self.written = rows
        self.soon(self.take_written)

    async def take_written(self):
        """Take the sentences of the classes; while some lack, there is nothing to train."""
        if self.written:
            await self.take(self.written, TYPED, shown=True)
        else:
            await self.start_over()
            self.dataset = None
            self.offer()

    def offer(self):
        """Offer to train, if there is something to learn from."""
        element("train").hidden = self.dataset is None
        element("needs").hidden = self.dataset is not None
        element("example").classList.toggle("primary", self.dataset is None)
        bars = element("shares")
        if self.dataset is not None and bars.hasAttribute("data-example"):
            make_bars([str(label) for label in self.dataset.labels()])

    async def take(self, content, name, *, shown=False):
        """Read a table, and find the columns of texts and of labels; show its rows by classes."""
        about = element("about")
        before = about.textContent
        try:
            loaded = await read_table(content, name, Pauses())
            text, label = (0, 1) if name == TYPED else find_columns(loaded)
        except BaseException:
            about.textContent = before
            raise
        await self.start_over()
        self.table, self.rows = loaded, (name, content)
        self.name = name.rpartition(".")[0] or name
        about.textContent = f"{name}: {loaded.row_count:,} rows."
        for field, chosen in (("text", text), ("label", label)):
            options = [make("option", title, value=str(k)) for k, title in columns_of(loaded)]
            options[chosen].selected = True
            element(field).replaceChildren(*options)
        for part in ("columns", "workbench", "linking"):
            element(part).hidden = False
        if not shown:
            self.show_rows()
        await self.prepare()

    def show_rows(self):
        """Show the rows in the fields of their classes."""
        columns = (self.table.columns[int(element(name).value)] for name in ("text", "label"))
        self.classes_shown.show(*columns)

    async def prepare(self):
        """Make the dataset that the form wants, and suggest a model for it."""
        from webnnm import suggest_text_model

        await self.take_over(
            self.make_dataset, lambda dataset: suggest_text_model(dataset, NAME), self.sources
        )
        self.offer()
        if self.dataset is None:
            element("needs").textContent = element("sources").textContent
        elif not element("sentence").value:
            element("sentence").value = self.test_rows()[0]

    def make_dataset(self):
        """Return the sentences as a dataset."""
        from webnnm import LabeledTextDataset

        return LabeledTextDataset(
            self.table,
            text=int(element("text").value),
            label=int(element("label").value),
            tokens=element("tokens").value,
            task="classification",
            missing="drop",
            split=self.split(),
            seed=int(read_number("seed")),
            name=self.name,
        )

    def sources(self):
        """Say what the dataset makes of the sentences."""
        sizes = [self.dataset.size(part) for part in ("training", "validation", "testing")]
        report = self.dataset.report
        out = f" {report.dropped} rows lack a text or a label." if report.dropped else ""
        choice = f" {self.dataset.token_choice}" if self.dataset.token_choice else ""
        unknown = f"; {percent(report.unknown)} of those in other rows are unknown"
        return (
            f"{len(self.dataset.labels())} classes: {', '.join(self.dataset.labels()[:9])}. "
            f"{report.vocabulary:,} tokens are read{unknown if report.unknown else ''}. "
            f"Rows: {sizes[0]} for training, {sizes[1]} for validation, {sizes[2]} for the test."
            f"{out}{choice}"
        )

    # The result.

    async def show(self, result):
        """Show the test, and what can be done with the model."""
        for section in ("result", "ask", "take"):
            element(section).hidden = False
        tested = f"on {result.samples} rows that training never saw"
        await self.show_classes(result, self.dataset.label, tested)
        self.closer.refresh()
        self.diagram.show_backend(self.model.backend.description, self.model.backend.rewrites)
        self.row = 0
        await self.next_row()

    def describe(self):
        """Return the title of a card, what the model does, and what the card holds."""
        labels = self.dataset.labels()
        title = f"{self.name}: {', '.join(map(str, labels))}"
        return title, f"tells {len(labels)} classes of texts apart", HOLDS

    def test_rows(self):
        """Return the texts of the rows of the test."""
        cells = self.table.columns[int(element("text").value)]
        return [cells[self.dataset.kept[row]] for row in self.dataset.rows("testing")]

    async def predict(self):
        """Return the probabilities of the rows of the test."""
        return (await self.model.predict(self.test_rows())).tolist()

    async def mistakes(self, actual, predicted):
        """Return rows of the test of one class that the model takes for another."""
        shares, texts = await self.predict(), self.test_rows()
        pairs = zip(self.classes(), map(class_of, shares), strict=True)
        chosen = [row for row, pair in enumerate(pairs) if pair == (actual, predicted)]
        return [{"row": texts[row], "shares": shares[row]} for row in chosen[:MAX_MISTAKES]]

    def list_row(self, row):
        """Return the text of a row."""
        return make("blockquote", row)

    # The model, asked.

    async def discard(self):
        """Forget the model, and what it said."""
        await super().discard()
        for name in ("answer", "actual", "words", "importances"):
            element(name).replaceChildren()
        bars = element("shares")
        make_bars(["Class 1", "Class 2"])
        bars.dataset.example = bars.ariaHidden = "true"

    async def on_epoch(self, record):
        """Show what the model says of the sentence by now, a few times per second."""
        text = element("sentence").value
        if text.strip() and time.perf_counter() >= self.look_due:
            await self.answer(text)
            self.look_due = time.perf_counter() + LOOK
            await asyncio.sleep(0)  # the page draws it

    async def answer(self, text):
        """Show what the model says of a sentence."""
        answer = await self.model.predict(text)
        bars = element("shares")
        for name in ("data-example", "aria-hidden"):
            bars.removeAttribute(name)
        element("answer").textContent = show_shares(
            dict(zip(map(str, answer.labels), answer.tolist()[0], strict=True))
        )

    async def next_row(self):
        """Ask the model about another row of the test."""
        texts, labels = self.test_rows(), self.dataset.labels()
        number = self.row % len(texts)
        self.row += 1
        element("sentence").value = texts[number]
        await self.ask()
        element("actual").textContent = f"Its label is {labels[self.classes()[number]]}."

    async def ask(self):
        """Show what the model says of the sentence, and which words decide."""
        from webnnm import token_importance

        text = element("sentence").value
        element("actual").textContent = ""
        if self.training and not self.result:
            return  # the epochs show it
        if not self.model or not text.strip():
            for part in ("answer", "shares", "words", "importances"):
                element(part).replaceChildren()
            return
        await self.answer(text)
        importance = await token_importance(self.model, text)
        pairs = list(zip(importance.tokens, importance.importances, strict=True))
        element("words").replaceChildren(*(mark(*pair) for pair in pairs))
        rows = [(name(token), percent(change, 1)) for token, change in importance.ranked()]
        head = ["Token", f"Of {importance.label}"]
        element("importances").replaceChildren(table("What decides", head, rows))


def columns_of(rows):
    """Return the numbers and the names of the columns that can be chosen."""
    return list(enumerate(rows.names))[:MAX_COLUMNS]


def find_columns(rows):
    """Return the column of texts, that of the longest cells, and of labels, that of the fewest."""
    columns = [index for index, _ in columns_of(rows)]
    if len(columns) < 2:
        hint = "separate the text and its label by a tab, a comma or a semicolon"
        raise DataError("NNM713", "the rows have one column", hint=hint)
    lengths = [sum(map(len, map(str, rows.columns[index]))) for index in columns]
    text = lengths.index(max(lengths))
    others = [index for index in columns if index != text]
    return text, min(others, key=lambda index: len({*map(str, rows.columns[index])}))


def name(token):
    """Return a token as readers know it."""
    return "…" if token == UNKNOWN else token.strip()


def mark(token, change):
    """Return a token, marked as much as the prediction depends on it."""
    if abs(change) < VISIBLE:
        return make("span", f" {name(token)} ")
    node = make("mark" if change > 0 else "s", f" {name(token)} ")
    node.style.setProperty("--share", f"{min(1, abs(change) * FULL):.2f}")
    return node


sentences_page = SentencesPage()


@when("change", "#text, #label, #tokens, #seed, #choose, #test")
def on_change(event):
    """Take in what the dataset depends on."""
    if event.target.id in ("text", "label"):
        sentences_page.show_rows()
    sentences_page.soon(sentences_page.prepare)


@when("click", "#share")
async def on_share(event):
    """Copy a link with the sentences and the model."""
    await attempt(copy_link(sentences_page.editor.text, sentences_page.rows))


@when("hashchange", window)
async def on_address(event):
    """Take what another address has."""
    await attempt(sentences_page.restore())


@when("input", "#sentence")
def on_input(event):
    """Ask about the sentence."""
    sentences_page.soon(sentences_page.ask)


@when("click", "#row")
async def row(event):
    """Ask about another row."""
    await attempt(sentences_page.next_row())


await sentences_page.open()
