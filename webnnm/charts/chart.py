"""A chart: a Vega-Lite specification, and the forms in which it is shown."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from webnnm.charts.theme import THEMES, Theme, configuration
from webnnm.core.errors import BackendError, DataError

if TYPE_CHECKING:
    from webnnm.core.markup import Markup

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
"""Features used here mean the same in versions 5 and 6; JupyterLab and VS Code show both."""
MIME = "application/vnd.vegalite.v5+json"
WIDTH = 480
"""The width in pixels of a chart outside a page."""
SUFFIXES = (".json", ".svg", ".png", ".html")
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
"""What a saved page may do: draw what is in it, and fetch nothing."""


@dataclass(frozen=True, repr=False)
class Chart:
    """A chart as a Vega-Lite specification, which notebooks display automatically.

    >>> Chart({"mark": "point", "description": "No points."}).to_dict()["mark"]
    'point'

    `spec` has neither colours nor a version: `to_dict` adds them, for a theme. Its `description` is
    the alternative text of the chart.
    """

    spec: Mapping[str, Any]

    @property
    def description(self) -> str:
        """What the chart shows, in words."""
        return self.spec["description"]

    def to_dict(self, theme: Theme = "light", *, width: int | str = WIDTH) -> dict[str, Any]:
        """Return the complete specification, as Vega-Lite programs take it.

        >>> Chart({"mark": "bar", "description": ""}).to_dict("dark")["config"]["background"]
        '#1d2025'

        `width` is in pixels, or "container" for the width of the element in a page; a chart of
        several parts, or with its own width, keeps it. Raises `DataError` NNM704 for a theme that
        is neither "light" nor "dark".
        """
        if theme not in THEMES:
            raise DataError("NNM704", f'theme="{theme}"', hint=f"one of {', '.join(THEMES)}")
        spec: dict[str, Any] = {"$schema": SCHEMA, "width": width, **_with_plain_titles(self.spec)}
        if "facet" in self.spec:
            del spec["width"]
        return spec | {"config": configuration(theme)}

    def to_json(self, theme: Theme = "light", *, width: int | str = WIDTH) -> str:
        """Return the complete specification as JSON.

        >>> Chart({"mark": "bar", "description": ""}).to_json()[:12]
        '{"$schema": '
        """
        return json.dumps(self.to_dict(theme, width=width))

    def to_page(self) -> str:
        """Return the specification and both themes as JSON, for light and dark pages.

        >>> sorted(json.loads(Chart({"mark": "bar", "description": ""}).to_page()))
        ['spec', 'themes']

        This is the argument of `show` in `components/charts.js`.
        """
        spec = self.to_dict(width="container")
        del spec["config"]
        return json.dumps({"spec": spec, "themes": {t: configuration(t) for t in THEMES}})

    def svg(self, theme: Theme = "light", *, width: int = WIDTH) -> str:
        """Return the chart as SVG.

        Raises `BackendError` NNM709 if vl-convert is not installed: `pip install "webnnm[charts]"`.
        """
        return _converter().vegalite_to_svg(self._drawable(theme, width))

    def save(
        self, path: str | PathLike[str], theme: Theme = "light", *, width: int = WIDTH
    ) -> None:
        """Write the chart to a file, in the format given by the extension of its name.

        `.json` is the specification; `.svg`, `.png` and `.html` (a self-contained page) need
        vl-convert. Raises `BackendError` NNM709 if it is not installed, `DataError` NNM704 for
        another extension.
        """
        from webnnm.core.atomic import write_atomically

        suffix = Path(path).suffix.lower()
        if suffix == ".json":
            content = json.dumps(self.to_dict(theme, width=width), indent=1).encode()
        elif suffix == ".svg":
            content = self.svg(theme, width=width).encode()
        elif suffix == ".png":
            content = _converter().vegalite_to_png(self._drawable(theme, width), scale=2)
        elif suffix == ".html":
            content = self._html(theme, width).encode()
        else:
            raise DataError(
                "NNM704",
                f"charts cannot be written as {suffix or 'a file without an extension'}",
                hint=f"end the name with one of {', '.join(SUFFIXES)}",
            )
        write_atomically(path, [content])

    def _drawable(self, theme: Theme = "light", width: int | str = WIDTH) -> dict[str, Any]:
        """Return the specification with texts that files can hold."""
        from webnnm.core.markup import representable

        return representable(self.to_dict(theme, width=width))

    def _html(self, theme: Theme, width: int) -> Markup:
        """Return a page with the chart and everything that draws it.

        vl-convert writes such a page too, but names from data could end its script. Vega-Embed's
        menu is off: it shows the source of the chart by writing it into a window as HTML.
        """
        from webnnm.core.markup import page, script, script_json, tag

        spec = script_json(self._drawable(theme, width))
        options = script_json({"actions": False, "renderer": "svg"})
        return page(
            self.description,
            tag("div", id="chart"),
            script(_converter().javascript_bundle()),
            script(f"vegaEmbed('#chart', {spec}, {options});"),
            head=[tag("meta", http_equiv="Content-Security-Policy", content=POLICY)],
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return what notebooks show: the specification, and the picture if it can be made."""
        bundle: dict[str, Any] = {MIME: self._drawable(), "text/plain": repr(self)}
        if _import_converter():
            bundle["image/svg+xml"] = self.svg()
        return bundle

    def __repr__(self) -> str:
        return f"<Chart: {self.description}>"


def _with_plain_titles(part: Any) -> Any:
    """Return a part of a specification whose titles are safe in expressions.

    Vega-Lite writes titles into the expressions of its tooltips and descriptions, as text between
    quotation marks, and escapes these alone: a backslash or the end of a line would end the text.
    """
    if isinstance(part, Mapping):
        entries = cast("Mapping[str, Any]", part)
        return {key: _plain_entry(key, value) for key, value in entries.items()}
    if isinstance(part, (list, tuple)):
        return [_with_plain_titles(entry) for entry in cast("Sequence[Any]", part)]
    return part


def _plain_entry(key: str, value: Any) -> Any:
    if key == "values":  # rows of data, which stand in no expression
        return value
    if key == "title" and isinstance(value, str):
        return " ".join(value.split()).replace("\\", "\N{REVERSE SOLIDUS OPERATOR}")
    return _with_plain_titles(value)


def _import_converter() -> Any:
    try:
        return importlib.import_module("vl_convert")
    except ImportError:
        return None


def _converter() -> Any:
    if converter := _import_converter():
        return converter
    raise BackendError(
        "NNM709",
        "pictures of charts need vl-convert, which is not installed",
        hint='pip install "webnnm[charts]", or use to_dict() with any Vega-Lite viewer',
    )
