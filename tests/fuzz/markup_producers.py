"""Everything public that makes HTML or SVG, called with a name that data could bring."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from webnnm import EpochRecord, History, ImageDataset, charts
from webnnm.charts.chart import Chart
from webnnm.cli.serve import SiteServer
from webnnm.core.finding import Finding, Findings
from webnnm.diagram.boxes import Box, Drawing, Edge
from webnnm.diagram.diagram import Diagram
from webnnm.evaluation.compare import classification, multilabel, regression
from webnnm.evaluation.cross_validation import CrossValidation
from webnnm.evaluation.importance import PermutationImportance
from webnnm.evaluation.rate_range import RateRange
from webnnm.evaluation.result import TestResult
from webnnm.model.searching import Search, Trial
from webnnm.trainer.progress_screens import Notebook
from webnnm.trainer.review import Review
from webnnm.training.settings import Settings

Producer = Callable[[str], str]


def history(name: str) -> History:
    """Return a history whose outputs, metrics, warnings and findings have the name."""
    records = [
        EpochRecord(k, 2, 1 / k, {name: 0.5, "b": 0.5}, 0.1, 0.01, 1 / k, val_metrics={name: 0.5})
        for k in (1, 2)
    ]
    found = [Finding(id="E404", severity="warning", message=name, remedy=name, nodes=(name,))]
    return History(
        {name: name}, name, records, best_epoch=2, findings=Findings(found), warnings=[name]
    )


def result(name: str) -> TestResult:
    """Return a test result whose outputs and labels have the name."""
    outputs: dict[str, Any] = {
        name: classification([[0.9, 0.1], [0.4, 0.6]], [0, 1], [name, "b"], kind="classes"),
        "numbers": regression([[1.0, 2.0], [1.0, 4.0]], [[1.0, 2.0], [2.0, 3.0]], [name, "b"]),
        "labels": multilabel([[0.9, 0.1], [0.1, 0.9]], [[1, 0], [0, 1]], [name, "b"]),
    }
    return TestResult(0.5, dict.fromkeys(outputs, 0.5), 2, name, outputs)


def diagram(name: str) -> Diagram:
    """Return a diagram whose boxes and edges have the name."""
    inner = Box(id=f"{name}2", kind="layer", title=name, details=(name,), rewrites=(name,))
    boxes = [
        Box(id=name, kind="block", title=name, boxes=[inner]),
        Box(id="end", kind="output", title=name, parameters=4),
    ]
    edges = [Edge(source=f"{name}2", target="end", label=name)]
    return Diagram(Drawing(caption=name, boxes=boxes, edges=edges))


def describe(name: str) -> Mapping[str, Chart]:
    """Return a chart of every kind whose data have the name."""
    shares = PermutationImportance((name, "b"), ((0.5,), (0.1,)), name, 0.9, 8, "testing")
    report = classification([[0.9, 0.1], [0.4, 0.6]], [0, 1], ["b", name], kind="classes")
    points = [[0.1, 0.9]], [[0.5, 0.0]], [1]
    return {
        "loss": charts.loss({name: history(name), "b": history(name)}),
        "metrics": charts.metrics(history(name)),
        "confusion matrix": charts.confusion_matrix(report),
        "roc": charts.roc_curve(report),
        "worst pictures": charts.worst_pictures(
            ImageDataset(bytes(8), [0, 1], shape=(2, 2), split=(1, 0, 0), class_names=[name, "b"]),
            [[0.2, 0.8]] * 2,
            subset="training",
        ),
        "calibration": charts.calibration_curve(report),
        "importance": charts.permutation_importance(shares),
        "quantities": charts.prediction_error([1.0, 2.0], [1.0, 3.0], name),
        "histograms": charts.histograms({name: [0.1, 0.9]}),
        "boundary": charts.decision_boundary(*points, labels=[name, "b"], names=[name, name]),
    }


def notebook_bar(name: str) -> str:
    """Return what a notebook shows while a model with the name trains."""
    bar = Notebook.__new__(Notebook)
    bar._html, bar._position = str, (1, 2)
    return bar._bar(name)


def folder_list(name: str) -> str:
    """Return the list of a folder of that name with a file of that name; "" if there cannot be."""
    with TemporaryDirectory() as root:
        folder = Path(root, name)
        try:
            folder.mkdir()
            (folder / name).write_text("")
            with SiteServer(Path(root)) as server, urlopen(f"{server.url}/{quote(name)}/") as page:
                return page.read().decode()
        except (OSError, ValueError, HTTPError):
            return ""


HTML: Mapping[str, Producer] = {
    "history": lambda name: history(name)._repr_html_(),
    "finding": lambda name: history(name).findings[0].to_html(),
    "result": lambda name: result(name).to_html(),
    "folds": lambda name: CrossValidation((result(name), result(name))).to_html(),
    "importance": lambda name: PermutationImportance(
        (name, "b"), ((0.5,), (0.1,)), name, 0.9, 8, "testing"
    )._repr_html_(),
    "search": lambda name: Search(name, [(1, 1)], [Trial(0, {name: name}, [0.5])]).to_html(),
    "review": lambda name: Review(
        findings=history(name).findings,
        settings=Settings(silence=(name,)),
        origins={"silence": name},
    ).to_html(),
    "progress": notebook_bar,
    "folder": folder_list,
}
"""What notebooks and `webnnm serve` show."""

SVG: Mapping[str, Producer] = {
    "plot": lambda name: history(name).plot(),
    "rates": lambda name: RateRange((0.001, 0.01, 0.1), (1.0, 0.9, 0.5)).plot(),
    "diagram": lambda name: diagram(name).svg(),
    "diagram in a page": lambda name: diagram(name).svg(standalone=False),
}


def chart_svgs(name: str) -> dict[str, str]:
    """Return every chart as SVG."""
    return {kind: chart.svg() for kind, chart in describe(name).items()}


def chart_pages(name: str) -> dict[str, str]:
    """Return every chart as a page that `save` writes."""
    pages: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        for kind, chart in describe(name).items():
            path = Path(folder, "chart.html")
            chart.save(path)
            pages[kind] = path.read_text()
    return pages


def chart_texts(name: str) -> list[str]:
    """Return every chart as the JSON that pages take."""
    return [json.dumps(json.loads(chart.to_page())) for chart in describe(name).values()]
