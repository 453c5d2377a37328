"""Charts as Vega-Lite specifications: of training, tests, parameters, pictures and curves.

>>> from webnnm import charts
>>> charts.confusion_matrix([[3, 1], [0, 4]], ["no", "yes"]).spec["description"]
'Confusion matrix: 7 of 8 rows are right. Most often confused: no taken for yes, 1 time.'

Every function returns a `Chart`, which notebooks display, `save` writes, and pages draw with
`site/components/charts.js`. Nothing in this package draws by itself.
"""

from webnnm.charts.boundary import decision_boundary as decision_boundary
from webnnm.charts.boxed_pictures import boxed_pictures as boxed_pictures
from webnnm.charts.calibration import calibration_curve as calibration_curve
from webnnm.charts.chart import Chart as Chart
from webnnm.charts.confusion import confusion_matrix as confusion_matrix
from webnnm.charts.course import curves as curves
from webnnm.charts.course import gradient_norm as gradient_norm
from webnnm.charts.course import learning_rate as learning_rate
from webnnm.charts.course import loss as loss
from webnnm.charts.course import metrics as metrics
from webnnm.charts.feature_maps import feature_maps as feature_maps
from webnnm.charts.first_layer import filters as filters
from webnnm.charts.forecasts import forecast as forecast
from webnnm.charts.heat_map import heat_map as heat_map
from webnnm.charts.histograms import histograms as histograms
from webnnm.charts.importance import permutation_importance as permutation_importance
from webnnm.charts.picture_rows import pictures as pictures
from webnnm.charts.plane import plot as plot
from webnnm.charts.predicted import prediction_error as prediction_error
from webnnm.charts.roc import roc_curve as roc_curve
from webnnm.charts.worst import worst_pictures as worst_pictures

__all__ = (
    "Chart",
    "boxed_pictures",
    "calibration_curve",
    "confusion_matrix",
    "curves",
    "decision_boundary",
    "feature_maps",
    "filters",
    "forecast",
    "gradient_norm",
    "heat_map",
    "histograms",
    "learning_rate",
    "loss",
    "metrics",
    "permutation_importance",
    "pictures",
    "plot",
    "prediction_error",
    "roc_curve",
    "worst_pictures",
)


def __dir__() -> list[str]:
    return [*__all__]
