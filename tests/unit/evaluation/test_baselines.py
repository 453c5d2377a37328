"""A network beside simple models: which of them is better, and what is said of it."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from webnnm.core.markup import escape
from webnnm.evaluation.baselines import SQUARED, Baselines, Measure, compare_reports
from webnnm.evaluation.compare import evaluate
from webnnm.evaluation.paired_tests import compare_hits, compare_losses
from webnnm.evaluation.simple_models import CONSTANT, LINEAR, NEIGHBOURS, predict_simply

np = pytest.importorskip("numpy")


def compare(
    network: Any, others: dict[str, Any], targets: Any, kind: Any, measure: Measure = SQUARED
) -> Baselines:
    """Compare outputs for the same targets."""
    reports = {name: evaluate(values, targets, kind) for name, values in others.items()}
    own = evaluate(network, targets, kind)
    return compare_reports(own, reports, measure, fitted=40, training=40)


# Tests of differences.


@pytest.mark.parametrize(
    ("wins", "losses", "p"), [(0, 0, 1.0), (5, 5, 1.0), (6, 0, 2 / 2**6), (8, 1, 2 * 10 / 2**9)]
)
def test_mcnemar_counts_rows_on_which_one_model_is_right(wins: int, losses: int, p: float) -> None:
    both = [True] * 7 + [False] * 3
    one = [*both, *[True] * wins, *[False] * losses]
    other = [*both, *[False] * wins, *[True] * losses]
    assert compare_hits(one, other) == pytest.approx(p)


@pytest.mark.parametrize(("t", "rows", "p"), [(2.045, 30, 0.05), (2.626, 101, 0.01), (0, 30, 1)])
def test_the_paired_t_test_has_the_p_values_of_tables(t: float, rows: int, p: float) -> None:
    half = rows // 2
    spread = [1.0] * half + [-1.0] * half + [0.0] * (rows % 2)
    error = math.sqrt(2 * half / (rows - 1) / rows)
    assert compare_losses([s + t * error for s in spread], [0.0] * rows) == pytest.approx(
        p, rel=0.05
    )


def test_equal_losses_do_not_differ_and_constant_differences_do() -> None:
    assert compare_losses([1.0, 2.0], [1.0, 2.0]) == 1
    assert compare_losses([1.0, 2.0], [0.0, 1.0]) == 0


def test_models_that_are_equally_good_differ_as_often_as_the_level_says() -> None:
    draw = Random(1)
    trials = 400
    found = sum(
        compare_losses(*([draw.gauss(0, 1) ** 2 for _ in range(60)] for _ in range(2))) < 0.05
        for _ in range(trials)
    )
    assert 0.02 * trials <= found <= 0.08 * trials


# Simple models.


def test_a_line_is_found_by_the_linear_model() -> None:
    rows = [[x / 10, (x * 7 % 11) / 5] for x in range(60)]
    targets = [[3 * a - b + 2] for a, b in rows]
    predicted = predict_simply(
        np.array(rows), np.array(targets), np.array([[1.0, 1.0], [9.0, 0.0]])
    )
    assert predicted[LINEAR].ravel().tolist() == pytest.approx([4, 29], abs=0.05)
    mean = sum(value for (value,) in targets) / len(targets)
    assert predicted[CONSTANT].ravel().tolist() == pytest.approx([mean, mean])


def test_neighbours_find_what_no_line_does() -> None:
    draw = Random(2)
    rows = [[draw.uniform(-1, 1), draw.uniform(-1, 1)] for _ in range(400)]
    targets = [[float(a * b > 0)] for a, b in rows]
    tested = [[0.5, 0.5], [0.5, -0.5], [-0.5, -0.5]]
    predicted = predict_simply(np.array(rows), np.array(targets), np.array(tested))
    assert [round(value) for (value,) in predicted[NEIGHBOURS].tolist()] == [1, 0, 1]
    assert all(0.2 < value < 0.8 for (value,) in predicted[LINEAR].tolist())


@pytest.mark.parametrize("model", [CONSTANT, LINEAR, NEIGHBOURS])
def test_quantiles_cover_as_much_as_they_shall(model: str) -> None:
    draw = Random(3)
    rows = [[draw.gauss(0, 1)] for _ in range(600)]
    targets = [[2 * x + draw.expovariate(1)] * 2 for (x,) in rows]
    levels = [0.1, 0.9]
    predicted = predict_simply(
        np.array(rows[:400]), np.array(targets[:400]), np.array(rows[400:]), levels
    )[model].tolist()
    for column, level in enumerate(levels):
        below = sum(y[column] <= p[column] for y, p in zip(targets[400:], predicted, strict=True))
        assert below / 200 == pytest.approx(level, abs=0.09)


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="19 rows, at least 20"):
        predict_simply(np.array([[0.0]] * 19), np.array([[0.0]] * 19), np.array([[0.0]]))


# The verdict.

LABELS = [0, 1] * 60


def hits(wrong: int) -> list[list[float]]:
    """Return the scores of a model that errs in the first rows."""
    return [
        [float((label == 0) == (row >= wrong)), float((label == 1) == (row >= wrong))]
        for row, label in enumerate(LABELS)
    ]


@pytest.mark.parametrize(
    ("network", "simple", "words"),
    [
        (
            2,
            30,
            "the network is better than simple models: accuracy 0.9833 against 0.7500 of a",
        ),
        (
            6,
            8,
            "the network is no better than a linear model beyond chance: accuracy 0.9500",
        ),
        (30, 2, "a linear model is better than the network: accuracy 0.9833 against 0.7500 (p < 0"),
    ],
)
def test_the_verdict_on_classes(network: int, simple: int, words: str) -> None:
    found = compare(hits(network), {LINEAR: hits(simple)}, LABELS, "classes")
    assert found.verdict.startswith(words)
    assert found.verdict.endswith("McNemar's test)")
    assert found.find_better() == (LINEAR if network == 30 else "")
    assert found.rows == 120


def test_rare_classes_that_are_found_count() -> None:
    labels = [0] * 90 + [1] * 10
    weighed = [[0.0, 1.0]] * 20 + [[1.0, 0.0]] * 70 + [[0.0, 1.0]] * 10
    constant = [[1.0, 0.0]] * 100
    found = compare(weighed, {CONSTANT: constant}, labels, "classes")
    assert found.p_values[CONSTANT] > 0.05
    more = compare([[0.0, 1.0]] * 40 + weighed[40:], {CONSTANT: constant}, labels, "classes")
    assert more.p_values[CONSTANT] < 0.05
    assert more.find_better() == ""
    assert more.verdict.startswith(
        "the network is better than a constant by macro F1, not by accuracy 0.6000"
    )


@pytest.mark.parametrize(
    ("measure", "score"),
    [(SQUARED, "R²"), ("absolute", "MAE"), ((0.9,), "pinball loss")],
)
def test_quantities_are_compared_by_their_own_loss(measure: Measure, score: str) -> None:
    draw = Random(4)
    targets = [[draw.gauss(0, 1)] for _ in range(80)]
    near = [[y + draw.gauss(0, 0.1)] for (y,) in targets]
    far = [[draw.gauss(0, 1)] for _ in targets]
    found = compare(near, {CONSTANT: [[0.0]] * 80, LINEAR: far}, targets, "continuous", measure)
    assert found.score == score
    assert found.verdict.startswith("the network is better than simple models")
    worse = compare(far, {CONSTANT: [[0.0]] * 80, LINEAR: near}, targets, "continuous", measure)
    assert worse.find_better(0.005) == LINEAR
    assert worse.measure_lead(LINEAR) > 0.1


def test_several_labels_are_compared_row_by_row() -> None:
    draw = Random(5)
    labels = [[draw.randrange(2) for _ in range(3)] for _ in range(60)]
    right = [[float(value) for value in row] for row in labels]
    found = compare(right, {CONSTANT: [[0.0] * 3] * 60}, labels, "multilabel")
    assert found.score == "accuracy"
    assert found.test == "paired t-test"
    assert found.verdict.startswith("the network is better than simple models: accuracy 1.0000")


def test_a_table_shows_all_models_and_what_they_were_fitted_on() -> None:
    found = compare(hits(2), {CONSTANT: hits(60), LINEAR: hits(30)}, LABELS, "classes")
    lines = str(found).split("\n")
    assert lines[0] == found.verdict
    assert lines[1].split() == ["on", "120", "rows", "accuracy", "macro", "F1", "p"]
    assert [line.split("  ")[0] for line in lines[2:]] == ["the network", CONSTANT, LINEAR]
    few = Baselines(found.network, found.simple, found.p_values, 120, fitted=2000, training=9000)
    assert "fitted on 2,000 of 9,000 training rows" in str(few)
    assert escape(found.verdict) in found.to_html()
    assert Baselines.from_dict(found.to_dict()) == found
