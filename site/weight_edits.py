"""Weights of the playground that somebody has set, each after an epoch, as a part of its link."""

import math
from typing import NamedTuple

MAX_EDITS = 200
"""The maximum number of weights that a link sets."""
MAX_VALUE = 1e6
"""The largest weight that a link or a field of the page sets, and with a minus the least."""


class WeightEdit(NamedTuple):
    """A weight that is set after an epoch.

    - `column`: the layer whose units have it, from 0; `unit`: one of its units.
    - `source`: the unit of the layer before it, or -1 for the bias.
    """

    epoch: int
    column: int
    source: int
    unit: int
    value: float


def format_edits(edits):
    """Return edits as a link has them."""
    return ";".join(",".join(map(str, edit)) for edit in edits)


def parse_edits(text):
    """Return the edits of a link, and what is wrong with it."""
    parts = [part for part in text.split(";") if part]
    edits = [edit for part in parts[:MAX_EDITS] if (edit := parse_edit(part)) is not None]
    wrong = len(parts) - len(edits)
    return edits, [f"{wrong} of the weights cannot be set"] if wrong else []


def parse_edit(text):
    """Return an edit, or None if a text is none."""
    try:
        *places, value = text.split(",")
        edit = WeightEdit(*map(int, places), float(value))
    except (ValueError, TypeError):
        return None
    is_place = edit.epoch > 0 and edit.column >= 0 and edit.source >= -1 and edit.unit >= 0
    return edit if is_place and math.isfinite(edit.value) and abs(edit.value) <= MAX_VALUE else None
