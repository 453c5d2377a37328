"""The colours of charts on light and dark backgrounds, as Vega-Lite configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

SERIES: Mapping[Theme, Sequence[str]] = {
    "light": ("#0072b2", "#c14a00", "#00795a", "#9b3f86", "#7a5d00", "#4b5563"),
    "dark": ("#63b8ec", "#ff9a5c", "#3fcf9f", "#e08fce", "#d9b82e", "#b6bcc6"),
}
"""After Okabe and Ito, distinguishable by the colour-blind; each has a contrast of at least 4.5
to its background."""
DASHES = ([1, 0], [6, 4], [2, 3], [8, 3, 2, 3])
"""The dashes of lines, so that they can be distinguished without colours."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
"""The shapes of points, for the same reason."""
STRAIGHT = {"interpolate": "rgb"}
"""How the colours of numbers are interpolated: from the background, with no hue in between."""
FONT = "system-ui, sans-serif"


def configuration(theme: Theme) -> dict[str, Any]:
    """Return the Vega-Lite configuration of colours and fonts.

    >>> configuration("dark")["background"]
    '#1d2025'
    """
    dark = theme == "dark"
    ground, text = ("#1d2025", "#e6e7ea") if dark else ("#ffffff", "#1d1f23")
    quiet, grid = ("#a6acb7", "#3b414b") if dark else ("#565b64", "#dfdcd6")
    series = list(SERIES[theme])
    return {
        "background": ground,
        "font": FONT,
        # Names with which charts refer to a colour of the theme.
        "params": [
            {"name": "ground", "value": ground},
            {"name": "text", "value": text},
            {"name": "quiet", "value": quiet},
        ],
        "axis": {
            "domainColor": quiet,
            "gridColor": grid,
            "labelColor": text,
            "labelFontSize": 12,
            "tickColor": quiet,
            "titleColor": text,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
        "header": {"labelColor": text, "titleColor": text},
        "legend": {
            "labelColor": text,
            "labelFontSize": 12,
            "orient": "top",
            # Pale values as measured do not make the legend pale.
            "symbolOpacity": 1,
            "symbolStrokeWidth": 2,
            "title": None,
            "titleColor": text,
        },
        "mark": {"color": series[0]},
        "range": {
            "category": series,
            "diverging": [series[1], ground, series[0]],
            "heatmap": [ground, series[0]],
            "ramp": [ground, series[0]],
            "symbol": list(SHAPES),
        },
        "text": {"color": text},
        "title": {"color": text},
        "view": {"stroke": grid},
    }
