"""Drawings as SVG: one element per box and edge, in colours for light and for dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from webnnm.core.markup import Markup, join, light_dark, stylesheet, tag
from webnnm.diagram.boxes import Box, Drawing
from webnnm.diagram.layout import Direction, Layout, Rectangle, Route, Size, lay_out

LINE, LETTER = 16, 6.9
"""Height of a line and width of a letter in pixels, generously estimated."""
SMALL = 6.1
"""Width of a letter of details and of labels."""
PADDING = 10
MIN_WIDTH = 72
BAR = 3
"""Height of the bar whose length shows the share of the parameters."""


def _style_rule(selector: str, name: str, light: str, dark: str) -> str:
    return light_dark(f".webnnm-diagram {selector}", name, light, dark)


STYLE = (
    # Only a standalone picture decides for itself whether it is dark; in a page the page does.
    "svg.webnnm-diagram:root{color-scheme:light dark}"
    ".webnnm-diagram{font:12px system-ui,sans-serif;max-width:100%;height:auto}"
    ".webnnm-diagram .details,.webnnm-diagram .label{font-size:11px}"
    ".webnnm-diagram text{text-anchor:middle}"
    ".webnnm-diagram .open>.head>text{text-anchor:start}"
    ".webnnm-diagram .edge path{fill:none;stroke-width:1.3}"
    ".webnnm-diagram .chosen>.head>rect:first-of-type{stroke-width:3}"
    + _style_rule("text", "fill", "#1d1f23", "#e6e7ea")
    + _style_rule(".details,.webnnm-diagram .label", "fill", "#4b5058", "#b6bac2")
    + _style_rule(".card", "fill", "#fff", "#1d2025")
    + _style_rule(".edge path", "stroke", "#7b8089", "#8b919c")
    + _style_rule(".edge polygon", "fill", "#7b8089", "#8b919c")
    + _style_rule("rect", "stroke", "#7b8089", "#8b919c")
    + _style_rule("rect", "fill", "#f3f2ef", "#2a2e35")
    + _style_rule(".open>.head>rect", "fill", "#faf9f7", "#22262c")
    + _style_rule(".learns>.head>rect", "fill", "#e3effa", "#17344f")
    + _style_rule(".block>.head>rect:first-of-type", "stroke", "#0b66b0", "#6db6f2")
    + _style_rule(".rewritten>.head>rect:first-of-type", "stroke", "#b4480a", "#ff9d5c")
    + _style_rule(".chosen>.head>rect:first-of-type", "stroke", "#0b66b0", "#6db6f2")
    + _style_rule(".learns rect.size", "fill", "#0b66b0", "#6db6f2")
    + _style_rule(".label", "stroke", "#fff", "#1d2025")
    # Wide enough for the gaps between numbers, where a line would look like a minus.
    + ".webnnm-diagram .label{stroke-width:8px;stroke-linejoin:round;paint-order:stroke}"
    + ".webnnm-diagram rect.size,.webnnm-diagram rect.card{stroke:none}"
)


def box_size(box: Box) -> Size:
    """Return the width and height of a box without boxes inside."""
    widths = [len(_heading(box)) * LETTER, *(len(line) * SMALL for line in box.details), MIN_WIDTH]
    return max(widths) + 2 * PADDING, LINE * (1 + len(box.details)) + PADDING


def label_size(text: str) -> Size:
    """Return the width and height of an edge label."""
    return (len(text) * SMALL + 6, LINE) if text else (0, 0)


def svg(drawing: Drawing, direction: Direction = "down", *, standalone: bool = True) -> Markup:
    """Return a drawing as an SVG document, in which values flow in a direction.

    Unless it is `standalone`, it comes without its style sheet, `STYLE`, which pages whose policy
    forbids inline styles adopt.

    Raises `BackendError` NNM709 if nothing can run the JavaScript of the layout.
    """
    layout = lay_out(drawing, box_size, label_size, direction)
    width, height = math.ceil(layout.width), math.ceil(layout.height)
    card = [stylesheet(STYLE), tag("rect", class_="card", width=width, height=height)]
    max_parameters = max((box.parameters for box in drawing.leaves()), default=0)
    return tag(
        "svg",
        tag("title", drawing.caption),
        *(card if standalone else ()),
        *(_box(box, layout, max_parameters) for box in drawing.boxes),
        *(_edge(e.label, route) for e, route in zip(drawing.edges, layout.edges, strict=True)),
        xmlns="http://www.w3.org/2000/svg",
        class_="webnnm-diagram",
        role="img",
        aria_label=drawing.caption,
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )


def _box(box: Box, layout: Layout, max_parameters: int) -> Markup:
    rectangle = layout.boxes[box.id]
    left, top = rectangle.x - rectangle.width / 2, rectangle.y - rectangle.height / 2
    shape = {"width": f"{rectangle.width:.1f}", "height": f"{rectangle.height:.1f}"}
    corner = {"x": f"{left:.1f}", "y": f"{top:.1f}"}
    rounding = 12 if box.kind in ("input", "output") else 4
    head = [tag("title", _tooltip(box)), tag("rect", **corner, **shape, rx=rounding)]
    if box.boxes:
        head.append(_text(left + PADDING, top + LINE, _heading(box)))
    else:
        head += _contents(box, rectangle, top)
    if box.parameters and not box.boxes:
        # Areas are compared by their square roots, as layers differ by orders of magnitude.
        length = rectangle.width * math.sqrt(box.parameters / max_parameters)
        bar = {"x": f"{left:.1f}", "y": f"{top + rectangle.height - BAR:.1f}"}
        head.append(tag("rect", class_="size", **bar, width=f"{length:.1f}", height=BAR))
    span = box.span
    return tag(
        "g",
        tag("g", *head, class_="head"),
        *(_box(inner, layout, max_parameters) for inner in box.boxes),
        class_=_classes(box),
        data_id=box.id,
        data_start=span.start if span else None,
        data_end=span.end if span else None,
    )


def _contents(box: Box, rectangle: Rectangle, top: float) -> Iterator[Markup]:
    yield _text(rectangle.x, top + LINE, _heading(box))
    for number, line in enumerate(box.details, 2):
        yield _text(rectangle.x, top + LINE * number, line, "details")


def _classes(box: Box) -> str:
    words = [box.kind]
    words += ["open"] if box.boxes else []
    words += ["learns"] if box.parameters and not box.boxes else []
    words += ["rewritten"] if box.rewrites else []
    return " ".join(words)


def _heading(box: Box) -> str:
    sign = ("− " if box.boxes else "+ ") if box.kind == "block" else ""
    return f"{sign}{box.heading}"


def _tooltip(box: Box) -> str:
    """Return the tooltip of a box."""
    per_copy = " each" if box.copies > 1 else ""
    parameters = [f"{box.parameters:,} parameters{per_copy}"] if box.parameters else []
    return "\n".join([box.heading, *(box.details or parameters), *box.rewrites])


def _text(x: float, y: float, text: str, style: str | None = None) -> Markup:
    # The line break keeps the words of two texts apart in screen readers.
    return join([tag("text", text, class_=style, x=f"{x:.1f}", y=f"{y:.1f}"), "\n"])


def _edge(label: str, route: Route) -> Markup:
    corners = " L".join(f"{x:.1f},{y:.1f}" for x, y in route.points)
    parts = [tag("path", d=f"M{corners}"), _arrow(route.points)]
    if route.x is not None and route.y is not None:
        parts.append(_text(route.x, route.y + 4, label, "label"))
    return tag("g", *parts, class_="edge")


def _arrow(points: Sequence[tuple[float, float]]) -> Markup:
    """Return the arrowhead at the end of a line."""
    (x0, y0), (x1, y1) = points[-2], points[-1]
    length = math.hypot(x1 - x0, y1 - y0) or 1
    dx, dy = 7 * (x1 - x0) / length, 7 * (y1 - y0) / length
    ends = [(x1, y1), (x1 - dx - dy / 2, y1 - dy + dx / 2), (x1 - dx + dy / 2, y1 - dy - dx / 2)]
    return tag("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in ends))
