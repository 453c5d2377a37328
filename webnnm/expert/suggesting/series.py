"""Suggests how to forecast a series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.data.series.model_suggestion import suggest_series_model
from webnnm.data.series.series_dataset import SeriesDataset
from webnnm.data.tables.column_choice import find_reason_to_leave_out
from webnnm.data.tables.columns import Table
from webnnm.data.tables.description import ColumnDescription
from webnnm.data.tables.table_dataset import as_column_list
from webnnm.expert.suggesting.options import check_options
from webnnm.expert.suggesting.suggestion import (
    Suggestion,
    TableSource,
    list_names,
    write_call,
    write_source,
)

GAPS = "missing"
"""The option that says what becomes of missing steps and numbers."""


def suggest_for_series(
    source: TableSource,
    target: str | int | None,
    horizon: int,
    wanted: Mapping[str, Any],
    name: str,
) -> Suggestion:
    """Return a `SeriesDataset` and a model that forecasts `horizon` steps of one column.

    Missing steps and numbers keep the last value. `wanted` are options that are given. Raises the
    errors of `SeriesDataset`.
    """
    check_options("a series", (SeriesDataset.__init__, Dataset.__init__), wanted)
    options: dict[str, Any] = {"target": target} if target is not None else {}
    options |= {"horizon": horizon, **wanted}
    described = source.described
    unused: list[str] = []
    if "features" not in options:
        others = _list_others(source.table, described, options)
        unused = [c.name for c in others if find_reason_to_leave_out(c, source.table.row_count)]
        if unused:
            options["features"] = [c.name for c in others if c.name not in unused]
    dataset, options = _make_dataset(source, options)
    reasons = _explain(dataset, unused)
    return Suggestion(
        write_source(reasons, suggest_series_model(dataset, name)),
        dataset,
        options,
        write_call(f"SeriesDataset({source.expression}", options),
        reasons,
        f"--steps {horizon}",
    )


def _make_dataset(
    source: TableSource, options: dict[str, Any]
) -> tuple[SeriesDataset, dict[str, Any]]:
    """Return the dataset with its options, with gaps filled where there are some."""
    try:
        return SeriesDataset(source.table, **options), options
    except DataError as error:
        if GAPS in options or 'missing="fill"' not in error.hint:
            raise
    options = {**options, GAPS: "fill"}
    return SeriesDataset(source.table, **options), options


def _list_others(
    table: Table, described: Sequence[ColumnDescription], options: Mapping[str, Any]
) -> list[ColumnDescription]:
    """Return the columns besides the targets, the times and the names of series."""
    roles = [options.get("target", -1), options.get("time"), options.get("id")]
    used = {table.index(column) for role in roles for column in as_column_list("columns", role)}
    if options.get("time") is None:
        dates = [n for n, column in enumerate(described) if column.content == "date"]
        used |= {*dates[:1]}
    return [column for index, column in enumerate(described) if index not in used]


def _explain(dataset: SeriesDataset, unused: Sequence[str]) -> tuple[str, ...]:
    series = dataset.series
    names = list_names([one.name for one in series.targets])
    ahead = "1 step" if series.horizon == 1 else f"{series.horizon} steps"
    reasons = [f"{names} is forecast {ahead} ahead from the last {series.window} steps."]
    if dataset.season is None:
        reasons.append("No season repeats itself clearly in the training part.")
    else:
        reasons.append(f"A season has {dataset.season} steps.")
    if dataset.inserted or dataset.filled:
        reasons.append(
            f"{dataset.inserted} missing steps and {dataset.filled} missing numbers keep the last "
            "value, and are no targets."
        )
    if unused:
        reasons.append(f"Left out, since a model learns nothing from it: {list_names(unused)}.")
    deviations = sorted(levels[0][1] for levels in series.levels.values())
    if series.scaling == "series" and deviations:
        ratio = deviations[-1] / deviations[0]
        reasons.append(
            "Each series is scaled by its own mean and deviation, as the largest deviation is "
            f"{ratio:.3g} times the smallest: large and small series count alike."
        )
    others = [one.name for one in (*series.past, *series.ahead)]
    if others:
        reasons.append(f"Further inputs: {list_names(others)}.")
    sizes = ", ".join(f"{dataset.size(part):,} for {part}" for part in ("training", "testing"))
    reasons.append(f"Windows, in order of time: {sizes}.")
    reasons.append(
        "The model corrects the last value by a linear function of the window and by a small "
        "hidden layer, so that it begins where the simplest forecast is."
    )
    return tuple(reasons)
