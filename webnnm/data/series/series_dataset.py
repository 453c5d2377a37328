"""A dataset over windows of one or more series, split in order of time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self, cast

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import as_python, is_integer
from webnnm.data.dataset import Dataset
from webnnm.data.intake import ONLY_BLOCK
from webnnm.data.preparation.standardize import INPUT_SCALES, InputScale, Standardization, Unscaled
from webnnm.data.series.baselines import LinearForecast, fit_linear, repeat_last, repeat_season
from webnnm.data.series.levels import OWN_SCALES, Level, Levels, Scaling, measure_level, scale_steps
from webnnm.data.series.season import average_change, find_season
from webnnm.data.series.series_encoder import (
    MAX_STEPS,
    SeriesEncoder,
    are_levels,
    stack_steps,
    stack_targets,
    stack_windows,
)
from webnnm.data.series.sliding import SlidingWindows
from webnnm.data.series.steps import (
    MISSING,
    Missing,
    Steps,
    as_series_table,
    group_rows,
    read_steps,
)
from webnnm.data.series.timeline import Step, find_step, show_time
from webnnm.data.split import Rows, Split, split_rows
from webnnm.data.tables.column_reading import read_column
from webnnm.data.tables.columns import Table
from webnnm.data.tables.date_encoding import DateEncoder, Part
from webnnm.data.tables.date_format import looks_like_date
from webnnm.data.tables.encoding import Encoder, NumberEncoder, OneHotEncoder
from webnnm.data.tables.table_dataset import as_column_list

if TYPE_CHECKING:
    from webnnm.data.tables.date_format import Order

MIN_WINDOW = 16
"""By default a window has at least so many steps, if the series is long enough."""

WINDOW_SHARE = 5
"""By default the training part is at least so many windows long."""

TIMES = ("time", "date", "year", "month", "day", "week", "t")
"""Names of columns of numbers that are times, if no time occurs twice."""

MIN_VARIANCE = 0.01
"""Series of smaller variance, as a share of the median of all, weigh no more than with it."""

SCALES = (*OWN_SCALES, *INPUT_SCALES)

BY_DEFAULT: Scaling = "series"
"""How several series are scaled by default."""

OPTIONS = ("batch_size", "sample_weight", "seed")
"""The options of every dataset that those of series have: others follow from the series."""


NO_OPTIONS: Mapping[str, Any] = {}

SPLIT = (0.7, 0.1, 0.2)
"""The shares of steps for training, validation and testing."""


class SeriesDataset(Dataset):
    """A dataset of windows of a series: from the last steps, a model predicts the next ones.

    >>> sales = SeriesDataset({"day": ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"],
    ...     "sales": [3, 5, 4, 6]}, window=2, split=(1, 0, 0), standardize=False)
    >>> inputs, outputs = sales.arrays("training")
    >>> inputs["model"].tolist(), outputs["model"].tolist()
    ([[[3.0], [5.0]], [[5.0], [4.0]]], [[4.0], [6.0]])

    - `table`: what `read_csv` returned, a dict from column to values, a list of dicts, a data
      frame; or the numbers of one series, or `[steps, columns]`.
    - `target`: the column to predict, or several; by default the last one.
    - `time`: the column of the times, dates or numbers; by default the first column of dates, else
      of numbers with a name such as year, or the first column if its numbers grow by even steps;
      without one the rows are in order. Rows are sorted by it.
    - `id`: the column that tells several series apart, of which one model is trained.
    - `window`: how many steps the model looks back; by default the seasons that make 16 or more.
    - `horizon`: how many steps it predicts at once.
    - `features`: further columns that the model gets, by default all others; words become a 1
      among zeros.
    - `future`: those of them that are known in advance, such as prices or holidays.
    - `season`: steps of a season; by default found in the training part, None if there is none.
    - `missing`: what to do about missing steps and empty cells: "error", "fill" (carry the last
      value forward), or "ignore" (take rows as they follow, and fill empty cells). What is filled
      in is never a target: windows with such a target are left out.
    - `quantiles`: levels to predict in place of the mean, such as `[0.1, 0.5, 0.9]`, of a single
      target; the loss of the model is then QUL.
    - `dates`: the order of day and month, "dmy" or "mdy", where no date tells it.
    - `calendar`: whether the model gets season, weekday and time of day of dates, where they vary.
    - `split`: shares or counts of steps for training, validation and testing, in order of time: no
      target is in two of them. Or lists of row numbers.
    - `standardize`: whether each channel is scaled by its mean and standard deviation in training.
    - `scale`: "series" scales each series by its own mean and deviation in training, one that was
      not in training by those of its window; "window" scales each window by its own (reversible
      instance normalisation, Kim et al. 2022), which follows a level that moves, and takes memory
      for each window; "standard" and "minmax" scale all series alike. By default "series" for
      several series, else "standard". Predictions always come in the units of the data.

    Further options are `batch_size`, `seed` and `sample_weight` of `Dataset`. The input is
    `[window, channels]`: targets, features, then what is known in advance, each as of `horizon`
    steps later. The output is `[horizon]`, or `[horizon, targets]`, or `[horizon, quantiles]`.

    Raises `DataError` NNM704 for invalid options, NNM705 for too few steps, NNM710 for unknown
    columns, NNM713 for missing or doubled times, missing steps and numbers, and cells that are not
    numbers.

    Attributes: those of `Dataset`; `series`, how rows become windows; `season`; `inserted` and
    `filled`, how many steps and numbers were missing.
    """

    _learnt = False
    """Whether the levels of series are those of an earlier training."""

    def __init__(
        self,
        table: Any,
        target: str | int | Sequence[str | int] | None = None,
        *,
        time: str | int | None = None,
        id: str | int | None = None,
        window: int | None = None,
        horizon: int = 1,
        features: Sequence[str | int] | None = None,
        future: Sequence[str | int] = (),
        season: int | None = None,
        missing: Missing = "error",
        quantiles: Sequence[float] = (),
        dates: Order | None = None,
        calendar: bool = True,
        split: Sequence[Any] = SPLIT,
        standardize: bool = True,
        scale: InputScale | Scaling | None = None,
        name: str = "series",
        **options: Any,
    ) -> None:
        if missing not in MISSING:
            hint = suggestion(str(missing), MISSING) or f"one of {', '.join(MISSING)}"
            raise DataError("NNM704", f'missing="{missing}"', hint=hint)
        for option, size in (("window", window), ("horizon", horizon), ("season", season)):
            if size is not None and (not is_integer(size) or not 1 <= size <= MAX_STEPS):
                hint = f"an integer from 1 to {MAX_STEPS}"
                raise DataError("NNM704", f"{option} is {size!r}", hint=hint)
        levels = _read_levels(quantiles)
        split = [*map(as_python, split)] if isinstance(split, (list, tuple)) else split
        if not isinstance(split, list):
            hint = "three shares or counts of steps, such as (0.7, 0.1, 0.2)"
            raise DataError("NNM704", f"split is {split!r:.60}", hint=hint)
        for option in options:
            if option not in OPTIONS:
                hint = suggestion(option, OPTIONS) or "scaled alike are inputs and targets"
                raise DataError("NNM704", f"a series has no option {option}=", hint=hint)
        if scale is not None and scale not in SCALES:
            hint = suggestion(str(scale), SCALES) or f"one of {', '.join(SCALES)}"
            raise DataError("NNM704", f'scale="{scale}"', hint=hint)
        table = as_series_table(table)
        roles = _Roles.of(table, target, time, id, features, future)
        series = _make_encoder(table, roles, horizon, missing, dates, calendar=calendar)
        several = series.id and standardize
        scale = scale or (BY_DEFAULT if several else "standard")
        scaling = scale if scale in OWN_SCALES else "all"
        series = replace(series, quantiles=levels, scaling=scaling)
        if levels and len(series.targets) > 1:
            raise DataError("NNM704", "quantiles are of one target", hint="name a single target=")
        self._divide(
            read_steps(table, series, missing),
            series,
            split,
            season=season,
            window=window,
            standardize=standardize,
            scale="standard" if scaling != "all" else cast("InputScale", scale),
            name=name,
            options=options,
        )

    @classmethod
    def from_encoder(
        cls,
        table: Any,
        encoder: SeriesEncoder,
        scale: Standardization | None = None,
        target_scale: Standardization | None = None,
        *,
        split: Sequence[Any] = SPLIT,
        name: str = "series",
    ) -> Self:
        """Read a table as a model of the encoder was given the series of its training.

        >>> encoder = SeriesDataset([1, 2, 3, 4, 5], window=2).series
        >>> SeriesDataset.from_encoder([3, 5, 4, 6, 7], encoder).size()
        3

        `scale` and `target_scale` are how its inputs and targets were scaled, None for not at all.
        Rows before those that are tested are those from which simple forecasts are fitted. Raises
        the errors of `SeriesDataset` for the table and the split.
        """
        self = cls.__new__(cls)
        self._learnt = True
        by_id = read_steps(encoder.as_table(table), encoder, encoder.missing)
        self._divide(by_id, encoder, split, window=encoder.window, name=name)
        for unscaled, arrays, scales, one in (
            (self._unscaled_inputs, self._inputs, self.standardization, scale),
            (self._unscaled_outputs, self._outputs, self.target_standardization, target_scale),
        ):
            ((block, values),) = unscaled.arrays.items()
            if one is None:
                del scales[block]
                arrays[block] = HostArray.of(values, "float32")
            else:
                scales[block] = one
                slides = isinstance(values, SlidingWindows)
                arrays[block] = values.map_steps(one.apply) if slides else one.apply(values)
        return self

    def _divide(
        self,
        by_id: Mapping[str, Steps],
        series: SeriesEncoder,
        split: Sequence[Any],
        *,
        season: int | None = None,
        window: int | None = None,
        standardize: bool = True,
        scale: InputScale = "standard",
        name: str,
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> None:
        """Make windows of steps, and divide them in order of time."""
        self.steps, horizon = by_id, series.horizon
        self.inserted = sum(steps.inserted for steps in by_id.values())
        self.filled = sum(steps.filled for steps in by_id.values())
        times = sorted({time for steps in by_id.values() for time in steps.times[: steps.known]})
        shares = all(isinstance(part, (int, float)) for part in split)
        cuts = split_rows(len(times), split, method="sequential") if shares else None
        last = times[cuts[0][-1]] if cuts and cuts[0] else times[-1]
        longest = max(by_id.values(), key=lambda steps: steps.known)
        training = [v for v, at in zip(longest.past[0], longest.times, strict=False) if at <= last]
        self.season = find_season(training) if season is None else season
        if window is None:
            window = _choose_window(self.season, len(training), series)
        least = horizon if series.ahead or series.calendar else 1
        if window < least:
            raise DataError(
                "NNM704",
                f"window is {window}, shorter than the {horizon} steps that are known in advance",
                hint=f"window={horizon} or more, or calendar=False without future=",
            )
        series = replace(series, window=window).keep_recent(by_id)
        self.series: SeriesEncoder = series
        self._ends = [
            (key, end)
            for key, steps in by_id.items()
            for end in range(window - 1, steps.known - horizon)
            if steps.holes.isdisjoint(range(end + 1, end + 1 + horizon))
        ]
        if not self._ends:
            raise DataError(
                "NNM705",
                f"{longest.known} steps are too few for a window of {window} and {horizon} ahead",
                hint=f"give {window + horizon} steps or more, as the model was trained"
                if self._learnt
                else _suggest_lengths(longest.known, horizon, least),
            )
        rows = len(self._ends)
        parts = self._split(times, cuts) if cuts else Split(split, 0).rows(rows, None)
        windows, targets = self._make_arrays(parts[0])
        weights = self._choose_weights(last)
        if weights:
            options = {"sample_weight": weights, **options}
        super().__init__(
            windows,
            targets,
            name=name,
            split=parts,
            kinds={ONLY_BLOCK: "continuous"},
            names={ONLY_BLOCK: ("steps", "channels")},
            features=series.features,
            standardize=standardize,
            standardize_targets=standardize,
            scale=scale,
            **options,
        )

    def forecasts(self, subset: str) -> dict[str, HostArray]:
        """Return simple forecasts of a subset in the units of the data, like its outputs.

        >>> sales = SeriesDataset([1, 2, 3, 4, 5, 6], window=2, split=(1, 0, 0))
        >>> sales.forecasts("training")["last value"].tolist()
        [[2.0], [3.0], [4.0], [5.0]]

        They are those of the last value, of the last season, if there is one, and of a ridge
        regression on the window, fitted to the training rows; of several series each is scaled by
        its mean and deviation in training.
        """
        series = self.series
        horizon, width = series.horizon, len(series.targets)
        levels = [self._measure_target(target) for target in range(width)]
        linear = [self._fit_linear(target, own) for target, own in enumerate(levels)]
        names = ["last value", *([f"last season ({self.season})"] if self.season else []), "linear"]
        flat: dict[str, list[float]] = {name: [] for name in names}
        for row in self._require_rows(subset):
            key, end = self._ends[row]
            columns = [column[: end + 1] for column in self.steps[key].past[:width]]
            season = self.season or 1
            every = {
                names[0]: [repeat_last(column, horizon) for column in columns],
                "linear": [
                    _unscale(fit.predict([*_scale(column[-series.window :], own[key])]), own[key])
                    for fit, column, own in zip(linear, columns, levels, strict=True)
                ],
            }
            if self.season:
                every[names[1]] = [
                    repeat_season(column, horizon, season)
                    if len(column) >= season
                    else repeat_last(column, horizon)
                    for column in columns
                ]
            for name, by_target in every.items():
                flat[name] += [value for step in zip(*by_target, strict=True) for value in step]
        shape = (len(self.rows(subset)), horizon, *([width] if width > 1 else []))
        return {name: HostArray.of(values, "float64", shape) for name, values in flat.items()}

    def actual(self, subset: str) -> HostArray:
        """Return the values that forecasts of a subset are compared with, in units of the data.

        >>> SeriesDataset([1, 2, 3, 4], window=2, split=(1, 0, 0)).actual("training").tolist()
        [[3.0], [4.0]]

        They are `[rows, horizon]`, or `[rows, horizon, targets]`.
        """
        single = replace(self.series, quantiles=())
        ends = [self._ends[row] for row in self._require_rows(subset)]
        return concatenate([stack_targets(single, self.steps[key], [end]) for key, end in ends])

    def list_windows(self, subset: str) -> list[dict[str, Any]]:
        """Return what a model is asked in the rows of a subset, in the units of the data.

        >>> SeriesDataset([1, 2, 3, 4], window=2, split=(1, 0, 0)).list_windows("training")[0]
        {'id': '', 'times': [0, 1], 'values': [1.0, 2.0], 'ahead': [2], 'actual': [3.0]}

        For each row the `id` of its series, the `times` and `values` of the first target in the
        window, and the times `ahead` with the `actual` values.
        """
        result: list[dict[str, Any]] = []
        times_by_id = {
            key: [show_time(time, dates=self.series.dates) for time in steps.times]
            for key, steps in self.steps.items()
        }
        for row in self._require_rows(subset):
            key, end = self._ends[row]
            steps, times = self.steps[key], times_by_id[key]
            past = slice(end + 1 - self.series.window, end + 1)
            ahead = slice(end + 1, end + 1 + self.series.horizon)
            result.append(
                {
                    "id": key,
                    "times": times[past],
                    "values": [*steps.past[0][past]],
                    "ahead": times[ahead],
                    "actual": [*steps.past[0][ahead]],
                }
            )
        return result

    def season_beats_last(self) -> bool:
        """Return whether the last season forecasts the training part better than the last value."""
        if not self.season:
            return False
        pairs = [
            (average_change(column, self.season), average_change(column, self.series.horizon))
            for columns in self._get_training_targets().values()
            for column in columns
        ]
        return 2 * sum([season < last for season, last in pairs]) > len(pairs)

    def error_scales(self, subset: str) -> list[float]:
        """Return the mean absolute error of the last season in training, for each row and target.

        Errors divided by it are scaled errors (MASE, Hyndman & Koehler 2006); without a season it
        is that of the last value.
        """
        scales = {
            key: [average_change(column, self.season or 1) for column in columns]
            for key, columns in self._get_training_targets().items()
        }
        return [
            scale
            for row in self._require_rows(subset)
            for _ in range(self.series.horizon)
            for scale in scales[self._ends[row][0]]
        ]

    def held_back(self, share: float, seed: int | None = None) -> Dataset:
        """Return the same data with the last share of the training rows used for validation.

        Their targets begin after those of the rows before. Raises `DataError` NNM704 for a share
        that is not from 0 to 1, NNM705 without training rows.
        """
        rows = sorted(self._require_rows("training"), key=self._get_time)
        training, validation, _ = split_rows(
            len(rows), (1 - share, share, 0), method="sequential", seed=seed or 0
        )
        other = self._copy()
        chosen = [rows[index] for index in validation]
        kept = [rows[index] for index in training]
        other._rows = self._rows | {"training": self._end_before(kept, chosen)}
        other._rows["validation"] = chosen
        return other

    def folds(self, k: int, *, subset: str = "full", seed: int | None = None) -> Iterator[Dataset]:
        """Yield k datasets for backtesting: each tests what follows its training rows.

        >>> series = SeriesDataset([*range(14)], window=2, split=(1, 0, 0))
        >>> [(len(fold.rows("training")), fold.rows("testing")) for fold in series.folds(3)]
        [(3, [3, 4, 5]), (6, [6, 7, 8]), (9, [9, 10, 11])]

        The rows of `subset` are divided into k + 1 parts in order of time, of which each but the
        first is tested once, by a model of all parts before it: one origin after another. Scales
        are computed from the training rows of each.

        Raises `DataError` NNM704 for fewer than two parts or too few rows.
        """
        del seed  # time decides
        rows = sorted(self._require_rows(subset), key=self._get_time)
        if not is_integer(k) or k < 1 or len(rows) < 2 * (k + 1):
            raise DataError("NNM704", f"{k!r} folds of {len(rows)} rows", hint="fewer folds")
        bounds = [len(rows) * part // (k + 1) for part in range(k + 2)]
        for number in range(1, k + 1):
            tested = rows[bounds[number] : bounds[number + 1]]
            other = self._copy()
            other.name = f"{self.name}, origin {number} of {k}"
            training = self._end_before(rows[: bounds[number]], tested)
            if other.series.scaling != "all":
                other._rescale(training)
            other._apply_split((training, [], tested))
            yield other

    def to_units(self, forecasts: HostArray, subset: str) -> HostArray:
        """Return forecasts of a subset, scaled as its rows are, in the units of the data."""
        levels = self._levels and [self._levels[row] for row in self._require_rows(subset)]
        return self.series.unscale(forecasts, levels)

    def _rescale(self, training: Sequence[int]) -> None:
        """Scale all rows by the levels of these ones."""
        windows, targets = self._make_arrays(training)
        for unscaled, values in (
            ("_unscaled_inputs", windows),
            ("_unscaled_outputs", targets),
        ):
            before: Unscaled = getattr(self, unscaled)
            arrays = {
                block: values if block in before.features else HostArray.of(values, "float32")
                for block in before.arrays
            }
            setattr(self, unscaled, replace(before, arrays=arrays))

    def _make_arrays(self, training: Sequence[int]) -> tuple[HostArray, HostArray]:
        """Return windows and targets of all rows, scaled by levels of the training rows."""
        if self.series.scaling != "all" and not self._learnt:
            levels = {
                key: tuple(
                    measure_level(self.steps[key].past[at][:end]) for at in self.series.scaled
                )
                for key, end in self._find_ends(training).items()
            }
            self.series = replace(self.series, levels=levels)
        series, columns = self.series, len(self.series.targets)
        # Rows of one level share the memory of their steps; others are scaled one by one.
        slides = series.scaling == "all" or (
            series.scaling == "series" and {key for key, _ in self._ends} <= {*series.levels}
        )
        windows: list[HostArray] = []
        targets: list[HostArray] = []
        starts: list[int] = []
        self._levels: list[Levels] = []
        for key, rows in groupby(self._ends, key=itemgetter(0)):
            ends = [end for _, end in rows]
            outputs = stack_targets(series, self.steps[key], ends)
            if slides:
                before = sum(map(len, windows))
                starts += [before + end + 1 - series.window for end in ends]
                windows.append(stack_steps(series, self.steps[key], series.levels.get(key)))
                levels = [series.levels[key][:columns]] * len(ends) if series.levels else []
            else:
                inputs = stack_windows(series, self.steps[key], ends)
                scaled, levels = series.scale(inputs, [key] * len(ends))
                windows.append(scaled)
            targets.append(scale_steps(outputs, levels, columns) if levels else outputs)
            self._levels += levels
        inputs = concatenate(windows)
        if slides:
            inputs = SlidingWindows(inputs, starts, series.window)
        return inputs, concatenate(targets)

    def _apply_split(self, parts: Rows) -> None:
        series = self.series
        if not parts[0]:
            raise DataError(
                "NNM705",
                f"no window of {series.window} steps with {series.horizon} ahead lies in training",
                hint=f"{'' if self._learnt else 'a smaller window=, or '}"
                "a larger first share of split=",
            )
        super()._apply_split(parts)
        steps = tuple(f"+{step}" for step in range(1, series.horizon + 1))
        for block, field in self.outputs.items():
            self.outputs[block] = replace(field, names=("steps",), features=steps)
            if series.quantiles:
                names = tuple(f"{level:g}" for level in series.quantiles)
                self.outputs[block] = replace(field, names=("steps", "quantiles"), features=names)
            elif len(field.shape) > 1:
                names = tuple(one.name for one in series.targets)
                self.outputs[block] = replace(field, names=("steps", "channels"), features=names)
        # Targets have the scale of the channels that they continue.
        for scaled in self.standardization.values():
            width = len(series.targets)
            shared = replace(
                scaled,
                mean=scaled.mean[:width],
                std=scaled.std[:width],
                quantiles=scaled.quantiles[:width],
            )
            for block, values in self._unscaled_outputs.arrays.items():
                self.target_standardization[block] = shared
                self._outputs[block] = shared.apply(values)

    def _get_training_targets(self) -> dict[str, list[Sequence[float]]]:
        """Return the targets of each series until the end of training."""
        last = self._find_ends(self._require_rows("training"))
        width = len(self.series.targets)
        return {
            key: [column[: last.get(key)] for column in steps.past[:width]]
            for key, steps in self.steps.items()
        }

    def _find_ends(self, rows: Sequence[int]) -> dict[str, int]:
        """Return how many steps of each series end with the targets of these rows."""
        last: dict[str, int] = {}
        for row in rows:
            key, end = self._ends[row]
            last[key] = max(last.get(key, 0), end + self.series.horizon + 1)
        return last

    def _split(self, times: Sequence[float], cuts: Rows) -> Rows:
        """Return the rows of each part: those whose targets all lie in its times."""
        parts: Rows = ([], [], [])
        for part, indices in zip(parts, cuts, strict=True):
            if not indices:
                continue
            first, last = times[indices[0]], times[indices[-1]]
            for row, (key, end) in enumerate(self._ends):
                own = self.steps[key].times
                if first <= own[end + 1] and own[end + self.series.horizon] <= last:
                    part.append(row)
        return parts

    def _get_time(self, row: int) -> float:
        """Return the time of the first target of a row."""
        key, end = self._ends[row]
        return self.steps[key].times[end + 1]

    def _end_before(self, rows: Sequence[int], later: Sequence[int]) -> list[int]:
        """Return the rows whose targets end before those of later rows begin."""
        first = min(map(self._get_time, later), default=math.inf)
        horizon = self.series.horizon
        ends = [(row, *self._ends[row]) for row in rows]
        return [row for row, key, end in ends if self.steps[key].times[end + horizon] < first]

    def _choose_weights(self, last: float) -> list[float]:
        """Return weights of the rows, none if all count alike."""
        if self.series.scaling == "window":
            return self._weigh_windows()
        return self._weigh_series(last) if len(self.steps) > 1 and not self._levels else []

    def _weigh_windows(self) -> list[float]:
        """Return weights by which errors count as they would before the scaling of each window.

        A window that varies little, compared with its series, would count most otherwise.
        """
        power = 1 if self.series.quantiles else 2  # the pinball loss grows with the error
        weights: list[float] = []
        for (key, _), ((_, deviation), *_) in zip(self._ends, self._levels, strict=True):
            levels = self.series.levels.get(key)
            weights.append((deviation / levels[0][1]) ** power if levels else 1.0)
        mean = math.fsum(weights) / len(weights)
        return [weight / mean for weight in weights]

    def _weigh_series(self, last: float) -> list[float]:
        """Return weights by which the errors of large series count no more than those of small."""
        variances: dict[str, float] = {}
        for key, steps in self.steps.items():
            values = [v for v, at in zip(steps.past[0], steps.times, strict=False) if at <= last]
            mean = math.fsum(values) / max(1, len(values))
            total = math.fsum([(value - mean) ** 2 for value in values])
            variances[key] = total / max(1, len(values))
        # A series that is all but constant must not outweigh all others.
        ordered = sorted(filter(None, variances.values())) or [0.0]
        middle = math.sqrt(ordered[(len(ordered) - 1) // 2] * ordered[len(ordered) // 2])
        least = MIN_VARIANCE * middle
        floored = {key: variance and max(variance, least) for key, variance in variances.items()}
        weights = [1 / floored[key] if floored[key] else 0.0 for key, _ in self._ends]
        mean = math.fsum(weights) / len(weights) or 1.0
        return [weight / mean or 1.0 for weight in weights]

    def _measure_target(self, target: int) -> dict[str, Level]:
        """Return what the linear forecast scales a target by: the level of each series in training.

        A single series is fitted as it is. One without training steps is scaled by all that it has.
        """
        if len(self.steps) == 1:
            return dict.fromkeys(self.steps, (0.0, 1.0))
        trained = self._get_training_targets()
        ends = self._find_ends(self._require_rows("training"))
        return {
            key: measure_level(trained[key][target] if key in ends else steps.past[target])
            for key, steps in self.steps.items()
        }

    def _fit_linear(self, target: int, levels: Mapping[str, Level]) -> LinearForecast:
        """Fit the linear forecast of a target to the runs of training windows, scaled by levels."""
        window, horizon = self.series.window, self.series.horizon
        segments: list[tuple[Sequence[float], int]] = []
        previous = ("", -1)
        for row in self._require_rows("training"):
            key, end = self._ends[row]
            if segments and (key, end - 1) == previous:
                values, count = segments[-1]
                segments[-1] = values, count + 1
            else:
                values = self.steps[key].past[target][end + 1 - window :]
                segments.append(([*_scale(values, levels[key])], 1))
            previous = key, end
        return fit_linear(segments, window, horizon)


def _scale(values: Sequence[float], level: Level) -> Iterator[float]:
    mean, deviation = level
    return ((value - mean) / deviation for value in values)


def _unscale(values: Sequence[float], level: Level) -> list[float]:
    mean, deviation = level
    return [value * deviation + mean for value in values]


def _read_levels(quantiles: Any) -> tuple[float, ...]:
    try:
        levels = tuple(map(float, quantiles))
    except (TypeError, ValueError):
        levels = (math.nan,)
    if not are_levels(levels):
        hint = "levels in ascending order, such as [0.1, 0.5, 0.9]"
        raise DataError("NNM704", f"quantiles are {quantiles!r:.60}", hint=hint)
    return levels


@dataclass(frozen=True, slots=True)
class _Roles:
    """What the columns of a table are, by their indices."""

    targets: list[int]
    past: list[int]
    ahead: list[int]
    time: int | None
    id: int | None

    def in_order(self) -> list[int]:
        """Return the columns that are used, in the order of the table."""
        others = [index for index in (self.time, self.id) if index is not None]
        return sorted([*self.targets, *self.past, *self.ahead, *others])

    @classmethod
    def of(
        cls, table: Table, target: Any, time: Any, id: Any, features: Any, future: Any
    ) -> _Roles:
        if not table.row_count:
            raise DataError("NNM705", "the table has no rows")
        at = _find_dates(table) if time is None else table.index(time)
        name = None if id is None else table.index(id)
        if at is None:
            asked = [*as_column_list("target", target), *as_column_list("future", future)]
            asked += [] if features is None else as_column_list("features", features)
            at = _find_growing(table, [name, *map(table.index, asked)])
        left = [index for index in range(len(table.names)) if index not in (at, name)]
        targets = [table.index(column) for column in as_column_list("target", target)] or left[-1:]
        ahead = [table.index(column) for column in as_column_list("future", future)]
        chosen = [index for index in left if index not in targets]
        if features is not None:
            chosen = [table.index(column) for column in as_column_list("features", features)]
        past = [index for index in chosen if index not in ahead]
        used = [*targets, *past, *ahead, *(index for index in (at, name) if index is not None)]
        if not targets or len({*used}) < len(used):
            twice = max(used, key=used.count, default=0)
            raise DataError(
                "NNM704",
                f'column "{table.names[twice]}" is used twice' if targets else "there is no target",
                hint="time=, id=, target=, features= and future= name different columns",
            )
        return cls(targets, past, ahead, at, name)


def _find_dates(table: Table) -> int | None:
    """Return the first column of dates."""
    for index, cells in enumerate(table.columns):
        first = next((cell for cell in cells if cell not in (None, "")), None)
        if first is not None and as_date(first):
            return index
    return None


def _find_growing(table: Table, used: Sequence[int | None]) -> int | None:
    """Return the column of numbers that are times, by its name or as the first one."""
    free = [index for index in range(len(table.names)) if index not in used]
    if len(free) < 2 and len(used) < 2:  # a target is left
        return None
    id = next((table.names[index] for index in used[:1] if index is not None), "")
    named = {index: table.names[index].strip().lower() for index in free}
    for index in sorted(free, key=lambda index: named[index] not in TIMES):
        name = named[index]
        if name not in TIMES and (index or name.isdigit()):
            continue
        column = read_column(table, index)
        if column.numbers is None or column.date_format is not None or column.missing:
            continue
        numbers = column.numbers
        own = [[numbers[row] for row in rows] for rows in group_rows(table, id).values()]
        if name in TIMES and all(len({*times}) == len(times) for times in own):
            return index
        if all(a < b for times in own for a, b in pairwise(times)) and find_step(*own, dates=False):
            return index
    return None


def as_date(cell: Any) -> bool:
    """Return whether a cell is a date, not a number."""
    return not isinstance(cell, (int, float)) and looks_like_date(cell)


def _make_encoder(
    table: Table,
    roles: _Roles,
    horizon: int,
    missing: Missing,
    dates: Order | None,
    *,
    calendar: bool,
) -> SeriesEncoder:
    """Return how rows become steps; its window is still to be chosen."""

    def encoder(index: int, numeric: bool | None = None) -> Encoder:
        column = read_column(table, index, numeric, order=dates)
        if column.numbers is None:
            words = column.get_words(range(len(column.words)))
            return OneHotEncoder.fit(column.name, words)
        if column.date_format is not None:
            return DateEncoder.fit(column.name, column.numbers, column.date_format)
        return NumberEncoder(column.name, number_format=column.number_format)

    targets = [encoder(index, True) for index in roles.targets]
    series = SeriesEncoder(
        tuple(one for one in targets if isinstance(one, NumberEncoder)),
        tuple(encoder(index) for index in roles.past),
        tuple(encoder(index) for index in roles.ahead),
        horizon=horizon,
        id="" if roles.id is None else table.names[roles.id],
        missing=missing,
        order=tuple(table.names[index] for index in roles.in_order()),
    )
    if roles.time is None:
        return series
    column = read_column(table, roles.time, order=dates)
    if column.numbers is None:
        raise DataError(
            "NNM713",
            f'column "{column.name}" holds neither dates nor numbers, such as '
            f'"{next(iter(column.get_words(range(len(column.words)))), "")}"',
            hint="time= names the column of the times; without it rows are in order",
        )
    series = replace(series, time=column.name, date_format=column.date_format)
    numbers = column.numbers
    times = sorted({time for time in numbers if time == time})
    by_id = group_rows(table, series.id).values()
    own = [sorted({numbers[row] for row in rows} & {*times}) for rows in by_id]
    step = find_step(*own, dates=series.dates)
    series = replace(series, step=step)
    if column.date_format is not None and calendar:
        parts = DateEncoder.fit(column.name, times, column.date_format)
        recurring = tuple(part for part in parts.parts if _recurs(part, step))
        series = replace(series, calendar=replace(parts, parts=recurring) if recurring else None)
    return series


def _recurs(part: Part, step: Step | None) -> bool:
    """Return whether a part of dates recurs, and differs from one step to the next."""
    days = 1.0 if step is None else step.size * (30 if step.unit == "month" else 1)
    longest = {"season": 200.0, "weekday": 1.0, "time": 0.5}
    return part != "days" and days <= longest[part]


def _suggest_lengths(steps: int, horizon: int, least: int) -> str:
    """Return options with which so many steps make windows, of `least` steps or more."""
    if horizon < steps // 2:
        return f"window={max(least, steps // 2 - horizon)}"
    return f"horizon={max(1, steps // 4)}, window={max(1, steps // 4)}"


def _choose_window(season: int | None, training: int, series: SeriesEncoder) -> int:
    """Return whole seasons of 16 steps or more, but at most a sixth of the training part."""
    step = season or MIN_WINDOW
    window = step * max(1, -(-MIN_WINDOW // step))
    window = max(1, min(window, training // WINDOW_SHARE))
    return max(window, series.horizon) if series.ahead or series.calendar else window
