"""Compares a model with simple ones, which are fitted on some of its training rows."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.arrays import HostArray, has_numpy
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.data.binding.binding import DataBinding, find_embedding_tables
from webnnm.data.classes import one_hot
from webnnm.data.preparation.draws import draw_numbers
from webnnm.evaluation.baselines import (
    ABSOLUTE,
    SQUARED,
    Baselines,
    Measure,
    compare_reports,
    get_scores,
)
from webnnm.evaluation.explained_loss import MEDIAN
from webnnm.evaluation.probabilities import scale_of
from webnnm.evaluation.simple_models import MIN_ROWS, predict_simply
from webnnm.graph.elaboration.vertices import Network
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.evaluator import Arrays
from webnnm.runtime.testing.objectives import Objective, assess
from webnnm.training.forward import OutputLoss, get_label_forms
from webnnm.training.losses import LOSSES

MAX_FITTED, MAX_TESTED = 2000, 500
"""The number of training rows that simple models are fitted on, and of rows they are tested on."""

MAX_FEATURES = 256
"""Of more features, such as pixels, so many are drawn; of words, the most frequent ones."""

MAX_COLUMNS = 64
"""Outputs with more numbers in a row, such as pictures, are not compared."""

FLOOR = 1e-6
"""The least probability, whose logarithm is finite."""


def compare_with_baselines(
    state: ModelState,
    losses: Mapping[str, OutputLoss],
    outputs: Arrays,
    inputs: Arrays,
    targets: Arrays,
    masks: Arrays,
) -> dict[str, Baselines]:
    """Compare the outputs for some rows with what a constant, a linear model and nearest neighbours
    predict for them.

    They are fitted on up to 2,000 training rows, with up to 256 features, and tested on up to 500
    of the rows. There is nothing to compare without NumPy and training rows in memory, for
    sequences of outputs, pictures, boxes, forecasts, outputs that reproduce an input, custom
    losses, and rows that have weights.
    """
    binding = state.binding()
    names = [
        name
        for name, objective in state.objectives().items()
        if _is_comparable(binding, objective, losses[name])
        and not any(targets[name].data == array.data for array in inputs.values())
    ]
    if not names or masks.keys() - {*binding.sequence.keys()} or not _has_training_rows(binding):
        return {}
    trained, labels = binding.arrays("training", get_label_forms(losses))
    fitted = _draw("baselines", len(next(iter(labels.values()))), MAX_FITTED)
    tested = _draw("tested", len(next(iter(targets.values()))), MAX_TESTED)
    fitted_rows, tested_rows = _make_features(
        state.trained_network,
        binding,
        [
            ({block: array.rows(rows) for block, array in arrays.items()}, _take(own, rows))
            for arrays, own, rows in (
                (trained, binding.masks("training"), fitted),
                (inputs, masks, tested),
            )
        ],
    )
    result: dict[str, Baselines] = {}
    for name in names:
        objective, loss = state.objectives()[name], losses[name]
        measure = _choose_measure(loss)
        labels_of_rows = _make_columns(labels[name].rows(fitted), loss, objective)
        actual = targets[name].rows(tested)
        levels = _find_levels(measure, labels_of_rows.shape[1])
        reports = {
            model: assess(binding, objective, loss, _make_outputs(p, loss, objective), actual)
            for model, p in predict_simply(fitted_rows, labels_of_rows, tested_rows, levels).items()
        }
        own = assess(binding, objective, loss, outputs[name].rows(tested), actual)
        if not all(map(math.isfinite, get_scores(own, measure).values())):
            continue  # a network that has diverged
        result[name] = compare_reports(
            own, reports, measure, fitted=len(fitted), training=len(labels[name])
        )
    return result


def _has_training_rows(binding: DataBinding) -> bool:
    return not binding.streams and binding.dataset.size("training") >= MIN_ROWS and has_numpy()


def _is_comparable(binding: DataBinding, objective: Objective, loss: OutputLoss) -> bool:
    """Return whether it makes sense to predict an output by simple models."""
    field = binding.dataset.outputs[binding.outputs[objective.output.name].field]
    return (
        loss.loss.name in LOSSES
        and not objective.sequence
        and not hasattr(binding.dataset, "forecasts")
        and field.kind != "boxes"
        and len(objective.features) <= 1
        and count(objective.features) <= MAX_COLUMNS
    )


def _draw(purpose: str, total: int, size: int) -> Sequence[int]:
    return range(total) if total <= size else draw_numbers(0, purpose, total, size)


def _take(masks: Arrays, rows: Sequence[int]) -> Arrays:
    return {name: mask.rows(rows) for name, mask in masks.items()}


def _choose_measure(loss: OutputLoss) -> Measure:
    """Return the loss of quantities that a model minimises."""
    if loss.loss.name == "QUL":
        alpha = loss.settings.alpha
        return alpha if isinstance(alpha, tuple) else (MEDIAN if alpha is None else alpha,)
    return ABSOLUTE if loss.loss.robust else SQUARED


def _find_levels(measure: Measure, columns: int) -> Sequence[float] | None:
    """Return the quantile that minimises the loss of each column, None for the mean."""
    if measure == SQUARED:
        return None
    levels = (MEDIAN,) if measure == ABSOLUTE else [float(level) for level in measure]
    return [levels[k % len(levels)] for k in range(columns)]


def _make_columns(labels: HostArray, loss: OutputLoss, objective: Objective) -> Any:
    """Return targets as the numbers whose means are predicted: of classes 0 and 1."""
    if loss.labels == "classes":
        labels = one_hot(map(int, labels.values()), objective.features[-1])
    numpy: Any = sys.modules["numpy"]
    columns = numpy.asarray(labels, "float64").reshape(len(labels), -1)
    return (columns + 1) / 2 if loss.labels == "signs" else columns


def _make_outputs(predicted: Any, loss: OutputLoss, objective: Objective) -> HostArray:
    """Return predictions in the form of the outputs of the network."""
    numpy: Any = sys.modules["numpy"]
    scale = scale_of(objective.activation, loss.loss.name)
    if not loss.loss.measured:
        predicted = numpy.clip(predicted, FLOOR, 1 - FLOOR)
        if scale == "logit":
            predicted = numpy.log(predicted / (1 - predicted))
        elif scale != "probability":
            predicted = numpy.log(predicted)
    shape = (len(predicted), *objective.features)
    return HostArray.of(predicted.astype("float32").reshape(shape))


def _make_features(
    network: Network, binding: DataBinding, parts: Sequence[tuple[Arrays, Arrays]]
) -> list[Any]:
    """Return the inputs of the fitted and the tested rows as features: numbers standardised."""
    numpy: Any = sys.modules["numpy"]
    tables = find_embedding_tables(network)
    columns: list[list[Any]] = [[] for _ in parts]
    for block in binding.inputs:
        masks = [part[1].get(binding.sequence_of[0].get(block, "")) for part in parts]
        arrays = [part[0][block] for part in parts]
        if block in tables and not is_float(arrays[0].dtype):
            features = _make_bags(arrays, masks)
        else:
            features = _standardize(*map(_make_numbers, arrays, masks))
        for side, values in zip(columns, features, strict=True):
            side.append(values)
    drawn = _draw("features", sum(values.shape[1] for values in columns[0]), MAX_FEATURES)
    return [numpy.concatenate(side, 1)[:, drawn] for side in columns]


def _standardize(fitted: Any, tested: Any) -> list[Any]:
    """Return numbers in units of the deviations of the fitted rows; 0 where these are constant."""
    numpy: Any = sys.modules["numpy"]
    middle, deviation = fitted.mean(0), fitted.std(0)
    varied: Any = deviation > 1e-6 * (numpy.abs(middle) + 1e-30)
    scales = numpy.where(varied, 1 / numpy.where(varied, deviation, 1), 0)
    return [(values - middle) * scales for values in (fitted, tested)]


def _make_numbers(values: HostArray, mask: HostArray | None) -> Any:
    """Return the numbers of rows; of sequences of different lengths means and last values."""
    numpy: Any = sys.modules["numpy"]
    flat = numpy.asarray(values, "float64").reshape(len(values), -1)
    if mask is None:
        return flat
    counted = numpy.asarray(mask, "float64")
    steps = flat.reshape(*counted.shape, -1)
    lengths = numpy.maximum(counted.sum(1, keepdims=True), 1)
    means = (steps * counted[:, :, None]).sum(1) / lengths
    last = steps[numpy.arange(len(steps)), lengths[:, 0].astype("int64") - 1]
    return numpy.concatenate([means, last, lengths], 1)


def _make_bags(arrays: Sequence[HostArray], masks: Sequence[HostArray | None]) -> list[Any]:
    """Return which of the most frequent tokens rows have, weighed by how rare they are.

    Their squares sum to 1 (G. Salton & C. Buckley, 1988).
    """
    numpy: Any = sys.modules["numpy"]
    bags = [*map(_read_tokens, arrays, masks)]
    rows_with = Counter(token for bag in bags[0] for token in bag)
    frequent = [token for token, _ in rows_with.most_common(MAX_FEATURES)]
    indices = {token: index for index, token in enumerate(frequent)}
    result: list[Any] = []
    for bag in bags:
        values = numpy.zeros((len(bag), len(frequent)))
        for row, tokens in enumerate(bag):
            for token in tokens & indices.keys():
                values[row, indices[token]] = math.log(1 + len(bags[0]) / rows_with[token])
        result.append(values / numpy.maximum(1e-9, numpy.linalg.norm(values, axis=1))[:, None])
    return result


def _read_tokens(values: HostArray, mask: HostArray | None) -> list[set[int]]:
    """Return the tokens of every row at the positions that count."""
    size = count(values.shape[1:])
    flat = [int(value) for value in values.values()]
    counted = [1.0] * len(flat) if mask is None else [*mask.values()]
    return [
        {
            token
            for token, counts in zip(flat[row : row + size], counted[row : row + size], strict=True)
            if counts
        }
        for row in range(0, len(flat), size)
    ]
