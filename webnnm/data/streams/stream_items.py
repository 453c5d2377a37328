"""Converts what a stream yields, row by row or in blocks, to checked arrays of rows."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.dtypes import FORMATS
from webnnm.core.errors import DataError
from webnnm.core.shapes import count, show
from webnnm.data.classes import detect_kind
from webnnm.data.field import Field
from webnnm.data.intake import by_block, require_finite
from webnnm.data.series.sequences import (
    Sequences,
    describe_position,
    flatten_rows,
    pad,
    resolve_length,
)

Arrays = dict[str, HostArray]

SAMPLE_WEIGHT = "sample_weight"

_PLAIN = (list, tuple, int, float, str)


async def iterate(iterable: Any) -> AsyncGenerator[Any]:
    """Yield what an iterable or async iterable yields, and close it if iteration ends early."""
    if inspect.isawaitable(iterable):
        iterable = await iterable
    try:
        if hasattr(iterable, "__aiter__"):
            async for item in iterable:
                yield item
        elif hasattr(iterable, "__iter__"):
            for item in iterable:
                yield item
        else:
            raise DataError(
                "NNM702",
                f"the source returned a {type(iterable).__name__}",
                hint="return an iterator, a generator or an async iterator",
            )
    finally:
        if hasattr(iterable, "aclose"):
            await iterable.aclose()
        elif hasattr(iterable, "close"):
            iterable.close()


def unpack_item(item: Any, row: int, *, weighted: bool) -> tuple[dict[str, Any], ...]:
    """Return inputs, outputs and weights, name → array, from what the source yielded at a row.

    >>> unpack_item(([1, 2], {"y": 0.5}), 0, weighted=False)
    ({'model': [1, 2]}, {'y': 0.5}, {})
    >>> unpack_item(([1, 2], [0.5], 3), 0, weighted=True)
    ({'model': [1, 2]}, {'model': [0.5]}, {'sample_weight': 3})

    Raises `DataError` NNM702 for anything else.
    """
    if not isinstance(item, (list, tuple)) or len(item) != 2 + weighted:
        of = f" of {len(item)}" if isinstance(item, (list, tuple)) else ""
        raise DataError(
            "NNM702",
            f"row {row}: the source yielded a {type(item).__name__}{of}",
            hint="yield inputs, outputs, weights"
            if weighted
            else "yield inputs, outputs; with weighted=True, the rows' weights as a third item",
        )
    inputs, outputs, *weights = cast("Sequence[Any]", item)
    named = {SAMPLE_WEIGHT: weights[0]} if weighted else {}
    return by_block(inputs), by_block(outputs), named


def has_weights(item: Any) -> bool:
    """Return whether a source yielded weights in addition to inputs and outputs.

    >>> has_weights(([1, 2], [0.5], 3)), has_weights(([1, 2], [0.5]))
    (True, False)
    """
    return isinstance(item, (list, tuple)) and len(cast("Sequence[Any]", item)) == 3


def stack_rows(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return block → all rows, as one array if they have the same shape and type.

    >>> stack_rows([{"x": 1.5}, {"x": 2.5}])
    {'x': [1.5, 2.5]}
    """
    result: dict[str, Any] = {}
    for block in rows[0]:
        values = [row.get(block) for row in rows]
        if not any(value is None or isinstance(value, _PLAIN) for value in values):
            arrays = [HostArray.of(value) for value in values]
            if len({(array.dtype, array.shape) for array in arrays}) == 1:
                data = b"".join([array.data for array in arrays])
                shape = (len(arrays), *arrays[0].shape)
                result[block] = HostArray(arrays[0].dtype, shape, data)
                continue
        result[block] = values
    return result


def convert_rows(where: str, value: Any, field: Field, first: int) -> HostArray:
    """Return rows in the form of their field; `first` is the number of the first row.

    >>> convert_rows("x", [[1], [2]], Field((), "float32"), 0).tolist()
    [1.0, 2.0]

    Raises `DataError` NNM702, NNM706, NNM707 and NNM711 as `StreamDataset.blocks` does.
    """
    # 4-bit rows may share a byte, which slices of rows could not.
    dtype = field.dtype if field.dtype in FORMATS else "int8"
    if field.sequence:
        values, lengths = flatten_rows(where, value, dtype, first=first)
        shape = field.shape[1:]
    else:
        lengths, shape = (), field.shape
        try:
            values = HostArray.of(value, dtype, copy=True)  # a source may reuse one array
        except DataError as error:
            position = f"{where}, from row {first} on"
            raise DataError(error.code, f"{position}: {error.message}", hint=error.hint) from error
    if values.shape[1:] != shape:
        if count(values.shape[1:]) != 1 or count(shape) != 1:
            what = "positions" if field.sequence else "rows"
            raise DataError(
                "NNM702",
                f"{where}: {what} of {show(values.shape[1:])} from row {first} on, "
                f"expected {show(shape)}",
            )
        values = HostArray(values.dtype, (len(values), *shape), values.data)
    require_finite(where, values, lengths, first=first)
    if field.kind in ("classes", "onehot"):
        _check_classes(where, values, field, lengths, first)
    if not field.sequence:
        return values
    size = resolve_length(where, field.shape[0], lengths, first=first)
    fill = b"\xff" if field.kind == "classes" else b"\0"
    rows = pad(values, lengths, size, fill=fill)
    return Sequences(rows.dtype, rows.shape, rows.data, lengths)


def _check_classes(
    where: str, values: HostArray, field: Field, lengths: Sequence[int], first: int
) -> None:
    width = count(values.shape[1:])
    if field.kind == "onehot":
        for row in range(len(values)):
            if detect_kind(values.rows([row])) != "onehot":
                position = describe_position(row * width, width, lengths, first).rsplit(
                    ", element", 1
                )[0]
                raise DataError("NNM706", f"{where}: {position} is not one-hot")
        return
    # A row or position that does not count has a negative class.
    for index, number in enumerate(values.values()):
        if not number < field.classes:
            position = describe_position(index, width, lengths, first)
            raise DataError(
                "NNM706",
                f"{where}: {position} has class {number}",
                hint=f"classes are 0 … {field.classes - 1}; set labels= or Field(classes=…)",
            )


def concatenate_sequences(parts: list[HostArray]) -> HostArray:
    """Return arrays concatenated, sequences with their lengths."""
    result = concatenate(parts)
    lengths = [n for part in parts if isinstance(part, Sequences) for n in part.lengths]
    return Sequences(result.dtype, result.shape, result.data, lengths) if lengths else result


def slice_rows(arrays: Arrays, rows: range) -> Arrays:
    """Return some rows of every array."""
    return {block: values.rows(rows) for block, values in arrays.items()}
