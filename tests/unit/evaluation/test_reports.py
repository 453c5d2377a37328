"""Reports on outputs against figures of scikit-learn, and the result of a test."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.evaluation.classification_report import ClassificationReport
from webnnm.evaluation.compare import classification, evaluate, multilabel, regression
from webnnm.evaluation.multilabel_report import MultilabelReport
from webnnm.evaluation.regression_report import Deviation, RegressionReport
from webnnm.evaluation.result import TestResult

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


WANTED = [[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]]
LABEL_SCORES = [
    [0.875, 0.25, 0.5],
    [0.375, 0.5, 0.75],
    [0.625, 0.75, 0.125],
    [0.5, 0.375, 0.25],
    [0.25, 0.125, 0.375],
    [0.125, 0.25, 0.875],
]


def test_several_labels_have_a_report_each() -> None:
    # scikit-learn: multilabel_confusion_matrix, precision_recall_fscore_support, roc_auc_score,
    # accuracy_score; log_loss and brier_score_loss as means over the labels.
    report = evaluate(LABEL_SCORES, WANTED, "multilabel", ["x", "y", "z"])
    assert isinstance(report, MultilabelReport)
    assert report.counts == (((2, 1), (1, 2)), ((3, 1), (1, 1)), ((2, 0), (1, 3)))
    assert report.confusion_matrix.tolist() == [[list(r) for r in one] for one in report.counts]
    assert report.exact_match == 0.5
    assert report.accuracy == pytest.approx(13 / 18)
    assert report.precision == pytest.approx((0.6666666666666666, 0.5, 1))
    assert report.recall == pytest.approx((0.6666666666666666, 0.5, 0.75))
    assert report.f1 == pytest.approx((0.6666666666666666, 0.5, 0.8571428571428571))
    assert report.support == (3, 2, 4)
    assert report.macro_f1 == pytest.approx(0.6746031746031745)
    assert report.weighted_f1 == pytest.approx(0.7142857142857143)
    assert report.micro_precision == pytest.approx(0.75)
    assert report.micro_recall == pytest.approx(0.6666666666666666)
    assert report.micro_f1 == pytest.approx(0.7058823529411765)
    assert report.roc_auc_per_class == pytest.approx((0.7777777777777778, 0.875, 0.875))
    assert report.roc_auc == pytest.approx(0.8425925925925926)
    assert report.log_loss == pytest.approx(0.5034030920887936)
    assert report.brier_score == pytest.approx(0.1675347222222222)
    each = [one.calibration_error for one in report.reports]
    assert report.calibration_error == pytest.approx(sum(each) / 3)
    assert report.reports[0].labels == ("no", "yes")
    assert str(report).splitlines()[2:] == [
        "label  precision  recall     F1  ROC-AUC  support",
        "x          0.667   0.667  0.667    0.778        3",
        "y          0.500   0.500  0.500    0.875        2",
        "z          1.000   0.750  0.857    0.875        4",
    ]
    values = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (values["kind"], values["exact_match"], values["support"]) == (
        "multilabel", 0.5, [3, 2, 4],
    )  # fmt: skip
    assert values["reports"][2]["confusion_matrix"] == [[2, 0], [1, 3]]


def test_labels_by_logits() -> None:
    logits = [[math.log(p / (1 - p)) for p in row] for row in LABEL_SCORES]
    first, second = multilabel(LABEL_SCORES, WANTED), multilabel(logits, WANTED, scale="logit")
    assert first == second
    assert first.log_loss == pytest.approx(second.log_loss)
    assert first.labels == ("0", "1", "2")


def test_positions_of_a_sequence_are_rows_of_a_single_decision() -> None:
    outputs, targets = [[0.9, 0.1], [0.6, 0.4]], [[1, 0], [0, 1]]
    report = evaluate(outputs, targets, "multilabel", sequence=True)
    assert isinstance(report, ClassificationReport)
    assert report.counts == ((1, 1), (1, 1))
    report = evaluate(outputs, targets, "multilabel", mask=[[1, 1], [1, 0]])
    assert report.counts == ((1, 1), (0, 1))


def test_positions_are_rows_and_negative_classes_are_not_counted() -> None:
    report = classification(
        [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.5, 0.5]]], [[0, 1], [0, -1]], kind="classes"
    )
    assert report.counts == ((1, 1), (0, 1))


def test_rows_without_a_class_are_not_counted() -> None:
    for targets in ([[0, 1], [0, 0], [1, 0]], [[-1, 1], [-1, -1], [1, -1]]):
        report = classification([[0.25, 0.75], [1.0, 0], [0.5, 0.5]], targets)
        assert report.counts == ((1, 0), (0, 1))
        assert report.log_loss == pytest.approx(-(math.log(0.75) + math.log(0.5)) / 2)


def test_masked_positions_are_not_counted() -> None:
    mask = [[1, 0], [1, 1]]
    scores = [[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [1.0, 0.0]]]
    for kind, targets in (
        ("classes", [[0, 1], [0, -1]]),
        ("onehot", [[[1, 0], [0, 1]], [[1, 0], [0, 0]]]),
    ):
        report: Any = evaluate(scores, targets, kind, mask=mask)  # type: ignore[arg-type]
        assert report.counts == ((1, 1), (0, 0))
        assert report.brier_score == (0.25**2 + 0.75**2) / 2
    labels = evaluate(scores, [[[1, 0], [1, 1]], [[1, 0], [0, 0]]], "multilabel", mask=mask)
    assert isinstance(labels, MultilabelReport)
    assert (labels.support, labels.exact_match) == ((2, 0), 1 / 3)
    errors = evaluate(scores, [[[0, 0], [9, 9]], [[0, 0], [1, 0]]], "continuous", mask=mask)
    assert isinstance(errors, RegressionReport)
    assert [element.mae for element in errors.elements] == pytest.approx([1 / 3, 1 / 3])
    rows = evaluate(scores, [[0, 0], [1, 1]], "classes", mask=[1, 0])
    assert rows.counts == ((2, 0), (0, 0))


def test_a_mask_fits_and_leaves_something() -> None:
    with pytest.raises(DataError, match=r"mask \[3\] does not fit \[2\]") as caught:
        evaluate([[0.5, 0.5]] * 2, [0, 1], "classes", mask=[1, 1, 1])
    assert caught.value.code == "NNM702"
    for kind in ("classes", "continuous", "multilabel"):
        with pytest.raises(DataError, match="no row of the targets") as caught:
            evaluate([0.5, 0.5], [0, 1], kind, mask=[0, 0])  # type: ignore[arg-type]
        assert caught.value.code == "NNM705"
    with pytest.raises(DataError, match="no row of the targets"):
        evaluate([[0.5, 0.5]] * 2, [-1, -1], "classes")


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
    assert (matrix.dtype, matrix.shape, matrix[1][0]) == ("int64", (3, 3), 1)
    assert matrix.tolist() == [list(row) for row in MATRIX]


def test_the_matrix_is_numpy_s_where_it_is_loaded() -> None:
    np = pytest.importorskip("numpy")
    matrix = ClassificationReport(MATRIX, ("a", "b", "c")).confusion_matrix
    assert isinstance(matrix, np.ndarray)
    assert (matrix.dtype, matrix.sum(axis=1).tolist()) == (np.dtype("int64"), [4, 4, 4])


def test_regression() -> None:
    # scikit-learn: mean_absolute_error, √mean_squared_error, r2_score.
    # with multioutput="raw_values" too.
    report = regression(
        [[1.5, -2], [0.5, 3], [2, 0.25], [4, 1]],
        [[1, -1], [0.5, 2.5], [3, 0], [3.5, 2]],
        ["left", "right"],
    )
    assert report.mae == pytest.approx(0.59375, rel=1e-12)
    assert report.mse == pytest.approx(0.4765625, rel=1e-12)
    assert report.rmse == pytest.approx(0.6903350635742038, rel=1e-12)
    assert report.r2 == pytest.approx(0.7433940105695831, rel=1e-12)
    left, right = report.elements
    assert (left.mae, left.mse, left.rmse, left.r2) == pytest.approx(
        (0.5, 0.375, 0.6123724356957945, 0.7692307692307692)
    )
    assert (right.mae, right.mse, right.rmse, right.r2) == pytest.approx(
        (0.6875, 0.578125, 0.7603453162872774, 0.7175572519083969)
    )
    assert str(report) == (
        "MAE 0.5938, RMSE 0.6903, R² 0.7434\n"
        "element     MAE    RMSE      R²\n"
        "left        0.5  0.6124  0.7692\n"
        "right    0.6875  0.7603  0.7176"
    )
    values = report.to_dict()
    assert (values["labels"], values["mae_per_element"]) == (["left", "right"], [0.5, 0.6875])
    assert values["r2"] == report.r2


def test_positions_of_a_sequence_are_rows_of_measurements() -> None:
    outputs, targets = [[[1.0, 5.0], [2.0, 5.0]]], [[[1.0, 4.0], [3.0, 6.0]]]
    assert len(regression(outputs, targets).elements) == 4
    report = regression(outputs, targets, sequence=True)
    assert report.elements == (Deviation(0.5, 0.5, 0.5), Deviation(1, 1, 0))


def test_regression_of_constants_and_columns() -> None:
    assert regression([2, 2], [2, 2]) == RegressionReport((Deviation(0, 0, 1),), ("0",))
    assert regression([[2], [3]], [2, 2]).r2 == 0
    assert regression([1, 2, 3], [1, 2, 3]).r2 == 1
    with pytest.raises(DataError, match="do not match"):
        regression([1], [1, 2])
    with pytest.raises(DataError, match="no row of the targets"):
        regression([], [])


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
        "size": RegressionReport((Deviation(0.5, 0.5625, 0.9),), ("0",)),
    }
    result = TestResult(1.5, {"kind": 0.5, "size": 1.0}, 2, "validation", reports)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["outputs"]["size"] == {
        "kind": "regression", "labels": ["0"],
        "mae": 0.5, "mse": 0.5625, "rmse": 0.75, "r2": 0.9,
        "mae_per_element": [0.5], "mse_per_element": [0.5625],
        "rmse_per_element": [0.75], "r2_per_element": [0.9],
    }  # fmt: skip
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


def test_a_text_has_metrics_of_scores() -> None:
    report = classification([[0.75, 0.125, 0.125], [0.25, 0.25, 0.5]], [0, 1], kind="classes")
    assert str(report) == (
        "accuracy 0.5000, macro F1 0.3333\n"
        "log loss 0.8370, Brier score 0.4844, ROC-AUC 1.0000, calibration error 0.3750\n"
        "actual \\ predicted  0  1  2  precision  recall     F1  ROC-AUC  support\n"
        "0                   1  0  0      1.000   1.000  1.000    1.000        1\n"
        "1                   0  0  1      0.000   0.000  0.000    1.000        1\n"
        "2                   0  0  0      0.000   0.000  0.000        –        0"
    )


def test_a_text_of_two_classes_has_one_area() -> None:
    report = classification([0.25, 0.75], [0, 1], ["no", "yes"], "classes")
    assert str(TestResult(0.5, {"y": 0.5}, 2, "testing", {"y": report})) == (
        "testing: 2 samples, loss 0.5\n"
        "accuracy 1.0000, macro F1 1.0000\n"
        "log loss 0.2877, Brier score 0.0625, ROC-AUC 1.0000, calibration error 0.2500\n"
        "actual \\ predicted  no  yes  precision  recall     F1  support\n"
        "no                   1    0      1.000   1.000  1.000        1\n"
        "yes                  0    1      1.000   1.000  1.000        1"
    )


def test_of_many_classes_the_worst_are_listed() -> None:
    actual = [number for number in range(30) for _ in range(2)]
    predicted = [0 if number == 17 else number for number in actual]
    lines = str(classification(one_hot(predicted, 30), actual, kind="classes")).splitlines()
    assert lines[2] == "the 20 of 30 classes with the lowest F1"
    assert lines[3].split() == ["class", "precision", "recall", "F1", "ROC-AUC", "support"]
    assert [line.split()[0] for line in lines[4:7]] == ["17", "0", "1"]
    assert len(lines) == 24
    many = multilabel(one_hot(predicted, 30), one_hot(actual, 30))
    lines = str(many).splitlines()
    assert lines[2] == "the 20 of 30 labels with the lowest F1"
    assert lines[4].split()[0] == "17"
    numbers = regression(one_hot(predicted, 30), one_hot(actual, 30))
    assert len(str(numbers).splitlines()) == 1


def test_a_result_is_json_even_if_its_numbers_are_not() -> None:
    report = regression([math.nan, 1.0], [0.0, 1.0])
    values = TestResult(math.inf, {"y": math.nan}, 2, "testing", {"y": report}).to_dict()
    assert (values["loss"], values["losses"]) == (None, {"y": None})
    assert values["outputs"]["y"]["mae"] is None
    assert json.dumps(values, allow_nan=False)
