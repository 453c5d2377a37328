"""Charts of a training over its epochs: losses, metrics, learning rates, gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from webnnm.charts.chart import Chart
from webnnm.charts.theme import DASHES
from webnnm.core.errors import DataError

EPOCHS = "epochs"
"""The name of the data of these charts, to which a page adds rows."""
HEIGHT = 240
DECADES = 100
"""The ratio of losses from which their scale is logarithmic."""
Row = dict[str, Any]


class Epoch(Protocol):
    """The part of an `EpochRecord` that is charted."""

    @property
    def epoch(self) -> int:
        """Its number, from 1."""
        ...

    @property
    def loss(self) -> float:
        """The training loss."""
        ...

    @property
    def val_loss(self) -> float | None:
        """The validation loss."""
        ...

    @property
    def val_metrics(self) -> Mapping[str, float]:
        """The validation metrics."""
        ...

    @property
    def lr(self) -> float:
        """The learning rate."""
        ...

    @property
    def grad_norm(self) -> float | None:
        """The mean norm of the gradient."""
        ...

    @property
    def clip_threshold(self) -> float | None:
        """The norm to which gradients were clipped."""
        ...


class Course(Protocol):
    """The part of a `History` that is charted."""

    @property
    def epochs(self) -> Sequence[Epoch]:
        """The records of its epochs."""
        ...


Histories = Course | Mapping[str, Course] | Sequence[Course]
"""One training, or several, by their names in the legend or numbered."""


def loss(history: Histories, *, smoothing: float = 0.0) -> Chart:
    """Return the chart of training and validation loss over the epochs.

    >>> from webnnm import EpochRecord, History
    >>> record = EpochRecord(1, 20, 0.5, {"model": 0.5}, 1e-3, 0.25)
    >>> loss(History({}, "numpy", [record])).description
    'Loss over 1 epoch. training: 0.5 at the end, 0.5 at best.'

    - `history`: a `History`, or several in a dict by name or in a list, drawn in one chart.
    - `smoothing`: from 0 to below 1, the weight of the past in the exponential moving average,
      which is drawn over the measured values in a pale colour.

    The scale is logarithmic if positive losses span more than two decades. Raises `DataError`
    NNM704 for a smoothing out of range.
    """
    rows: list[Row] = []
    for run, course in _name_courses(history).items():
        rows += series(run, "training", ((e.epoch, e.loss) for e in course.epochs), smoothing)
        validation = ((e.epoch, e.val_loss) for e in course.epochs)
        rows += series(run, "validation", validation, smoothing)
    return curves("Loss", rows, smoothed=smoothing > 0)


def metrics(history: Histories, names: Iterable[str] | None = None) -> Chart:
    """Return the chart of the validation metrics over the epochs.

    >>> from webnnm import EpochRecord, History
    >>> record = EpochRecord(1, 20, 0.5, {}, 1e-3, 0.25, val_metrics={"accuracy": 0.75})
    >>> metrics(History({}, "numpy", [record])).description
    'Metrics over 1 epoch. accuracy: 0.75 at the end, 0.75 at most.'

    `names` selects some of them; the default is all.
    """
    selected = None if names is None else set(names)
    rows: list[Row] = []
    for run, course in _name_courses(history).items():
        available = dict.fromkeys(name for e in course.epochs for name in e.val_metrics)
        for name in available:
            if selected is None or name in selected:
                points = ((e.epoch, e.val_metrics.get(name)) for e in course.epochs)
                rows += series(run, name, points)
    return curves("Metrics", rows, best=max, best_word="most")


def learning_rate(history: Histories) -> Chart:
    """Return the chart of the learning rate over the epochs.

    >>> from webnnm import EpochRecord, History
    >>> record = EpochRecord(1, 20, 0.5, {}, 1e-3, 0.25)
    >>> learning_rate(History({}, "numpy", [record])).description
    'Learning rate over 1 epoch. learning rate: 0.001 at the end, 0.001 at most.'
    """
    rows: list[Row] = []
    for run, course in _name_courses(history).items():
        rows += series(run, "learning rate", ((e.epoch, e.lr) for e in course.epochs))
    return curves("Learning rate", rows, best=max, best_word="most")


def gradient_norm(history: Histories) -> Chart:
    """Return the chart of the gradient norm, and of the norm to which it is clipped.

    >>> from webnnm import EpochRecord, History
    >>> record = EpochRecord(1, 20, 0.5, {}, 1e-3, 0.25, grad_norm=2.0, clip_threshold=1.0)
    >>> gradient_norm(History({}, "numpy", [record])).description
    'Gradient norm over 1 epoch. norm: 2 at the end, 2 at most. clipped to: 1 at the end, ...'
    """
    rows: list[Row] = []
    for run, course in _name_courses(history).items():
        rows += series(run, "norm", ((e.epoch, e.grad_norm) for e in course.epochs))
        rows += series(run, "clipped to", ((e.epoch, e.clip_threshold) for e in course.epochs))
    return curves("Gradient norm", rows, best=max, best_word="most")


def series(
    run: str, name: str, points: Iterable[tuple[int, float | None]], smoothing: float = 0.0
) -> list[Row]:
    """Return the rows of one line, without values that are not finite numbers.

    >>> series("", "training", [(1, 2.0), (2, 1.0), (3, None)], 0.5)[1]["smooth"]
    1.3333333333333333

    `smooth` is the exponential moving average, with the bias correction of Kingma and Ba (2015).
    """
    if not 0 <= smoothing < 1:
        raise DataError("NNM704", f"smoothing={smoothing}", hint="from 0 to below 1")
    rows: list[Row] = []
    average = weight = 0.0
    for epoch, value in points:
        if value is None or not math.isfinite(value):
            continue
        average = smoothing * average + (1 - smoothing) * value
        weight = smoothing * weight + (1 - smoothing)
        row: Row = {"epoch": epoch, "run": run, "series": name, "value": value}
        rows.append(row | {"smooth": average / weight})
    return rows


def curves(
    title: str,
    rows: Sequence[Row],
    *,
    names: Sequence[str] = (),
    runs: Sequence[str] = (),
    smoothed: bool = False,
    best: Any = min,
    best_word: str = "best",
) -> Chart:
    """Return the chart of lines over epochs, with rows made by `series`.

    >>> curves("Loss", series("", "training", [(1, 2.0), (2, 1.0)])).description
    'Loss over 2 epochs. training: 1 at the end, 1 at best.'

    `names` and `runs` are those of lines to be added, for a chart to which a page adds rows.
    """
    runs = list(dict.fromkeys([*runs, *(row["run"] for row in rows)]))
    names = list(dict.fromkeys([*names, *(row["series"] for row in rows)]))
    colour = "run" if len(runs) > 1 else "series"
    x = {"field": "epoch", "type": "quantitative", "title": "epoch"}
    # Epochs are integers.
    x |= {"axis": {"tickMinStep": 1, "format": "d", "grid": False}, "scale": {"nice": False}}
    scale = {"type": "log"} if title == "Loss" and _wide(rows) else {"zero": False}

    def line(field: str, **mark: Any) -> Row:
        y = {"field": field, "type": "quantitative", "title": title.lower(), "scale": scale}
        return {"mark": {"type": "line", "clip": True, **mark}, "encoding": {"y": y}}

    drawn = [line("value", opacity=0.3), line("smooth")] if smoothed else [line("value")]
    dashes = {"field": "series", "type": "nominal", "sort": None}
    dashes |= {"scale": {"domain": names, "range": list(DASHES)}}
    if len(names) <= 1:
        dashes["legend"] = None
    legend: Row = {} if len(runs) > 1 or len(names) > 1 else {"legend": None}
    legend["scale"] = {"domain": runs if colour == "run" else names}
    epochs = max((row["epoch"] for row in rows), default=0)
    parts = [f"{title} over {epochs} {'epoch' if epochs == 1 else 'epochs'}."]
    for run in runs:
        for name in names:
            own = [row["value"] for row in rows if row["run"] == run and row["series"] == name]
            if own:
                label = f"{run}, {name}" if run else name
                ends = f"{own[-1]:.4g} at the end, {best(own):.4g} at {best_word}"
                parts.append(f"{label}: {ends}.")
    return Chart(
        {
            "description": " ".join(parts),
            "data": {"name": EPOCHS, "values": list(rows)},
            "height": HEIGHT,
            "encoding": {
                "x": x,
                "color": {"field": colour, "type": "nominal", "sort": None, **legend},
                "strokeDash": dashes,
            },
            "layer": drawn,
        }
    )


def _name_courses(history: Histories) -> Mapping[str, Course]:
    courses: Mapping[str, Course]
    if isinstance(history, Mapping):
        courses = history
    elif isinstance(history, Sequence):
        courses = {f"training {number}": course for number, course in enumerate(history, 1)}
    else:
        courses = {"": history}
    for course in courses.values():
        if not hasattr(course, "epochs"):
            kind = type(course).__name__
            hint = "pass the History that `await model.train()` returns, or several by name"
            raise DataError("NNM702", f"a {kind} has no epochs to show", hint=hint)
    return courses


def _wide(rows: Sequence[Row]) -> bool:
    values = [row["value"] for row in rows]
    return bool(values) and min(values) > 0 and max(values) / min(values) > DECADES
