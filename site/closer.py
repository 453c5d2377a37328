"""The folded section of a page that shows more charts of its training, once it is opened."""

import asyncio
import time
from types import SimpleNamespace

import charting
from page import element, make
from pyscript import when

REST = 4
"""After drawing the page is free for this many times the time that it took."""


class Closer:
    """The charts in #closer, drawn while it is open.

    `ask` is awaited and returns the charts that there are now, as insights.py has them, or None.
    """

    def __init__(self, ask):
        self.ask, self.shown = ask, {}
        self.stale, self.following = True, None
        when("toggle", "#closer")(self.look)

    def look(self, event):
        """Draw what was not needed while the section was closed."""
        self.follow_soon()

    def refresh(self):
        """Show what there is now; while the section is closed, nothing is computed."""
        self.stale = True
        self.follow_soon()

    def follow_soon(self):
        """Draw what has changed, unless that is under way."""
        if self.stale and element("closer").open and not self.following:
            self.following = asyncio.ensure_future(self.follow())

    async def follow(self):
        """Draw what has changed, until there is no more."""
        try:
            while self.stale and element("closer").open:
                self.stale, began = False, time.perf_counter()
                await charting.attempt(self.draw())
                await asyncio.sleep(REST * (time.perf_counter() - began))
        finally:
            self.following = None

    async def draw(self):
        """Draw the charts, those that are there already in their places."""
        charts = await self.ask()
        if charts is None:
            return
        element("closer-hint").hidden = bool(charts)
        names = [chart["name"] for chart in charts]
        if [*self.shown] != names[: len(self.shown)]:
            self.clear()
        for record in charts:
            entry = self.shown.get(record["name"])
            if entry and record["rows"]:
                entry.chart.set("epochs", record["rows"])
                entry.chart.describe(record["words"])
            elif not entry or entry.chart_text != record["chart"]:
                await self.show(record, entry)

    async def show(self, record, entry):
        """Show a chart, in a new place or where another one of its name was."""
        if entry:
            entry.chart.close()
            holder = entry.holder
        else:
            figure = make("figure")
            # A chart may be wider than a narrow page.
            wide = make(
                "div", class_="wide", tabindex="0", role="region", aria_label=record["name"]
            )
            holder = make("div", class_="chart")
            wide.append(holder)
            caption = make("figcaption", record["about"])
            figure.append(make("h3", record["name"]), wide, caption)
            element("closer-charts").append(figure)
        chart = await charting.present(holder, record["chart"])
        self.shown[record["name"]] = SimpleNamespace(
            chart=chart, holder=holder, chart_text=record["chart"]
        )

    def clear(self):
        """Take all charts away."""
        for entry in self.shown.values():
            entry.chart.close()
        self.shown = {}
        element("closer-charts").replaceChildren()
