"""Small tables as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table whose rows begin with their headings.

    >>> html_table([("loss", "<0.1")], "R&D")
    '<table><caption>R&amp;D</caption><tr><th>loss</th><td>&lt;0.1</td></tr></table>'
    """
    lines = (
        f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}{''.join(lines)}</table>"
