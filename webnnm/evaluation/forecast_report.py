"""The report on forecasts of a series, beside simple forecasts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray
from webnnm.evaluation.compare import regression
from webnnm.evaluation.history import plain
from webnnm.evaluation.regression_report import RegressionReport
from webnnm.evaluation.table import decimals

if TYPE_CHECKING:
    from webnnm.data.series.series_dataset import SeriesDataset


@dataclass(frozen=True, slots=True)
class ForecastErrors:
    """The errors of a forecast.

    Attributes: `mae` and `rmse` in the units of the data; `mase`, the mean absolute error divided
    by that of the last season in training (Hyndman & Koehler 2006), of the last value without a
    season: below 1 is better than that.
    """

    mae: float
    rmse: float
    mase: float


def measure_errors(
    forecast: Sequence[float], targets: Sequence[float], scales: Sequence[float]
) -> ForecastErrors:
    """Return the errors of a forecast.

    >>> measure_errors([1.0, 2.0], [1.0, 4.0], [2.0, 2.0])
    ForecastErrors(mae=1.0, rmse=1.4142135623730951, mase=0.5)
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
    quantile, and that expected, or None.
    """

    own: ForecastErrors = field(default_factory=lambda: ForecastErrors(*[math.nan] * 3))
    simple: Mapping[str, ForecastErrors] = field(default_factory=dict[str, ForecastErrors])
    coverage: tuple[float, float] | None = None

    @property
    def mase(self) -> float:
        """The mean absolute scaled error: below 1 is better than the last season in training."""
        return self.own.mase

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        simple = {
            name: {"mae": one.mae, "rmse": one.rmse, "mase": one.mase}
            for name, one in self.simple.items()
        }
        more = {"mase": self.mase, "simple": simple, "coverage": self.coverage}
        return {**super().to_dict(), **plain(more)}

    def _describe(self) -> tuple[list[str], list[list[str]]]:
        title = f"MAE {self.mae:.6g}, RMSE {self.rmse:.6g}, R² {self.r2:.4f}"
        lines = [f"{title}, MASE {decimals([self.mase])[0]}"]
        if self.coverage is not None:
            actual, expected = self.coverage
            lines.append(f"{actual:.1%} of the targets lie in the interval of {expected:.0%}")
        rows = [["forecast", "MAE", "RMSE", "MASE"]]
        for name, one in {"model": self.own, **self.simple}.items():
            rows.append([name, f"{one.mae:.6g}", f"{one.rmse:.6g}", *decimals([one.mase])])
        return lines, rows


def compare_forecasts(
    outputs: HostArray, targets: HostArray, dataset: SeriesDataset, subset: str
) -> ForecastReport:
    """Compare forecasts of all rows of a subset with their targets and with simple forecasts.

    Of quantiles the middle one is compared.
    """
    levels = dataset.series.quantiles
    predicted, actual = [*outputs.values()], [*targets.values()]
    coverage = None
    if levels:
        width, middle = len(levels), dataset.series.middle
        bounds = predicted[::width], predicted[width - 1 :: width]
        inside = [low <= y <= high for low, high, y in zip(*bounds, actual[::width], strict=True)]
        coverage = sum(inside) / len(inside), levels[-1] - levels[0]
        predicted, actual = predicted[middle::width], actual[::width]
    (field_of_output,) = dataset.outputs.values()
    shape = (len(targets), len(actual) // len(targets))
    labels = field_of_output.features if len(field_of_output.features) == shape[1] else None
    report = regression(
        HostArray.of(predicted, "float64", shape), HostArray.of(actual, "float64", shape), labels
    )
    scales = dataset.error_scales(subset)
    simple = {
        name: measure_errors([*values.values()], actual, scales)
        for name, values in dataset.forecasts(subset).items()
    }
    own = measure_errors(predicted, actual, scales)
    return ForecastReport(
        report.elements, report.labels, report.pairs, own=own, simple=simple, coverage=coverage
    )
