"""The diagram of a model as users get it: SVG in notebooks, files and pages, or Mermaid."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webnnm.core.errors import BackendError, DataError
from webnnm.diagram.boxes import Drawing
from webnnm.diagram.layout import Direction
from webnnm.diagram.mermaid import mermaid
from webnnm.diagram.svg import svg

WRITERS = {".svg": svg, ".mmd": mermaid}


@dataclass(frozen=True)
class Diagram:
    """A picture of a network.

    Notebooks display it. `svg()` and `mermaid()` return it as text, `save(path)` writes it.
    """

    drawing: Drawing

    def svg(self, direction: Direction = "down", *, standalone: bool = True) -> str:
        """Return the diagram as an SVG document, in which values flow "down" or "right".

        Unless it is `standalone`, it has no style sheet: that is `webnnm.diagram.svg.STYLE`.

        Raises `BackendError` NNM709 on a desktop without `webnnm[diagram]`.
        """
        return svg(self.drawing, direction, standalone=standalone)

    def mermaid(self) -> str:
        """Return the diagram as a Mermaid flowchart, which Mermaid lays out itself."""
        return mermaid(self.drawing)

    def save(self, path: str | Path) -> None:
        """Write the diagram to a file, as SVG (.svg) or Mermaid (.mmd).

        Raises `DataError` NNM704 for other suffixes, and whatever `svg` raises.
        """
        write = WRITERS.get(Path(path).suffix.lower())
        if write is None:
            raise DataError(
                "NNM704", f'"{path}" does not end in {" or ".join(WRITERS)}', hint="name it so"
            )
        Path(path).write_text(write(self.drawing), encoding="utf-8")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return what notebooks show: the picture, or Mermaid if nothing can lay it out."""
        bundle = {"text/plain": repr(self)}
        try:
            bundle["image/svg+xml"] = self.svg()
        except BackendError:
            bundle["text/vnd.mermaid"] = self.mermaid()
        return bundle

    def __repr__(self) -> str:
        return f"<Diagram of {self.drawing.caption}>"
