"""The export table: every operator that ONNX has too, by its name in WebNN."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.formats.onnx.exporting import (
    elementwise,
    images,
    indices,
    movement,
    reductions,
    sorting,
)
from webnnm.formats.onnx.exporting.entry import Entry

TABLE: Mapping[str, Entry] = {
    **elementwise.ENTRIES,
    **images.ENTRIES,
    **indices.ENTRIES,
    **movement.ENTRIES,
    **reductions.ENTRIES,
    **sorting.ENTRIES,
}
"""Operators that are not here, or whose entry does not cover a call, are decomposed."""
