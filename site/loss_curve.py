"""The curve of a training's losses, which follows the training, smoothed, over earlier curves."""

import asyncio
import json
import time

import charting
from page import element
from pyscript import when, window

from webnnm.page_modules import load_rest

CURVES = ("training", "validation")
MAX_EPOCHS = 400
"""Epochs that are drawn; of longer trainings every second one, or third, and so on."""
REST = 4
"""After drawing the page is free for this many times the time that it took."""
LIMIT = 6
"""Trainings that are drawn over one another."""
RECORDED = "./shown/trainings.json"
"""Trainings that were recorded for their charts: records and a caption by name."""
NO_EPOCHS = "Training loss, no epochs yet"


async def read_recorded(name):
    """Return a recorded training."""
    answer = await window.fetch(RECORDED)
    return json.loads(await answer.text())[name]


class LossCurve:
    """The curve in #chart, of records [epoch, loss, validation loss or None].

    Its figure shows with the first training. Until then it may show, faintly, the `recorded`
    training of that name in shown/trainings.json. The page may have #curve-tools with #smoothing,
    from 0 to below 1, and #compare, a box that keeps the curves of earlier trainings.
    """

    def __init__(self, recorded=""):
        self.earlier, self.records = [], []
        self.recorded, self.example = recorded, []
        self.figure = element("chart").closest("figure")
        self.figcaption = self.figure.querySelector("figcaption")
        self.caption = self.figcaption.textContent
        self.figure.hidden = True
        self.chart = self.following = None
        self.drawing = asyncio.Lock()
        self.stale, self.names = False, ()
        self.words = NO_EPOCHS
        for name in ("smoothing", "compare"):
            if element(name):
                when("input", f"#{name}")(self.on_change)
        if recorded:
            when("webnnm:ready", window)(self.begin)

    def begin(self, event):
        """Draw the recorded training, for which there is time now."""
        self.opening = asyncio.ensure_future(charting.attempt(self.show_example()))

    async def show_example(self):
        """Show the recorded training, unless another one has begun."""
        record = await read_recorded(self.recorded)
        if self.figure.hidden:
            self.example = record["records"]
            self.words = f"Training loss of a recorded training, {len(self.example)} points"
            self.show_figure(record["caption"])
            await self.draw()

    def show_figure(self, caption):
        """Show the chart: faint while it is of a recorded training."""
        self.figure.hidden = False
        self.figure.classList.toggle("recorded", bool(self.example))
        self.figcaption.textContent = caption
        if element("curve-tools"):
            element("curve-tools").hidden = bool(self.example)

    def hide(self):
        """Show no chart: there is no training that it could be of."""
        self.example = []
        self.figure.hidden = True
        if element("curve-tools"):
            element("curve-tools").hidden = True

    async def on_change(self, event):
        """Draw the curve as it is wanted now."""
        if element("compare") and not element("compare").checked:
            self.earlier = []
        await charting.attempt(self.draw())

    async def draw(self):
        """Draw the curve, and those of earlier trainings."""
        async with self.drawing:
            await self.draw_anew()
        self.follow_soon()

    async def draw_anew(self):
        """Draw another chart."""
        await load_rest()
        from webnnm import charts

        runs = [*self.runs()]
        self.stale = False
        self.names = self.curve_names()
        if not self.example:
            self.figcaption.textContent = self.describe_lines()
        options = {"names": self.names, "runs": runs, "smoothed": True}
        if self.chart:
            self.chart.close()
        self.chart = await charting.show(
            element("chart"), charts.curves("Loss", self.all_rows(), **options)
        )
        self.chart.describe(self.words)

    def runs(self):
        """Return the records of each training by its name in the legend."""
        if not self.earlier:
            return {"": self.example or self.records}
        numbered = enumerate((*self.earlier, self.records), 1)
        return {f"training {number}": records for number, records in numbered}

    def curve_names(self):
        """Return the names of the curves that there are: not all trainings have validation rows."""
        records = (record for records in self.runs().values() for record in records)
        return CURVES if any(record[2] is not None for record in records) else CURVES[:1]

    def describe_lines(self):
        """Return the caption: which line is which behind a colon, where there are two."""
        return self.caption if len(self.curve_names()) > 1 else self.caption.partition(":")[0]

    def all_rows(self):
        """Return what the chart shows of all trainings."""
        return [row for name, records in self.runs().items() for row in self.rows(name, records)]

    def rows(self, run, records):
        """Return what the chart shows of the records of a training."""
        from webnnm.charts.course import series

        smoothing = float(element("smoothing").value) if element("smoothing") else 0.0
        thin = records[:: -(-len(records) // MAX_EPOCHS) or 1]
        thin += records[-1:] if thin[-1:] != records[-1:] else []
        rows = series(run, "training", [record[:2] for record in thin], smoothing)
        return rows + series(run, "validation", [record[::2] for record in thin], smoothing)

    def reset(self):
        """Empty the chart for a training, or keep what it shows to compare."""
        if element("compare") and element("compare").checked and self.records:
            self.earlier = [*self.earlier, self.records][1 - LIMIT :]
        else:
            self.earlier = []
        self.records, self.example = [], []
        self.words = NO_EPOCHS
        self.show_figure(self.describe_lines())
        self.opening = asyncio.ensure_future(charting.attempt(self.draw()))

    def clear(self):
        """Forget all trainings: what they learnt from is gone."""
        self.earlier, self.records = [], []
        self.describe(NO_EPOCHS)
        self.hide()

    def add(self, records):
        """Add epochs; those already there are left out."""
        last = self.records[-1][0] if self.records else 0
        self.records += [list(record) for record in records if record[0] > last]
        self.stale = True
        self.follow_soon()

    def follow_soon(self):
        """Draw what was added, unless that is under way."""
        if self.stale and self.chart and not self.following:
            self.following = asyncio.ensure_future(self.follow())

    async def follow(self):
        """Draw what was added, until there is no more."""
        while self.stale:
            self.stale, began = False, time.perf_counter()
            if self.curve_names() == self.names:
                self.chart.set("epochs", json.dumps(self.all_rows()))
                await self.chart.settle()
            else:
                await self.draw()
            await asyncio.sleep(REST * (time.perf_counter() - began))
        self.following = None

    def describe(self, text):
        """Say in words what the chart shows."""
        self.words = text
        if self.chart:
            self.chart.describe(text)
        else:
            element("chart").setAttribute("aria-label", text)
