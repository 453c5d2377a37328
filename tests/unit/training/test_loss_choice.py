"""Which loss an output gets, what is refused, what is automatic (spec D.3, D.4, E.4)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from webnnm import parse
from webnnm.core.errors import DataError, ModelError
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.loss_words import loss_numbers
from webnnm.training.loss_choice import (
    LabelFacts,
    choose_loss,
    choose_loss_settings,
    compute_reference_loss,
)
from webnnm.training.losses import LOSSES

if TYPE_CHECKING:
    from webnnm.training.output_activation import OutputActivation

ONE_HOT = LabelFacts(
    kind="onehot", shape=(3,), classes=3, class_counts=(5, 5, 5), maximum=1, whole=True,
    binary=True, single=True, sums_to_one=True, std=0.5,
)  # fmt: skip
NUMBERS = LabelFacts(
    kind="classes", classes=3, class_counts=(5, 5, 5), maximum=2, whole=True, std=0.5
)
SOFT = LabelFacts(kind="distribution", shape=(3,), minimum=0.1, maximum=0.8, sums_to_one=True)
SEVERAL = LabelFacts(
    kind="multilabel", shape=(3,), class_counts=(30, 15), maximum=1, whole=True, binary=True,
    several=True,
)  # fmt: skip
YES_NO = LabelFacts(
    kind="multilabel", class_counts=(8, 2), maximum=1, whole=True, binary=True, std=0.4
)
MEASURED = LabelFacts(kind="continuous", shape=(3,), minimum=-4.5, maximum=7, std=2, deviation=1.5)
FAR = replace(MEASURED, outliers=True)
SIGNS = LabelFacts(kind="continuous", shape=(3,), minimum=-1, maximum=1, whole=True, signs=True)
RARE = replace(ONE_HOT, class_counts=(95, 3, 2))
PADDED = replace(NUMBERS, minimum=-1, negative=0.2)
COUNTS = LabelFacts(kind="continuous", minimum=0, maximum=2, whole=True)


@pytest.mark.parametrize(
    ("activation", "scores", "labels", "loss", "reason"),
    [
        ("softmax", 3, RARE, "CCE", "softmax and one-hot labels"),
        ("softmax", 3, NUMBERS, "SCE", "softmax and class numbers"),
        ("softmax", 3, PADDED, "SCE", "softmax and class numbers"),
        ("softmax", 3, ONE_HOT, "CCE", "softmax and one-hot labels"),
        ("logSoftmax", 3, ONE_HOT, "CCE", "logSoftmax and one-hot labels"),
        ("softmax", 3, SOFT, "KLD", "softmax and labels that sum to 1"),
        ("sigmoid", 1, YES_NO, "BCE", "sigmoid output"),
        ("sigmoid", 3, SEVERAL, "BCE", "sigmoid output"),
        ("sigmoid", 1, replace(YES_NO, class_counts=(1, 19)), "BCE", "sigmoid output"),
        ("linear", 3, NUMBERS, "SCE", "class numbers for 3 scores"),
        ("linear", 3, COUNTS, "SCE", "class numbers for 3 scores"),
        ("linear", 3, SIGNS, "HIL", "all labels are −1 or 1"),
        ("linear", 3, FAR, "HUL", "labels with outliers"),
        ("linear", 3, MEASURED, "MSE", "labels are numbers without outliers"),
        ("linear", 1, YES_NO, "MSE", "labels are numbers without outliers"),
        ("softmax", 3, None, "CCE", "softmax output, no labels available"),
        ("logSoftmax", 3, None, "CCE", "logSoftmax output, no labels available"),
        ("sigmoid", 3, None, "BCE", "sigmoid output, no labels available"),
        ("linear", 3, None, "MSE", "linear output, no labels available"),
    ],
)  # fmt: skip
def test_the_first_loss_that_fits_is_chosen(
    activation: OutputActivation, scores: int, labels: LabelFacts | None, loss: str, reason: str
) -> None:
    choice = choose_loss(activation, (scores,), None, labels)
    assert (choice.loss.name, choice.reason) == (loss, reason)
    assert choice.conversion is None


def test_a_share_of_nine_tenths_is_not_yet_unbalanced() -> None:
    assert (
        choose_loss("softmax", (2,), None, replace(ONE_HOT, class_counts=(90, 10))).loss.name
        == "CCE"
    )


def test_a_written_loss_wins() -> None:
    choice = choose_loss("softmax", (3,), "meanSquaredError", RARE)
    assert (choice.loss.name, choice.reason, choice.labels) == ("MSE", "as written", "same")


@pytest.mark.parametrize(
    ("word", "activation", "labels", "form", "conversion"),
    [
        ("SCE", "softmax", NUMBERS, "classes", None),
        ("SCE", "softmax", PADDED, "classes", None),
        ("SCE", "linear", COUNTS, "classes", None),
        ("SCE", "softmax", ONE_HOT, "classes", "classes"),
        ("CCE", "softmax", NUMBERS, "distribution", "onehot"),
        ("CCE", "softmax", ONE_HOT, "distribution", None),
        ("CCE", "softmax", SEVERAL, "distribution", None),
        ("CCE", "softmax", PADDED, "classes", None),
        ("FOL", "softmax", PADDED, "classes", None),
        ("FOL", "softmax", NUMBERS, "distribution", "onehot"),
        ("FOL", "sigmoid", NUMBERS, "same", "onehot"),
        ("BCE", "sigmoid", NUMBERS, "same", "onehot"),
        ("MSE", "softmax", NUMBERS, "same", "onehot"),
        ("KLD", "softmax", SEVERAL, "distribution", None),
        ("HIL", "linear", SIGNS, "signs", None),
        ("HIL", "linear", SEVERAL, "signs", "signs"),
        ("HIL", "linear", NUMBERS, "signs", "signs"),
        ("MAE", "linear", MEASURED, "same", None),
        ("BCEL", "linear", SOFT, "same", None),
    ],
)
def test_labels_are_brought_into_the_form_of_the_loss(
    word: str, activation: OutputActivation, labels: LabelFacts, form: str, conversion: str | None
) -> None:
    choice = choose_loss(activation, (3,), word, labels)
    assert (choice.labels, choice.conversion) == (form, conversion)


def test_yes_and_no_of_a_single_score_become_signs() -> None:
    for labels in (YES_NO, replace(NUMBERS, classes=2, maximum=1, binary=True)):
        assert choose_loss("linear", (1,), "HIL", labels).conversion == "signs"
        assert choose_loss("linear", (), "HIL", labels).conversion == "signs"
    assert choose_loss("sigmoid", (1,), "BCE", YES_NO).conversion is None


@pytest.mark.parametrize(
    ("word", "activation", "scores", "labels", "words"),
    [
        (None, "softmax", 3, SEVERAL, ["ends in softmax", "with more than one 1", "sigmoid()"]),
        (None, "softmax", 3, MEASURED, ["ends in softmax", "numbers between -4.5 and 7 [3]"]),
        (None, "softmax", 1, YES_NO, ["CCE compares classes", "one score", "sigmoid()"]),
        (None, "sigmoid", 3, MEASURED, ["BCE needs labels from 0 to 1", "-4.5 and 7"]),
        ("SCE", "softmax", 3, SOFT, ["SCE needs class numbers", "rows that sum to 1"]),
        ("SCE", "softmax", 3, MEASURED, ["SCE needs class numbers", "-4.5 and 7"]),
        ("SCE", "softmax", 3, SEVERAL, ["SCE needs class numbers", "more than one 1"]),
        ("SCE", "linear", 1, NUMBERS, ["SCE compares classes"]),
        ("KLD", "sigmoid", 1, YES_NO, ["KLD compares classes"]),
        ("FOL", "softmax", 1, YES_NO, ["FOL compares classes"]),
        ("FOL", "linear", 3, ONE_HOT, ["FOL needs probabilities", "softmax() or sigmoid()"]),
        ("FOL", "sigmoid", 3, MEASURED, ["FOL needs labels from 0 to 1"]),
        ("BCEL", "linear", 3, SIGNS, ["BCEL needs labels from 0 to 1", "-1 and 1"]),
        ("CCE", "softmax", 3, MEASURED, ["CCE needs labels from 0,", "-4.5 and 7"]),
        ("HIL", "linear", 3, MEASURED, ["HIL needs labels −1 and 1", "-4.5 and 7"]),
        ("MSE", "linear", 3, PADDED, ["negative class numbers, down to -1", "MSE", "SCE"]),
    ],
)
def test_impossible_losses_are_refused_in_words(
    word: str | None,
    activation: OutputActivation,
    scores: int,
    labels: LabelFacts,
    words: list[str],
) -> None:
    with pytest.raises(DataError) as caught:
        choose_loss(activation, (scores,), word, labels, 'output "m"')
    assert caught.value.code == "NNM604"
    assert caught.value.hint
    for expected in (*words, 'output "m"'):
        assert expected in str(caught.value)


def test_impossible_without_labels_too() -> None:
    for word, activation, scores in (
        ("CCE", "linear", 1),
        ("FOL", "linear", 3),
        (None, "softmax", 1),
    ):
        with pytest.raises(DataError, match="NNM604"):
            choose_loss(activation, (scores,), word)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["SCE", "CCE", "MSE", None])
def test_a_class_without_score_is_refused(word: str | None) -> None:
    with pytest.raises(DataError, match=r"NNM706.*labels up to 3.*0 … 2"):
        choose_loss("softmax", (3,), word, replace(NUMBERS, maximum=3))


@pytest.mark.parametrize(
    ("median", "delta"), [(2.0, 1.345 * 1.4826 * 0.5), (0.0, 1), (math.nan, 1), (math.inf, 1)]
)
def test_automatic_delta(median: float, delta: float) -> None:
    choice = choose_loss("linear", (1,), "HUL")
    labels = replace(FAR, median_deviation=median)
    assert choose_loss_settings(choice, "linear", (1,), labels=labels).delta == pytest.approx(delta)
    assert choose_loss_settings(choice, "linear", (1,), {"delta": 0.5}, labels).delta == 0.5
    assert choose_loss_settings(choice, "linear", (1,)).delta == 1


def test_automatic_focal_numbers_of_decisions() -> None:
    choice = choose_loss("sigmoid", (1,), "FOL")
    found = choose_loss_settings(choice, "sigmoid", (1,), smoothing=0.1)
    assert (found.gamma, found.alpha, found.smoothing) == (2, 0.25, 0.1)
    rare = replace(YES_NO, class_counts=(19, 1))
    assert choose_loss_settings(choice, "sigmoid", (1,), labels=rare).alpha == pytest.approx(0.95)
    never = replace(YES_NO, class_counts=(20, 0))
    assert choose_loss_settings(choice, "sigmoid", (1,), labels=never).alpha == 0.25


def test_automatic_focal_weights_favour_rare_classes() -> None:
    choice = choose_loss("softmax", (4,), "FOL")
    labels = replace(ONE_HOT, class_counts=(60, 30, 0, 10))
    alpha = choose_loss_settings(choice, "softmax", (4,), labels=labels).alpha
    assert alpha == pytest.approx((1 / 3, 2 / 3, 1, 2))
    assert choose_loss_settings(choice, "softmax", (4,)).alpha is None


def test_written_focal_numbers_stay() -> None:
    choice = choose_loss("softmax", (3,), "FOL")
    found = choose_loss_settings(choice, "softmax", (3,), {"gamma": 0, "alpha": (1, 2, 3)}, ONE_HOT)
    assert (found.gamma, found.alpha) == (0, (1, 2, 3))
    assert choose_loss_settings(choice, "softmax", (3,), {"alpha": 2}, ONE_HOT).alpha == 2


@pytest.mark.parametrize(
    ("word", "activation", "scores", "written", "text"),
    [
        ("MSE", "linear", 3, {"delta": 1.0}, "delta is not a parameter of MSE"),
        (None, "softmax", 3, {"gamma": 1.0}, "gamma is not a parameter of CCE"),
        ("FOL", "softmax", 3, {"alpha": (1.0, 2.0)}, "alpha of the output has 2 numbers.*3 cl"),
        ("FOL", "sigmoid", 1, {"alpha": (0.1, 0.2, 0.3)}, "3 numbers, but there are 2 classes"),
        ("FOL", "sigmoid", 1, {"alpha": 1.0}, "alpha of the output is 1; with sigmoid"),
        ("FOL", "sigmoid", 1, {"alpha": (0.5, 2.0)}, "alpha of the output is 2; with sigmoid"),
    ],
)
def test_numbers_of_another_loss_or_size_are_refused(
    word: str | None, activation: OutputActivation, scores: int, written: dict[str, Any], text: str
) -> None:
    choice = choose_loss(activation, (scores,), word)
    with pytest.raises(DataError, match=f"NNM603.*{text}"):
        choose_loss_settings(choice, activation, (scores,), written)


@pytest.mark.parametrize(
    ("loss", "activation", "labels", "expected"),
    [
        *((name, "softmax", ONE_HOT, math.log(3)) for name in ("CCE", "CCEL", "SCE", "KLD", "FOL")),
        *((name, "sigmoid", YES_NO, math.log(2)) for name in ("BCE", "BCEL", "FOL")),
        ("MSE", "linear", MEASURED, 4),
        ("HUL", "linear", MEASURED, 4),
        ("MAE", "linear", MEASURED, 1.5),
        ("MAE", "linear", None, 1),
        ("MSE", "linear", replace(MEASURED, std=0), 1),
        ("HIL", "linear", replace(SIGNS, std=1, deviation=1), 1),
    ],
)
def test_reference_losses(
    loss: str, activation: OutputActivation, labels: LabelFacts | None, expected: float
) -> None:
    assert compute_reference_loss(LOSSES[loss], activation, (3,), labels) == pytest.approx(expected)


MODEL = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"


def test_numbers_written_in_the_notation() -> None:
    text = f"{MODEL} m:loss FL; m:gamma 1.5; m:alpha [1, 2, 0.5];"
    block = elaborate(parse(text)).outline.blocks["m"]
    assert loss_numbers(block) == {"gamma": 1.5, "alpha": (1, 2, 0.5)}
    text = f"{MODEL} m:delta 2;"  # the loss is chosen later
    assert loss_numbers(elaborate(parse(text)).outline.blocks["m"]) == {"delta": 2}


@pytest.mark.parametrize(
    "text",
    [
        "m:loss HUL; m:delta [1, 2];",
        "m:loss QUL; m:gamma 1;",
        "m:loss FOL; m:gamma [1];",
        "m:loss HUL; m:delta Infinity;",
        "m:loss HUL; m:delta 0;",
        "m:loss FOL; m:gamma -1;",
        "m:loss FOL; m:alpha [1, 0, 1];",
        "m:loss CCE; m:alpha 1;",
    ],
)
def test_numbers_out_of_range(text: str) -> None:
    with pytest.raises(ModelError, match="NNM603"):
        elaborate(parse(f"{MODEL} {text}"))
