"""Charts of a test in a report: forecasts of a series, and pictures that are taken for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webnnm.core.errors import BackendError
from webnnm.core.markup import Markup, svg_image, tag
from webnnm.data.pictures.images import ImageDataset
from webnnm.data.series.series_dataset import SeriesDataset

if TYPE_CHECKING:
    from webnnm.charts.chart import Chart
    from webnnm.evaluation.forecast_report import ForecastReport
    from webnnm.evaluation.result import TestResult

WIDTH = 640
"""The width of a chart in pixels."""


def draw_test(dataset: Any, test: TestResult) -> list[Markup]:
    """Return the title and the chart of a test, nothing for data that have none."""
    report: Any = next(iter(test.outputs.values()), None)
    if isinstance(dataset, SeriesDataset):
        chart = draw_forecast(dataset, report)
        return [tag("h2", "The last forecast of the test"), _embed(chart)]
    scores = getattr(report, "scores", None)
    if isinstance(dataset, ImageDataset) and scores and len(scores.actual) == test.samples:
        from webnnm.charts.worst import worst_pictures

        rows = [[*row] for row in scores.rows(scores.probabilities)]
        chart = worst_pictures(dataset, rows, subset=test.subset)
        return [tag("h2", "The pictures that are most wrong"), _embed(chart)]
    return []


def draw_forecast(dataset: SeriesDataset, report: ForecastReport) -> Chart:
    """Return the chart of the last window of a test, of its first target."""
    from webnnm.charts.forecasts import forecast

    shown, width = dataset.list_windows("testing")[-1], len(dataset.series.targets)
    last = slice(-dataset.series.horizon * width, None, width)
    assert report.pairs is not None
    lines = {"model": report.pairs[0][last], "actual": shown["actual"]}
    bounds = report.bounds and (report.bounds[0][last], report.bounds[1][last])
    name = dataset.series.targets[0].name
    return forecast(shown["times"], shown["values"], shown["ahead"], lines, bounds, name)


def _embed(chart: Chart) -> Markup:
    """Return a chart as a picture in the page, or in words where nothing can draw it."""
    try:
        return svg_image(chart.svg(width=WIDTH), chart.description)
    except BackendError as error:
        return tag("p", f"{chart.description} (Not drawn: {error.hint})")
