"""Answers for an editor as plain values, with offsets as JavaScript counts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.errors import Edit, ModelError, WebNNMError
from webnnm.language import completion, formatting, hovering, problems, renaming


class Offsets:
    """The offsets of a text in code points, as Python has them, and in UTF-16 units.

    >>> offsets = Offsets("a😀b")
    >>> offsets.utf16(2), offsets.points(3)
    (3, 2)
    """

    def __init__(self, text: str) -> None:
        # Positions of the characters that take two units; few texts have any.
        self._wide = [index for index, letter in enumerate(text) if letter > "\uffff"]

    def utf16(self, offset: int) -> int:
        """Return an offset in UTF-16 units."""
        return offset + sum(position < offset for position in self._wide)

    def points(self, offset: int) -> int:
        """Return an offset in code points; inside a character, the offset of its start."""
        for count, position in enumerate(self._wide):
            if offset <= position + count:
                return offset - count
            if offset == position + count + 1:
                return position
        return offset - len(self._wide)


def complete(text: str, offset: int) -> dict[str, Any] | None:
    """Return completions at an offset.

    >>> complete("m:loss ", 7)["options"][0]["label"]
    'MSE'
    """
    at = Offsets(text)
    completions = completion.complete(text, at.points(offset))
    if completions is None:
        return None
    options = [vars(option) for option in completions.options]
    return {
        "from": at.utf16(completions.start),
        "to": at.utf16(completions.end),
        "options": options,
    }


def hover(text: str, offset: int) -> dict[str, Any] | None:
    """Return documentation of the name at an offset.

    >>> hover("m:loss MSE;", 8)["help"]
    'mean squared error'
    """
    at = Offsets(text)
    info = hovering.hover(text, at.points(offset))
    if info is None:
        return None
    texts = {"code": info.code, "help": info.help, "facts": list(info.facts)}
    return {"from": at.utf16(info.start), "to": at.utf16(info.end), **texts}


def signature(text: str, offset: int) -> dict[str, Any] | None:
    """Return the signature of the layer in whose parentheses an offset is.

    >>> signature("m:layers clamp(minValue=", 24)["code"]
    'clamp(minValue=-inf, maxValue=inf)'
    """
    help = hovering.signature_help(text, Offsets(text).points(offset))
    if help is None:
        return None
    return {"code": help.code, "help": help.help, "from": help.start, "to": help.end}


def diagnose(text: str) -> list[dict[str, Any]]:
    """Return the mistakes in a text, each with the edits that fix it, if known.

    >>> diagnose("m:input shape=[4]; m:output shape=[4]; m:layers sofmax();")[0]["fix"]
    {'title': 'Change to "softmax"', 'edits': [{'from': 48, 'to': 54, 'insert': 'softmax'}]}
    """
    at = Offsets(text)
    return [
        {
            "from": at.utf16(problem.start),
            "to": at.utf16(problem.end),
            "severity": problem.severity,
            "code": problem.code,
            "message": problem.message,
            "hint": problem.hint,
            "fix": {"title": problem.title, "edits": _edits([problem.fix], at)}
            if problem.fix
            else None,
        }
        for problem in problems.diagnose(text)
    ]


def renamed(text: str, offset: int) -> dict[str, Any] | None:
    """Return the name at an offset that can be renamed, None if there is none.

    >>> renamed("m:layers unit(); unit:layers relu();", 10)
    {'name': 'unit', 'from': 9, 'to': 13}
    """
    at = Offsets(text)
    target = renaming.target_at(text, at.points(offset))
    if target is None:
        return None
    return {"name": target.name, "from": at.utf16(target.start), "to": at.utf16(target.end)}


def rename(text: str, offset: int, name: str) -> dict[str, Any]:
    """Return the edits that rename the name at an offset, or why the new name is impossible.

    >>> rename("m:layers unit(); unit:layers relu();", 10, "relu")
    {'error': '"relu" is already used in line 1: use another name'}
    """
    at = Offsets(text)
    try:
        edits = renaming.rename(text, at.points(offset), name)
    except WebNNMError as error:
        return {"error": f"{error.message}: {error.hint}" if error.hint else error.message}
    return {"edits": _edits(edits, at)}


def format(text: str) -> dict[str, Any]:
    """Return a text in canonical form, or why it has none.

    >>> format("m:layers relu( )")
    {'text': 'm:layers\\n  relu();\\n'}
    """
    try:
        return {"text": formatting.format_text(text)}
    except ModelError as error:
        return {"error": f"line {error.line}, column {error.column}: {error.message}"}


def _edits(edits: Sequence[Edit], at: Offsets) -> list[dict[str, Any]]:
    return [
        {"from": at.utf16(edit.start), "to": at.utf16(edit.end), "insert": edit.text}
        for edit in edits
    ]
