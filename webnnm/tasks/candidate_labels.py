"""Labels that are only named when something is classified, and the texts that stand for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.tasks.text_rows import encode_text, pad_rows
from webnnm.transformers.hub_model import HubModel


def split_labels(labels: str | Sequence[str]) -> list[str]:
    """Return labels, of which one text with commas has several.

    >>> split_labels("cat, dog")
    ['cat', 'dog']

    Raises `DataError` NNM704 if there is none.
    """
    parts = labels.split(",") if isinstance(labels, str) else labels
    names = [label.strip() if isinstance(labels, str) else label for label in parts]
    names = [name for name in names if name]
    if not names:
        raise DataError("NNM704", "there are no labels", hint="give at least one")
    return names


def fill_template(labels: str | Sequence[str], template: str) -> tuple[list[str], list[str]]:
    """Return labels, of which one text with commas has several, and a text for each.

    >>> fill_template("cat, dog", "a {}")
    (['cat', 'dog'], ['a cat', 'a dog'])

    Raises `DataError` NNM704 if there is no label, or no {} in the template.
    """
    names = split_labels(labels)
    if template.format(names[0]) == template:
        message = f'hypothesis_template "{template}" has no place for the label'
        raise DataError("NNM704", message, hint="write {} where the label belongs")
    return names, [template.format(name) for name in names]


def encode_labels(model: HubModel, labels: Sequence[str]) -> Mapping[str, Any]:
    """Return the inputs of a model for labels, padded to the longest."""
    rows = [encode_text(model, label, truncation=None).ids for label in labels]
    return pad_rows(model, rows, max(map(len, rows)))
