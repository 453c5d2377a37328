"""Drawings of recorded results that need no program: sounds and forecasts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from webnnm.core.markup import Markup, tag

BARS = 110
"""Bars of the drawing of a sound."""
LINES = 4
"""Horizontal lines behind a forecast, about as many."""
LEFT, HEIGHT = 12, 90
"""Per cent of a drawing: where the lines of a forecast begin, and how high they are."""


def draw_sound(samples: Sequence[float], description: str, curve: Sequence[float] = ()) -> Markup:
    """Return the drawing of a sound, and of numbers from 0 to 1 over it.

    >>> print(draw_sound([0.5, -1.0], "Two samples"))
    <svg class="sound" viewBox="0 0 2 100" preserveAspectRatio="none" role="img" aria-label="Two \
samples"><path d="M0.5 26V74M1.5 2V98"/></svg>
    """
    count = min(BARS, len(samples))
    edges = [round(number * len(samples) / count) for number in range(count + 1)]
    parts = [samples[first:last] for first, last in pairwise(edges)]
    peaks = [max(map(abs, part)) for part in parts]
    heights = [48 * peak / (max(peaks) or 1.0) for peak in peaks]
    bars = "".join(f"M{x}.5 {50 - h:.0f}V{50 + h:.0f}" for x, h in enumerate(heights))
    width = count / max(1, len(curve) - 1)
    points = " ".join(f"{x * width:.1f},{100 - 100 * value:.0f}" for x, value in enumerate(curve))
    return tag(
        "svg",
        tag("path", d=bars),
        *([tag("polyline", points=points)] if points else []),
        class_="sound",
        viewBox=f"0 0 {count} 100",
        preserveAspectRatio="none",
        role="img",
        aria_label=description,
    )


def draw_forecast(
    past: Sequence[tuple[str, float]],
    forecast: Sequence[tuple[str, float]],
    interval: Sequence[tuple[float, float]],
    description: str,
) -> Markup:
    """Return the drawing of a series of dates and values, and of its forecast.

    Lines take the width that there is, letters keep their size: each January is the name of a year.

    >>> dates = [("2024-12-01", 1.0), ("2025-01-01", 3.0)]
    >>> "2025</text>" in draw_forecast(dates, [("2025-02-01", 2.0)], [(1.0, 4.0)], "Sold")
    True
    """
    low, high = min(v for v, _ in interval), max(v for _, v in interval)
    low = min(low, *(value for _, value in past))
    high = max(high, *(value for _, value in past))
    step = choose_step((high - low) / LINES)
    bottom, top = step * math.floor(low / step), step * math.ceil(high / step)
    width = 100 / (len(past) + len(forecast) - 1)

    def place(number: int, value: float) -> str:
        return f"{number * width:.1f},{100 * (top - value) / (top - bottom):.1f}"

    def join_points(values: Sequence[float], first: int) -> str:
        return " ".join(place(first + at, value) for at, value in enumerate(values))

    last, end = len(past) - 1, past[-1][1]
    lowest, highest = [end, *(one for one, _ in interval)], [end, *(one for _, one in interval)]
    corners = [place(last + at, value) for at, value in reversed([*enumerate(highest)])]
    levels = [bottom + step * number for number in range(round((top - bottom) / step) + 1)]
    shares = [(top - level) / (top - bottom) for level in levels]
    years = [
        (LEFT + (100 - LEFT) / 100 * number * width, time[:4])
        for number, (time, _) in enumerate([*past, *forecast])
        if time[5:7] == "01"
    ]
    curves = tag(
        "svg",
        tag("path", d="".join(f"M0 {100 * share:.1f}H100" for share in shares)),
        tag("polygon", points=" ".join([join_points(lowest, last), *corners])),
        tag("polyline", points=join_points([value for _, value in past], 0)),
        tag("polyline", points=join_points([end, *(value for _, value in forecast)], last)),
        x=f"{LEFT}%",
        width=f"{100 - LEFT}%",
        height=f"{HEIGHT}%",
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )
    return tag(
        "svg",
        curves,
        *(
            tag("text", f"{level:,g}", x="0", y=f"{HEIGHT * share:.1f}%", dy="0.3em")
            for level, share in zip(levels, shares, strict=True)
        ),
        *(tag("text", year, x=f"{x:.1f}%", y="100%") for x, year in years),
        class_="forecast",
        role="img",
        aria_label=description,
    )


def choose_step(size: float) -> float:
    """Return a round number that is no smaller than another: 1, 2 or 5 times a power of ten.

    >>> choose_step(340.0), choose_step(0.15)
    (500.0, 0.2)
    """
    power = 10.0 ** math.floor(math.log10(size))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= size)
