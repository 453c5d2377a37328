"""Metrics against scikit-learn, and the result of a test."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from webnnm.errors import DataError
from webnnm.evaluation import (
    ClassificationReport,
    RegressionReport,
    TestResult,
    classification,
    evaluate,
    regression,
)

ACTUAL = [0, 2, 1, 1, 0, 2, 2, 1, 0, 0, 1, 2]
PREDICTED = [0, 2, 1, 0, 0, 1, 2, 1, 0, 2, 1, 2]
MATRIX = ((3, 0, 1), (1, 3, 0), (0, 1, 3))


def one_hot(numbers: list[int], classes: int) -> list[list[float]]:
    return [[float(number == c) for c in range(classes)] for number in numbers]


@pytest.mark.parametrize(("kind", "targets"), [("classes", ACTUAL), ("onehot", one_hot(ACTUAL, 3))])
def test_confusion_matrix_has_actual_rows_and_predicted_columns(kind: Any, targets: Any) -> None:
    report = classification(one_hot(PREDICTED, 3), targets, kind=kind)
    assert report.counts == MATRIX
    assert report.labels == ("0", "1", "2")
    assert report.accuracy == report.macro_f1 == 0.75
    assert report.precision == report.recall == report.f1 == (0.75, 0.75, 0.75)
    assert report.support == (4, 4, 4)


def test_scores_need_not_be_probabilities_and_the_first_of_equals_counts() -> None:
    report = classification([[-3, -1, -2], [7, 7, 0]], [1, 1], kind="classes")
    assert report.counts == ((0, 0, 0), (1, 1, 0), (0, 0, 0))


BINARY = [0, 1, 1, 0, 1, 0, 1, 1]
SCORES = [0.1, 0.5, 0.49, 0.7, 0.9, 0.2, 0.51, 0.3]


@pytest.mark.parametrize(
    ("outputs", "targets", "kind"),
    [
        ([[score] for score in SCORES], [[float(y)] for y in BINARY], "multilabel"),
        (SCORES, [float(y) for y in BINARY], "multilabel"),
        ([[score] for score in SCORES], BINARY, "classes"),
        ([[score] for score in SCORES], one_hot(BINARY, 2), "onehot"),
    ],
)
def test_binary_heads_use_the_threshold(outputs: Any, targets: Any, kind: Any) -> None:
    # scikit-learn: precision_recall_fscore_support, f1_score(average="macro").
    report = classification(outputs, targets, ["no", "yes"], kind)
    assert report.counts == ((2, 1), (2, 3))
    assert report.labels == ("no", "yes")
    assert report.accuracy == 0.625
    assert report.precision == pytest.approx((0.5, 0.75))
    assert report.recall == pytest.approx((0.66666667, 0.6))
    assert report.f1 == pytest.approx((0.57142857, 0.66666667))
    assert report.support == (3, 5)
    assert report.macro_f1 == pytest.approx(0.6190476190476191)


def test_logits_use_the_threshold_0() -> None:
    report = classification([[-0.1], [0.1]], [[1.0], [1.0]], kind="multilabel", threshold=0)
    assert report.counts == ((0, 0), (1, 1))


def test_classes_that_do_not_occur_count_as_0() -> None:
    # scikit-learn with zero_division=0 and labels 0 … 3.
    report = classification(one_hot([0, 1, 1, 1, 0], 4), [0, 0, 1, 1, 3], kind="classes")
    assert report.precision == pytest.approx((0.5, 0.66666667, 0, 0))
    assert report.recall == (0.5, 1, 0, 0)
    assert report.f1 == pytest.approx((0.5, 0.8, 0, 0))
    assert report.support == (2, 2, 0, 1)
    assert report.macro_f1 == pytest.approx(0.325)
    assert report.accuracy == 0.6


def test_yes_or_no_of_several_elements_are_decisions_of_their_own() -> None:
    report = classification([[0.9, 0.1], [0.6, 0.4]], [[1, 0], [0, 1]], kind="multilabel")
    assert report.counts == ((1, 1), (1, 1))


def test_positions_are_rows_and_negative_classes_are_not_counted() -> None:
    report = classification(
        [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.5, 0.5]]], [[0, 1], [0, -1]], kind="classes"
    )
    assert report.counts == ((1, 1), (0, 1))


def test_rows_and_classes_have_to_fit() -> None:
    with pytest.raises(DataError, match="do not match") as caught:
        classification([[0.5, 0.5]], [0, 1], kind="classes")
    assert caught.value.code == "NNM702"
    with pytest.raises(DataError, match="class 2, but there are scores for 2") as caught:
        classification([[0.5, 0.5]], [2], kind="classes")
    assert caught.value.code == "NNM706"


def test_the_matrix_is_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    matrix = ClassificationReport(MATRIX, ("a", "b", "c")).confusion_matrix
    assert (matrix.format, matrix.shape, matrix[1, 0]) == ("q", (3, 3), 1)
    assert matrix.tolist() == [list(row) for row in MATRIX]


def test_the_matrix_is_numpy_s_where_it_is_loaded() -> None:
    np = pytest.importorskip("numpy")
    matrix = ClassificationReport(MATRIX, ("a", "b", "c")).confusion_matrix
    assert isinstance(matrix, np.ndarray)
    assert (matrix.dtype, matrix.sum(axis=1).tolist()) == (np.dtype("int64"), [4, 4, 4])


def test_regression() -> None:
    # scikit-learn: mean_absolute_error, √mean_squared_error, r2_score.
    report = regression(
        [[1.5, -2], [0.5, 3], [2, 0.25], [4, 1]], [[1, -1], [0.5, 2.5], [3, 0], [3.5, 2]]
    )
    assert report.mae == pytest.approx(0.59375, rel=1e-12)
    assert report.rmse == pytest.approx(0.6903350635742038, rel=1e-12)
    assert report.r2 == pytest.approx(0.7433940105695831, rel=1e-12)


def test_regression_of_constants_and_columns() -> None:
    assert regression([2, 2], [2, 2]) == RegressionReport(0, 0, 1)
    assert regression([[2], [3]], [2, 2]).r2 == 0
    assert regression([1, 2, 3], [1, 2, 3]).r2 == 1
    for outputs, targets in (([1], [1, 2]), ([], [])):
        with pytest.raises(DataError, match="do not match"):
            regression(outputs, targets)


def test_the_kind_decides_on_the_report() -> None:
    assert isinstance(evaluate([1.0], [1.0], "continuous"), RegressionReport)
    report = evaluate([[0.2, 0.8]], [[0.0, 1.0]], "onehot", ["a", "b"])
    assert isinstance(report, ClassificationReport)
    assert report.labels == ("a", "b")


def test_a_result_has_the_attributes_of_its_only_output() -> None:
    report = ClassificationReport(MATRIX, ("a", "b", "c"))
    result = TestResult(0.5, {"model": 0.5}, 12, "testing", {"model": report})
    assert (result.accuracy, result.macro_f1, result.labels) == (0.75, 0.75, ("a", "b", "c"))
    assert result.confusion_matrix.tolist() == [list(row) for row in MATRIX]
    assert result.outputs["model"] is report
    assert not hasattr(result, "rmse")
    assert not hasattr(result, "_private")


def test_a_result_of_several_outputs_says_where_to_look() -> None:
    reports = {
        "kind": ClassificationReport(((1, 0), (0, 1)), ("a", "b")),
        "size": RegressionReport(0.5, 0.75, 0.9),
    }
    result = TestResult(1.5, {"kind": 0.5, "size": 1.0}, 2, "validation", reports)
    with pytest.raises(AttributeError, match=r'outputs\["kind"\]\.accuracy'):
        _ = result.accuracy
    assert str(result) == (
        "validation: 2 samples, loss 1.5\n"
        'output "kind": loss 0.5\n'
        "accuracy 1.0000, macro F1 1.0000\n"
        "actual \\ predicted  a  b  precision  recall     F1  support\n"
        "a                   1  0      1.000   1.000  1.000        1\n"
        "b                   0  1      1.000   1.000  1.000        1\n"
        'output "size": loss 1\n'
        "MAE 0.5, RMSE 0.75, R² 0.9000"
    )


def test_the_table_is_aligned() -> None:
    report = ClassificationReport(
        ((15, 0, 0), (0, 14, 1), (0, 2, 13)), ("setosa", "x", "virginica")
    )
    lines = str(report).splitlines()
    assert lines[0] == "accuracy 0.9333, macro F1 0.9333"
    assert len({len(line) for line in lines[1:]}) == 1
    assert lines[2].split() == ["setosa", "15", "0", "0", "1.000", "1.000", "1.000", "15"]
