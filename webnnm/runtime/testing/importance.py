"""Permutation importance: tests of a model on rows in which one column is shuffled."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError, suggestion
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import count, is_integer
from webnnm.data.binding.binding import Arrays
from webnnm.evaluation.importance import PermutationImportance
from webnnm.evaluation.result import find_metric
from webnnm.runtime.state import HasState, ModelState
from webnnm.runtime.testing.evaluator import PREDICTION_BATCH, Evaluator
from webnnm.runtime.testing.objectives import assess_all, has_reports
from webnnm.training.forward import get_label_forms

if TYPE_CHECKING:
    from webnnm.evaluation.result import Report

MAX_ROWS = 1024
"""The most rows of a dispatch."""
MAX_ELEMENTS = 2**20
"""The most input elements of a dispatch, unless that leaves fewer rows than a prediction has."""
ERRORS = ("mae", "mse", "rmse", "log_loss", "brier_score", "calibration_error")
"""Scores for which lower is better."""
WORDS: Mapping[int, str] = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Type codes of `array` by the bytes of an element: shuffling does not depend on its value."""


@dataclass(frozen=True, slots=True)
class _Column:
    """What is shuffled together: some elements of each row of an input."""

    name: str
    block: str
    places: Sequence[int]


@require_await
async def permutation_importance(
    model: HasState,
    subset: str = "testing",
    *,
    n_repeats: int = 5,
    scoring: str | None = None,
    max_samples: float = 1.0,
    output: str | None = None,
    seed: int = 0,
) -> PermutationImportance:
    """Measure the importance of each column: how much worse tests are when it is shuffled.

    >>> print(await permutation_importance(model))  # doctest: +SKIP
    testing: 45 samples, accuracy 0.9556, each column shuffled 5 times
    column          mean     std
    petal_width   0.3378  0.0356
    petal_length  0.1689  0.0267
    sepal_width   0.1022  0.0458
    sepal_length  0.0267  0.0259

    The columns are those of a table before encoding: all numbers of a category are shuffled
    together. Other inputs have a column for each element of a row, pictures a single column.
    The result has the mean and standard deviation over the repeats (Breiman 2001, "Random
    forests"). If two columns carry the same information, the model may use either, and both
    seem unimportant.

    - `n_repeats`: how often each column is shuffled.
    - `scoring`: a score of the test, such as "macro_f1" or "mae"; by default "accuracy" for
      classes, "r2" for quantities.
    - `max_samples`: how many rows, or what share of them, are tested, if not all.
    - `output`: the output that is scored, if the model has several.
    - `seed`: the seed for the shuffling.

    Raises `DataError` NNM702 for sequences, NNM704 for settings out of range and unknown
    scores, NNM705 if the subset is empty or unknown, NNM712 while the model is being trained,
    NNM714 without a dataset.
    """
    model.state.binding()
    with model.state.occupancy.by("a test"):
        return await _measure(model.state, subset, n_repeats, scoring, max_samples, output, seed)


