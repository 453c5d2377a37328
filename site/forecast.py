"""The page of forecasts: a series, a model that continues it, its test, a page that serves it."""

import json
import math
from random import Random

import charting
import page
import saving
from attempts import Delayed, attempt, show_errors
from loss_curve import LossCurve
from page import element, make, table
from pyscript import when, window
from result_card import ResultCard, describe_card, describe_loss, name_card, shorten
from rows_link import copy_link, restore_link
from table_reading import Pauses, read_table, show_form
from trainer import curve, where

from webnnm import NNModel, WebNNMError
from webnnm.page_modules import load_rest

NAME = "forecast"
"""Of the model."""
ORDER = ""
"""The choice of times that takes rows as they follow."""
DRAWN = 5000
"""Values of a series that are drawn, the last ones of longer series."""
STEPS = {
    ("month", 1): "month",
    ("month", 3): "quarter",
    ("month", 12): "year",
    ("day", 1): "day",
    ("day", 7): "week",
    ("weekday", 1): "weekday",
}
"""Unit and size of a step of dates → its name."""
CALENDAR = {
    "season": "the time of year",
    "weekday": "the day of the week",
    "time": "the time of day",
}
"""Part of dates → what the model gets of it."""

REMEDIES = {
    "NNM704": "choose more steps back, or fewer steps ahead",
    "NNM705": "choose fewer steps ahead, or fewer steps back",
}
"""Code of an error of the lengths of windows → what to do about it in this page."""


