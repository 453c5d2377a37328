"""Plots the cost of scale as SVG: three panels with logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 860, 300
PANEL = 240
LEFT, TOP, TALL = 54, 40, 200
GAP = 40
SERIES = (("ours", "webnnm", "a"), ("webnn", "WebNN by hand", "b"))
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #333 }
.axis { stroke: #999; fill: none } .grid { stroke: #ddd; fill: none }
.a { stroke: #0b7680; fill: none; stroke-width: 2 } .b { stroke: #b4540a; fill: none;
  stroke-width: 2; stroke-dasharray: 6 3 }
circle.a { fill: #0b7680 } circle.b { fill: #b4540a }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .axis { stroke: #888 } .grid { stroke: #444 }
  .a { stroke: #4fc3d0 } .b { stroke: #f0a45d } circle.a { fill: #4fc3d0 }
  circle.b { fill: #f0a45d }
}
"""


def decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten that enclose values.

    >>> decades([0.2, 35.0])
    (-1, 2)
    """
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))


def svg(scale: Mapping[str, Any]) -> str:
    """Return the plot of the results of `bench.costs.scale`."""
    kinds = scale["kinds"]
    times = [p[name] for points in kinds.values() for p in points for name, _, _ in SERIES]
    low, high = decades(times)

    def y(value: float) -> float:
        return TOP + TALL * (1 - (math.log10(value) - low) / (high - low))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>Milliseconds of a training step by batch, width and depth</title>",
        f"<style>{STYLE}</style>",
    ]
    for number, (_, label, kind) in enumerate(SERIES):
        x = LEFT + 150 * number
        parts.append(f'<line class="{kind}" x1="{x}" y1="14" x2="{x + 26}" y2="14"/>')
        parts.append(f'<text x="{x + 32}" y="18">{label}</text>')
    for number, (kind, points) in enumerate(kinds.items()):
        left = LEFT + number * (PANEL + GAP)
        parts += _panel(kind, points, left, y, range(low, high + 1), first=number == 0)
    parts.append("</svg>\n")
    return "\n".join(parts)


def _panel(
    kind: str, points: Sequence[Any], left: int, y: Any, powers: range, *, first: bool
) -> list[str]:
    lowest, highest = (math.log2(points[k]["value"]) for k in (0, -1))

    def x(value: float) -> float:
        return left + 10 + (PANEL - 20) * (math.log2(value) - lowest) / ((highest - lowest) or 1)

    parts: list[str] = []
    for power in powers:
        at = y(10.0**power)
        end = left + PANEL
        parts.append(f'<line class="grid" x1="{left}" y1="{at:.1f}" x2="{end}" y2="{at:.1f}"/>')
        if first:
            parts.append(
                f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
            )
    base = TOP + TALL
    parts.append(f'<path class="axis" d="M{left} {TOP}V{base}H{left + PANEL}"/>')
    for point in points:
        value = point["value"]
        parts.append(
            f'<text x="{x(value):.1f}" y="{base + 18}" text-anchor="middle">{value}</text>'
        )
    middle = left + PANEL / 2
    unit = "ms by " if first else ""
    parts.append(f'<text x="{middle}" y="{base + 40}" text-anchor="middle">{unit}{kind}</text>')
    for name, _, look in SERIES:
        places = [(x(p["value"]), y(p[name])) for p in points]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline class="{look}" points="{line}"/>')
        parts += [f'<circle class="{look}" cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in places]
    return parts
