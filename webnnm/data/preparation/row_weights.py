"""The weights of rows: as they were given, and as factors of the losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import count, show
from webnnm.data.intake import require_finite
from webnnm.data.tables.column_reading import read_column
from webnnm.data.tables.columns import Table
from webnnm.training.forward import WEIGHT


def check_weights(sample_weight: Any, rows: int, training: Sequence[int]) -> HostArray:
    """Check the weights of this many rows, and return them as float32 `[rows]`.

    >>> check_weights([1, 0.5, 0], 3, [0, 1]).tolist()
    [1.0, 0.5, 0.0]

    Raises `DataError` NNM702 for another number of weights, NNM704 for negative weights and if all
    training rows have weight 0, NNM707 for a weight that is not finite.
    """
    try:
        weights = HostArray.of(sample_weight, "float32", copy=True)
    except DataError as error:
        hint = (
            "TableDataset also takes the name of a column" if isinstance(sample_weight, str) else ""
        )
        raise DataError(error.code, f"sample_weight: {error.message}", hint=hint) from error
    if count(weights.shape) != rows or len(weights) != rows:
        raise DataError(
            "NNM702",
            f"sample_weight has the shape {show(weights.shape)}, but there are {rows} rows",
            hint="give one number for each row of the dataset, in all subsets",
        )
    require_finite("sample_weight", weights)
    require_nonnegative(weights)
    values = weights.values()
    if training and not any(values[row] for row in training):
        message = f"sample_weight is 0 for all {len(training)} training rows"
        raise DataError("NNM704", message, hint="give at least one of them a weight above 0")
    return HostArray("float32", (rows,), weights.data)


def require_nonnegative(weights: HostArray, first: int = 0) -> None:
    """Raise `DataError` NNM704 for a weight below 0; `first` is the number of the first row.

    >>> require_nonnegative(HostArray.of([1.0, 0.0]))
    """
    for row, weight in enumerate(weights.values(), first):
        if weight < 0:
            hint = "weight 0 leaves a row out of the loss; weights cannot be negative"
            raise DataError("NNM704", f"sample_weight: row {row} has {weight:g}", hint=hint)


def read_table_weights(
    table: Table,
    sample_weight: str | int | Callable[[dict[str, Any]], float] | Any,
    rows: Sequence[int],
) -> Any:
    """Return the weights of the kept rows of a table.

    >>> people = Table(("age", "trust"), ([31, 64], [0.5, 2]))
    >>> read_table_weights(people, "trust", [0, 1])
    [0.5, 2.0]
    >>> read_table_weights(people, lambda row: row["age"] / 2, [1])
    [32.0]

    They are given as the name of a column, a function of a row (name → cell), or numbers, one for
    each row of the table. Raises `DataError` NNM702, NNM710, NNM713.
    """
    if isinstance(sample_weight, (str, int)):
        column = read_column(table, table.index(sample_weight), True)
        missing = next((row for row in column.missing if row in set(rows)), None)
        if missing is not None:
            message = f"sample_weight: {table.place(missing, table.index(sample_weight))} is empty"
            raise DataError("NNM713", message, hint="0 leaves a row out of the loss")
        assert column.numbers is not None
        return [column.numbers[row] for row in rows]
    if callable(sample_weight):
        weigh = cast("Callable[[dict[str, Any]], float]", sample_weight)
        cells = (tuple(column[row] for column in table.columns) for row in rows)
        return [weigh(dict(zip(table.names, row, strict=True))) for row in cells]
    numbers = HostArray.of(sample_weight, "float32")
    if len(numbers) != table.row_count or len(rows) == table.row_count:
        return numbers
    return numbers.rows(rows)


def read_stream_weights(
    arrays: Mapping[str, HostArray], outputs: Iterable[str]
) -> dict[str, HostArray]:
    """Return, for each output, the factors of the losses of rows of a stream: the given weights.

    >>> found = read_stream_weights({"sample_weight": HostArray.of([2.0, 0.5])}, ["m"])
    >>> found["weight/m"].tolist()
    [2.0, 0.5]
    """
    return {WEIGHT + block: arrays["sample_weight"] for block in outputs}


def compute_weights(
    subset: str,
    weights: Sequence[float],
    outputs: Mapping[str, tuple[str, HostArray]],
    masks: Mapping[str, HostArray],
) -> dict[str, HostArray]:
    """Return, for each output, the factors of the losses of a subset, float32 `[rows]`.

    >>> rows = HostArray.of([[1.5], [2.5]])
    >>> compute_weights("training", [3, 1], {"m": ("continuous", rows)}, {})["weight/m"].tolist()
    [1.5, 0.5]

    They are proportional to the weights of the rows, and scaled so that the mean loss is
    Σ w·ℓ/Σ w over all positions that count, as if rows were repeated. `outputs` are the kind and
    the rows by block, `masks` the positions that count if these differ. Raises `DataError`
    NNM704 if all rows that count have weight 0.
    """
    factors: dict[str, HostArray] = {}
    for block, (kind, rows) in outputs.items():
        if kind == "classes":  # those below 0 do not count
            counted = [float(number >= 0) for number in rows.values()]  # pyrefly: ignore[unknown-argument-type]
            width = len(counted) // len(weights)
            counts = [sum(counted[row * width :][:width]) for row in range(len(weights))]
        elif block in masks:
            counts = [sum(masks[block].rows([row]).values()) for row in range(len(weights))]
        else:
            counts = [1.0] * len(weights)
        total = sum(w * n for w, n in zip(weights, counts, strict=True))
        if not total:
            raise DataError(
                "NNM704",
                f'sample_weight is 0 for all rows of subset "{subset}" that count',
                hint="give some of them a weight, or leave the subset out of the split",
            )
        factor = sum(counts) / total
        factors[WEIGHT + block] = HostArray.of([factor * w for w in weights], "float32")
    return factors
