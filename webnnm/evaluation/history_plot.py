"""The plot of a training: losses above, the learning rate below, as SVG or with Matplotlib."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from webnnm.core.errors import DataError
from webnnm.core.markup import Markup, Scalar, join, light_dark, stylesheet, tag
from webnnm.evaluation.epoch import EpochRecord

COLOURS = "0b66b0 6db6f2 b4480a ff9d5c 0c7a55 4fd0a0 8e4a9e d99bea 7a6400 d9c04a b02a5b ff8fb0"
"""Pairs for light and dark backgrounds, each with a contrast of at least 4.5."""
PAIRS = tuple(zip(*[iter(f"#{word}" for word in COLOURS.split())] * 2, strict=True))
RATE = 4
"""The pair of the learning rate."""
LETTER = 6.7
"""The width of a letter in pixels, generously estimated."""


def _style_rule(selector: str, name: str, light: str, dark: str) -> str:
    return light_dark(f".webnnm-plot {selector}", name, light, dark)


# Only a standalone picture decides itself whether it is dark; in a page, the page does.
STYLE = (
    "svg.webnnm-plot:root{color-scheme:light dark}"
    ".webnnm-plot{font:12px system-ui,sans-serif;max-width:100%;height:auto}"
    ".webnnm-plot path{fill:none;stroke-linejoin:round;stroke-linecap:round}"
    ".webnnm-plot .e{text-anchor:end}.webnnm-plot .m{text-anchor:middle}"
    + _style_rule(".card", "fill", "#fff", "#1d2025")
    + _style_rule("text", "fill", "#1d1f23", "#e6e7ea")
    + _style_rule(".grid", "stroke", "#dfdcd6", "#3b414b")
    + _style_rule(".best", "stroke", "#1d1f23", "#e6e7ea")
)


class Course(Protocol):
    """The part of a `History` that is plotted."""

    epochs: list[EpochRecord]

    @property
    def best(self) -> EpochRecord | None:
        """The record of the best epoch, or None before the first."""
        ...


@dataclass(frozen=True)
class Curve:
    """A line of the plot: its name, points, colour and style."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: int
    width: float = 2
    dashed: bool = False


def curves(history: Course) -> list[Curve]:
    """Return the curves of the losses that were measured; those of outputs if there are several."""
    outputs = list(dict.fromkeys(name for record in history.epochs for name in record.losses))

    def points(get: Callable[[EpochRecord], float | None]) -> list[tuple[float, float]]:
        pairs = [(record.epoch, get(record)) for record in history.epochs]
        return [(x, y) for x, y in pairs if y is not None and math.isfinite(y)]

    result = [
        Curve("training loss", points(lambda record: record.loss), 0),
        Curve("validation loss", points(lambda record: record.val_loss), 1),
    ]
    for number, name in enumerate(outputs if len(outputs) > 1 else (), 2):
        training = points(lambda record, name=name: record.losses.get(name))
        validation = points(lambda record, name=name: record.val_losses.get(name))
        result += [
            Curve(f"training {name}", training, number, 1.3),
            Curve(f"validation {name}", validation, number, 1.3, dashed=True),
        ]
    return [curve for curve in result if curve.points]


def logarithmic(values: Sequence[float]) -> bool:
    """Return whether values are all positive and span more than two decades.

    >>> logarithmic([0.02, 1.0]), logarithmic([0.002, 1.0]), logarithmic([-1.0, 1.0])
    (False, True, False)
    """
    return min(values) > 0 and max(values) / min(values) > 100


def ticks(low: float, high: float, limit: int, *, integers: bool = False) -> list[float]:
    """Return at most `limit` + 1 round numbers between two bounds.

    >>> ticks(0, 2.3, 5), ticks(1, 4, 8, integers=True)
    ([0.0, 0.5, 1.0, 1.5, 2.0], [1, 2, 3, 4])
    """
    rough = (high - low) / limit
    unit = 10.0 ** math.floor(math.log10(rough))
    step: float = next(n * unit for n in (1, 2, 5, 10) if n * unit >= rough * (1 - 1e-9))
    if integers:
        step = max(1, round(step))
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [number * step for number in numbers]


@dataclass(frozen=True)
class Scale:
    """Maps values to pixels, linearly or logarithmically, with the values that get a label."""

    low: float
    high: float
    start: float
    end: float
    marks: Sequence[float]
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def vertical(values: Sequence[float], top: float, height: float, limit: int) -> Scale:
    """Return the vertical scale of a panel for these values."""
    low, high = min(values), max(values)
    if log := logarithmic(values):
        first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
        stride = max(1, math.ceil((last - first) / limit))
        marks = [10.0**power for power in range(first, last + 1, stride)]
        low, high = low / 1.2, high * 1.2
    else:
        # From 0 if that does not flatten the curve.
        low = 0 if 0 <= low < 0.6 * high or low == high >= 0 else low
        room = 0.05 * (high - low) or abs(low) or 1
        low, high = (low - room if low else 0), high + room
        marks = ticks(low, high, limit)
    return Scale(low, high, top + height, top, marks, log)


