"""The report on forecasts of a series, beside simple forecasts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray
from webnnm.core.readable import show_number
from webnnm.evaluation.compare import regression
from webnnm.evaluation.history import plain
from webnnm.evaluation.regression_report import RegressionReport
from webnnm.evaluation.table import decimals

if TYPE_CHECKING:
    from webnnm.data.series.intervals import Intervals
    from webnnm.data.series.series_dataset import SeriesDataset


MEDIAN = 0.5

OTHER_SCALES = 'try scale="window" and scale="standard", and compare them by test("validation")'
"""Advice for models of several series that are scaled by their levels in training."""


@dataclass(frozen=True, slots=True)
class ForecastErrors:
    """The errors of a forecast.

    Attributes: `mae` and `rmse` in the units of the data; `mase`, the mean absolute error divided
    by that of the last season in training (Hyndman & Koehler 2006), of the last value without a
    season: below 1 is better than that; `coverage`, the share of targets in the interval from the
    lowest to the highest quantile, or below the only one, and `width`, that of the interval on
    average, or None.
    """

    mae: float
    rmse: float
    mase: float
    coverage: float | None = None
    width: float | None = None


def measure_errors(
    forecast: Sequence[float], targets: Sequence[float], scales: Sequence[float]
) -> ForecastErrors:
    """Return the errors of a forecast.

    >>> errors = measure_errors([1.0, 2.0], [1.0, 4.0], [2.0, 2.0])
    >>> errors.mae, errors.rmse, errors.mase
    (1.0, 1.4142135623730951, 0.5)
    """
    errors = [abs(a - b) for a, b in zip(forecast, targets, strict=True)]
    squares = math.fsum([error * error for error in errors])
    scaled = [error / scale for error, scale in zip(errors, scales, strict=True) if scale > 0]
    count = len(errors)
    mase = math.fsum(scaled) / len(scaled) if scaled else math.nan
    return ForecastErrors(math.fsum(errors) / count, math.sqrt(squares / count), mase)


@dataclass(frozen=True)
class ForecastReport(RegressionReport):
    """The deviations of forecasts from the actual values, beside those of simple forecasts.

    Attributes: those of `RegressionReport`; `own`, the errors of the model; `simple`, those of
    simple forecasts by name; `coverage`, the share of targets between the lowest and the highest
    quantile, or below the only one, and that expected, or None; `uncalibrated`, the share before
    the calibration of the quantiles, None if they are not calibrated; `bounds`, the lowest and the
    highest quantile of all targets, flat as `pairs` are, or None; `advice`, what to try where a
    simple forecast is better than the model, or "".
    """

    own: ForecastErrors = field(default_factory=lambda: ForecastErrors(*[math.nan] * 3))
    simple: Mapping[str, ForecastErrors] = field(default_factory=dict[str, ForecastErrors])
    coverage: tuple[float, float] | None = None
    uncalibrated: float | None = None
    bounds: tuple[Sequence[float], Sequence[float]] | None = field(
        default=None, repr=False, compare=False
    )

    advice: str = field(default="", compare=False)

    @property
    def mase(self) -> float:
        """The mean absolute scaled error: below 1 is better than the last season in training."""
        return self.own.mase

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        simple = {
            name: {key: value for key, value in asdict(one).items() if value is not None}
            for name, one in self.simple.items()
        }
        more = {"mase": self.mase, "simple": simple, "coverage": self.coverage}
        more |= {"uncalibrated": self.uncalibrated, "interval_width": self.own.width}
        return {**super().to_dict(), **plain(more)}

    def _describe(self) -> tuple[list[str], list[list[str]]]:
        title = f"MAE {show_number(self.mae)}, RMSE {show_number(self.rmse)}, R² {self.r2:.4f}"
        lines = [f"{title}, MASE {decimals([self.mase])[0]}"]
        if self.coverage is not None:
            actual, expected = self.coverage
            before = "before calibration" if self.uncalibrated is not None else "not calibrated"
            if self.uncalibrated is not None:
                before = f"{self.uncalibrated:.1%} {before}"
            inside = f"{actual:.1%} of the targets lie in the interval of {expected:.0%}"
            if self.own.width is None:
                inside = f"{actual:.1%} of the targets lie below the quantile {expected:g}"
            lines.append(f"{inside} ({before})")
        rows = [["forecast", "MAE", "RMSE", "MASE"]]
        if has_width := self.coverage is not None and self.own.width is not None:
            rows[0] += ["coverage", "width"]
        for name, one in {"model": self.own, **self.simple}.items():
            row = [name, show_number(one.mae), show_number(one.rmse), *decimals([one.mase])]
            if has_width:
                if one.coverage is None or one.width is None:
                    row += ["", ""]
                else:
                    row += [f"{one.coverage:.1%}", show_number(one.width)]
            rows.append(row)
        if better := self._find_better():
            lines.append(better)
        return lines, rows

    def _find_better(self) -> str:
        """Return which simple forecast is better than the model, "" if none is.

        A single quantile other than the median is no forecast of the same.
        """
        if self.coverage is not None and self.own.width is None and self.coverage[1] != MEDIAN:
            return ""
        name = "MAE" if math.isnan(self.mase) else "MASE"
        errors = {key: getattr(one, name.lower()) for key, one in self.simple.items()}
        own, best = getattr(self.own, name.lower()), min(errors, key=errors.__getitem__, default="")
        both = [errors[best], own] if best and errors[best] < own else []
        shown = decimals(both) if name == "MASE" else [*map(show_number, both)]
        # What rounds to the same is no better.
        if len({*shown}) < 2:
            return ""
        advice = f" → {self.advice}" if self.advice else ""
        return f"{best} is better: {name} {shown[0]}, model {shown[1]}{advice}"


def compare_forecasts(
    outputs: HostArray,
    targets: HostArray,
    dataset: SeriesDataset,
    subset: str,
    intervals: Intervals | None = None,
) -> ForecastReport:
    """Compare forecasts of all rows of a subset with their targets and with simple forecasts.

    Of quantiles the median is compared; `intervals` are the margins that calibrate them.
    """
    levels = dataset.series.quantiles
    actual = [*dataset.to_units(targets, subset).values()][:: len(levels) or 1]
    coverage = before = bounds = None
    from webnnm.data.series.intervals import find_median

    if levels and intervals is not None:
        plain = dataset.to_units(outputs, subset)
        before = _measure_interval(plain.values(), actual, len(levels)).coverage
        outputs = intervals.apply(outputs)
    outputs = dataset.to_units(outputs, subset)
    predicted = [*outputs.values()]
    if levels:
        rows = range(0, len(predicted), len(levels))
        predicted = [find_median(levels, predicted[k : k + len(levels)]) for k in rows]
    (field_of_output,) = dataset.outputs.values()
    shape = (len(targets), len(actual) // len(targets))
    labels = field_of_output.features if len(field_of_output.features) == shape[1] else None
    report = regression(
        HostArray.of([*predicted], "float64", shape),
        HostArray.of(actual, "float64", shape),
        labels,
    )
    scales = dataset.error_scales(subset)
    own = measure_errors(predicted, actual, scales)
    simple = {
        name: measure_errors([*values.values()], actual, scales)
        for name, values in dataset.forecasts(subset).items()
    }
    if levels:
        quantiles, width = outputs.values(), len(levels)
        bounds = [*quantiles[::width]], [*quantiles[width - 1 :: width]]
        own = _measure_interval(outputs.values(), actual, len(levels), own)
        expected = levels[-1] - levels[0] if len(levels) > 1 else levels[0]
        coverage = own.coverage or 0.0, expected
    if len(levels) > 1 and dataset.size("validation"):
        simple = _add_intervals(simple, dataset, subset, actual, scales)
    return ForecastReport(
        report.elements,
        report.labels,
        report.pairs,
        own=own,
        simple=simple,
        coverage=coverage,
        uncalibrated=before,
        bounds=bounds,
        advice=OTHER_SCALES if dataset.series.has_own_levels else "",
    )


def _measure_interval(
    quantiles: Sequence[float],
    actual: Sequence[float],
    width: int,
    errors: ForecastErrors | None = None,
) -> ForecastErrors:
    """Return errors with the coverage and the width of the interval of quantiles.

    A single quantile covers what lies below it, and has no width.
    """
    bounds = [*zip(quantiles[::width], quantiles[width - 1 :: width], strict=True)]
    several = width > 1
    inside = [
        (not several or low <= y) and y <= high
        for (low, high), y in zip(bounds, actual, strict=True)
    ]
    return replace(
        errors or ForecastErrors(*[math.nan] * 3),
        coverage=sum(inside) / len(inside),
        width=math.fsum([high - low for low, high in bounds]) / len(bounds) if several else None,
    )


def _add_intervals(
    errors: Mapping[str, ForecastErrors],
    dataset: SeriesDataset,
    subset: str,
    actual: Sequence[float],
    scales: Sequence[float],
) -> dict[str, ForecastErrors]:
    """Return the errors of simple forecasts with those of an interval around them.

    Its half width is what the errors in validation do not exceed, as a share of the scale of each
    series (split conformal prediction, Lei et al. 2018).
    """
    from webnnm.data.series.intervals import conformal_quantile

    levels = dataset.series.quantiles
    share = levels[-1] - levels[0]
    targets = [*dataset.actual("validation").values()]
    target_scales = dataset.error_scales("validation")
    forecasts, simple = dataset.forecasts(subset), dataset.forecasts("validation")
    result: dict[str, ForecastErrors] = {}
    for name, one in errors.items():
        scores = [
            abs(y - x) / (scale or 1)
            for x, y, scale in zip(simple[name].values(), targets, target_scales, strict=True)
        ]
        reach = conformal_quantile(scores, share, dataset.size("validation"))
        bounds = [
            bound
            for x, scale in zip(forecasts[name].values(), scales, strict=True)
            for bound in (x - reach * (scale or 1), x + reach * (scale or 1))
        ]
        result[name] = _measure_interval(bounds, actual, 2, one)
    return result
