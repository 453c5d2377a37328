"""Drawings as text for Mermaid, which GitHub, GitLab and notebooks show as pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webnnm.diagram.boxes import Box, Drawing

SHAPES = {"input": ('(["', '"])'), "output": ('(["', '"])'), "layer": ('["', '"]')}
SPECIAL = '#"<>&`%$\\'
CLOSED = ('[["', '"]]')


def mermaid(drawing: Drawing) -> str:
    """Return a drawing as a Mermaid flowchart."""
    names: dict[str, str] = {}
    lines = ["flowchart TB", *_boxes(drawing.boxes, names, "  ")]
    for edge in drawing.edges:
        label = f'|"{_escape(edge.label)}"|' if edge.label else ""
        lines.append(f"  {names[edge.source]} -->{label} {names[edge.target]}")
    return "\n".join(lines) + "\n"


def _boxes(boxes: Iterable[Box], names: dict[str, str], indent: str) -> Iterator[str]:
    """Yield the lines of boxes; names are numbers, since titles may be keywords of Mermaid."""
    for box in boxes:
        name = names[box.id] = f"n{len(names)}"
        text = "<br>".join(map(_escape, [box.heading, *box.details]))
        if box.boxes:
            yield f'{indent}subgraph {name}["{text}"]'
            yield from _boxes(box.boxes, names, indent + "  ")
            yield f"{indent}end"
        else:
            before, after = SHAPES.get(box.kind, CLOSED)
            yield f"{indent}{name}{before}{text}{after}"


def _escape(text: str) -> str:
    """Return a text without the characters that mean something to Mermaid, or to HTML.

    Those end a label or a line, begin an element or an entity, a directive (%%), a formula ($$),
    an icon (fa:fa-…) or Markdown.
    """
    line = " ".join(text.split())
    return "".join(f"#{ord(letter)};" if letter in SPECIAL else letter for letter in line).replace(
        ":fa-", "#58;fa-"
    )