def printable(text: str) -> str:
    """Return a text with unprintable characters as blanks.

    >>> printable("a\\nb")
    'a b'
    """
    return "".join(c if c.isprintable() else " " for c in text)


def number(value: float) -> str:
    """Return a number in the short form used on an axis.

    >>> number(0.30000000000000004), number(1e-05), number(200.0)
    ('0.3', '1e-5', '200')
    """
    text = f"{value:.6g}"
    return text.replace("e-0", "e-").replace("e+0", "e") if "e" in text else text


def text_at(x: float, y: float, text: str, style: str | None = None) -> Markup:
    """Return a line of text."""
    return tag("text", printable(text), x=f"{x:.1f}", y=f"{y:.1f}", class_=style)


def path(
    points: Iterable[tuple[float, float]], style: str, *inside: Markup, **attributes: Scalar
) -> Markup:
    """Return a line through points; for a single point, a dot."""
    steps = [f"{x:.1f},{y:.1f}" for x, y in points]
    tail = "h0" if len(steps) == 1 else ""
    return tag("path", *inside, class_=style, d=f"M{' '.join(steps)}{tail}", **attributes)


def grid(steps: str) -> Markup:
    """Return lines of the grid."""
    return tag("path", class_="grid", d=steps)


def thin(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the lowest and the highest point of each pixel, which look the same as all points."""
    columns: dict[int, list[tuple[float, float]]] = {}
    for point in points:
        columns.setdefault(int(point[0]), []).append(point)
    ends = ({min(c, key=lambda p: p[1]), max(c, key=lambda p: p[1])} for c in columns.values())
    return [point for pair in ends for point in sorted(pair)]


def svg(history: Course, width: int) -> Markup:
    """Return the plot of a training as SVG text, `width` pixels wide."""
    title, says = "Course of the training", str(history)
    lines = curves(history)
    if not lines:
        body, height = text_at(width / 2, 44, str(history), "m"), 80.0
    else:
        body, height = _panels(history, lines, width)
    used = {line.colour % len(PAIRS) for line in lines} | {RATE}
    return _frame(title, says, width, height, body, used)


def line_plot(
    title: str,
    says: str,
    points: Sequence[tuple[float, float]],
    marked: tuple[float, float],
    width: int,
) -> Markup:
    """Return a plot of losses over learning rates, on a logarithmic axis, with one rate marked.

    >>> line_plot("Range test", "lr 0.1", [(0.01, 1.0), (1.0, 0.5)], (1.0, 0.5), 400)[:4]
    '<svg'
    """
    losses = vertical([y for _, y in points], 36, min(300, max(170, 0.4 * width)), 6)
    low, high = points[0][0], points[-1][0]
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    left = 16 + LETTER * max(len(number(mark)) for mark in losses.marks)
    across = Scale(low, high, left, width - 18, [10.0**power for power in powers], log=True)
    parts = [text_at(left, 20, f"loss, {says.partition(':')[0]}")]
    for mark in losses.marks:
        y = losses(mark)
        parts += [grid(f"M{left:.1f},{y:.1f}H{across.end}")]
        parts += [text_at(left - 7, y + 4, number(mark), "e")]
    for mark in across.marks:
        parts += [text_at(across(mark), losses.start + 17, number(mark), "m")]
    parts += [text_at((left + across.end) / 2, losses.start + 36, "learning rate", "m")]
    pixels = [(across(x), losses(y)) for x, y in points]
    parts += [path(thin(pixels), "c0", stroke_width=2)]
    parts += [_ring(across(marked[0]), losses(marked[1]))]
    return _frame(title, says, width, losses.start + 46, join(parts), {0})


def _frame(
    title: str, says: str, width: int, height: float, body: Markup, used: Iterable[int]
) -> Markup:
    """Return the drawing as an SVG with its title, and the colours that are used."""
    colours = "".join(_style_rule(f".c{k}", "stroke", *PAIRS[k]) for k in sorted(used))
    drawing = tag(
        "svg",
        tag("title", title),
        tag("desc", printable(says)),
        stylesheet(STYLE + colours),
        tag("rect", class_="card", width="100%", height="100%", rx=6),
        body,
        xmlns="http://www.w3.org/2000/svg",
        class_="webnnm-plot",
        role="img",
        aria_label=printable(f"{title}: {says}"),
        width=width,
        height=f"{height:.0f}",
        viewBox=f"0 0 {width} {height:.0f}",
    )
    return join([drawing, "\n"])


def _panels(history: Course, lines: Sequence[Curve], width: int) -> tuple[Markup, float]:
    parts, top = _legend(history, lines, width)
    values = [y for line in lines for _, y in line.points]
    rates = [(r.epoch, r.lr) for r in history.epochs if math.isfinite(r.lr)]
    tall = min(300, max(170, 0.4 * width))
    losses = vertical(values, top + 20, tall, 6)
    panels = [(losses, "loss, logarithmic" if losses.log else "loss", lines)]
    if rates:
        rate = vertical([0, *(y for _, y in rates)], losses.start + 32, 50, 2)
        panels.append((rate, "learning rate", [Curve("learning rate", rates, RATE)]))
    left = 16 + LETTER * max(len(number(mark)) for scale, *_ in panels for mark in scale.marks)
    floor = panels[-1][0].start
    first, last = history.epochs[0].epoch, history.epochs[-1].epoch
    alone = 0.5 * (first == last)
    right = width - 18
    marks = ticks(first - alone, last + alone, max(2, int(right - left) // 75), integers=True)
    across = Scale(first - alone, last + alone, left, right, marks)
    if across(marks[0]) - across(first) > 30:
        marks.insert(0, first)
    for mark in marks:
        x = across(mark)
        lines_up = (f"M{x:.1f},{scale.start:.1f}V{scale.end:.1f}" for scale, *_ in panels)
        parts += [grid("".join(lines_up))]
        parts += [text_at(x, floor + 17, number(mark), "m")]
    parts += [text_at((left + right) / 2, floor + 36, "epoch", "m")]
    for scale, caption, inside in panels:
        parts += [text_at(left, scale.end - 8, caption)]
        for mark in scale.marks:
            y = scale(mark)
            parts += [grid(f"M{left:.1f},{y:.1f}H{right}")]
            parts += [text_at(left - 7, y + 4, number(mark), "e")]
        for line in inside:
            pixels = [(across(x), scale(y)) for x, y in line.points]
            title = tag("title", printable(line.name))
            style = f"c{line.colour % len(PAIRS)}"
            parts += [path(thin(pixels), style, title, **_stroke(line, len(pixels)))]
    if point := _best(history):
        x, y = across(point[0]), losses(point[1])
        steps = f"M{x:.1f},{floor:.1f}V{y:.1f}"
        parts += [tag("path", class_="best", stroke_dasharray="1 4", d=steps)]
        parts += [_ring(x, y)]
    return join(parts), floor + 46


def _stroke(line: Curve, points: int) -> dict[str, Scalar]:
    width = 6 if points == 1 else line.width
    return {"stroke_width": width, "stroke_dasharray": "5 4" if line.dashed else None}


def _ring(x: float, y: float) -> Markup:
    position = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": 4.5}
    return tag("circle", class_="best", **position, fill="none", stroke_width=2)


def _best(history: Course) -> tuple[int, float] | None:
    record = history.best
    if record is None:
        return None
    return record.epoch, record.loss if record.val_loss is None else record.val_loss


def _legend(history: Course, lines: Sequence[Curve], width: int) -> tuple[list[Markup], float]:
    """Return the legend in as many rows as needed, and where it ends."""
    best = _best(history)
    entries: list[tuple[str, Callable[[float, float], Markup]]] = []
    for line in lines:
        style, stroke = f"c{line.colour % len(PAIRS)}", _stroke(line, 2)
        entries.append(
            (line.name, lambda x, y, s=style, k=stroke: path([(x, y), (x + 20, y)], s, **k))
        )
    if best:
        entries.append((f"best: {best[1]:.4g}, epoch {best[0]}", lambda x, y: _ring(x + 10, y)))
    parts: list[Markup] = []
    x, y = 16.0, 22.0
    for name, draw in entries:
        space = 41 + LETTER * len(name)
        if x > 16 and x + space - 14 > width:
            x, y = 16.0, y + 20
        parts += [draw(x, y - 4), text_at(x + 27, y, name)]
        x += space
    return parts, y + 10


def figure(history: Course) -> Any:
    """Return the plot of a training as a Matplotlib figure.

    Raises `DataError` NNM709 if Matplotlib is not installed.
    """
    try:
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise DataError(
            "NNM709",
            "figure() needs Matplotlib, which is not installed",
            hint="pip install matplotlib (in a page: load the package), or plot(), which is SVG",
        ) from error
    result, (above, below) = pyplot.subplots(
        2, 1, sharex=True, layout="constrained", height_ratios=(4, 1)
    )
    lines = curves(history)
    for line in lines:
        above.plot(
            *zip(*line.points, strict=True),
            color=PAIRS[line.colour % len(PAIRS)][0],
            label=line.name,
            linestyle="--" if line.dashed else "-",
            linewidth=line.width,
            marker="o" if len(line.points) == 1 else None,
        )
    if lines and logarithmic([y for line in lines for _, y in line.points]):
        above.set_yscale("log")
    if best := _best(history):
        above.plot(*best, "o", mfc="none", color="0.4", label=f"best: {best[1]:.4g}")
    if lines:
        above.legend()
    below.plot(
        [r.epoch for r in history.epochs], [r.lr for r in history.epochs], color=PAIRS[RATE][0]
    )
    above.set_ylabel("loss")
    below.set(xlabel="epoch", ylabel="lr")
    return result