async def _measure(
    state: ModelState,
    subset: str,
    n_repeats: int,
    scoring: str | None,
    max_samples: float,
    output: str | None,
    seed: int,
) -> PermutationImportance:
    if not is_integer(n_repeats) or n_repeats < 1:
        raise DataError("NNM704", f"n_repeats is {n_repeats!r}", hint="give an integer from 1")
    binding, losses = state.binding(), state.losses()
    inputs, targets, masks = await binding.whole(subset, get_label_forms(losses))
    columns = _columns(state, inputs)
    name = _output(state, output)
    rows = _sample(len(next(iter(targets.values()))), max_samples, seed)
    inputs, targets, masks = (
        {block: values.rows(rows) for block, values in arrays.items()}
        for arrays in (inputs, targets, masks)
    )
    copies = 1 + len(columns) * n_repeats
    elements = sum(count(values.shape[1:]) for values in inputs.values())
    limit = min(MAX_ROWS, max(PREDICTION_BATCH, MAX_ELEMENTS // max(1, elements)))
    evaluator = await Evaluator.open(
        state.trained_network,
        state.backend,
        losses,
        batch=min(limit, copies * len(rows)),
        sequence=state.sequence,
        masks=masks,
    )
    scores: list[float] = []
    try:
        for group in _group(
            _shuffle_columns(inputs, columns, n_repeats, seed), evaluator.batch // len(rows)
        ):
            times = len(group)
            evaluator.take(
                {block: concatenate([copy[block] for copy in group]) for block in inputs},
                {block: concatenate([values] * times) for block, values in targets.items()},
                {block: concatenate([values] * times) for block, values in masks.items()},
            )
            outputs_of_group = (await evaluator.run(state.parameters.tensors, outputs=True)).outputs
            for start in range(0, times * len(rows), len(rows)):
                outputs_of_copy = {
                    block: arrays.part(start, start + len(rows))
                    for block, arrays in outputs_of_group.items()
                }
                reports = assess_all(
                    binding, state.objectives(), losses, outputs_of_copy, targets, masks
                )
                scoring = scoring or find_metric(reports[name])
                scores.append(_score(reports[name], scoring))
    finally:
        evaluator.close()
    score, *others = scores
    sign = -1 if scoring in ERRORS else 1
    losses_of_score = [sign * (score - other) for other in others]
    return PermutationImportance(
        tuple(column.name for column in columns),
        tuple(
            tuple(losses_of_score[first : first + n_repeats])
            for first in range(0, len(others), n_repeats)
        ),
        scoring or "",
        score,
        len(rows),
        subset,
    )


def _columns(state: ModelState, inputs: Arrays) -> list[_Column]:
    """Return the columns of all inputs; an input whose rows are not vectors is one column."""
    binding, facts = state.binding(), state.data_facts()
    columns: list[_Column] = []
    for block, values in inputs.items():
        field = binding.dataset.inputs[binding.inputs[block].field]
        if field.sequence:
            raise DataError(
                "NNM702",
                f'input "{block}" is a sequence, which has no columns',
                hint="importance is defined for the columns of tables",
            )
        width = count(values.shape[1:])
        encoders = facts.columns.get(block, ())
        names = [encoder.name for encoder in encoders]
        widths = [len(encoder.features) for encoder in encoders]
        if not encoders and len(values.shape) == 2:
            names = list(field.features) or [str(index) for index in range(width)]
            widths = [1] * width
        if sum(widths) != width:
            names, widths = [block], [width]
        start = 0
        for name, size in zip(names, widths, strict=True):
            name_of_column = f"{block}.{name}" if len(inputs) > 1 and name != block else name
            columns.append(_Column(name_of_column, block, range(start, start + size)))
            start += size
    return columns


def _output(state: ModelState, output: str | None) -> str:
    """Return the output whose score is measured."""
    names = list(state.objectives())
    if not has_reports(state.objectives()):
        raise DataError(
            "NNM704",
            "there are too many classes for scores",
            hint="importance needs a model with a report, such as await model.test() shows",
        )
    if output is None and len(names) == 1:
        return names[0]
    if output not in names:
        said = "several outputs" if output is None else f'no output "{output}"'
        hint = suggestion(str(output), names) or f"output= one of {', '.join(names)}"
        raise DataError("NNM704", f"the model has {said}", hint=hint)
    return output


def _sample(rows: int, limit: float, seed: int) -> Sequence[int]:
    """Return the rows that are tested: all of them, or a random sample."""
    share = not is_integer(limit)
    if not (0 < limit <= 1 if share else limit >= 1):
        hint = "give a number of rows, or a share between 0 and 1"
        raise DataError("NNM704", f"max_samples is {limit!r}", hint=hint)
    size = min(rows, max(1, round(limit * rows)) if share else int(limit))
    if size == rows:
        return range(rows)
    order = Stream(seed, Purpose.SHUFFLING, "importance").permutation(rows)
    return sorted(order[:size])


def _shuffle_columns(
    inputs: Arrays, columns: Sequence[_Column], n_repeats: int, seed: int
) -> Iterator[Arrays]:
    """Yield the rows as they are, then with each column shuffled, as often as wanted."""
    yield inputs
    for number, column in enumerate(columns):
        values = inputs[column.block]
        for repeat in range(n_repeats):
            stream = Stream(seed, Purpose.SHUFFLING, "importance", number, repeat)
            order = stream.permutation(len(values))
            yield {**inputs, column.block: _with_order(values, column.places, order)}


def _with_order(values: HostArray, indices: Sequence[int], order: Sequence[int]) -> HostArray:
    """Return rows with some of their elements taken from rows in another order."""
    width = count(values.shape[1:])
    if len(indices) == width:
        return values.rows(order)
    size = values.data.nbytes // (width * len(values))
    flat = array(WORDS[size], bytes(values.data))
    for index in indices:
        column = flat[index::width]
        flat[index::width] = array(flat.typecode, [column[row] for row in order])
    return HostArray(values.dtype, values.shape, flat.tobytes())


def _group(copies: Iterator[Arrays], times: int) -> Iterator[list[Arrays]]:
    """Yield `times` copies of the rows at a time, at least one."""
    group: list[Arrays] = []
    for copy in copies:
        group.append(copy)
        if len(group) >= times:
            yield group
            group = []
    if group:
        yield group


def _score(report: Report, scoring: str) -> float:
    """Return a score of a report."""
    value: Any = getattr(report, scoring, None) if not scoring.startswith("_") else None
    if not isinstance(value, (int, float)):
        names = [
            name
            for name, value_of_name in report.to_dict().items()
            if isinstance(value_of_name, (int, float))
        ]
        hint = suggestion(scoring, names) or f"one of {', '.join(names)}"
        raise DataError("NNM704", f'scoring="{scoring}" is not a score of this output', hint=hint)
    return float(value)
