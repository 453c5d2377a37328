"""What a diagram shows: nested boxes, and edges between the innermost ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from webnnm.core.errors import Span

Kind = Literal["input", "output", "layer", "block"]


@dataclass(eq=False, kw_only=True)
class Box:
    """An input, an output, a layer, or a block.

    `title` is its name, `details` are further lines; `copies` is the number of equal boxes that
    follow one another; `parameters` the number of learnt values in one of them; `rewrites` what was
    changed for the device; `span` its place in the text. An open block has `boxes`, a closed one
    has none.
    """

    id: str
    kind: Kind
    title: str
    details: Sequence[str] = ()
    copies: int = 1
    parameters: int = 0
    rewrites: Sequence[str] = ()
    span: Span | None = None
    boxes: list[Box] = field(default_factory=list["Box"])

    @property
    def heading(self) -> str:
        """The title, with the number of copies if there are several."""
        return f"{self.title} × {self.copies}" if self.copies > 1 else self.title

    def leaves(self) -> Iterator[Box]:
        """Yield the boxes without boxes inside, or the box itself if it has none."""
        if not self.boxes:
            yield self
        for box in self.boxes:
            yield from box.leaves()


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A value that passes from one box to another; `label` gives its shape."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """The boxes and edges of a diagram; `caption` says what they show."""

    caption: str
    boxes: Sequence[Box]
    edges: Sequence[Edge]

    def leaves(self) -> Iterator[Box]:
        """Yield the boxes without boxes inside."""
        for box in self.boxes:
            yield from box.leaves()