class ForecastPage(Delayed):
    """The page's series, its model and what that predicts."""

    def __init__(self):
        super().__init__()
        self.table = self.dataset = self.model = self.training = None
        self.name, self.reported, self.rows = NAME, 0, None
        self.drawn = {}
        self.windows, self.answers, self.simple = [], [], {}
        self.curve, self.card = LossCurve(), ResultCard()
        self.history = None

    async def open(self):
        """Say that the page is ready, and what will run models."""
        await load_rest()
        page.ready()
        report = json.loads(await where("{}"))
        page.show_sentence(report["summary"], report["sentence"])
        await show_errors(self.restore())

    async def restore(self):
        """Take the rows, the form and the model of the address, if it has some."""
        text = await restore_link(self.take, self.prepare)
        if text is not None:
            element("source").textContent = text

    async def take(self, content, name):
        """Read a table, and offer its columns."""
        from webnnm import describe_table

        loaded = await read_table(content, name, Pauses())
        kinds = {each.name: each.content for each in describe_table(loaded)}
        await self.discard()
        self.curve.clear()
        self.table, self.name = loaded, name.rpartition(".")[0] or name
        self.rows = name, content
        numbers = [column for column, kind in kinds.items() if kind == "number"]
        dates = [column for column, kind in kinds.items() if kind == "date"]
        times = [column for column in numbers if len(numbers) > 1]
        fill(element("target"), numbers, numbers[-1:])
        fill(element("time"), [*dates, ORDER, *times], dates[:1], {ORDER: "rows as they follow"})
        element("about").textContent = f"{name}: {loaded.row_count:,} rows, {len(kinds)} columns."
        show_form()
        await self.prepare()

    async def prepare(self):
        """Make the dataset that the form wants, and suggest a model for it."""
        from webnnm import suggest_series_model

        await self.discard()
        self.dataset, sources = None, element("sources")
        try:
            self.dataset = self.make_dataset()
        except WebNNMError as error:
            hint = error.hint and REMEDIES.get(error.code, error.hint)
            text = f"{error.code}: {error.message}"
            sources.textContent = page.sentence(f"{text}: {hint}" if hint else text)
        else:
            element("source").textContent = suggest_series_model(self.dataset, NAME)
            sources.textContent = self.describe()
        sources.classList.toggle("warning", self.dataset is None)
        element("train").disabled = self.dataset is None
        await charting.attempt(self.draw_series())

    async def draw_series(self):
        """Draw the series of the dataset, if there is one."""
        element("past").hidden = self.dataset is None
        if self.dataset is None:
            return
        from webnnm import charts
        from webnnm.data.series.timeline import show_time

        (steps,) = self.dataset.steps.values()
        first = max(0, steps.known - DRAWN)
        dates = self.dataset.series.dates
        times = [show_time(time, dates=dates) for time in steps.times[first : steps.known]]
        part = f"The last {len(times):,} of {steps.known:,} values" if first else "All values"
        text = f"{part} of {element('target').value}, from {times[0]} to {times[-1]}."
        element("series-text").textContent = text
        drawing = charts.forecast(
            times, steps.past[0][first:].tolist(), name=element("target").value
        )
        await self.draw("series", drawing)

    def make_dataset(self):
        """Return the table as a series."""
        from webnnm import SeriesDataset
        from webnnm.data.tables.columns import Table

        loaded, target, time = self.table, element("target").value, element("time").value
        numbers = [option.value for option in element("target").options]
        kept = [*([time] if time else []), *(name for name in numbers if name != time)]
        columns = tuple(loaded.columns[loaded.index(name)] for name in kept)
        loaded = Table(tuple(kept), columns, loaded.first_row, loaded.lines, loaded.dialect)
        share = float(element("interval").value or 0)
        return SeriesDataset(
            loaded,
            target,
            time=time or None,
            window=int(page.read_number("window")) or None,
            horizon=int(page.read_number("horizon")),
            quantiles=[(1 - share) / 2, 0.5, (1 + share) / 2] if share else [],
            missing="fill",
            name=self.name,
        )

    def describe(self):
        """Say what the dataset makes of the table."""
        data, series = self.dataset, self.dataset.series
        parts = series.calendar.parts if series.calendar else ()
        others = [name for encoder in series.past for name in encoder.features]
        inputs = list_words([element("target").value, *others, *(CALENDAR[part] for part in parts)])
        season = "No season was found."
        if data.season:
            season = f"The series repeats about every {self.count_steps(data.season)}."
        sizes = [data.size(part) for part in ("training", "validation", "testing")]
        length = self.count_steps(series.window + series.horizon)
        filled = data.inserted + data.filled
        cells = "missing step or cell is" if filled == 1 else "missing steps and cells are"
        return (
            f"The model looks back {self.count_steps(series.window)} and forecasts the next "
            f"{self.count_steps(series.horizon)}, from {inputs}. {season} {sizes[0]:,} windows of "
            f"{length} train it, {sizes[1]:,} choose its best epoch, and the last {sizes[2]:,} "
            f"test it." + (f" {filled:,} {cells} filled with the value before." if filled else "")
        )

    def count_steps(self, count):
        """Return a number of steps in words, such as "24 months"."""
        series = self.dataset.series
        if not series.time or not series.step:
            name, of = "row", ""
        else:
            unit, size = series.step.unit, series.step.size
            name = STEPS.get((unit, size), "step")
            of = f" of {series.step}" if name == "step" and (unit, size) != ("number", 1) else ""
        return f"{count:,} {name}{'' if count == 1 else 's'}{of}"

    async def train(self):
        """Train a model, test it, and show what it predicts."""
        page.clear_error()
        if self.dataset is None:
            return
        await self.discard()
        self.buttons(running=True)
        try:
            await self.run()
        finally:
            self.training = None
            self.buttons(running=False)

    async def run(self):
        """Train, and show the result."""
        epochs = int(page.read_number("epochs"))
        element("progress").max, element("progress").hidden = epochs, False
        element("progress-text").textContent = "Reviewing the model …"
        self.curve.reset()
        self.reported = 0
        self.model = model = await NNModel.create(
            source=element("source").textContent, dataset=self.dataset, log=page.log
        )
        element("runs").textContent = page.sentence(f"runs on {model.backend.description}")
        self.training = model.train({"epochs": epochs}, progress=self)
        self.history = history = await self.training
        self.follow()
        result = await model.test()
        await self.show(result)
        self.card.offer(self.describe_card)
        element("result").dataset.seconds = f"{history.seconds:.2f}"
        element("result").dataset.done = ""
        score = element("score").textContent
        element("progress-text").textContent += f" · test {score}"
        element("see").hidden = False
        element("status").textContent = f"Training has ended. Test: {score}."

    # What a training tells of its progress, as webnnm.trainer.progress has it.

    def begin(self, *_):
        """Nothing yet."""

    note = end = begin

    def update(self, record, eta_seconds):
        """Show the epochs since the last ones."""
        self.follow()

    def follow(self):
        """Show the epochs that are not shown yet."""
        records = self.training.history.epochs[self.reported :]
        if not records:
            return
        self.reported += len(records)
        self.curve.add(curve(records))
        last = records[-1]
        element("progress").value = last.epoch
        text = f"Epoch {last.epoch} of {last.epochs} · loss {describe_loss(last.loss)}"
        element("progress-text").textContent = text
        first = self.training.history.epochs[0].loss
        words = f"Training loss from {first:.3f} to {last.loss:.3f} in {last.epoch} epochs"
        self.curve.describe(words)

    async def show(self, result):
        """Show the errors of the test, its windows, and what comes next."""
        for name in ("result", "ahead", "take"):
            element(name).hidden = False
        best = min(result.simple, key=lambda name: result.simple[name].mae)
        share = 1 - result.mae / result.simple[best].mae if result.simple[best].mae else 0.0
        element("score").textContent = f"off by {result.mae:.4g}"
        target = element("target").value
        element("samples").textContent = (
            f"{target} on average, in {result.samples} windows that training never saw (MASE "
            f"{result.mase:.2f})"
        )
        better = "less" if share >= 0 else "more"
        covered = ""
        if result.coverage:
            inside, expected = (page.percent(part) for part in result.coverage)
            covered = f" {inside} of the values lie in the interval of {expected}."
        difference = f"{page.percent(abs(share))} {better} than the best simple forecast, {best}"
        element("baseline").textContent = f"That is {difference}.{covered}"
        rows = [
            [name, f"{one.mae:.4g}", f"{one.rmse:.4g}", f"{one.mase:.2f}"]
            for name, one in {"model": result.own, **result.simple}.items()
        ]
        header = ["Forecast", "MAE", "RMSE", "MASE"]
        element("errors").replaceChildren(table("Errors in the test", header, rows))
        from webnnm.data.series.series_encoder import stack_windows

        data = self.dataset
        self.windows = data.list_windows("testing")
        (steps,) = data.steps.values()
        ends = [data.series.window - 1 + row for row in data.rows("testing")]
        outputs = await self.model.predict(stack_windows(data.series, steps, ends))
        self.answers = outputs.tolist()
        self.simple = {name: each.tolist() for name, each in data.forecasts("testing").items()}
        element("origin").max = len(self.windows) - 1
        element("origin").value = 0
        await charting.attempt(self.move())
        await charting.attempt(self.look_ahead())

    def describe_card(self):
        """Return the card of the result, and the chart of the window that is chosen."""
        from webnnm.model.report import parameter_count

        target, device = element("target").value, self.model.backend.description
        size = parameter_count(self.model.state.network).partition(", ")[0]
        steps, windows = element("horizon").value, self.dataset.size("training")
        about = (
            f"A network of {size} forecasts {shorten(target)}, {steps} steps ahead. "
            f"It learnt {windows:,} windows of the series in the browser."
        )
        numbers = [
            (element("score").textContent, element("samples").textContent),
            (describe_loss(self.history.epochs[-1].loss), "training loss at the end"),
            (f"{self.history.seconds:.2f} s", f"{len(self.history.epochs)} epochs on {device}"),
        ]
        holds = (
            "The picture holds the window that is chosen above: values of your series, and what "
            "the model and simple forecasts predict."
        )
        title = name_card(self.name, target)
        card = describe_card(self.name, title, about, numbers, holds=holds)
        return card, [self.drawn[name] for name in ("moving",) if name in self.drawn], ()

    def split_quantiles(self, rows):
        """Return the forecast, and its interval or None, of rows of numbers or quantiles."""
        if not self.dataset.series.quantiles:
            return rows, None
        low, middle, high = zip(*rows, strict=True)
        return list(middle), (list(low), list(high))

    async def move(self):
        """Show the forecasts of the window that the slider chooses."""
        from webnnm import charts

        number = int(element("origin").value)
        shown = self.windows[number]
        line, interval = self.split_quantiles(self.answers[number])
        best = {name: rows[number] for name, rows in self.simple.items()}
        lines = {"model": line, "actual": shown["actual"], **best}
        drawing = charts.forecast(
            shown["times"],
            shown["values"],
            shown["ahead"],
            lines,
            interval,
            element("target").value,
        )
        caption = f"Window {number + 1} of {len(self.windows)}: until {shown['times'][-1]}"
        element("origin").ariaValueText = caption
        element("moving-text").textContent = caption
        await self.draw("moving", drawing)

    async def look_ahead(self):
        """Show what comes after the series."""
        from webnnm import charts

        ahead = await self.model.predict(int(page.read_number("steps", 1)))
        shown = self.dataset.list_windows("full")[-1]
        times = [*shown["times"], *shown["ahead"]]
        values = [*shown["values"], *shown["actual"]]
        levels = [*ahead.quantiles.values()]
        interval = (levels[0], levels[-1]) if levels else None
        target = element("target").value
        drawing = charts.forecast(
            times, values, ahead.times, {"model": ahead.tolist()}, interval, target
        )
        header = (
            ["Time", *(f"{level:g}" for level in ahead.quantiles)] if levels else ["Time", target]
        )
        columns = levels or [ahead.tolist()]
        rows = [
            [str(time), *(f"{column[k]:.5g}" for column in columns)]
            for k, time in enumerate(ahead.times)
        ]
        caption = f"Forecast of {target}" + (", by quantile" if levels else "")
        element("values").replaceChildren(table(caption, header, rows))
        await self.draw("next", drawing)

    async def draw(self, name, drawing):
        """Draw a chart in the element of a name."""
        if name in self.drawn:
            self.drawn.pop(name).close()
        drawn = await charting.show(element(name), drawing)
        if name in self.drawn:  # drawn meanwhile, in the same element
            self.drawn[name].close()
        self.drawn[name] = drawn

    async def discard(self):
        """End the training that there is, and forget its model."""
        training, self.training = self.training, None
        if training:
            await training.stop()
        if self.model:
            self.model.close()
            self.model = None
        self.card.withdraw()
        for name in ("result", "ahead", "take"):
            element(name).hidden = True
        element("saved").textContent = element("status").textContent = ""
        element("result").removeAttribute("data-done")
        element("progress").value, element("progress").hidden = 0, True
        element("progress-text").textContent, element("see").hidden = "", True

    def buttons(self, *, running):
        """Say what can be done while it trains, or does not."""
        for field in window.document.querySelectorAll(
            "#form input, #form select, #drop input, #drop button"
        ):
            field.disabled = running
        element("stop").disabled = not running
        element("train").disabled = running
        if window.document.activeElement in (
            element("train"),
            element("stop"),
            window.document.body,
        ):
            element("stop" if running else "train").focus()

    async def save(self):
        """Save the model among the downloads."""
        content = await self.model.save(optimizer=False)
        name = f"{self.name}.webnnm.safetensors"
        element("saved").textContent = await saving.save_file(name, content)

    async def save_page(self):
        """Save the archive of a page that runs the model among the downloads."""
        element("saved").textContent = await saving.save_page(self.name, self.model)


