"""The scores that a model has to beat: those of one answer for all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.classes import get_row_classes
from webnnm.data.protocol import AnyDataset, load_outputs
from webnnm.evaluation.classification_report import ClassificationReport
from webnnm.evaluation.regression_report import deviation

Scores = Mapping[str, float]
"""The name of a score → its value."""


def score_constant(dataset: AnyDataset, subset: str = "testing") -> Scores:
    """Return the scores of the most frequent class, or of the mean, of the training rows.

    >>> from webnnm.data.dataset import Dataset
    >>> data = Dataset([[0.0]] * 4, [0, 1, 1, 1], split=([1, 2], [], [0, 3]))
    >>> score_constant(data)
    {'accuracy': 0.5, 'macro F1': 0.333...}

    Classes have "accuracy" and "macro F1", quantities "R²", "MAE" and "RMSE" in the units of the
    data. Raises `DataError` NNM702 for several outputs and for outputs that are neither, NNM705 for
    a subset without rows.
    """
    if len(dataset.outputs) != 1:
        raise DataError("NNM702", f"{dataset.name} has {len(dataset.outputs)} outputs, not one")
    [(block, field)] = dataset.outputs.items()
    seen, asked = load_outputs(dataset, "training")[0], load_outputs(dataset, subset)[0]
    classes = get_row_classes(dataset.outputs, seen)
    if classes is not None:
        actual = get_row_classes(dataset.outputs, asked) or []
        return _score_class(Counter(classes).most_common(1)[0][0], actual, field.classes)
    if field.kind != "continuous" or field.sequence:
        raise DataError("NNM702", f"{dataset.name} has no baseline: its output is {field.kind}")
    targets = [_to_numbers(dataset, block, values) for values in (seen[block], asked[block])]
    mean = sum(targets[0]) / len(targets[0])
    scored = deviation([mean] * len(targets[1]), targets[1])
    return {"R²": scored.r2, "MAE": scored.mae, "RMSE": scored.rmse}


def get_scores(result: Any) -> Scores:
    """Return the same scores of the result of a test with one output."""
    if hasattr(result, "accuracy"):
        return {"accuracy": result.accuracy, "macro F1": result.macro_f1}
    return {"R²": result.r2, "MAE": result.mae, "RMSE": result.rmse}


def _score_class(answer: int, actual: Sequence[int], classes: int) -> Scores:
    counts = [[0] * classes for _ in range(classes)]
    for number in actual:
        counts[number][answer] += 1
    report = ClassificationReport(tuple(map(tuple, counts)), tuple(map(str, range(classes))))
    return {"accuracy": report.accuracy, "macro F1": report.macro_f1}


def _to_numbers(dataset: AnyDataset, block: str, values: Any) -> Sequence[float]:
    scale = getattr(dataset, "target_standardization", {}).get(block)
    return (values if scale is None else scale.undo(values)).values()
