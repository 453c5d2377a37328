"""Rules on losses and on data."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.unit.expert.cases import (
    EXACT,
    HALF,
    Case,
    DataFacts,
    Facts,
    FeatureFacts,
    OutputFacts,
    ScoutingFacts,
    classes,
    data,
    facts,
    feature,
    model,
    numbers,
    output,
    told,
)
from webnnm import Dataset, LabeledTextDataset, TableDataset, TextDataset
from webnnm.core.arrays import HostArray
from webnnm.expert.rules.registry import RULES
from webnnm.training.loss_choice import LabelFacts, choose_loss

LINEAR = "matmul(w)"
ONE_SCORE = "m:input shape=[4]; m:output shape=[1]; m:layers matmul(w), softmax();"
SKEWED = replace(EXACT, class_counts=(95, 5, 0))
SOFT = LabelFacts(kind="distribution", sums_to_one=True)
COUNTED = {"kind": "continuous", "std": 1.0, "raw_whole": True, "raw_minimum": 0}
YES_NO = LabelFacts(kind="multilabel", std=0.5, binary=True, maximum=1)
PICTURES = (
    "m:input shape={shape}; m:output shape=[2]; m:layers conv2d(f, filters=4, kernel=3{layout}), "
    "globalAveragePool(), matmul(w), softmax();"
)
ABSENT = {"training": (9, 9), "validation": (0, 0), "testing": (8, 0)}
SIZES = {"training": 18, "testing": 8}
LETTERS = model("matmul(w), softmax()", sequence=True)
OWN = "layerNormalization(), matmul(w)"
UNEVEN = {"training": (35, 35, 35), "validation": (0, 0, 0), "testing": (15, 15, 15)}

CASES = [
    Case(
        "E101",
        output("CCE", EXACT, written=False, reason="softmax and one-hot labels"),
        "CCE for m (softmax and one-hot labels)",
        output("CCE", EXACT),
    ),
    Case("E102", output("MSE"), "MSE on the softmax output m", output("CCE")),
    Case(
        "E102",
        replace(output("BCE"), network=facts(ONE_SCORE).network),
        "BCE on the softmax output m, which is always 1: a softmax over one score",
        output("BCE", activation="sigmoid"),
    ),
    Case(
        "E102",
        output("BCE", activation="linear"),
        "BCE on the linear",
        output("BCE", activation="sigmoid"),
    ),
    Case("E103", output("SCE", problem="SCE needs class numbers"), "SCE needs", output("SCE")),
    Case(
        "E102",
        output("SCE", activation="linear", operator="softmax"),
        "SCE compares classes along the last dimension of m, which ends in a softmax along another",
        output("SCE", activation="softmax", operator="softmax"),
    ),
    Case(
        "E104",
        output("SCE", EXACT, conversion="classes"),
        "SCE of m: one-hot rows become class numbers",
        output("SCE", LabelFacts(kind="classes", classes=3)),
    ),
    Case(
        "E105",
        output("KLD", replace(SOFT, sums_to_one=False)),
        "rows of m do not sum to 1",
        output("KLD", SOFT),
    ),
    Case("E106", output("BCE", EXACT, "sigmoid"), "BCE over 3 values", output("CCE", EXACT)),
    Case(
        "E106",
        output("BCE", replace(EXACT, kind="classes", single=False), "sigmoid"),
        "each row has one class",
        output("SCE", replace(EXACT, kind="classes", single=False)),
    ),
    Case(
        "E107",
        output("CCE", LabelFacts(kind="multilabel", several=True)),
        "m has several 1s in a row",
        output("BCE", LabelFacts(kind="multilabel", several=True), "sigmoid"),
    ),
    Case(
        "E108",
        output("MSE", numbers(40, 12), "linear"),
        "targets of m have mean 40, std 12",
        output("MSE", numbers(0, 1), "linear"),
    ),
    Case(
        "E108", output("MSE", numbers(0, 0.05), "linear"), "std 0.05", output("MAE", numbers(0, 0))
    ),
    Case(
        "E108",
        output("MSE", numbers(19, 6), "linear"),
        "mean 19, std 6",
        output("MSE", numbers(18, 6), "linear"),
    ),
    Case(
        "E122",
        output("MSE", numbers(9, 3, minimum=7, maximum=30), "linear"),
        "targets of m go up to 7 deviations above their mean, none below 1",
        output("MSE", numbers(2, 0.4, minimum=1, maximum=3.4), "linear"),
    ),
    Case(
        "E109",
        output("MSE", numbers(0, 1, outliers=True), "linear"),
        "MSE on m, whose targets have outliers",
        output("HUL", numbers(0, 1, outliers=True), "linear"),
    ),
    Case(
        "E109",
        output("MSE", numbers(0, 1, outliers=True), "softplus"),
        "MSE on m, whose targets have outliers",
        output("MSE", numbers(0, 1, outliers=True, skewed=True), "softplus"),
    ),
    Case(
        "E109",
        output("MSE", activation="linear", scouting=ScoutingFacts(gradient_variation=1.5)),
        "gradient norms of batches vary by 1.50",
        output("HUL", activation="linear", scouting=ScoutingFacts(gradient_variation=1.5)),
    ),
    Case("E110", output("CCE", SKEWED), "95.0% of the labels of m", output("FOL", SKEWED)),
    Case("E111", output("CCEL"), "softmax and CCEL of m, which means CCE", output("MSE")),
    Case(
        "E112",
        output("CCE", replace(EXACT, classes=1000)),
        "one-hot rows of 1,000 classes",
        output("SCE", LabelFacts(kind="classes", classes=1000)),
    ),
    Case("E113", output("CCE", text=HALF), "logarithms of float16", output("CCEL", text=HALF)),
    Case(
        "E114",
        output("MSE", LabelFacts(kind="continuous", minimum=7.25, maximum=7.25), "linear"),
        "all targets of m are 7.25",
        output("MSE", numbers(0, 1, minimum=-2, maximum=2), "linear"),
    ),
    Case(
        "E114",
        output("CCE", replace(EXACT, class_counts=(0, 105, 0))),
        "all labels of m are class 1",
        output("CCE", EXACT),
    ),
    Case(
        "E115",
        output("MSE", LabelFacts(**COUNTED, raw_maximum=4), "linear"),
        "whole numbers 0 … 4",
        output("MSE", LabelFacts(**COUNTED, raw_maximum=60), "linear"),
    ),
    Case(
        "E116",
        output("MSE", YES_NO, "sigmoid", operator="sigmoid"),
        "MSE on 0 and 1 of m, which sigmoid delivers",
        output("BCE", YES_NO, "sigmoid", operator="sigmoid"),
    ),
    Case(
        "E117",
        output("MSE", numbers(0, 1, minimum=-20, maximum=40), operator="tanh"),
        "m ends in tanh, with results between -1 and 1; its targets go from -20 to 40",
        output("MSE", numbers(0, 1, minimum=-20, maximum=40), operator="add"),
    ),
    Case(
        "E117",
        output("MSE", numbers(0, 1, minimum=-2, maximum=2), operator="relu", standardized=True),
        "relu, with results of 0 or more; its standardised targets go from -2 to 2",
        output("MSE", numbers(0, 1, minimum=0, maximum=90), operator="relu"),
    ),
    Case(
        "E118",
        output("SCE", LabelFacts(kind="classes", classes=2)),
        "m has 3 scores, the labels are 0 … 1",
        output("SCE", LabelFacts(kind="classes", classes=3)),
    ),
    Case(
        "E601",
        classes((70, 35, 0)),
        "class virginica (none in training, 15 to be tested) of m",
        classes((35, 35, 35)),
    ),
    Case(
        "E602",
        classes((50, 50, 5), (0, 0, 45)),
        "classes setosa (none in testing), versicolor (none in testing) of m",
        classes((35, 35, 35)),
    ),
    Case(
        "E601",
        classes((50, 50, 0), (5, 5, 0), (0, 0, 9)),
        "virginica (none in training, 9 to be tested)",
        classes((50, 50, 6), (5, 5, 3)),
    ),
    Case("E603", feature(5.8, 0.8), "1 of 2 features of m are far", feature(0.0, 1.0)),
    Case("E603", feature(0, 12), "length (mean 0, std 12)", feature(3, 10)),
    Case("E604", feature(7, 0), "1 of 2 features of m are constant: length (7)", feature(7, 0.1)),
    Case("E605", data(non_finite="row 3 is nan"), "row 3 is nan", data()),
    Case("E606", data(shared_rows=0.25), "25.0% of the testing rows", data(shared_rows=0.01)),
    Case(
        "E607",
        data({"epochs": 100}, sizes={"training": 2000}),
        "100 epochs without validation",
        data({"epochs": 100}, sizes={"training": 1900, "validation": 100}),
    ),
    Case(
        "E607",
        data({"epochs": 100}, sizes={"training": 2000}),
        "100 epochs without validation",
        data({"epochs": 100}, sizes={"training": 1999}),
    ),
    Case("E608", classes((60, 35, 10)), "classes of m have 10 … 60 rows", classes((50, 45, 10))),
    Case(
        "E609",
        data({"batch_size": 128}),
        "batches of 128 rows, 105 training rows",
        data({"batch_size": 105}),
    ),
    Case(
        "E610",
        data({"shuffle": False}, sorted=True),
        "sorted by class",
        data({"shuffle": True}, sorted=True),
    ),
    Case("E611", classes((50, 50, 5)), "class virginica (5 in training)", classes((50, 50, 10))),
    Case(
        "E613",
        data(unknown={"sentence": 1.0, "colour": 0.1}),
        "unknown, and become zeros: sentence (100% of the rows)",
        data(unknown={"sentence": 0.4}),
    ),
    Case(
        "E628",
        data(class_names={"iris": ("no", "No ", "maybe", "YES", "yes", "un_sure", "Un sure")}),
        'differ only in spelling: "no" and "No "; "YES" and "yes"; "un_sure" and "Un sure"',
        data(class_names={"iris": ("no", "yes", "a", "A", "-1", "1")}),
    ),
    Case(
        "E618",
        data(sizes={"training": 97, "testing": 3}),
        "testing has 3 rows: an accuracy of 0.9 on them may be 0.36 or 0.99 (95% confidence)",
        data(sizes={"training": 70, "testing": 30}),
    ),
    Case(
        "E624",
        facts(PICTURES.format(shape="[8, 8, 3]", layout="")),
        "m is [8, 8, 3]: conv2d1 takes it for 8 channels of 8 × 3",
        facts(PICTURES.format(shape="[8, 8, 3]", layout=", inputLayout=nhwc, filterLayout=ohwi")),
    ),
    Case("E612", data(fitted_on="full"), "statistics of the full rows", data(fitted_on="training")),
]


def test_channels_are_last_though_a_text_calls_them_first() -> None:
    named = PICTURES.format(shape="{channels:8, height:8, width:3}", layout="")
    assert RULES["E624"].test(facts(named)) is not None
    in_order = PICTURES.format(shape="{height:8, width:8, channels:3}", layout="")
    assert RULES["E624"].test(facts(in_order)) is None


def test_numbers_that_somebody_called_continuous_are_only_noted() -> None:
    text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    rows, grades = [[n / 10] for n in range(40)], [float(n % 4) for n in range(40)]
    assert told(text, Dataset(rows, grades))["E115"] == "advice"
    said = Dataset(rows, grades, kinds={"model": "continuous"})
    assert told(text, said)["E115"] == "info"


def test_few_rows_with_many_answers_each_can_be_told_apart() -> None:
    text = "m:input int32 shape=[] sequence=true; m:output shape=[4]; m:layers "
    text += "embedding(t, size=4, shape=[8]), gru(w, r, hiddenSize=4, returnSequence=true), "
    text += "matmul(v), softmax();"
    tokens = [n * n % 97 * n % 4 for n in range(1600)]
    tokens[1440:1475] = tokens[:35]  # a sentence that comes again
    data = TextDataset(tokens, 16, split=(0.85, 0, 0.15), method="sequential")
    found = told(text, data)
    assert found["E618"] == found["E606"] == "info"


def test_rows_of_yes_and_no_are_equal_by_chance() -> None:
    text = "m:input shape=[12]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    draw = Random(1)
    rows = [[float(draw.random() < 0.25) for _ in range(12)] for _ in range(500)]
    labels = [int(row[0] + row[1] > 0) for row in rows]
    assert told(text, Dataset(rows, labels))["E606"] == "info"
    measured = [[value + draw.random() / 9 for value in row] for row in rows[:250]]
    copies = Dataset([*measured, *measured], [*labels[:250], *labels[:250]])
    assert told(text, copies)["E606"] == "warning"


RARE = [f"N{number}" for number in range(400)]


@pytest.mark.parametrize("options", [{}, {"max_categories": 1}, {"hash_buckets": 128}])
def test_rows_of_different_rare_words_are_not_equal(options: dict[str, Any]) -> None:
    labels = [("no", "yes")[n % 3 == 0] for n in range(400)]
    different = TableDataset({"plane": RARE, "late": labels}, **options)
    text = f"m:input shape=[{len(different.inputs['model'].features)}]; m:output shape=[2]; "
    found = told(f"{text}m:layers matmul(w), add(b), softmax();", different)
    assert not {"E603", "E604", "E606", "E621"} & found.keys()
    miles = [n * 0.618 % 1 for n in range(200)]
    table = {"plane": RARE[:200] * 2, "miles": miles * 2, "late": labels}
    copied = TableDataset(table, **options)
    text = f"m:input shape=[{len(copied.inputs['model'].features)}]; m:output shape=[2]; "
    assert "E621" in told(f"{text}m:layers matmul(w), add(b), softmax();", copied)


def test_texts_of_different_unknown_words_are_not_equal() -> None:
    text = "m:input int32 shape=[] sequence=true; m:output shape=[2]; m:layers "
    text += "embedding(t, size={}, shape=[4]), gru(w, r, hiddenSize=4), matmul(v), softmax();"
    labels = [("no", "yes")[n % 3 == 0] for n in range(400)]
    texts = [f"the {word}" for word in RARE]
    different = LabeledTextDataset(texts, labels)
    copied = LabeledTextDataset(texts[:200] * 2, labels, minimum_count=3)
    for dataset, expected in ((different, set[str]()), (copied, {"E606", "E621"})):
        found = told(text.format(dataset.reader.tokenizer.size), dataset)
        assert {"E606", "E621"} & found.keys() == expected


def test_signals_with_the_channels_last_are_told() -> None:
    layers = "conv1d(f, filters=8, kernel=3), relu(), flatten(), matmul(w), softmax()"
    text = f"m:input shape=[{{}}]; m:output shape=[3]; m:layers {layers};"
    hit = RULES["E624"].test(facts(text.format("128, 3")))
    assert hit is not None and "conv1d1 takes it for 128 channels of 3" in hit.message
    assert RULES["E624"].test(facts(text.format("3, 128"))) is None


def test_rows_that_a_text_calls_a_sequence_may_be_padded() -> None:
    text = "m:input shape=[2] sequence=true; m:output shape=[2]; "
    text += "m:layers lstm(w, r, hiddenSize=4), matmul(v), softmax();"
    draw = Random(2)
    rows = [
        [[draw.random() + 1, draw.random()] if step < 4 + n % 7 else [0, 0] for step in range(40)]
        for n in range(60)
    ]
    found = told(text, Dataset(rows, [n % 2 for n in range(60)]))
    assert "E623" in found
    assert "E604" not in found


def test_margins_of_pictures_are_not_padding() -> None:
    text = "m:input shape=[20, 8]; m:output shape=[2]; "
    text += "m:layers reduceMean(axes=[1]), matmul(w), softmax();"
    draw = Random(3)
    rows = [
        [[draw.random() if line < 9 + n % 5 else 0.0 for _ in range(8)] for line in range(20)]
        for n in range(60)
    ]
    assert "E623" not in told(text, Dataset(rows, [n % 2 for n in range(60)]))


def test_corners_of_pictures_may_be_constant() -> None:
    text = "m:input shape={height:4, width:4}; m:output shape=[2]; "
    text += "m:layers flatten(), matmul(w), softmax();"
    draw = Random(4)
    rows = [[0.0, *(draw.random() for _ in range(14)), 0.0] for _ in range(60)]
    labels = [n % 2 for n in range(60)]
    assert "E604" not in told(text, Dataset(HostArray.of(rows, shape=(60, 4, 4)), labels))
    flat = "m:input shape=[16]; m:output shape=[2]; m:layers matmul(w), softmax();"
    assert "E604" in told(flat, Dataset(rows, labels))


def test_words_that_are_padding_are_not_features_to_drop() -> None:
    text = "m:input int32 shape=[] sequence={words:12}; m:output shape=[2]; m:layers "
    text += "embedding(t, size=9, shape=[4]), lstm(w, r, hiddenSize=4), matmul(v), softmax();"
    rows = [[1 + n % 8] * (1 + n % 4) + [0] * (11 - n % 4) for n in range(40)]
    found = told(text, Dataset(HostArray.of(rows, "int32"), [n % 2 for n in range(40)]))
    assert "E623" in found
    assert "E604" not in found


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rule_speaks_until_its_remedy(case: Case) -> None:
    hit = RULES[case.id].test(case.before)
    assert hit is not None
    assert case.words in hit.message
    assert RULES[case.id].test(case.after) is None


QUIET = [
    # What spreads far is no mistake where logarithms, or another loss, are learnt already.
    ("E109", output("MSE", numbers(0, 1, outliers=True), "linear", reshaped=True)),
    ("E122", output("MSE", numbers(9, 3, minimum=7, maximum=30), "linear", reshaped=True)),
    ("E122", output("QUL", numbers(9, 3, minimum=7, maximum=30), "linear")),
    (
        "E122",
        output(
            "MSE", numbers(1, 1, minimum=0.1, maximum=9, raw_maximum=9, raw_whole=True), "linear"
        ),
    ),
    ("E102", output("MSE", written=False)),
    ("E106", output("BCE", replace(EXACT, kind="multilabel", single=False), "sigmoid")),
    ("E108", output("MSE", EXACT, "linear")),
    ("E108", output("MSE", numbers(40, 12, minimum=9, maximum=80), operator="tanh")),
    ("E116", output("MSE", numbers(0, 1), "linear")),
    ("E117", output("BCE", YES_NO, "sigmoid", operator="sigmoid")),
    ("E111", output("CCE", problem="no")),
    ("E113", output("CCE")),
    ("E603", feature(0.01, 0.05, binary=True)),
    ("E602", data(class_counts={"m": ABSENT}, method="stratified")),
    ("E602", facts(LETTERS, data=DataFacts(sizes=SIZES, class_counts={"m": ABSENT}))),
    ("E603", feature(7, 0)),
    ("E603", data(features={"m": [FeatureFacts("pixel", 0.9, 0.01, low=0, high=1)]})),
    ("E603", facts(OWN, data=DataFacts(features={"m": [FeatureFacts("x", 50, 90)]}))),
    ("E607", data({"epochs": 200}, sizes={"training": 60})),
    ("E607", data({"epochs": 200}, features={"m": [FeatureFacts("x", 0, 1)]})),
    (
        "E608",
        replace(classes((60, 35, 10)), outputs=[OutputFacts(name="m", loss="FOL")]),
    ),
    ("E611", data(sizes={"training": 4}, class_counts={"m": {"training": (2, 2)}})),
    ("E608", classes((100, 3, 3))),
    ("E609", facts(settings={"batch_size": 128})),
    ("E610", data(sorted=True)),
    ("E611", classes((50, 50, 0))),
]


@pytest.mark.parametrize(("id", "known"), QUIET)
def test_rule_is_silent(id: str, known: Facts) -> None:
    assert RULES[id].test(known) is None


def test_a_loss_that_was_chosen_is_reported_as_it_was_chosen() -> None:
    choice = choose_loss("softmax", (3,), None, EXACT)
    known = output(choice.loss.name, EXACT, written=False, reason=choice.reason)
    hit = RULES["E101"].test(known)
    assert hit is not None
    assert hit.message == "CCE for m (softmax and one-hot labels)"
    assert hit.changes == {"m:loss": "CCE"}


def test_bytes_and_words_have_remedies_of_their_own() -> None:
    rule = RULES["E603"]
    pixels = [FeatureFacts(str(n), 90, 60, low=0, high=255) for n in range(64)]
    words = [FeatureFacts(str(n), 20, 11, low=1, high=39) for n in range(12)]
    hits = [rule.test(data(features={"m": features})) for features in (pixels, words)]
    remedies = [hit.remedy for hit in hits if hit]
    assert remedies[0].startswith("Divide the bytes by 255")
    assert "embedding(table, size=40)" in remedies[1]


def test_rows_that_are_equal_by_chance_are_information() -> None:
    validated = RULES["E606"].test(data(shared_validation=0.25))
    assert validated is not None
    assert validated.message == "25.0% of the validation rows are training rows too"
    hit = RULES["E606"].test(data(shared_rows=0.25, coarse=True))
    assert hit is not None and hit.severity == "info"


def test_a_small_subset_of_few_rows_is_information() -> None:
    few, many = ({"training": rows, "testing": 9} for rows in (31, 200))
    found = [RULES["E618"].test(data(sizes=sizes)) for sizes in (few, many)]
    assert [hit.severity for hit in found if hit] == ["info", None]


def test_classes_that_are_all_small_are_information() -> None:
    found = [RULES["E611"].test(classes(rows)) for rows in ((7, 7, 7), (9, 8, 5), (60, 60, 7))]
    assert [hit.severity for hit in found if hit] == ["info", "info", None]


def test_classes_that_are_weighed_are_not_advised_to_be() -> None:
    rare = output("CCE", SKEWED)
    weighed = replace(rare, settings=replace(rare.settings, class_weight="balanced"))
    assert RULES["E110"].test(rare) is not None
    assert RULES["E110"].test(weighed) is None


SIGNS = [1.0 if n % 2 else -1.0 for n in range(40)]


@pytest.mark.parametrize("activation", ["sigmoid", "relu", "softplus", "tanh", "identity"])
@pytest.mark.parametrize("form", ["rows", "columns", "integers", "declared", "table"])
def test_minus_one_is_where_no_sigmoid_goes(form: str, activation: str) -> None:
    text = (
        "model:input shape=[1]; model:output shape=[1]; model:loss MSE; "
        f"model:layers matmul(w), add(b), {activation}();"
    )
    rows = [[n / 40] for n in range(40)]
    if form == "table":
        table = {"x": [row[0] for row in rows], "y": SIGNS}
        known = told(text, TableDataset(table, label="y", task="regression"))
    else:
        labels = [int(y) for y in SIGNS] if form == "integers" else SIGNS
        columns = [[y] for y in labels] if form == "columns" else labels
        kinds: Any = {"model": "continuous"} if form == "declared" else None
        known = told(text, Dataset(rows, columns, kinds=kinds))
    assert ("E117" in known) is (activation not in ("tanh", "identity"))


def test_labels_of_two_signs_have_a_remedy_of_their_own() -> None:
    signs = numbers(0, 1, minimum=-1, maximum=1, signs=True, whole=True)
    hits = [
        RULES["E117"].test(output("MSE", labels, "sigmoid", operator="sigmoid"))
        for labels in (signs, replace(signs, signs=False, maximum=3))
    ]
    remedies = [hit.remedy for hit in hits if hit]
    assert remedies[0].startswith("Make the labels 0 and 1") and remedies[1] == ""


def test_columns_of_zero_may_be_what_a_join_left() -> None:
    rule = RULES["E604"]
    zero, seven, good = (
        FeatureFacts("rain", 0, 0, raw=0),
        FeatureFacts("sun", 0, 0, raw=7),
        FeatureFacts("soil", 0, 1),
    )
    for features, looks in (
        ([zero, good], True),
        ([seven, seven, good], True),
        ([seven, good], False),
        ([zero] * 30 + [good], False),  # the margin of pictures
    ):
        hit = rule.test(data(features={"m": features}))
        assert hit is not None and hit.remedy.startswith("First check") is looks


def test_letters_are_as_frequent_as_they_are() -> None:
    counts = DataFacts(sizes=SIZES, class_counts={"m": {"training": (90, 9, 60)}})
    rows = replace(facts("matmul(w), softmax()"), data=counts)
    assert RULES["E608"].test(rows) is not None
    assert RULES["E608"].test(replace(facts(LETTERS), data=counts)) is None
