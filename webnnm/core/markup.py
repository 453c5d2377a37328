"""HTML tables and CSS rules for what notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(rows: Iterable[Sequence[str]], caption: str = "", *, head: bool = False) -> str:
    """Return a table whose rows begin with a heading; with `head`, the first row is all headings.

    >>> html_table([("loss", "<0.1")], "R&D")
    '<table><caption>R&amp;D</caption><tr><th>loss</th><td>&lt;0.1</td></tr></table>'
    """
    rows = iter(rows)
    columns = "".join(f"<th>{escape(cell)}</th>" for cell in next(rows)) if head else ""
    columns = f"<thead><tr>{columns}</tr></thead>" * head
    lines = (
        f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}{columns}{''.join(lines)}</table>"


def light_dark(selector: str, name: str, light: str, dark: str) -> str:
    """Return the CSS rule that gives a property one colour in light schemes and another in dark.

    Renderers that do not know `light-dark()` use the light colour.

    >>> light_dark(".card", "fill", "#fff", "#111")
    '.card{fill:#fff;fill:light-dark(#fff,#111)}'
    """
    return f"{selector}{{{name}:{light};{name}:light-dark({light},{dark})}}"
