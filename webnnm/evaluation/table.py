"""Reports as text: aligned tables and lines of named numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webnnm.core.markup import Markup


def table(rows: Sequence[Sequence[str]]) -> str:
    """Align the first column to the left, the other columns to the right.

    >>> print(table([["class", "rows"], ["a", "12"]]))
    class  rows
    a        12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


class Tabular(ABC):
    """A report of lines with a table below them, as text, and as HTML in notebooks.

    >>> class Rows(Tabular):
    ...     def _describe(self): return ["2 rows"], [["class", "rows"], ["a", "2"]]
    >>> print(Rows())
    2 rows
    class  rows
    a         2
    """

    @abstractmethod
    def _describe(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Return the lines, and the rows of the table, the first of which has the headings."""

    def __str__(self) -> str:
        lines, rows = self._describe()
        return "\n".join([*lines, *([table(rows)] if rows else [])])

    def to_html(self) -> Markup:
        """Return lines and table as HTML, as shown in notebooks."""
        from webnnm.core.markup import html_table, join, tag

        lines, rows = self._describe()
        texts = [tag("p", text) for text in lines]
        return join([*texts, *([html_table(rows, head=True)] if rows else [])])

    _repr_html_ = to_html


def decimals(values: Iterable[float], places: int = 3) -> list[str]:
    """Write numbers with this many decimals, and undefined values as a dash.

    >>> decimals([0.5, float("nan")])
    ['0.500', '–']
    """
    return [f"{value:.{places}f}" if value == value else "–" for value in values]


def line(values: Iterable[tuple[str, float]]) -> str:
    """Write named numbers in a line.

    >>> line([("accuracy", 0.5), ("ROC-AUC", 1.0)])
    'accuracy 0.5000, ROC-AUC 1.0000'
    """
    return ", ".join(f"{name} {decimals([value], 4)[0]}" for name, value in values)
