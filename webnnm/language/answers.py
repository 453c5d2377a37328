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
        return offset + sum(place < offset for place in self._wide)

    def points(self, offset: int) -> int:
        """Return an offset in code points; inside a character, the offset of its start."""
        for count, place in enumerate(self._wide):
            if offset <= place + count:
                return offset - count
            if offset == place + count + 1:
                return place
        return offset - len(self._wide)


def complete(text: str, offset: int) -> dict[str, Any] | None:
    """Return what can be written at an offset.

    >>> complete("m:loss ", 7)["options"][0]["label"]
    'MSE'
    """
    at = Offsets(text)
    found = completion.complete(text, at.points(offset))
    if found is None:
        return None
    options = [vars(each) for each in found.options]
    return {"from": at.utf16(found.start), "to": at.utf16(found.end), "options": options}


def hover(text: str, offset: int) -> dict[str, Any] | None:
    """Return what is known about the word at an offset.

    >>> hover("m:loss MSE;", 8)["help"]
    'mean squared error'
    """
    at = Offsets(text)
    found = hovering.hover(text, at.points(offset))
    if found is None:
        return None
    said = {"code": found.code, "help": found.help, "facts": list(found.facts)}
    return {"from": at.utf16(found.start), "to": at.utf16(found.end), **said}


def signature(text: str, offset: int) -> dict[str, Any] | None:
    """Return the signature of the layer in whose parentheses an offset is.

    >>> signature("m:layers clamp(minValue=", 24)["code"]
    'clamp(minValue=-inf, maxValue=inf)'
    """
    found = hovering.signature_help(text, Offsets(text).points(offset))
    if found is None:
        return None
    return {"code": found.code, "help": found.help, "from": found.start, "to": found.end}


def diagnose(text: str) -> list[dict[str, Any]]:
    """Return the mistakes in a text, each with the edits that fix it, if known.

    >>> diagnose("m:input shape=[4]; m:output shape=[4]; m:layers sofmax();")[0]["fix"]
    {'title': 'Change to "softmax"', 'edits': [{'from': 48, 'to': 54, 'insert': 'softmax'}]}
    """
    at = Offsets(text)
    return [
        {
            "from": at.utf16(each.start),
            "to": at.utf16(each.end),
            "severity": each.severity,
            "code": each.code,
            "message": each.message,
            "hint": each.hint,
            "fix": {"title": each.title, "edits": _edits([each.fix], at)} if each.fix else None,
        }
        for each in problems.diagnose(text)
    ]


def renamed(text: str, offset: int) -> dict[str, Any] | None:
    """Return the name at an offset that can be renamed, None if there is none.

    >>> renamed("m:layers unit(); unit:layers relu();", 10)
    {'name': 'unit', 'from': 9, 'to': 13}
    """
    at = Offsets(text)
    found = renaming.target_at(text, at.points(offset))
    if found is None:
        return None
    return {"name": found.name, "from": at.utf16(found.start), "to": at.utf16(found.end)}


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
        return {"text": formatting.formatted(text)}
    except ModelError as error:
        return {"error": f"line {error.line}, column {error.column}: {error.message}"}


def _edits(edits: Sequence[Edit], at: Offsets) -> list[dict[str, Any]]:
    return [
        {"from": at.utf16(each.start), "to": at.utf16(each.end), "insert": each.text}
        for each in edits
    ]
