"""The curve of a training's losses, which follows the training, smoothed, over earlier curves."""

import asyncio
import json

import charting
from page import element
from pyscript import when, window

CURVES = ("training", "validation")
MOST = 1000
"""Epochs that are drawn; of longer trainings every second one, or third, and so on."""
LIMIT = 6
"""Trainings that are drawn over one another."""


class LossCurve:
    """The curve in #chart, of records [epoch, loss, validation loss or None].

    It is drawn once the page is ready. The page may have #smoothing, from 0 to below 1, and
    #compare, a box that keeps the curves of earlier trainings.
    """

    def __init__(self):
        self.earlier, self.records = [], []
        self.chart = None
        self.words = element("chart").getAttribute("aria-label")
        for name in ("smoothing", "compare"):
            if element(name):
                when("input", f"#{name}")(self.changed)
        when("webnnm:ready", window)(self.begin)

    def begin(self, event):
        """Draw the curve, for which there is time now."""
        self.opening = asyncio.ensure_future(self.draw())

    async def changed(self, event):
        """Draw the curve as it is wanted now."""
        if element("compare") and not element("compare").checked:
            self.earlier = []
        await self.draw()

    async def draw(self):
        """Draw the curve, and those of earlier trainings."""
        from webnnm import charts

        runs = [*self.runs()]
        rows = [row for name, records in self.runs().items() for row in self.rows(name, records)]
        options = {"names": CURVES, "runs": runs, "smoothed": True}
        if self.chart:
            self.chart.close()
        self.chart = await charting.show(element("chart"), charts.curves("Loss", rows, **options))
        self.chart.describe(self.words)

    def runs(self):
        """Return the records of each training by its name in the legend."""
        if not self.earlier:
            return {"": self.records}
        numbered = enumerate((*self.earlier, self.records), 1)
        return {f"training {number}": records for number, records in numbered}

    def rows(self, run, records):
        """Return what the chart shows of the records of a training."""
        from webnnm.charts.course import series

        smoothing = float(element("smoothing").value) if element("smoothing") else 0.0
        thin = records[:: -(-len(records) // MOST) or 1]
        thin += records[-1:] if thin[-1:] != records[-1:] else []
        rows = series(run, "training", [record[:2] for record in thin], smoothing)
        return rows + series(run, "validation", [record[::2] for record in thin], smoothing)

    def reset(self):
        """Empty the chart for a training, or keep what it shows to compare."""
        if element("compare") and element("compare").checked and self.records:
            self.earlier = [*self.earlier, self.records][1 - LIMIT :]
        else:
            self.earlier = []
        self.records = []
        self.words = "Training loss, no epochs yet"
        if self.chart:
            self.opening = asyncio.ensure_future(self.draw())

    def add(self, records):
        """Add epochs; those already there are left out."""
        last = self.records[-1][0] if self.records else 0
        self.records += [list(record) for record in records if record[0] > last]
        if self.chart:
            runs = self.runs()
            rows = [row for name, found in runs.items() for row in self.rows(name, found)]
            self.chart.set("epochs", json.dumps(rows))

    def describe(self, text):
        """Say in words what the chart shows."""
        self.words = text
        if self.chart:
            self.chart.describe(text)
        else:
            element("chart").setAttribute("aria-label", text)