def fill(select, values, chosen, names=None):
    """Offer these values, and choose one."""
    names = names or {}
    select.replaceChildren(*(make("option", names.get(each, each), value=each) for each in values))
    select.value = (chosen or values[:1] or [""])[0]


def list_words(names):
    """Return names as a sentence lists them."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def make_example():
    """Return the visitors of a museum, month by month."""
    lines, noise = ["month,visitors"], Random(7)
    for month in range(240):
        season = 900 * math.sin(month * math.pi / 6) + 250 * math.cos(month * math.pi / 3)
        visitors = 4000 + 10 * month + season + noise.gauss(0, 180)
        lines.append(f"{2005 + month // 12}-{month % 12 + 1:02},{visitors:.0f}")
    return "\n".join(lines)


forecast_page = ForecastPage()


async def read(files):
    """Read the first of files."""
    if files.length and not element("file").disabled:
        file = files.item(0)
        content = (await file.arrayBuffer()).to_bytes()
        await attempt(forecast_page.take(content, file.name))


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
    await attempt(forecast_page.take(element("pasted").value, "pasted"))


@when("click", "#example")
async def example(event):
    """Take the example."""
    await attempt(forecast_page.take(make_example(), "visitors.csv"))


@when("change", "#target, #time, #horizon, #window, #interval")
def on_change(event):
    """Take in what the dataset depends on."""
    forecast_page.soon(forecast_page.prepare)


@when("submit", "#form")
async def train(event):
    """Train."""
    event.preventDefault()
    await attempt(forecast_page.train())


@when("click", "#stop")
async def stop(event):
    """End the training after this epoch, with what it has learnt."""
    if forecast_page.training:
        await forecast_page.training.stop()


@when("input", "#origin")
async def move(event):
    """Show another window."""
    forecast_page.soon(forecast_page.move)


@when("change", "#steps")
async def look_ahead(event):
    """Predict more steps, or fewer."""
    await attempt(forecast_page.look_ahead())


@when("click", "#share")
async def share(event):
    """Copy a link with the series and the model."""
    await attempt(copy_link(element("source").textContent, forecast_page.rows))


@when("hashchange", window)
async def restore(event):
    """Take what another address has."""
    await attempt(forecast_page.restore())


@when("click", "#save")
async def save(event):
    """Save the model."""
    await attempt(forecast_page.save())


@when("click", "#page")
async def save_page(event):
    """Save a page that serves the model."""
    await attempt(forecast_page.save_page())


await forecast_page.open()
