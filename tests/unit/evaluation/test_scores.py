"""Metrics of scores: figures of scikit-learn 1.9, cases counted by hand, and properties."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.evaluation.calibration import Bin, compute_calibration_error, reliability
from webnnm.evaluation.classification_report import ClassificationReport
from webnnm.evaluation.compare import classification, evaluate
from webnnm.evaluation.explained_loss import measure_explained_loss
from webnnm.evaluation.probabilities import scale_of
from webnnm.evaluation.ranking import ranks, roc_auc

CLASSES = [0, 2, 1, 1, 0, 2, 2, 1, 0, 0, 1, 2]
LOGITS = [
    [1.375, 1.25, -0.875],
    [1.0, -0.25, 1.0],
    [1.875, 1.375, 0.0],
    [0.75, 2.375, 0.0],
    [1.875, -1.0, -0.375],
    [-0.5, -1.375, -0.25],
    [-1.625, -0.25, 1.125],
    [-0.375, 1.375, -1.375],
    [1.125, 0.25, 0.75],
    [0.375, -0.375, -2.0],
    [-0.5, -1.0, -1.375],
    [1.125, -2.25, 2.0],
]
ANSWERS = [0, 1, 1, 0, 1, 0, 1, 1, 0, 1]
SCORES = [0.125, 0.5, 0.375, 0.75, 0.875, 0.25, 0.625, 0.375, 0.375, 1.0]
MARGINS = [-3.0, 0.5, -0.25, 1.5, 2.0, -1.0, 0.25, -0.25, -0.25, 4.0]


def log_softmax(row: list[float]) -> list[float]:
    total = math.log(sum(map(math.exp, row)))
    return [value - total for value in row]


LOG_P = [log_softmax(row) for row in LOGITS]
P = [[math.exp(value) for value in row] for row in LOG_P]


@pytest.mark.parametrize(
    ("outputs", "scale"), [(LOGITS, "logit"), (LOG_P, "logProbability"), (P, "probability")]
)
def test_three_classes(outputs: Any, scale: Any) -> None:
    report = classification(outputs, CLASSES, kind="classes", scale=scale)
    assert report.counts == ((4, 0, 0), (2, 2, 0), (1, 0, 3))
    assert report.precision == pytest.approx((0.5714285714285714, 1, 1))
    assert report.recall == (1, 0.5, 0.75)
    assert report.macro_precision == report.weighted_precision == pytest.approx(0.8571428571428571)
    assert report.macro_recall == report.weighted_recall == 0.75
    assert report.macro_f1 == report.weighted_f1 == pytest.approx(0.7503607503607505)
    assert report.micro_precision == report.micro_recall == report.micro_f1 == report.accuracy
    assert report.log_loss == pytest.approx(0.5809345107732785, rel=1e-6)
    assert report.brier_score == pytest.approx(0.3359088274684518, rel=1e-6)
    assert report.roc_auc_per_class == (0.90625, 0.90625, 1)
    assert report.roc_auc == 0.9375
    assert [report.top_k(k) for k in (1, 2, 3)] == [0.75, 1, 1]


def test_two_classes_by_one_score() -> None:
    report = classification(SCORES, ANSWERS, kind="classes")
    assert report.roc_auc == pytest.approx(0.7916666666666666)
    assert report.roc_auc_per_class == (report.roc_auc, report.roc_auc)
    assert report.log_loss == pytest.approx(0.5535852263895591, abs=1e-7)
    assert report.brier_score == pytest.approx(0.196875)
    assert (report.top_k(1), report.top_k(2)) == (report.accuracy, 1)
    # calibration_curve: shares and mean probabilities of the bins that are not empty.
    full = [bin for bin in report.calibration if bin.count]
    assert [bin.accuracy for bin in full] == pytest.approx([0, 0, 2 / 3, 1, 1, 0, 1, 1])
    assert [bin.confidence for bin in full] == [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1]
    gaps = 0.125 + 0.25 + 3 * (2 / 3 - 0.375) + 0.5 + 0.375 + 0.75 + 0.125
    assert report.calibration_error == pytest.approx(gaps / 10)


@pytest.mark.parametrize(
    ("outputs", "targets", "kind"),
    [
        (MARGINS, ANSWERS, "classes"),
        ([[value] for value in MARGINS], [[float(y)] for y in ANSWERS], "multilabel"),
        ([[value] for value in MARGINS], [[2.0 * y - 1] for y in ANSWERS], "multilabel"),
        ([[0, value] for value in MARGINS], [[1 - y, y] for y in ANSWERS], "onehot"),
    ],
)
def test_two_classes_by_logits(outputs: Any, targets: Any, kind: Any) -> None:
    report = evaluate(outputs, targets, kind, scale="logit")
    assert isinstance(report, ClassificationReport)
    assert report.counts == ((3, 1), (2, 4))
    assert report.roc_auc == pytest.approx(0.7916666666666666)
    assert report.log_loss == pytest.approx(0.5486174919730981)
    assert report.brier_score == pytest.approx(0.1915540191712048)


def test_logarithms_of_probabilities_have_the_threshold_of_one_half() -> None:
    outputs = [math.log(0.49), math.log(0.51)]
    report = classification(outputs, [0, 1], kind="classes", scale="logProbability")
    assert report.accuracy == 1
    assert report.log_loss == pytest.approx(-math.log(0.51))


def test_large_logits_stay_exact() -> None:
    report = classification([[800.0, 0.0], [0, 900]], [1, 1], kind="classes", scale="logit")
    assert report.log_loss == 400
    assert report.brier_score == 0.5
    single = classification([-1000.0, 60.0, 70.0], [1, 0, 1], kind="classes", scale="logit")
    assert single.log_loss == pytest.approx(1060 / 3)
    assert single.roc_auc == 0.5, "the logits differ, although both probabilities are 1"


def test_a_probability_of_0_is_not_a_certainty() -> None:
    report = classification([[1.0, 0.0]], [1], kind="classes")
    assert report.log_loss == pytest.approx(-math.log(1e-7))


def test_rows_that_are_not_distributions_are_made_ones() -> None:
    # Sigmoids of several classes: divided by the sum; a linear output: cut to 0 … 1 before.
    report = classification([[0.5, 0.25, 0.25, 1.0], [-3, 2, 0, 0]], [3, 0], kind="classes")
    assert report.scores is not None
    assert list(report.scores.probabilities) == [0.25, 0.125, 0.125, 0.5, 0, 1, 0, 0]
    nothing = classification([[0.0, -1.0, 0.0, 0.0]], [0], kind="classes")
    assert nothing.brier_score == 0.75


SEVEN = [0, 1, 2, 3, 4, 5, 6, 0, 1, 2]
SEVEN_SCORES = [
    [3, -5, -8, -6, -1, 7, -4],
    [5, 1, -2, 0, 6, 7, -3],
    [5, -1, 6, -3, 2, -8, -4],
    [-3, 2, 0, 1, 5, -7, 7],
    [-2, 0, -4, -7, 5, -1, 2],
    [7, -6, -3, 4, -7, -2, 8],
    [-8, 1, -2, 4, 6, -7, 8],
    [-7, 4, 3, 1, -3, 0, -4],
    [8, -1, -8, -4, 6, -7, 3],
    [-7, -2, 7, -4, 1, 5, -6],
]


def test_the_best_k_of_seven_classes() -> None:
    report = classification(SEVEN_SCORES, SEVEN, kind="classes", scale="logit")
    assert [report.top_k(k) for k in (1, 2, 5, 6, 7)] == [0.4, 0.5, 0.9, 0.9, 1]
    assert report.top5 == 0.9
    assert report.to_dict()["top5"] == 0.9
    assert "top-5 0.9000" in str(report)
    for k in (0, 8):
        with pytest.raises(DataError, match=f"top {k} of 7 classes") as caught:
            report.top_k(k)
        assert caught.value.code == "NNM704"


def test_top5_takes_six_classes() -> None:
    five = classification([[1, 2, 3, 4, 5]], [0], kind="classes")
    assert not hasattr(five, "top5")
    assert "top5" not in five.to_dict()
    assert classification([[1, 2, 3, 4, 5, 6]], [0], kind="classes").top5 == 0


def test_equal_scores_rank_by_class_number() -> None:
    assert ranks([1, 1, 1] * 3, [0, 1, 2]) == [0, 1, 2]
    assert ranks([0, 2, 1, 2, 1], [4]) == [3]
    assert ranks([2, math.nan, 1], [1]) == [3]
    assert ranks([], []) == []


@pytest.mark.parametrize(
    ("positives", "negatives", "expected"),
    [
        ([1], [0], 1),
        ([0], [1], 0),
        ([1], [1], 0.5),
        ([3, 1], [2, 1, 0], 4.5 / 6),
        ([1, 1, 2], [1, 1], 4 / 6),
    ],
)
def test_area_counts_pairs(positives: Any, negatives: Any, expected: float) -> None:
    assert roc_auc(positives, negatives) == pytest.approx(expected)


def test_area_of_a_class_without_rows_is_undefined() -> None:
    report = classification(
        [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25]], [0, 1, 1], kind="classes"
    )
    first, second, third = report.roc_auc_per_class
    assert (first, second) == (0.75, 0.75)
    assert math.isnan(third)
    assert report.roc_auc == 0.75
    assert report.to_dict()["roc_auc_per_class"] == [0.75, 0.75, None]
    assert "–" in str(report).splitlines()[-1]
    assert math.isnan(classification([0.5, 0.25], [1, 1], kind="classes").roc_auc)


NUMBERS = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=12)


@pytest.mark.alike
@given(NUMBERS, NUMBERS)
def test_area_is_that_of_all_pairs(positives: list[float], negatives: list[float]) -> None:
    pairs = [(p > n) + 0.5 * (p == n) for p in positives for n in negatives]
    assert roc_auc(positives, negatives) == pytest.approx(sum(pairs) / len(pairs), abs=1e-15)


@pytest.mark.alike
@given(NUMBERS, NUMBERS)
def test_area_knows_order_alone(positives: list[float], negatives: list[float]) -> None:
    area = roc_auc(positives, negatives)
    for rising in (math.exp, math.atan, lambda x: x**3 - 7):
        assert roc_auc([*map(rising, positives)], [*map(rising, negatives)]) == area
    assert roc_auc(negatives, positives) == pytest.approx(1 - area, abs=1e-15)
    assert roc_auc([-x for x in positives], [-x for x in negatives]) == pytest.approx(1 - area)


ROWS = st.integers(2, 7).flatmap(
    lambda classes: st.lists(
        st.tuples(
            st.lists(st.integers(-16, 16), min_size=classes, max_size=classes),
            st.integers(0, classes - 1),
        ),
        min_size=1,
        max_size=20,
    )
)


@pytest.mark.alike
@given(ROWS)
def test_metrics_of_any_rows_are_in_range(rows: list[tuple[list[int], int]]) -> None:
    outputs, actual = [row for row, _ in rows], [number for _, number in rows]
    report = classification(outputs, actual, kind="classes", scale="logit")
    classes = len(outputs[0])
    hits = [report.top_k(k) for k in range(1, classes + 1)]
    assert hits[0] == report.accuracy == report.micro_f1
    assert hits == sorted(hits)
    assert hits[-1] == 1
    assert 0 <= report.calibration_error <= 1
    assert 0 <= report.brier_score <= (1 if classes == 2 else 2)
    assert report.log_loss >= 0
    assert sum(bin.count for bin in report.calibration) == len(rows)
    assert report.weighted_recall == pytest.approx(report.accuracy)
    json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.alike
@given(ROWS, st.integers(-3, 3))
def test_a_constant_added_to_logits_changes_nothing(
    rows: list[tuple[list[int], int]], shift: int
) -> None:
    actual = [number for _, number in rows]
    first, second = (
        classification(
            [[value + more for value in row] for row, _ in rows], actual, None, "classes",
            scale="logit",
        )
        for more in (0, shift)
    )  # fmt: skip
    assert first == second
    assert first.log_loss == pytest.approx(second.log_loss)
    assert first.roc_auc_per_class == pytest.approx(second.roc_auc_per_class, nan_ok=True)


def test_bins_hold_their_upper_end() -> None:
    bins = reliability([0, 0.5, 0.5000001, 1, math.nan], [False, True, False, True, True], 2)
    assert [bin.count for bin in bins] == [2, 2]
    assert bins[0] == Bin(0, 0.5, 2, 0.25, 0.5)
    assert [bin.accuracy for bin in bins] == [0.5, 0.5]
    empty = reliability([0.95], [True])[3]
    assert (empty.lower, empty.upper, empty.count) == (0.3, 0.4, 0)
    assert (empty.confidence, empty.accuracy) == (0, 0)
    assert compute_calibration_error(reliability([], [])) == 0


def test_calibration_of_more_classes_is_that_of_the_class_predicted() -> None:
    outputs = [[0.75, 0.125, 0.125], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]
    report = classification(outputs, [0, 0, 2, 0], kind="classes")
    full = [(b.lower, b.count, b.confidence, b.accuracy) for b in report.calibration if b.count]
    assert full == [(0.4, 2, 0.5, 1), (0.7, 2, 0.75, 0.5)]
    assert report.calibration_error == pytest.approx(0.5 * 0.5 + 0.5 * 0.25)


def test_perfect_forecasts_have_no_error() -> None:
    report = classification([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 1, 2], kind="classes")
    assert (report.log_loss, report.brier_score, report.calibration_error) == (0, 0, 0)
    assert (report.roc_auc, report.top_k(1)) == (1, 1)


def test_outputs_that_are_not_numbers_leave_metrics_undefined() -> None:
    report = classification([[math.nan] * 3, [0.0, 0.0, 1.0]], [0, 2], kind="classes")
    assert math.isnan(report.log_loss)
    assert math.isnan(report.brier_score)
    assert math.isnan(report.roc_auc)
    assert report.top_k(2) == 0.5
    assert "log loss –" in str(report)
    assert report.to_dict()["log_loss"] is None


@pytest.mark.parametrize(
    "name",
    ["roc_auc", "roc_auc_per_class", "log_loss", "brier_score", "calibration", "calibration_error"],
)
def test_counts_alone_have_no_metrics_of_scores(name: str) -> None:
    report = ClassificationReport(((1, 0), (0, 1)), ("a", "b"))
    with pytest.raises(AttributeError, match="made from counts"):
        getattr(report, name)
    assert name not in report.to_dict()
    with pytest.raises(AttributeError, match="made from counts"):
        report.top_k(1)


@pytest.mark.parametrize(
    ("activation", "loss", "scale"),
    [
        ("softmax", "CCEL", "probability"),
        ("sigmoid", "BCEL", "probability"),
        ("logSoftmax", "SCE", "logProbability"),
        ("linear", "CCEL", "logit"),
        ("linear", "BCEL", "logit"),
        ("linear", "HIL", "logit"),
        ("linear", "MSE", "probability"),
        ("linear", "CCE", "probability"),
    ],
)
def test_activation_and_loss_say_what_outputs_are(activation: str, loss: str, scale: str) -> None:
    assert scale_of(activation, loss) == scale


def test_masks_are_scored_by_intersection_over_union() -> None:
    report = ClassificationReport(((6, 2, 0), (1, 3, 0), (0, 0, 0)), ("a", "b", "c"))
    assert report.iou_per_class == (6 / 9, 3 / 6, 0)
    assert report.mean_iou == pytest.approx((6 / 9 + 3 / 6) / 2)


def test_the_explained_loss_of_constant_targets_is_a_number_as_r2_is() -> None:
    constant = HostArray.of([[5.0], [5.0]])
    assert measure_explained_loss(constant, constant) == 1
    assert measure_explained_loss(HostArray.of([[5.0], [4.0]]), constant, (0.9,)) == 0
