"""Checks the arrays that a dataset is made from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from webnnm.core.arrays import HostArray, exact_type
from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import count, show
from webnnm.data.classes import detect_kind
from webnnm.data.field import KINDS, Field, Kind
from webnnm.data.series.sequences import (
    Length,
    check_shared,
    describe_position,
    flatten_rows,
    is_ragged,
    pad,
    resolve_length,
)
from webnnm.data.series.sliding import SlidingWindows
from webnnm.data.tables.columns import find_duplicates, get_column_keys
from webnnm.data.tables.exchange import convert_frame

LARGE = 1 << 20
"""Of more bytes than this the exponents are looked at before numbers are added."""

ONLY_BLOCK = "model"
"""The name of the only input or output if none is given."""

SEQUENCE = "sequence"
"""The name of the positions of a sequence whose dimensions have no names."""

FieldArray = tuple[Field, HostArray]
Side = tuple[dict[str, Field], dict[str, HostArray]]
"""Fields and arrays of all inputs, or of all outputs."""


def by_block(value: Any) -> dict[str, Any]:
    """Return block → array from a dict or a single array.

    >>> by_block([1, 2])
    {'model': [1, 2]}
    """
    return dict(cast(Any, value)) if isinstance(value, Mapping) else {ONLY_BLOCK: value}


def per_block(value: Any, blocks: Iterable[str], what: str) -> dict[str, Any]:
    """Return block → option from a dict or a single option for the only block.

    >>> per_block(["no", "yes"], ["answer"], "labels")
    {'answer': ['no', 'yes']}

    `what` names the option in a message. Raises `DataError` NNM710 for an unknown block.
    """
    names = list(dict.fromkeys(blocks))
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        if len(names) != 1:
            raise DataError(
                "NNM710",
                f"{what} for which block?",
                hint=f"give a dict with {list_available(names)}",
            )
        return {names[0]: value}
    options = cast("Mapping[str, Any]", value)
    for block in options:
        if block not in names:
            hint = suggestion(block, names) or list_available(names)
            if names == [ONLY_BLOCK]:
                hint = f'arrays without a name have the name "{ONLY_BLOCK}"'
            raise DataError("NNM710", f'{what}: no block "{block}"', hint=hint)
    return dict(options)


def resolve_lengths(
    value: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
) -> tuple[dict[str, Length], dict[str, Length]]:
    """Return which inputs and outputs are sequences, block → option `length`.

    >>> resolve_lengths("max", {"x": [[1, 2], [3]]}, {"y": [0, 1]})
    ({'x': 'max'}, {})

    A single length applies to the only input and to all lists of arrays of different lengths; in a
    dict, it applies to the input if both have the name, and to the output if that is such a list.
    """
    if not isinstance(value, Mapping):
        if value is None:
            return {}, {}
        only = {block: value for block in inputs if len(inputs) == 1}
        ragged = {block: value for block, rows in inputs.items() if is_ragged(rows)}
        return only | ragged, {block: value for block, rows in outputs.items() if is_ragged(rows)}
    options = per_block(cast("Any", value), [*inputs, *outputs], "length")
    return (
        {block: options[block] for block in inputs if block in options},
        {
            block: options[block]
            for block, rows in outputs.items()
            if block in options and (block not in inputs or is_ragged(rows))
        },
    )


def list_available(names: Iterable[str]) -> str:
    """Return a hint that lists the available names.

    >>> list_available(["left", "right"])
    'available: "left", "right"'
    """
    return "available: " + ", ".join(f'"{name}"' for name in names)


def read_fields(
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    labels: Mapping[str, Sequence[str]],
    options: Mapping[str, Any],
) -> tuple[Side, Side]:
    """Return fields and arrays of all inputs and all outputs, given the options of `Dataset`.

    >>> read_fields({"x": [1.5]}, {"y": [0.5]}, {}, {})[1][1]
    {'y': HostArray(float64[1], [0.5])}

    `options` may hold "kinds", "names", "features" and "length". If an input and an output have
    the same name, the kind is that of the output, all else that of the input. Values of float64
    keep their precision in the arrays: whoever scales them does it before they become float32.
    """
    blocks = [*inputs, *outputs]
    kinds = per_block(options.get("kinds"), blocks, "kinds")
    names = per_block(options.get("names"), blocks, "names")
    features = per_block(options.get("features"), inputs, "features")
    lengths = resolve_lengths(options.get("length"), inputs, outputs)
    sides: tuple[Side, Side] = ({}, {}), ({}, {})
    for block, value in inputs.items():
        sides[0][0][block], sides[0][1][block] = read_input(
            block,
            value,
            None if block in outputs else kinds.get(block),
            names.get(block, ()),
            features.get(block, ()),
            lengths[0].get(block),
        )
    for block, value in outputs.items():
        sides[1][0][block], sides[1][1][block] = read_output(
            block,
            value,
            kinds.get(block),
            labels.get(block),
            () if block in inputs else names.get(block, ()),
            length=lengths[1].get(block),
        )
    check_shared(sides[0][1], sides[1][1])
    return sides


def read_input(
    block: str,
    value: Any,
    kind: Kind | None = None,
    names: Sequence[str] = (),
    features: Sequence[str] = (),
    length: Length | None = None,
) -> FieldArray:
    """Return field and array of an input, whose first dimension is the rows.

    >>> read_input("model", [[1, 2], [3, 4]])[0].shape
    (2,)
    >>> read_input("model", [[1, 2], [3]], length="max")[1].tolist()
    [[1.0, 2.0], [3.0, 0.0]]

    `length` makes the rows sequences, which may differ in length: see `Dataset`. Raises `DataError`
    NNM702 for ragged or scalar data, NNM707 for a number that is not finite, NNM711 for lengths.
    """
    where, value = f'input "{block}"', convert_frame(value)
    values, lengths = _read_rows(where, value, exact_type(value), length)
    resolved_kind = _check_kind(where, kind) or "continuous"
    values = _pad_rows(where, values, lengths, length)
    if length is None:
        features = features or _get_column_names(value)
    return _make_field(
        where, values, resolved_kind, names, features, 0, sequence=length is not None
    ), values


def _get_column_names(value: Any) -> Sequence[str]:
    """Return the names of the columns of a data frame, () where they are numbers or not unique."""
    keys = get_column_keys(value)
    names = () if keys is None else tuple(map(str, keys))
    return () if find_duplicates(names) or all(name.isdecimal() for name in names) else names


def read_output(
    block: str,
    value: Any,
    kind: Kind | None = None,
    labels: Sequence[str] | None = None,
    names: Sequence[str] = (),
    features: Sequence[str] = (),
    length: Length | None = None,
) -> FieldArray:
    """Return field and array of an output; classes become int32, one-hot and yes/no rows float32.

    >>> read_output("model", [0, 2, 1])[0]
    Field(shape=(), dtype='int32', names=(), sequence=False, kind='classes', features=(), classes=3)
    >>> read_output("model", [[0, 2], [1]], length="max")[1].tolist()
    [[0, 2], [1, -1]]

    Positions after the end of a sequence have class -1, or zero for other values. Raises
    `DataError` as `read_input` does, and NNM706 for a label that the kind does not allow.
    """
    where, value = f'output "{block}"', convert_frame(value)
    integers = _holds_integers(value)
    values, lengths = _read_rows(where, value, "int64" if integers else exact_type(value), length)
    resolved_kind = _check_kind(where, kind) or detect_kind(values, named=labels is not None)
    if resolved_kind == "classes":
        values = _to_class_ids(where, values, labels, lengths)
    elif resolved_kind in ("onehot", "multilabel", "distribution", "boxes"):
        values = HostArray.of(values, "float32")
    elif integers:
        values = HostArray.of(values, "float64")
    classes = 0
    if resolved_kind == "classes":
        classes = max(max(values.values()) + 1, len(labels or ()))
    elif resolved_kind == "boxes":
        from webnnm.training.losses import SHAPE_VALUES

        classes = values.shape[-1] - SHAPE_VALUES
    elif resolved_kind != "continuous":
        classes = values.shape[-1] if len(values.shape) > 1 else 1
    if resolved_kind == "onehot" and detect_kind(values) != "onehot":
        index = _find_not_one_hot(values) * count(values.shape[1:])
        position = describe_position(index, count(values.shape[1:]), lengths).rsplit(
            ", element", 1
        )[0]
        raise DataError("NNM706", f"{where}: {position} is not one-hot")
    if labels is not None:
        _check_labels(where, resolved_kind, classes, labels)
    fill = b"\xff" if resolved_kind == "classes" else b"\0"  # -1 in every integer type
    values = _pad_rows(where, values, lengths, length, fill)
    sequence = length is not None
    field = _make_field(where, values, resolved_kind, names, features, classes, sequence=sequence)
    return replace(field, declared=kind is not None), values


def count_rows(inputs: Mapping[str, HostArray], outputs: Mapping[str, HostArray]) -> int:
    """Return how many rows all arrays have.

    >>> count_rows({"x": HostArray.of([[1], [2]])}, {})
    2

    Raises `DataError` NNM702 if they differ, NNM705 if there are none.
    """
    counts = {f'input "{block}"': len(values) for block, values in inputs.items()}
    counts |= {f'output "{block}"': len(values) for block, values in outputs.items()}
    if len(set(counts.values())) != 1:
        row_counts = ", ".join(f"{what} has {rows}" for what, rows in counts.items())
        raise DataError("NNM702", f"unequal numbers of rows: {row_counts or 'no arrays'}")
    row_count = next(iter(counts.values()))
    if not row_count:
        raise DataError("NNM705", "the dataset has no rows")
    return row_count


def require_finite(
    where: str, values: HostArray, lengths: Sequence[int] = (), *, first: int = 0
) -> None:
    """Raise `DataError` NNM707 with the place of the first number that is not finite.

    >>> require_finite("input", HostArray.of([1.0, 2.0]))

    `lengths` are those of rows whose positions are concatenated, `first` is the number of the
    first row.
    """
    # A single sum shows quickly whether there is something to look for.
    if is_float(values.dtype) and not _is_finite(values):
        for index, number in enumerate(values.values()):
            if not math.isfinite(number):
                position = describe_position(index, count(values.shape[1:]), lengths, first)
                raise DataError(
                    "NNM707",
                    f"{where}: {position} is {number}",
                    hint="drop the row, or replace the value with a finite number",
                )


def _is_finite(values: HostArray) -> bool:
    if len(values.data) > LARGE:
        from webnnm.data.large_numbers import has_large_numbers

        if not has_large_numbers(values):
            return True
    return math.isfinite(sum(values.values()))


def _read_rows(
    where: str, value: Any, dtype: Any, length: Length | None
) -> tuple[HostArray, Sequence[int]]:
    """Return the rows, or the positions of sequences and how many each has."""
    if length is not None:
        values, lengths = flatten_rows(where, value, dtype)
        require_finite(where, values, lengths)
        return values, lengths
    if isinstance(value, SlidingWindows):  # a copy of its rows would take their memory many times
        require_finite(where, value.steps)
        return value, ()
    try:
        values = HostArray.of(value, dtype, copy=True)
    except DataError as error:
        from webnnm.data.binding.mismatch import explain_words

        words = explain_words(where, value)
        if words is not None:
            raise words from error
        hint = 'length="max" pads sequences of different lengths' if is_ragged(value) else ""
        raise DataError(error.code, f"{where}: {error.message}", hint=hint or error.hint) from error
    if not values.shape:
        raise DataError(
            "NNM702", f"{where} is a single number", hint="the first dimension is the rows"
        )
    require_finite(where, values)
    return values, ()


def _pad_rows(
    where: str,
    values: HostArray,
    lengths: Sequence[int],
    length: Length | None,
    fill: bytes = b"\0",
) -> HostArray:
    if length is None:
        return values
    return pad(values, lengths, resolve_length(where, length, lengths), fill=fill)


def _make_field(
    where: str,
    values: HostArray,
    kind: Kind,
    names: Sequence[str],
    features: Sequence[str],
    classes: int,
    *,
    sequence: bool,
) -> Field:
    shape = values.shape[1:]
    for option, value in (("names", names), ("features", features)):
        texts: Any = value  # whatever a caller may have written
        if not hasattr(texts, "__iter__") or not all(isinstance(text, str) for text in texts):
            hint = "a list of texts"
            raise DataError("NNM704", f"{where}: {option} is {texts!r}", hint=hint)
    if names and len(names) != len(shape):
        raise DataError(
            "NNM702", f"{where}: {len(names)} names for the dimensions of {show(shape)}"
        )
    if features and len(features) != (shape[-1] if shape else 1):
        raise DataError("NNM702", f"{where}: {len(features)} feature names for {show(shape)}")
    return Field(
        shape,
        "float32" if values.dtype == "float64" else values.dtype,
        names=tuple(names),
        sequence=(names[0] if names else SEQUENCE) if sequence else False,
        kind=kind,
        features=tuple(features),
        classes=classes,
    )


def _to_class_ids(
    where: str, values: HostArray, labels: Sequence[str] | None, lengths: Sequence[int]
) -> HostArray:
    shape = values.shape[:1] if count(values.shape[1:]) == 1 else values.shape
    # A row or position that does not count has a negative class (spec D.1).
    low = -math.inf
    high = len(labels) - 1 if labels is not None else math.inf
    flat = values.values()
    if len(flat) and max(flat) < 0:
        hint = "a negative class marks a row without a label; give some of them one"
        raise DataError("NNM706", f"{where}: no row has a class", hint=hint)
    if not is_float(values.dtype) and len(flat) and low <= min(flat) and max(flat) <= high:
        return HostArray.of(values, "int32", shape)
    numbers: list[int] = []
    for index, number in enumerate(flat):
        if number != int(number) or not low <= number <= high:
            position = describe_position(index, count(shape[1:]), lengths)
            raise DataError(
                "NNM706",
                f"{where}: {position if lengths else position.split(',')[0]} has class {number:g}",
                hint=f"classes are integers 0 … {high:g}"
                if labels
                else "classes are numbered from 0",
            )
        numbers.append(int(number))
    return HostArray.of(numbers, "int32", shape)


def _check_labels(where: str, kind: Kind, classes: int, labels: Sequence[str]) -> None:
    binary = kind == "multilabel" and classes == 1
    if kind == "continuous":
        raise DataError(
            "NNM702",
            f"{where} has {len(labels)} labels but its values are continuous",
            hint='set their kind: kinds={"block": "classes"}',
        )
    if len(labels) != (2 if binary else classes):
        raise DataError("NNM702", f"{where}: {len(labels)} labels for {classes} classes")


def _find_not_one_hot(values: HostArray) -> int:
    for row in range(len(values)):
        if detect_kind(values.rows([row])) != "onehot":
            return row
    return 0


def _check_kind(where: str, kind: Kind | None) -> Kind | None:
    if kind is not None and kind not in KINDS:
        hint = suggestion(str(kind), KINDS) or f"one of {', '.join(KINDS)}"
        raise DataError("NNM704", f'{where}: unknown kind "{kind}"', hint=hint)
    return kind


def _holds_integers(value: Any) -> bool:
    """Return whether nested lists hold nothing but integers: floats mean measurements."""
    if isinstance(value, (list, tuple, range)):
        elements = list(cast("Iterable[Any]", value))
        return bool(elements) and all(map(_holds_integers, elements))
    return isinstance(value, int)
