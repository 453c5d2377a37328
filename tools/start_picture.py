"""Draws profiles of the first seconds as an SVG of stacked bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webnnm.core.markup import Markup, tag

Profile = Mapping[str, Mapping[str, float]]
"""Dataset → stage → milliseconds."""

PARTS: Mapping[str, tuple[str, ...]] = {
    "page and WebAssembly": ("document", "fetch"),
    "start of Python": ("python",),
    "wheels and imports": ("wheels", "import", "names"),
    "the dataset": ("data",),
    "create and review": ("create", "review"),
    "trial of parameters, step compiled, first step": ("scouting", "build", "rest"),
}
"""Part of a bar → stages of a profile."""

COLOURS = ("#5b7c99", "#0b7680", "#7cb5a0", "#c9a227", "#b4540a", "#8a5a83")
WIDTH, LEFT, TOP = 860, 190, 54
BAR, GAP, BETWEEN = 22, 6, 18
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #333 } .seconds { font-weight: 600 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } }
"""


def draw(profiles: Mapping[str, Profile]) -> Markup:
    """Return a bar for each dataset of each profile, one under the other.

    >>> draw({"now": {"Iris": {"python": 500, "data": 20}}}).count("<rect")
    8
    """
    datasets = list(next(iter(profiles.values())))
    longest = max(sum(stages.values()) for each in profiles.values() for stages in each.values())
    scale = (WIDTH - LEFT - 60) / longest
    parts, top = [*_draw_legend()], TOP
    for dataset in datasets:
        for name, profile in profiles.items():
            label = f"{dataset}, {name}"
            parts += _draw_bar(label, profile[dataset], top, scale)
            top += BAR + GAP
        top += BETWEEN
    title = "Seconds from the navigation to the first training step, by stage"
    return tag(
        "svg",
        tag("title", title),
        tag("style", STYLE),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {top - BETWEEN + GAP}",
        role="img",
    )


def _draw_legend() -> Iterator[Markup]:
    for number, (part, colour) in enumerate(zip(PARTS, COLOURS, strict=True)):
        x, y = 8 + 190 * (number % 3), 6 + 20 * (number // 3)
        yield tag("rect", x=x, y=y, width=12, height=12, fill=colour)
        yield tag("text", part, x=x + 18, y=y + 11)


def _draw_bar(label: str, stages: Mapping[str, float], top: int, scale: float) -> Iterator[Markup]:
    yield tag("text", label, x=LEFT - 10, y=top + 16, text_anchor="end")
    x = float(LEFT)
    for names, colour in zip(PARTS.values(), COLOURS, strict=True):
        width = sum(stages.get(name, 0) for name in names) * scale
        if width:
            yield tag("rect", x=f"{x:.1f}", y=top, width=f"{width:.1f}", height=BAR, fill=colour)
        x += width
    seconds = f"{sum(stages.values()) / 1000:.1f} s"
    yield tag("text", seconds, x=f"{x + 6:.1f}", y=top + 16, class_="seconds")
