"""Checking the arrays that a dataset is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from webnnm.arrays import HostArray
from webnnm.data.classes import detect_kind
from webnnm.data.field import KINDS, Field, Kind
from webnnm.dtypes import is_float
from webnnm.errors import DataError, suggestion
from webnnm.shapes import count, show

ONLY_BLOCK = "model"
"""The name of the only input or output where none is given."""

Taken = tuple[Field, HostArray]


def by_block(value: Any) -> dict[str, Any]:
    """Return block → array of what may be a single array.

    >>> by_block([1, 2])
    {'model': [1, 2]}
    """
    return dict(cast(Any, value)) if isinstance(value, Mapping) else {ONLY_BLOCK: value}


def per_block(value: Any, blocks: Iterable[str], what: str) -> dict[str, Any]:
    """Return block → option of what may be one option for the only block.

    >>> per_block(["no", "yes"], ["answer"], "labels")
    {'answer': ['no', 'yes']}

    `what` names the option in a message. Raises `DataError` NNM710 for a block that is not there.
    """
    known = list(dict.fromkeys(blocks))
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        if len(known) != 1:
            raise DataError(
                "NNM710", f"{what} for which block?", hint=f"give a dict with {listed(known)}"
            )
        return {known[0]: value}
    options = cast("Mapping[str, Any]", value)
    for block in options:
        if block not in known:
            hint = suggestion(block, known) or listed(known)
            raise DataError("NNM710", f'{what}: no block "{block}"', hint=hint)
    return dict(options)


def listed(names: Iterable[str]) -> str:
    """Return a hint that lists the names there are.

    >>> listed(["left", "right"])
    'there is "left", "right"'
    """
    return "there is " + ", ".join(f'"{name}"' for name in names)


def take_input(
    block: str,
    value: Any,
    kind: Kind | None = None,
    names: Sequence[str] = (),
    features: Sequence[str] = (),
) -> Taken:
    """Return field and array of an input, its first dimension the rows.

    >>> take_input("model", [[1, 2], [3, 4]])[0].shape
    (2,)

    Raises `DataError` NNM702 for ragged or scalar data, NNM707 for a number that is not finite.
    """
    where = f'input "{block}"'
    values = _array(where, value)
    return _field(where, values, _checked(where, kind) or "continuous", names, features, 0), values


def take_output(
    block: str,
    value: Any,
    kind: Kind | None = None,
    labels: Sequence[str] | None = None,
    names: Sequence[str] = (),
    features: Sequence[str] = (),
) -> Taken:
    """Return field and array of an output; classes become int32, one-hot and yes/no rows float32.

    >>> take_output("model", [0, 2, 1])[0]
    Field(shape=(), dtype='int32', names=(), sequence=False, kind='classes', features=(), classes=3)

    Raises `DataError` as `take_input` does, and NNM706 for a label that the kind does not allow.
    """
    where = f'output "{block}"'
    integers = _integers_only(value)
    values = _array(where, value, "int64" if integers else None)
    found = _checked(where, kind) or detect_kind(values, named=labels is not None)
    if found == "classes":
        values = _class_numbers(where, values, labels)
    elif integers or found in ("onehot", "multilabel", "distribution"):
        values = HostArray.of(values, "float32")
    classes = 0
    if found == "classes":
        highest = max(values.values())
        classes = max(highest + 1, len(labels or ()))
    elif found != "continuous":
        classes = values.shape[-1] if len(values.shape) > 1 else 1
    if found == "onehot" and detect_kind(values) != "onehot":
        row = _first_not_one_hot(values)
        raise DataError("NNM706", f"{where}: row {row} is not one-hot")
    if labels is not None:
        _check_labels(where, found, classes, labels)
    return _field(where, values, found, names, features, classes), values


def row_count_of(inputs: Mapping[str, HostArray], outputs: Mapping[str, HostArray]) -> int:
    """Return how many rows all arrays have.

    >>> row_count_of({"x": HostArray.of([[1], [2]])}, {})
    2

    Raises `DataError` NNM702 where they differ, NNM705 where there are none.
    """
    counts = {f'input "{block}"': len(values) for block, values in inputs.items()}
    counts |= {f'output "{block}"': len(values) for block, values in outputs.items()}
    if len(set(counts.values())) != 1:
        found = ", ".join(f"{what} has {rows}" for what, rows in counts.items())
        raise DataError("NNM702", f"unequal numbers of rows: {found or 'no arrays'}")
    row_count = next(iter(counts.values()))
    if not row_count:
        raise DataError("NNM705", "the dataset has no rows")
    return row_count


def _array(where: str, value: Any, dtype: Any = None) -> HostArray:
    try:
        values = HostArray.of(value, dtype)
    except DataError as error:
        raise DataError(error.code, f"{where}: {error.message}", hint=error.hint) from error
    if not values.shape:
        raise DataError(
            "NNM702", f"{where} is a single number", hint="the first dimension is the rows"
        )
    # One sum tells at full speed whether there is something to look for.
    if is_float(values.dtype) and not math.isfinite(sum(values.values())):
        place, found = next(
            (place, found)
            for place, found in enumerate(values.values())
            if not math.isfinite(found)
        )
        width = count(values.shape[1:])
        raise DataError(
            "NNM707",
            f"{where}: row {place // width}, element {place % width} is {found}",
            hint="drop the row, or put a number in its place",
        )
    return values


def _field(
    where: str,
    values: HostArray,
    kind: Kind,
    names: Sequence[str],
    features: Sequence[str],
    classes: int,
) -> Field:
    shape = values.shape[1:]
    if names and len(names) != len(shape):
        raise DataError(
            "NNM702", f"{where}: {len(names)} names for the dimensions of {show(shape)}"
        )
    if features and len(features) != (shape[-1] if shape else 1):
        raise DataError("NNM702", f"{where}: {len(features)} feature names for {show(shape)}")
    return Field(
        shape,
        values.dtype,
        names=tuple(names),
        kind=kind,
        features=tuple(features),
        classes=classes,
    )


def _class_numbers(where: str, values: HostArray, labels: Sequence[str] | None) -> HostArray:
    shape = values.shape[:1] if count(values.shape[1:]) == 1 else values.shape
    numbers: list[int] = []
    for place, number in enumerate(values.values()):
        # A position that does not count has a negative class (spec D.1); a row always counts.
        low = 0 if len(shape) == 1 else -math.inf
        high = len(labels) - 1 if labels is not None else math.inf
        if number != int(number) or not low <= number <= high:
            row = place // count(shape[1:])
            raise DataError(
                "NNM706",
                f"{where}: row {row} has class {number:g}",
                hint=f"classes are whole numbers 0 … {high:g}"
                if labels
                else "classes count from 0",
            )
        numbers.append(int(number))
    return HostArray.of(numbers, "int32", shape)


def _check_labels(where: str, kind: Kind, classes: int, labels: Sequence[str]) -> None:
    binary = kind == "multilabel" and classes == 1
    if kind == "continuous":
        raise DataError(
            "NNM702",
            f"{where} has {len(labels)} labels but its values are continuous",
            hint='say what they are: kinds={"block": "classes"}',
        )
    if len(labels) != (2 if binary else classes):
        raise DataError("NNM702", f"{where}: {len(labels)} labels for {classes} classes")


def _first_not_one_hot(values: HostArray) -> int:
    for row in range(len(values)):
        if detect_kind(values.rows([row])) != "onehot":
            return row
    return 0


def _checked(where: str, kind: Kind | None) -> Kind | None:
    if kind is not None and kind not in KINDS:
        hint = suggestion(str(kind), KINDS) or f"one of {', '.join(KINDS)}"
        raise DataError("NNM704", f'{where}: unknown kind "{kind}"', hint=hint)
    return kind


def _integers_only(value: Any) -> bool:
    """Tell whether nested lists hold nothing but integers: floats mean measurements."""
    if isinstance(value, list | tuple | range):
        elements = list(cast("Iterable[Any]", value))
        return bool(elements) and all(map(_integers_only, elements))
    return isinstance(value, int)
