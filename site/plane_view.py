"""The plane of the playground with its points, and the curve of the loss below it."""

import asyncio
import json

import charting
from page import element, percent
from plane_points import EXTENT, GRID, LABELS
from pyscript import ffi

CURVES = ("training", "validation")
LEGEND = {
    "title": "value",
    "values": [0, 0.25, 0.5, 0.75, 1],
    "labelExpr": "format(2 * datum.value - 1, '.1f')",
    "orient": "top",
    "gradientLength": 220,
}
"""The colours of values from −1 to 1, which the plane has as shares from 0 to 1."""
TITLES = {False: "What it decides", True: "What it computes"}
"""The heading of the plane, by whether its points have values."""
AXES = 58
"""Pixels of the axis beside the plane, which is a square."""
UNDECIDED = json.dumps([0.5] * GRID**2)


class PlaneView:
    """The charts of the page: `points` are drawn on the plane, `draw` is called with places there.

    `unit_picture` returns a title and a picture in the place of what the model decides: what one of
    its units makes of the plane, as JSON, or two empty texts.
    """

    def __init__(self, points, *, draw, unit_picture):
        self.points, self.draw, self.unit_picture = points, draw, unit_picture
        self.plane = self.curve = self.showing = None
        self.shows_values = False
        self.shares = UNDECIDED
        self.records, self.unshown = [], []
        self.painted = 0

    @property
    def epochs(self):
        """How many epochs the model has learnt."""
        return self.records[-1].epoch if self.records else 0

    def begin(self):
        """Begin to show the charts; `showing` is done once they are there."""
        element("plane-title").textContent = TITLES[self.points.have_values]
        self.showing = asyncio.ensure_future(self.show())

    async def show(self):
        """Show the points, on a plane that nothing is known of yet, and an empty curve."""
        from webnnm import charts

        self.plane = await self.show_plane()
        self.curve = await charting.show(element("chart"), charts.curves("Loss", [], names=CURVES))
        self.show_points()  # others, where what is set has changed meanwhile

    async def show_plane(self):
        """Return the chart of the plane, of classes or of values as its points are."""
        from webnnm import charts

        self.shows_values = self.points.have_values
        empty = [[0.5] * GRID for _ in range(GRID)]
        chart = charts.decision_boundary(empty, x=EXTENT, y=EXTENT, labels=LABELS)
        if self.shows_values:
            chart = color_by_value(chart)
        side = element("plane").clientWidth - AXES
        chart = charts.Chart({**chart.spec, "height": side})
        plane = await charting.show(element("plane"), chart)
        plane.set("points", json.dumps(self.points.rows()))
        plane.onDraw(ffi.create_proxy(self.draw))
        return plane

    async def change_plane(self, showing):
        """Show the plane anew, whose points have another kind of targets, once it is there."""
        await showing
        if self.shows_values != self.points.have_values:
            self.plane.close()
            self.plane = await self.show_plane()
            self.show_shares()
            self.describe()

    def show_points(self):
        """Show the points as they are now."""
        if self.shows_values != self.points.have_values:
            self.showing = asyncio.ensure_future(self.change_plane(self.showing))
        elif self.plane:
            self.plane.set("points", json.dumps(self.points.rows()))
            self.describe()

    def show_shares(self):
        """Paint what the model decides, or what is looked at."""
        title, picture = self.unit_picture()
        element("plane-title").textContent = title or TITLES[self.points.have_values]
        if self.plane:
            self.plane.paint("grid", "p", picture or self.shares)

    def describe(self, share=None):
        """Say in words what the plane shows."""
        if self.points.have_values:
            text = f"{len(self.points.points)} points with values from −1, blue, to 1, orange. "
        else:
            blue, orange = self.points.counts()
            text = f"{blue} blue circles and {orange} orange squares. "
        if share is None:
            text += "The model has not learnt them yet."
        elif self.points.have_values:
            text += (
                f"After {self.epochs} epochs {percent(share)} of the plane has values above 0, the "
                f"mean squared error of the points kept apart is {element('accuracy').textContent}."
            )
        else:
            text += (
                f"After {self.epochs} epochs the model takes {percent(share)} of the "
                f"plane for orange, {element('accuracy').textContent} of the points kept apart are "
                "right."
            )
        self.plane.describe(text)

    def clear(self):
        """Show that nothing is learnt."""
        self.records, self.unshown = [], []
        self.painted = 0
        self.shares = UNDECIDED
        element("progress").value = 0
        element("progress").hidden = element("course").hidden = True
        element("progress-text").textContent = "Not trained yet"
        element("accuracy").textContent = element("samples").textContent = ""
        self.show_shares()
        if self.curve:
            self.curve.set("epochs", "[]")
            self.curve.describe("Training loss, no epochs yet")
            self.describe()

    def add(self, record):
        """Take in an epoch, which shows with the next painting."""
        self.records.append(record)
        self.unshown.append(record)

    def replace_last(self, record):
        """Take in the last epoch as it is once weights are set; the curve keeps what it was."""
        self.records[-1] = record

    async def paint(self, shares):
        """Paint shares of the second class in the cells of the plane, and the epochs up to now."""
        from webnnm.charts.course import series

        record = self.records[-1]
        self.shares = json.dumps(shares)
        epochs = [(entry.epoch, entry.loss) for entry in self.unshown]
        rows = series("", "training", epochs)
        rows += series("", "validation", [(entry.epoch, entry.val_loss) for entry in self.unshown])
        self.unshown = []
        self.curve.add("epochs", json.dumps(rows))
        self.show_shares()
        element("progress").value = record.epoch
        element("course").hidden = False
        losses = {"loss": record.loss, "validation": record.val_loss}
        parts = [f"{name} {loss:.4f}" for name, loss in losses.items() if loss is not None]
        element("progress-text").textContent = " · ".join(
            [f"Epoch {record.epoch} of {record.epochs}", *parts]
        )
        if "accuracy" in record.val_metrics:
            element("accuracy").textContent = percent(record.val_metrics["accuracy"], 1)
            element("samples").textContent = "of the points that training does not see"
        elif self.points.have_values and record.val_loss is not None:
            element("accuracy").textContent = f"{record.val_loss:.4f}"
            element(
                "samples"
            ).textContent = "mean squared error of the points that training does not see"
        self.describe(sum(share > 0.5 for share in shares) / len(shares))
        text = f"Training loss {self.records[0].loss:.3f} at first, {record.loss:.3f} after "
        text += f"{record.epoch} epochs"
        if record.val_loss is not None:
            text += f", validation loss {record.val_loss:.3f}"
        self.curve.describe(text)
        self.painted += 1
        # The browser paints before the training goes on.
        await self.plane.settle()


def color_by_value(chart):
    """Return the chart of a plane of classes for points that have values, in the same colours."""
    from webnnm.charts import Chart

    cells, points = chart.spec["layer"]
    color = cells["encoding"]["color"]
    # The same colours, from −1 to 1.
    scale = {**color["scale"], "domain": [0, 0.5, 1], "reverse": True}
    color = {**color, "scale": scale}
    places = {name: points["encoding"][name] for name in ("x", "y")}
    fill = {**color, "legend": None}
    layers = [
        {**cells, "encoding": {**cells["encoding"], "color": {**color, "legend": LEGEND}}},
        {
            **points,
            "mark": {**points["mark"], "shape": "circle", "stroke": {"expr": "quiet"}},
            "encoding": {**places, "fill": fill},
        },
    ]
    return Chart({**chart.spec, "layer": layers})
