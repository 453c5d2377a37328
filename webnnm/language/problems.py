"""The mistakes in a text, with the edits that fix them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from webnnm.core.errors import Edit, ModelError, Span, WebNNMError
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.outline import Warning
from webnnm.graph.elaboration.vertices import Network
from webnnm.notation import parse


@dataclass(frozen=True)
class Problem:
    """An error or warning about a range of a text.

    `fix` is the edit that fixes it and `title` its description; None and "" if only the author can
    fix it.
    """

    start: int
    end: int
    severity: Literal["error", "warning"]
    code: str
    message: str
    hint: str = ""
    title: str = ""
    fix: Edit | None = None


class Checked(NamedTuple):
    """The meaning of a text, None if it has none, and its mistakes."""

    network: Network | None
    errors: tuple[WebNNMError, ...]
    warnings: tuple[Warning, ...]


@lru_cache(maxsize=4)
def elaborate_text(text: str) -> Checked:
    """Return the meaning of a text, cached because an editor asks about the same text repeatedly.

    >>> found = elaborate_text("m:input shape=[4]; m:output shape=[4]; m:layers sofmax();")
    >>> found.network, found.errors[0].code
    (None, 'NNM204')
    """
    try:
        network = elaborate(parse(text))
    except ModelError as error:
        return Checked(None, (error, *error.others), ())
    return Checked(network, (), tuple(network.warnings))


def diagnose(text: str) -> list[Problem]:
    """Return the errors of a text, or its warnings if there are no errors.

    >>> text = "m:input shape=[4]; m:output shape=[4]; m:layers sofmax();"
    >>> diagnose(text)[0].title, diagnose(text)[0].fix
    ('Change to "softmax"', Edit(start=48, end=54, text='softmax'))
    """
    return list(_problems(text))


def _problems(text: str) -> Iterator[Problem]:
    meaning = elaborate_text(text)
    # Errors count from after a byte-order mark.
    mark = len(text) - len(text.removeprefix("\ufeff"))
    for issue in (*meaning.errors, *meaning.warnings):
        start, end = _visible(issue.span or Span(0, 0), text, mark)
        fix = issue.fix and Edit(issue.fix.start + mark, issue.fix.end + mark, issue.fix.text)
        yield Problem(
            start,
            end,
            "error" if isinstance(issue, WebNNMError) else "warning",
            issue.code,
            issue.message,
            getattr(issue, "hint", ""),
            fix.title(text) if fix else "",
            fix,
        )


def _visible(span: Span, text: str, mark: int) -> tuple[int, int]:
    """Return a visible range: at least one character, if there are any."""
    start, end = span.start + mark, span.end + mark
    if end <= start:
        start, end = (start, start + 1) if start < len(text) else (max(0, len(text) - 1), len(text))
    return start, min(end, len(text))
