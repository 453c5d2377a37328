"""Numbers the classes of labels that are words."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import Any, cast

from webnnm.core.errors import DataError, suggestion
from webnnm.data.tables.columns import as_number

UNLABELLED = -1
"""The class of a row without a label, which counts in no loss and no metric (spec D.1)."""

_NUMBERS = re.compile(r"(int|float|complex|bool)\d*$", re.IGNORECASE)
"""Matches the element types of arrays of numbers, such as "uint8", "Float64", "torch.int32"."""


def encode_word_labels(
    where: str, labels: Any, names: Sequence[str] | None = None
) -> tuple[list[int], list[str]] | None:
    """Return the class number of each word and the names of the classes, None for other labels.

    >>> encode_word_labels("labels", ["b", "a", "", "b"])
    ([1, 0, -1, 1], ['a', 'b'])
    >>> encode_word_labels("labels", [0, 1])

    Classes are numbered in the order of `names`, or of the alphabet. Rows with None, NaN or an
    empty word have no label. Raises `DataError` NNM706 for a word that is not among `names`.
    """
    if _has_numbers(labels):
        return None
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(labels, method):
            labels = getattr(labels, method)()
            break
    if not isinstance(labels, (list, tuple)):
        return None
    texts: list[str | None] = []
    for label in cast("Sequence[Any]", labels):
        if isinstance(label, str):
            texts.append(label or None)
        elif hasattr(label, "__len__"):  # an array of labels
            return None
        elif label is None or label != label:
            texts.append(None)
        else:
            return None
    present = [text for text in texts if text is not None]
    if all(as_number(text) is not None for text in present):
        return None  # numbers in quotes, which may be measurements
    order = sorted(set(present)) if names is None else list(names)
    numbers = {text: number for number, text in enumerate(order)}
    for row, text in enumerate(texts):
        if text is not None and text not in numbers:
            hint = suggestion(text, order) or f"known: {', '.join(order[:8])}"
            raise DataError("NNM706", f'{where}: row {row} is "{text}"', hint=hint)
    return [UNLABELLED if text is None else numbers[text] for text in texts], order


def _has_numbers(labels: Any) -> bool:
    """Return whether labels are an array of numbers, which need not be looked at one by one."""
    is_typed = isinstance(labels, (array, memoryview, bytes, bytearray))
    return is_typed or _NUMBERS.search(str(getattr(labels, "dtype", ""))) is not None
