"""Explains what labels and values that do not fit a model are, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import count
from webnnm.data.binding.matching import Slot, bind_field, find_field
from webnnm.data.field import Field

MAX_WORDS = 4
"""How many words a message shows."""


def explain_mismatch(
    error: DataError,
    fields: Mapping[str, Field],
    slots: Mapping[str, Slot],
    values: Mapping[str, HostArray],
) -> DataError:
    """Return an error on outputs that do not fit, with what the labels are and what would fit.

    >>> numbers = {"y": HostArray.of([1, 3, 2], "int32")}
    >>> fields = {"y": Field((), "int32")}
    >>> found = explain_mismatch(DataError("NNM702", ""), fields, {"m": Slot((3,))}, numbers)
    >>> print(found.message, "→", found.hint)
    output "m": labels are numbered from 1 to 3, classes from 0 to 2 → subtract 1 from the labels

    - `fields`, `values`: those of the dataset, by field; `slots`: those of the model, by block.
    """
    for block, slot in slots.items():
        name = find_field(block, fields, alone=len(slots) == 1)
        if name not in fields:
            continue
        try:
            bind_field(f'output "{block}"', name, fields[name], slot)
        except DataError as mismatch:
            message, hint = _describe_labels(name, fields[name], slot, values[name])
            where = f'output "{block}": '
            return DataError(
                mismatch.code,
                where + message if message else mismatch.message,
                hint=hint or mismatch.hint,
            )
    return error


def explain_positions(
    fields: Mapping[str, Field],
    slots: Mapping[str, Slot],
    along: Mapping[str, str],
    sequence: Mapping[str, int],
) -> DataError | None:
    """Return an error for labels of whole rows where positions have outputs, or the reverse.

    - `along`: output block → the sequence that it has; `sequence`: name → length.

    None if something else is wrong.
    """
    for block, slot in slots.items():
        name = find_field(block, fields, alone=len(slots) == 1)
        if name not in fields:
            continue
        problem = _describe_positions(fields[name], slot, along.get(block), sequence)
        if problem:
            message, hint = problem
            return DataError("NNM702", f'output "{block}": {message}', hint=hint)
    return None


def _describe_positions(
    field: Field, slot: Slot, own: str | None, sequence: Mapping[str, int]
) -> tuple[str, str] | None:
    single = ((), (1,))
    if own is not None:
        length = sequence.get(own, 1)
        row_shapes = single if field.kind == "classes" else (*single, slot.shape[1:])
        if length == 1 or field.shape not in row_shapes:
            return None
        if field.shape == (length,) and slot.shape[1:] in single:
            return None  # a number for each position
        return (
            f'labels are for whole rows, and the model has an output at each position of "{own}"',
            f"write reduceMean(axes=[{own}]) before the last layers, or give labels by position",
        )
    for name, length in sequence.items():
        rest = field.shape[1:]
        fits = rest == slot.shape or (field.kind == "classes" and rest in single)
        if field.shape[:1] == (length,) and fits and field.shape != slot.shape:
            return (
                f'labels are for {length} positions of "{name}", and the model has one output for '
                "each row",
                f'leave out the layer that ends the sequence "{name}", such as '
                f"reduceMean(axes=[{name}]), or give one label for each row",
            )
    return None


def _describe_labels(name: str, field: Field, slot: Slot, values: HostArray) -> tuple[str, str]:
    """Return what the labels are, compared with the scores of a model, and what to do."""
    scores = slot.shape[-1] if slot.shape else 1
    moved = _other_order(field, slot)
    if moved:
        return moved
    if field.kind == "onehot" and field.shape:
        classes = field.shape[-1]
        count_of_scores = "one score" if scores == 1 else f"{scores} scores"
        message = f"one-hot rows have {classes} classes, the model has {count_of_scores}"
        hint = f"write shape={[*slot.shape[:-1], classes]} at the output"
        if scores == 1 and not field.declared:  # by a table, whose numbers may be either
            hint += '; for the quantities of a table, task="regression"'
        return message, hint
    flat = values.values()
    single = scores > 1 and count(field.shape) == count(slot.shape[:-1])
    if not single or any(value != int(value) for value in flat):
        own = list(field.shape or (1,))
        return "", "" if field.sequence else f"write shape={own} at the output"
    low, high = int(min(flat)), int(max(flat))
    if field.kind == "multilabel" and scores == 2:
        message = f"labels are 0 and 1 as {field.dtype}, which means yes and no, not 2 classes"
        fit = "write shape=[1] at the output and end in sigmoid()"
        return message, f'set kinds={{"{name}": "classes"}}, or {fit}'
    if low == 1 and high == scores:
        message = f"labels are numbered from 1 to {high}, classes from 0 to {scores - 1}"
        return message, "subtract 1 from the labels"
    if low == -1 and high == 1 and 0 not in flat:
        return "labels are −1 and 1", "make them 0 and 1: (labels + 1) / 2, as integers"
    if low < 0 and high - low < scores:
        message = f"labels are integers {low} … {high}, classes are numbered from 0"
        unlabelled = (
            f'with kinds={{"{name}": "classes"}} negative numbers mark rows without a label'
        )
        return message, f"add {-low} to the labels; {unlabelled}"
    fitting = f"write shape={[*slot.shape[:-1], high + 1]}"
    if high >= scores and low >= 0:
        if field.kind == "classes":
            return "", f"{fitting} at the output, or correct the labels"
        message = f"labels go up to {high}, the model has {scores} scores, for 0 … {scores - 1}"
        return message, f"{fitting} at the output, or correct the labels"
    if low >= 0:
        every = len(set(flat)) == scores
        kind = f"as {values.dtype}" if every else f"not all of 0 … {scores - 1}"
        message = f"labels are integers {low} … {high}, {kind}, which means measurements"
        declared = f'set kinds={{"{name}": "classes"}}'
        return message, f"{declared}, or give integers" if every else declared
    return "", ""


def _other_order(field: Field, slot: Slot) -> tuple[str, str] | None:
    """Return what to do about scores whose classes come first, None if they do not.

    The labels of a picture are a class for each pixel, or have their channels last.
    """
    first, rest = slot.shape[:1], slot.shape[1:]
    if len(slot.shape) < 2 or slot.shape == (*rest, *first):
        return None
    if field.shape not in (rest, (*rest, *first)):
        return None
    places = " × ".join(map(str, rest))
    message = f"labels are for {places} places, and the model has its {first[0]} scores first"
    order = [*range(1, len(slot.shape)), 0]
    shape = [*rest, *first]
    return (
        message,
        f"end with transpose(permutation={order}), and write shape={shape} at the output",
    )


def explain_words(where: str, value: Any) -> DataError | None:
    """Return an error for values that are words, None if there are none.

    >>> print(explain_words('output "model"', ["ash", "oak", "ash"]).message)
    output "model" has words, "ash", "oak"
    """
    distinct = dict.fromkeys(islice(_iterate_words(value), 1000))
    if not distinct:
        return None
    examples = ", ".join(f'"{text}"' for text in islice(distinct, MAX_WORDS))
    if where.startswith("output"):
        remedy = f"labels=[{examples}]" if len(distinct) <= MAX_WORDS else "labels=[…]"
        hint = f"TableDataset numbers words itself; or give numbers from 0 and {remedy}"
    else:
        hint = "use TableDataset for columns of words; split texts into tokens first"
    return DataError("NNM702", f"{where} has words, {examples}", hint=hint)


def _iterate_words(value: Any) -> Iterator[str]:
    """Yield the words in nested lists."""
    if isinstance(value, str):
        yield value
    elif hasattr(value, "tolist"):
        yield from _iterate_words(value.tolist())
    elif isinstance(value, (list, tuple)):
        for element in cast("list[Any]", value):
            if isinstance(element, (int, float)):
                return
            yield from _iterate_words(element)
