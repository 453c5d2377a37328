"""Forecasts: series continued by any number of steps, one horizon after another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.data.series.intervals import find_median
from webnnm.data.series.series_encoder import MAX_STEPS, SeriesEncoder
from webnnm.data.series.steps import ONLY, Steps, continue_times
from webnnm.data.series.timeline import Step, show_time

MAX_PRINTED_STEPS = 24

Predict = Callable[[HostArray], Awaitable[Any]]
"""Returns what the model predicts for windows, in the units of its dataset's arrays."""


class Forecast:
    """The forecast of a series.

    >>> forecast = Forecast(["2024-01", "2024-02"], [[3.0], [4.5]], ["sales"])
    >>> forecast
             sales
    2024-01      3
    2024-02    4.5
    >>> forecast.tolist(), len(forecast)
    ([3.0, 4.5], 2)

    It behaves like the array of its values: indexing, `len`, `tolist()` and `np.asarray` work.

    Attributes: `times` of the steps, dates as ISO texts, numbers, or steps from 1 if the series has
    no times, or they differ in distance; `targets`, the names of the columns; `values`, `[steps]`,
    or `[steps, targets]` for several; `quantiles`, level → values, for a model of quantiles, else
    empty; `id`, of the series, None if it is the only one.
    """

    def __init__(
        self,
        times: Sequence[Any],
        rows: Sequence[Sequence[float]],
        targets: Sequence[str],
        levels: Sequence[float] = (),
        id: str | None = None,
    ) -> None:
        self.id = id
        self.times = [*times]
        self.targets = tuple(targets)
        columns = [[row[k] for row in rows] for k in range(len(rows[0]))]
        self.quantiles: Mapping[float, list[float]] = dict(zip(levels, columns, strict=False))
        kept = [[find_median(levels, row)] for row in rows] if levels else rows
        single = len(self.targets) == 1
        self._values = HostArray.of([row[0] for row in kept] if single else kept, "float64")

    @property
    def values(self) -> Any:
        """The forecast of each step; an array."""
        return self._values.public()

    def tolist(self) -> list[Any]:
        """Return the values as lists."""
        return self._values.tolist()

    def to_dict(self) -> dict[str, Any]:
        """Return times, values and quantiles as plain values, ready for JSON.

        >>> Forecast([1], [[3.0]], ["sales"]).to_dict()
        {'times': [1], 'values': [3.0]}
        """
        levels = {f"{level:g}": values for level, values in self.quantiles.items()}
        quantiles = {"quantiles": levels} if levels else {}
        return {"times": self.times, "values": self.tolist(), **quantiles}

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the values as a NumPy array."""
        return self._values.__array__(dtype, copy)

    def __repr__(self) -> str:
        from webnnm.evaluation.table import table

        columns = {
            target: [*column] for target, column in zip(self.targets, self._columns(), strict=True)
        }
        columns |= {f"{level:g}": values for level, values in self.quantiles.items()}
        rows = [["", *columns]]
        for index, time in enumerate(self.times[:MAX_PRINTED_STEPS]):
            numbers = [round(values[index], 6) for values in columns.values()]
            rows.append([str(time), *(f"{number:.7g}" for number in numbers)])
        more = len(self) - MAX_PRINTED_STEPS
        return table(rows) + (f"\n… and {more} more steps" if more > 0 else "")

    def _columns(self) -> list[list[float]]:
        values = self.tolist()
        return [values] if len(self.targets) == 1 else [list(c) for c in zip(*values, strict=True)]


async def forecast(
    encoder: SeriesEncoder, data: Any, steps: int | None, predict: Predict
) -> Forecast | dict[str, Forecast]:
    """Continue series by some steps, by default the horizon; a dict by id for several series.

    `data` are rows of a table, or the number of steps by which to continue the series of the
    dataset. Beyond the horizon, forecasts take the place of what is not yet known.

    Raises `DataError` NNM704 for an invalid number of steps, NNM705 for too few rows.
    """
    rows: Mapping[str, Steps]
    if is_integer(data):
        if steps is not None:
            raise DataError("NNM704", f"predict({data}, steps={steps})", hint="predict(rows, …)")
        rows, steps = encoder.recent, int(data)
    else:
        rows = encoder.read(data)
    steps = encoder.horizon if steps is None else steps
    if not is_integer(steps) or steps < 1:
        raise DataError("NNM704", f"steps is {steps!r}", hint="how many steps to predict, from 1")
    if steps > MAX_STEPS:
        raise DataError("NNM704", f"steps is {steps}", hint=f"at most {MAX_STEPS} steps")
    results = await _continue(encoder, rows, steps, predict)
    return results if encoder.id else results[ONLY]


async def forecast_windows(
    encoder: SeriesEncoder, windows: HostArray, predict: Predict, ids: Sequence[str] = ()
) -> HostArray:
    """Return what follows windows, in the units of the data; `ids` are those of their series.

    Raises `DataError` NNM702 for windows without ids where each series has a level of its own.
    """
    if not ids and encoder.has_own_levels:
        names = [*encoder.levels]
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        raise DataError(
            "NNM702",
            f"{len(windows)} windows do not say of which series they are: {names[0]}, "
            f"{names[1]}{more} are each scaled by a level of their own",
            hint=f'give rows with the column "{encoder.id}", or train with scale="window" or '
            '"standard"',
        )
    only = next(iter(encoder.levels), ONLY) if encoder.scaling == "series" else ONLY
    scaled, levels = encoder.scale(windows, ids or [only] * len(windows))
    return encoder.unscale(HostArray.of(await predict(scaled), "float64"), levels)


async def _continue(
    encoder: SeriesEncoder, by_id: Mapping[str, Steps], count: int, predict: Predict
) -> dict[str, Forecast]:
    current = dict(by_id)
    predicted: dict[str, list[list[float]]] = {key: [] for key in by_id}
    levels, width = encoder.quantiles, len(encoder.targets)
    for _ in range(0, count, encoder.horizon):
        windows = concatenate([*map(encoder.make_window, current.values())])
        values = [*(await forecast_windows(encoder, windows, predict, [*current])).values()]
        size, columns = len(values) // len(windows), max(len(levels), width)
        for number, (key, steps) in enumerate(current.items()):
            own = values[number * size : (number + 1) * size]
            fresh = [own[k : k + columns] for k in range(0, size, columns)]
            predicted[key] += fresh
            targets = [[find_median(levels, row)] for row in fresh] if levels else fresh
            longer = steps.extend(targets, encoder.step or Step())
            current[key] = longer.keep_last(encoder.window)
    names = [one.name for one in encoder.targets]
    results: dict[str, Forecast] = {}
    for key, steps in by_id.items():
        first, last = steps.known, steps.known + count
        shown: list[Any] = [*range(1, count + 1)]
        if encoder.time and encoder.step:
            times = continue_times(steps.times, encoder.step, last)[first:last]
            shown = [show_time(time, dates=encoder.dates) for time in times]
        own_id = key if encoder.id else None
        results[key] = Forecast(shown, predicted[key][:count], names, levels, own_id)
    return results
