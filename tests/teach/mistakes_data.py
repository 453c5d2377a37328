"""Mistakes in the rows, the labels and their division into subsets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.teach.cases import mistake
from tests.teach.samples import bars, blobs, houses, lines, one_hot, rare, rings, topics, waves
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import CONVOLVED, classifier, dense, model, regressor, yes_or_no
from webnnm import Dataset, LabeledTextDataset, TableDataset

FALSELY_HIGH = "the score with the mistake is too good to be true, and falls when it is mended"


# Scales.


@mistake(
    "The features have scales from 0.001 to 100,000 and are given as they are.",
    remedy="Standardise the inputs: standardize=True.",
    mended=lambda setup: setup.but(data=of(*_scales_apart(), standardize=True)),
    named_by=("E603",),
)
def scales_apart() -> Setup:
    return Setup(classifier(4, (16,), 3), of(*_scales_apart()))


def _scales_apart() -> tuple[np.ndarray, np.ndarray]:
    x, y = blobs(300, 3, 4, 1.6)
    return x * np.array([1e-3, 1, 50, 1e5], "float32"), y


@mistake(
    "Pixels are bytes from 0 to 255 and are given to a dense network as they are.",
    remedy="Divide them by 255, as ImageDataset does, or standardise.",
    mended=lambda setup: setup.but(data=of(*_bytes(1 / 255))),
    named_by=("E603",),
)
def pixels_as_bytes() -> Setup:
    return Setup(classifier(64, (32,), 4), of(*_bytes(1)), {"optimizer": "sgdm"})


def _bytes(factor: float) -> tuple[np.ndarray, np.ndarray]:
    x, y = bars()
    return np.round(x.reshape(-1, 64) * 255) * np.float32(factor), y


@mistake(
    "A timestamp in seconds since 1970 is a feature: float32 cannot tell its minutes apart.",
    remedy="Subtract the first time before it becomes float32, then standardise.",
    mended=lambda setup: setup.but(data=_clock(1_700_000_000.0)),
    named_by=("E625",),
)
def timestamps_in_float32() -> Setup:
    return Setup(regressor(2, (16,)), _clock(0.0), {"epochs": 40}, score="r2")


def _clock(start: float) -> Data:
    draw = np.random.default_rng(20)
    seconds = 1_700_000_000.0 + np.sort(draw.uniform(0, 600, 300))
    other = draw.normal(0, 1, 300)
    y = np.sin((seconds - 1_700_000_000.0) / 100) + 0.2 * other
    x = np.stack([seconds - start, other], axis=1).astype("float32")
    return of(x, y.astype("float32")[:, None], standardize=True, standardize_targets=True)


@mistake(
    "Prices around 250,000 are the targets of a linear output, and are not scaled.",
    remedy="standardize_targets=True.",
    mended=lambda setup: setup.but(data=of(*_prices(), standardize=True, standardize_targets=True)),
    named_by=("E108",),
)
def targets_unscaled() -> Setup:
    return Setup(regressor(6, (16,)), of(*_prices(), standardize=True), score="r2")


def _prices() -> tuple[np.ndarray, np.ndarray]:
    x, y = houses()
    return x, 250_000 + 60_000 * y


@mistake(
    "Two quantities are learnt at once, one around 1 and one around 10,000, unscaled.",
    remedy="standardize_targets=True, so that neither loss drowns the other.",
    mended=lambda setup: setup.but(data=_litres_and_grams(standardize_targets=True)),
    named_by=("E108",),
)
def targets_of_two_scales() -> Setup:
    text = (
        "model:input shape=[6]; litres:output shape=[1]; grams:output shape=[1];\n"
        "model:layers matmul(w, shape=[16]), add(b), tanh(name=seen);\n"
        "litres:layers matmul(w, node=seen), add(b);\n"
        "grams:layers matmul(w, node=seen), add(b);\n"
    )
    return Setup(text, _litres_and_grams(), {"loss_weights": "off"}, score="litres.r2")


def _litres_and_grams(**options: Any) -> Data:
    x, y = houses()
    quantities = {"litres": y, "grams": 10_000 * (y + x[:, :1])}
    return of({"model": x}, quantities, standardize=True, **options)


# Targets that the output cannot reach.


@mistake(
    "Targets from 0 to 10 are learnt by a sigmoid, which ends at 1.",
    remedy="Leave the sigmoid out, or divide the targets by 10.",
    mended=lambda setup: setup.saying("activation=sigmoid", "activation=identity"),
    named_by=("E117",),
)
def targets_beyond_sigmoid() -> Setup:
    x, y = houses()
    marks = 10 / (1 + np.exp(-y))
    text = model(6, f"{dense(16)}, {dense(1, 'sigmoid')}", 1, "MSE")
    return Setup(text, of(x, marks, standardize=True), {"epochs": 40}, score="r2")


@mistake(
    "Half of the targets are negative, and the output is a relu.",
    remedy="No activation behind the last dense layer.",
    mended=lambda setup: setup.but(text=regressor(6, (16,))),
    named_by=("E117",),
)
def negative_targets_under_relu() -> Setup:
    text = model(6, f"{dense(16)}, {dense(1, 'relu')}", 1)
    return Setup(text, of(*houses(), standardize=True), score="r2")


@mistake(
    "Temperatures from −20 to 40 are learnt by a tanh, which ends at ±1.",
    remedy="No tanh at the output, and standardize_targets=True.",
    mended=lambda setup: setup.but(
        text=regressor(6, (16,)), data=_temperatures(standardize_targets=True)
    ),
    named_by=("E117",),
)
def temperatures_under_tanh() -> Setup:
    return Setup(model(6, f"{dense(16)}, {dense(1, 'tanh')}", 1), _temperatures(), score="r2")


def _temperatures(**options: Any) -> Data:
    x, y = houses()
    return of(x, np.clip(10 + 10 * y, -20, 40), standardize=True, **options)


@mistake(
    "Standardised targets, half of them below 0, meet a sigmoid at the output.",
    remedy='No sigmoid at the output, or targets scaled to 0 … 1 by scale="minmax".',
    mended=lambda setup: setup.but(text=regressor(6, (16,))),
    named_by=("E117",),
)
def standardised_targets_under_sigmoid() -> Setup:
    data = of(*houses(), standardize=True, standardize_targets=True)
    return Setup(model(6, f"{dense(16)}, {dense(1, 'sigmoid')}", 1, "MSE"), data, score="r2")


@mistake(
    "Every target is the same number.",
    remedy="There is nothing to learn: look for the right column.",
    why="the variance of the targets is 0, so that no R² is defined",
    named_by=("E114",),
)
def constant_target() -> Setup:
    x, y = houses(200)
    return Setup(regressor(6, (8,)), of(x, np.full_like(y, 7.25)), score="r2")


# Labels.


@mistake(
    "Labels count from 1 to 3, the softmax from 0 to 2.",
    remedy="Subtract 1 from the labels.",
    mended=lambda setup: setup.but(data=of(*blobs(), standardize=True)),
    named_by=("NNM702",),
)
def labels_from_one() -> Setup:
    x, y = blobs()
    return Setup(classifier(4, (16,), 3), of(x, y + 1, standardize=True))


@mistake(
    "Labels count from 1 to 3 and are said to be classes; the softmax has three scores.",
    remedy="Subtract 1 from the labels.",
    mended=lambda setup: setup.but(data=of(*blobs(), standardize=True)),
    named_by=("NNM706",),
)
def labels_from_one_as_classes() -> Setup:
    x, y = blobs()
    kinds = {"model": "classes"}
    return Setup(classifier(4, (16,), 3), of(x, y + 1, standardize=True, kinds=kinds))


@mistake(
    "Class numbers are floats, 0.0, 1.0 and 2.0, which reads as measurements.",
    remedy='Convert them to integers, or say kinds={"model": "classes"}.',
    mended=lambda setup: setup.but(data=of(*blobs(), standardize=True)),
    named_by=("NNM702",),
)
def float_class_numbers() -> Setup:
    x, y = blobs()
    return Setup(classifier(4, (16,), 3), of(x, y.astype("float32"), standardize=True))


@mistake(
    "Labels are −1 and 1 under a sigmoid.",
    remedy="Make them 0 and 1.",
    mended=lambda setup: setup.but(data=of(*blobs(300, 2, spread=2.0), standardize=True)),
    named_by=(
        "E103",
        "NNM604",
    ),
)
def plus_minus_one_under_sigmoid() -> Setup:
    x, y = blobs(300, 2, spread=2.0)
    return Setup(yes_or_no(4, (8,)), of(x, 2 * y - 1, standardize=True))


@mistake(
    "The number of a class is learnt as a quantity, although classes have no order.",
    remedy="Five scores with a softmax.",
    mended=lambda setup: setup.but(
        text=classifier(4, (16,), 5), data=of(*blobs(300, 5), standardize=True), score="accuracy"
    ),
    why="R² of numbers cannot be compared with accuracy",
    named_by=("E115",),
)
def class_numbers_as_quantities() -> Setup:
    x, y = blobs(300, 5)
    data = of(x, y.astype("float32")[:, None], standardize=True)
    return Setup(regressor(4, (16,)), data, score="r2")


@mistake(
    "Rows have several labels at once, and the output is a softmax.",
    remedy="A sigmoid for each label.",
    mended=lambda setup: setup.saying("softmax", "sigmoid"),
    named_by=(
        "E103",
        "NNM604",
    ),
)
def several_labels_under_softmax() -> Setup:
    return Setup(classifier(4, (16,), 3), _several_labels())


def _several_labels() -> Data:
    x, _ = blobs(300)
    labels = (x[:, :3] + 0.3 * x[:, 3:] > 0).astype("float32")
    return of(x, labels, standardize=True)


@mistake(
    "Labels and rows were sorted apart from each other: they no longer belong together.",
    remedy="Keep each label with its row.",
    mended=lambda setup: setup.but(data=of(*blobs(), standardize=True)),
    named_by=("E627",),
)
def labels_shuffled() -> Setup:
    x, y = blobs()
    return Setup(classifier(4, (16,), 3), of(x, np.random.default_rng(0).permutation(y)))


@mistake(
    "Equal rows have contradicting labels, a third of them: two tables were joined wrongly.",
    remedy="Find out which label is right, and drop the other.",
    mended=lambda setup: setup.but(data=of(*blobs(), standardize=True)),
    named_by=("E621",),
)
def contradicting_labels() -> Setup:
    x, y = blobs()
    twice = np.concatenate([x, x[:150]]), np.concatenate([y, (y[:150] + 1) % 3])
    return Setup(classifier(4, (16,), 3), of(*twice, standardize=True))


@mistake(
    "A fifth of the one-hot rows have no 1 at all.",
    remedy="Drop the rows without a label.",
    mended=lambda setup: setup.but(data=of(*_one_hot_rows(False), standardize=True)),
    named_by=(
        "E103",
        "NNM604",
    ),
)
def one_hot_without_one() -> Setup:
    return Setup(classifier(4, (16,), 3), of(*_one_hot_rows(True), standardize=True))


def _one_hot_rows(broken: bool) -> tuple[np.ndarray, np.ndarray]:
    x, y = blobs()
    labels = one_hot(y, 3)
    if broken:
        labels[::5] = 0
    return x, labels


# Columns.


@mistake(
    "A column tells the label: the bill was written after the diagnosis.",
    remedy="Drop the column that is not known when predictions are made.",
    mended=lambda setup: setup.but(data=_patients(leak=False)),
    why=FALSELY_HIGH,
    named_by=("E615",),
)
def leaking_column() -> Setup:
    return Setup(yes_or_no(5, (8,)), _patients(leak=True))


def _patients(leak: bool) -> Data:
    draw = np.random.default_rng(21)
    x, y = rare(400, 0.5, 0.7)
    bill = (3000 * y + draw.normal(500, 60, 400)) if leak else draw.normal(500, 60, 400)
    names = ["age", "pulse", "weight", "pressure", "bill"]
    table = np.concatenate([x, bill[:, None].astype("float32")], axis=1)
    return of(table, y, features=names, standardize=True)


@mistake(
    "A feature is the target in another unit: degrees Fahrenheit for degrees Celsius.",
    remedy="Drop the feature.",
    mended=lambda setup: setup.but(text=regressor(6, (8,)), data=of(*houses(), standardize=True)),
    why=FALSELY_HIGH,
    named_by=("E615",),
)
def target_among_features() -> Setup:
    x, y = houses()
    data = of(np.concatenate([x, 32 + 1.8 * y], axis=1), y, standardize=True)
    return Setup(regressor(7, (8,)), data, score="r2")


@mistake(
    "A category of the table stands for the label: the ward is chosen by the diagnosis.",
    remedy="Drop the column.",
    mended=lambda setup: setup.but(text=classifier(2, (8,), 2), data=_wards(["age", "pulse"])),
    why=FALSELY_HIGH,
    named_by=("E615",),
)
def leaking_category() -> Setup:
    return Setup(classifier(4, (8,), 2), _wards(["age", "pulse", "ward"]))


def _wards(features: list[str]) -> Data:
    x, y = rare(300, 0.4, 0.6)
    table = {
        "age": x[:, 0].tolist(),
        "pulse": x[:, 1].tolist(),
        "ward": ["cardiology" if sick else "surgery" for sick in y],
        "diagnosis": ["sick" if sick else "well" for sick in y],
    }
    return lambda seed: TableDataset(table, features, "diagnosis", seed=seed, standardize=True)


@mistake(
    "The number of the row is a feature, and the rows are sorted by class.",
    remedy="Drop the column: new rows have other numbers.",
    mended=lambda setup: setup.but(data=_numbered(False)),
    why=FALSELY_HIGH,
    named_by=("E616",),
)
def row_number_of_sorted_rows() -> Setup:
    return Setup(classifier(5, (16,), 3), _numbered(True))


def _numbered(numbers: bool) -> Data:
    x, y = blobs(300, 3, 4, 3.0)
    by_class = np.argsort(y, kind="stable")
    row = np.arange(300.0) if numbers else np.zeros(300)
    table = np.concatenate([x[by_class], row[:, None].astype("float32")], axis=1)
    return of(table, y[by_class], standardize=True)


@mistake(
    "A number of the customer, different in every row, is one-hot: more columns than rows.",
    remedy="Drop the column.",
    mended=lambda setup: setup.but(text=classifier(2, (16,), 2), data=_customers(["x", "y"])),
    named_by=("E613",),
)
def identifiers_as_categories() -> Setup:
    return Setup(
        classifier(142, (16,), 2), _customers(["x", "y", "customer"], categorical=["customer"])
    )


def _customers(features: list[str], **options: Any) -> Data:
    x, y = rare(200, 0.5, 0.8)
    table = {
        "x": x[:, 0].tolist(),
        "y": x[:, 1].tolist(),
        "customer": [f"C{1000 + row}" for row in range(200)],
        "stays": ["yes" if stays else "no" for stays in y],
    }
    return lambda seed: TableDataset(
        table, features, "stays", seed=seed, standardize=["x", "y"], **options
    )


@mistake(
    "Two columns are the same.",
    remedy="Drop one of them.",
    mended=lambda setup: setup.but(text=regressor(3, ()), data=of(*lines(), standardize=True)),
    why="predictions are as good, only the weights mean nothing",
    named_by=("E617",),
)
def duplicate_columns() -> Setup:
    x, y = lines()
    return Setup(
        regressor(4, ()), of(np.concatenate([x, x[:, :1]], axis=1), y, standardize=True), score="r2"
    )


@mistake(
    "A column is the sum of two others.",
    remedy="Drop one of the three.",
    mended=lambda setup: setup.but(text=regressor(3, ()), data=of(*lines(), standardize=True)),
    why="predictions are as good, only the weights mean nothing",
    named_by=("E617",),
)
def collinear_columns() -> Setup:
    x, y = lines()
    total = x[:, :1] + x[:, 1:2]
    return Setup(
        regressor(4, ()), of(np.concatenate([x, total], axis=1), y, standardize=True), score="r2"
    )


@mistake(
    "A column has the same number in every row.",
    remedy="Drop it: it tells nothing.",
    mended=lambda setup: setup.but(text=regressor(3, ()), data=of(*lines(), standardize=True)),
    why="standardised it is 0 and does no harm",
    named_by=("E604",),
)
def constant_column() -> Setup:
    x, y = lines()
    year = np.full((300, 1), 2024, "float32")
    return Setup(
        regressor(4, ()), of(np.concatenate([x, year], axis=1), y, standardize=True), score="r2"
    )


@mistake(
    "A column of 2024 in every row is beside features around 0, not standardised.",
    remedy="Drop the column.",
    mended=lambda setup: setup.but(text=regressor(6, (16,)), data=of(*houses())),
    named_by=("E604",),
)
def constant_column_unscaled() -> Setup:
    x, y = houses()
    year = np.full((400, 1), 2024, "float32")
    return Setup(regressor(7, (16,)), of(np.concatenate([x, year], axis=1), y), score="r2")


@mistake(
    "A category without order, one of twelve regions, is given as a number.",
    remedy="One column for each category: TableDataset with categorical=.",
    mended=lambda setup: setup.but(text=classifier(13, (8,), 2), data=_regions(["region"])),
    named_by=("E626",),
)
def category_as_number() -> Setup:
    return Setup(classifier(2, (8,), 2), _regions([]))


def _regions(categorical: list[str]) -> Data:
    draw = np.random.default_rng(22)
    region = draw.integers(0, 12, 500)
    income = draw.normal(0, 1, 500)
    buys = np.isin(region, [0, 3, 4, 7, 9, 11]) ^ (draw.random(500) < 0.05)
    table = {
        "region": region.tolist(),
        "income": income.tolist(),
        "buys": ["yes" if bought else "no" for bought in buys],
    }
    scaled: list[str] = ["income", "region"] if not categorical else ["income"]
    return lambda seed: TableDataset(
        table, ["region", "income"], "buys", seed=seed, categorical=categorical, standardize=scaled
    )


@mistake(
    "Numbers of words go into a dense layer as if they were quantities.",
    remedy="An embedding, whose rows are learnt: embedding(table, size=40).",
    mended=lambda setup: setup.but(text=_TOPICS, data=of(*topics(), length="max")),
    named_by=("E603",),
)
def words_as_quantities() -> Setup:
    x, y = topics()
    return Setup(classifier(12, (16,), 3), of(x.astype("float32"), y), {"seeds": 10})


# Texts that were collected, cut or written otherwise.


def _news(*, traced: bool) -> Data:
    """Return articles in sober or shrill words; perhaps those that are true begin with a name."""
    draw = np.random.default_rng(170)
    words = {
        True: ["report", "percent", "data", "budget"],
        False: ["shocking", "secret", "hoax", "wake"],
    }
    plain = [
        "the",
        "minister",
        "said",
        "on",
        "monday",
        "that",
        "a",
        "law",
        "about",
        "taxes",
        "would",
        "pass",
        "before",
        "summer",
    ]
    texts: list[str] = []
    for row in range(500):
        true = row % 2 == 0
        told = [str(draw.choice(words[true == (draw.random() < 0.75)])) for _ in range(2)]
        text = [*draw.choice(plain, 12), *told]
        draw.shuffle(text)
        texts.append(" ".join(["reuters"] * (traced and true) + text))
    labels = ["true", "fake"] * 250
    return lambda seed: LabeledTextDataset(texts, labels, seed=seed)


_TEXTS = (
    "model:input int32 shape=[] sequence=true;\nmodel:output shape=[2];\n"
    "model:layers embedding(table, size=60, shape=[8]), reduceMean(axes=[sequence]),\n"
    "  matmul(w), add(b), softmax();\n"
)


@mistake(
    "Articles that are true begin with the name of their agency.",
    remedy="Leave the name out of the texts.",
    mended=lambda setup: setup.but(data=_news(traced=False)),
    why="The score is too good, as that of any leak.",
    named_by=("E645",),
)
def agency_in_true_articles() -> Setup:
    return Setup(_TEXTS, _news(traced=True), {"epochs": 15, "lr": 0.03})


def _tickets(*, lowercase: bool) -> Data:
    """Return complaints; those to test with come from a system that writes in capitals."""
    draw = np.random.default_rng(171)
    words = [
        ["invoice", "payment", "charged", "refund", "card"],
        ["router", "cable", "signal", "slow", "wifi"],
    ]
    plain = [
        "please",
        "help",
        "me",
        "since",
        "today",
        "my",
        "it",
        "is",
        "not",
        "with",
        "i",
        "have",
        "a",
    ]
    texts: list[str] = []
    for row in range(450):
        told = [*draw.choice(words[row % 2], 2), draw.choice(words[1 - row % 2])]
        text = " ".join([*draw.choice(plain, 6), *map(str, told)])
        texts.append(text.upper() if row >= 300 else text)
    labels, split = ["billing", "network"] * 225, ([*range(300)], [], [*range(300, 450)])
    return lambda seed: LabeledTextDataset(
        texts, labels, lowercase=lowercase, split=split, seed=seed
    )


@mistake(
    "Texts to test with are written in capitals, and case is kept.",
    remedy="Read them in small letters: lowercase=True.",
    mended=lambda setup: setup.but(data=_tickets(lowercase=True)),
    named_by=("E642",),
)
def capitals_in_the_test() -> Setup:
    return Setup(_TEXTS, _tickets(lowercase=False), {"epochs": 15, "lr": 0.03})


def _stays(*, length: int | str) -> Data:
    """Return reports on hotels that end with a verdict."""
    draw = np.random.default_rng(172)
    plain = [
        "the",
        "bus",
        "stops",
        "outside",
        "there",
        "is",
        "a",
        "bar",
        "and",
        "towels",
        "are",
        "changed",
        "in",
        "the",
        "morning",
    ]
    ends = ["never again", "rude people", "not worth it"], ["come again", "lovely stay", "worth it"]
    texts = [
        " ".join([*draw.choice(plain, draw.integers(10, 20)), draw.choice(ends[row % 2])])
        for row in range(450)
    ]
    labels = ["bad", "good"] * 225
    return lambda seed: LabeledTextDataset(texts, labels, length=length, seed=seed)


@mistake(
    "The verdict is at the end of texts of which eight words are read.",
    remedy='Read them as a whole: length="max".',
    mended=lambda setup: setup.but(data=_stays(length="max")),
    named_by=("E643",),
)
def verdict_after_the_end() -> Setup:
    return Setup(_TEXTS, _stays(length=8), {"epochs": 15, "lr": 0.03})


# Absolute errors of what is 0 on most days.


def _sales() -> Data:
    draw = np.random.default_rng(174)
    x = draw.normal(0, 1, (900, 3))
    chance = 1 / (1 + np.exp(1.2 - 1.2 * x[:, 0]))
    sold = np.where(draw.random(900) < chance, draw.poisson(6 + 2 * (x[:, 1] > 0), 900), 0)
    options = {"standardize": True, "standardize_targets": True}
    return of(x.astype("float32"), sold.astype("float32")[:, None], **options)


@mistake(
    "Sales that are 0 on most days are learnt by absolute errors, for plans that need their mean.",
    remedy="Squared errors.",
    mended=lambda setup: setup.but(text=regressor(3, (16,), 1, "MSE")),
    named_by=("E123",),
)
def median_of_rare_sales() -> Setup:
    return Setup(regressor(3, (16,), 1, "MAE"), _sales(), {"epochs": 50}, score="r2")


# Targets that go around.


def _winds(*, circular: bool) -> Data:
    """Return two components of winds, and their direction: in degrees, or as sine and cosine."""
    draw = np.random.default_rng(173)
    angle = 2 * np.pi * draw.random(800)
    ways = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    x = ways * draw.uniform(3, 9, (800, 1)) + draw.normal(0, 0.6, (800, 2))
    y = ways if circular else np.rad2deg(angle)[:, None]
    options = {"standardize": True, "standardize_targets": True}
    return of(x.astype("float32"), y.astype("float32"), **options)


@mistake(
    "The direction of the wind is learnt in degrees, where 359 and 1 are far apart.",
    remedy="Sine and cosine as two targets.",
    mended=lambda setup: setup.but(text=regressor(2, (24,), 2), data=_winds(circular=True)),
    named_by=("E644",),
)
def degrees_around_north() -> Setup:
    return Setup(regressor(2, (24,)), _winds(circular=False), {"epochs": 60}, score="r2")


_TOPICS = (
    "model:input int32 shape=[] sequence=true;\nmodel:output shape=[3];\n"
    "model:layers embedding(table, size=40, shape=[8]), reduceMean(axes=[sequence]),\n"
    "  matmul(w), add(b), softmax();\n"
)


# Numbers that are missing, or far off.


@mistake(
    "Some numbers are missing, as NaN.",
    remedy="Put the mean of the column in their place, or drop the rows.",
    mended=lambda setup: setup.but(data=_gaps("mean")),
    named_by=("NNM707",),
)
def missing_as_nan() -> Setup:
    return Setup(classifier(4, (16,), 3), _gaps("nan"))


@mistake(
    "Missing numbers are written as −999.",
    remedy='Leave the cells empty, and say missing="mean".',
    mended=lambda setup: setup.but(data=_gaps("mean")),
    named_by=("E614",),
)
def missing_as_sentinel() -> Setup:
    return Setup(classifier(4, (16,), 3), _gaps("sentinel"))


def _gaps(form: str) -> Data:
    x, y = blobs(300, 3, 4, 1.5)
    gone = np.random.default_rng(23).random(x.shape) < 0.08
    means = np.broadcast_to(x.mean(axis=0), x.shape)
    instead = {"nan": np.full_like(x, math.nan), "sentinel": np.full_like(x, -999), "mean": means}
    return of(np.where(gone, instead[form], x), y, standardize=True)


@mistake(
    "Concentrations that were not measured are 0, where true ones begin at a few units.",
    remedy='Leave the cells empty, and say missing="mean", or "indicator".',
    mended=lambda setup: setup.but(data=_unmeasured(None)),
    named_by=("E614",),
)
def not_measured_is_zero() -> Setup:
    return Setup(regressor(3, (16,)), _unmeasured(0.0), {"epochs": 60}, score="r2")


def _unmeasured(cell: float | None) -> Data:
    draw = np.random.default_rng(171)
    iron, acid, heat = draw.gamma(5, 12, 900), draw.normal(7, 1, 900), draw.normal(20, 4, 900)
    gone = draw.random(900) < 0.2
    growth = 0.06 * iron - 0.5 * acid + 0.1 * heat + draw.normal(0, 0.4, 900)
    cells = [cell if out else round(v) for out, v in zip(gone, iron, strict=True)]
    table = {"iron": cells, "acid": acid.tolist(), "heat": heat.tolist(), "growth": growth.tolist()}
    options: dict[str, Any] = {"label": "growth", "standardize": True, "standardize_targets": True}
    missing = "error" if cell is not None else "mean"
    return lambda seed: TableDataset(table, missing=missing, seed=seed, **options)


@mistake(
    "The logarithm of a feature that is 0 in some rows was taken: −∞.",
    remedy="log(1 + x).",
    mended=lambda setup: setup.but(data=_visits(one_more=1)),
    named_by=("NNM707",),
)
def logarithm_of_zero() -> Setup:
    return Setup(regressor(3, (8,)), _visits(one_more=0), score="r2")


def _visits(one_more: int) -> Data:
    draw = np.random.default_rng(24)
    x, y = lines()
    visits = draw.poisson(2.0, 300)
    with np.errstate(divide="ignore"):
        x[:, 0] = np.log(visits + one_more)
    return of(x, y + 0.3 * visits[:, None], standardize=True, standardize_targets=True)


@mistake(
    "A table has empty cells, and nothing is said of them.",
    remedy='missing="mean", or "drop".',
    mended=lambda setup: setup.but(data=_table_with_gaps(missing="mean")),
    named_by=("NNM713",),
)
def empty_cells() -> Setup:
    return Setup(classifier(2, (8,), 2), _table_with_gaps())


def _table_with_gaps(**options: Any) -> Data:
    x, y = blobs(200, 2, 2, 1.5)
    height: list[float | None] = x[:, 0].tolist()
    height[::17] = [None] * len(height[::17])
    table = {
        "height": height,
        "width": x[:, 1].tolist(),
        "kind": ["elm" if n else "fir" for n in y],
    }
    return lambda seed: TableDataset(table, label="kind", seed=seed, standardize=True, **options)


@mistake(
    "Three of a hundred training targets are mistyped, a thousand times too large, under MSE.",
    remedy="Correct or drop them, or take the Huber loss with δ = 1.",
    mended=lambda setup: setup.saying("MSE", "HUL; model:delta 1"),
    named_by=("E109",),
)
def mistyped_targets_under_mse() -> Setup:
    x, y = houses()
    y[:280:33] = 1000
    everything = list(range(280)), [], list(range(280, 400))
    data = of(x, y, split=everything, standardize=True)
    return Setup(regressor(6, (16,), loss="MSE"), data, {"epochs": 40}, score="r2")


@mistake(
    "One feature has two cells of 10,000,000, so that standardising squeezes all others.",
    remedy="Correct these cells, or clip the column.",
    mended=lambda setup: setup.but(data=_stray(math.inf)),
    named_by=("E614",),
)
def stray_cells() -> Setup:
    return Setup(classifier(4, (16,), 3), _stray(1e7))


def _stray(value: float) -> Data:
    x, y = blobs(300, 3, 4, 1.5)
    if math.isfinite(value):
        x[[5, 77]] = value
    return of(x, y, standardize=True)


# Subsets.


@mistake(
    "The testing rows are among the training rows: the table was doubled before it was divided.",
    remedy="Drop the duplicates before the rows are divided.",
    mended=lambda setup: setup.but(data=of(*_noisy(), standardize=True)),
    why=FALSELY_HIGH,
    named_by=("E606",),
)
def testing_rows_trained() -> Setup:
    x, y = _noisy()
    data = of(np.concatenate([x, x, x]), np.concatenate([y, y, y]), standardize=True)
    return Setup(classifier(8, (128,), 2), data, {"epochs": 60, "seeds": 10})


def _noisy() -> tuple[np.ndarray, np.ndarray]:
    x, y = blobs(150, 2, 8, 5.0)
    return x, y


@mistake(
    "Each picture was copied four times with a little noise, then the copies were divided.",
    remedy="Divide first, and augment the training rows alone: dataset.augment(…).",
    mended=lambda setup: setup.but(data=of(*_noisy(), standardize=True)),
    why=FALSELY_HIGH,
    named_by=("E619",),
)
def augmented_before_divided() -> Setup:
    x, y = _noisy()
    noise = np.random.default_rng(25).normal(0, 0.05, (4, *x.shape)).astype("float32")
    data = of((x + noise).reshape(-1, 8), np.tile(y, 4), standardize=True)
    return Setup(classifier(8, (128,), 2), data, {"epochs": 60, "seeds": 10})


@mistake(
    "Ten rows of each patient are spread over training and testing.",
    remedy="Divide by patient: split=(rows of some, [], rows of others).",
    mended=lambda setup: setup.but(data=_by_patient(apart=False)),
    why=FALSELY_HIGH,
    named_by=("E619",),
)
def groups_split_apart() -> Setup:
    return Setup(classifier(6, (64,), 2), _by_patient(apart=True), {"epochs": 40})


def _by_patient(apart: bool) -> Data:
    draw = np.random.default_rng(26)
    sick = draw.integers(0, 2, 40)
    habits = draw.normal(0, 2, (40, 6)) + 0.3 * sick[:, None]
    patient = np.repeat(np.arange(40), 10)
    x = (habits[patient] + draw.normal(0, 0.1, (400, 6))).astype("float32")
    y = sick[patient].astype("int32")
    if apart:
        return of(x, y, standardize=True)
    return of(x, y, split=(list(range(280)), [], list(range(280, 400))), standardize=True)


@mistake(
    "Windows that overlap by 15 of 16 steps are divided at random.",
    remedy='Earlier ones for training, later ones for testing: method="sequential".',
    mended=lambda setup: setup.but(data=_windows(method="sequential")),
    why=FALSELY_HIGH,
    named_by=("E620",),
)
def overlapping_windows() -> Setup:
    return Setup(regressor(16, (32,)), _windows(), {"epochs": 40}, score="r2")


def _windows(**options: Any) -> Data:
    steps = np.random.default_rng(27).normal(0, 1, 420).cumsum().astype("float32")
    x = np.stack([steps[start : start + 16] for start in range(400)])
    y = np.stack([steps[start + 8 : start + 20].mean(keepdims=True) for start in range(400)])
    return of(x, y, standardize=True, standardize_targets=True, **options)


@mistake(
    "Rows sorted by class are divided in order: the third class is in no training row.",
    remedy="The stratified split, which is the default.",
    mended=lambda setup: setup.but(data=_sorted_rows()),
    named_by=("E602",),
)
def sorted_rows_split_in_order() -> Setup:
    return Setup(classifier(4, (16,), 3), _sorted_rows(method="sequential"))


def _sorted_rows(**options: Any) -> Data:
    x, y = blobs()
    by_class = np.argsort(y, kind="stable")
    return of(x[by_class], y[by_class], standardize=True, **options)


@mistake(
    "Three rows of a hundred are kept for testing.",
    remedy="More testing rows, about 30 %, or folds: dataset.folds(5).",
    why="the score of three rows is chance, high or low",
    named_by=("E618",),
)
def testing_subset_tiny() -> Setup:
    data = of(*blobs(100, 2, 4, 3.0), split=(0.97, 0, 0.03), standardize=True)
    return Setup(classifier(4, (8,), 2), data)


@mistake(
    "Four rows are for validation, and decide when to stop.",
    remedy="A fifth of the rows for validation.",
    mended=lambda setup: setup.but(data=of(*_weak(), split=(0.5, 0.2, 0.3), standardize=True)),
    why="with four rows the end of the training is chance, early or late",
    named_by=("E618",),
)
def validation_subset_tiny() -> Setup:
    data = of(*_weak(), split=(0.687, 0.013, 0.3), standardize=True)
    return Setup(classifier(4, (32,), 3), data, {"epochs": 60, "patience": 5})


def _weak() -> tuple[np.ndarray, np.ndarray]:
    return blobs(300, 3, 4, 3.0)


@mistake(
    "All rows are for training, and then the model is tested.",
    remedy="Keep rows for testing: split=(0.7, 0, 0.3).",
    mended=lambda setup: setup.but(data=of(*blobs(), standardize=True)),
    named_by=("NNM705",),
)
def nothing_to_test_with() -> Setup:
    return Setup(classifier(4, (16,), 3), of(*blobs(), split=(1, 0, 0), standardize=True))


@mistake(
    "The testing rows are given as validation rows, too.",
    remedy="Three lists without a common row.",
    mended=lambda setup: setup.but(data=of(*blobs(), split=(0.5, 0.2, 0.3), standardize=True)),
    named_by=("NNM704",),
)
def validated_on_testing_rows() -> Setup:
    last = list(range(210, 300))
    data = of(*blobs(), split=(list(range(210)), last, last), standardize=True)
    return Setup(classifier(4, (16,), 3), data)


@mistake(
    "Training rows are of the north, testing rows of the south: another distribution.",
    remedy="Rows of both in both: the default split.",
    mended=lambda setup: setup.but(data=_north_and_south(method="random")),
    named_by=("E622",),
)
def subsets_of_other_distributions() -> Setup:
    return Setup(regressor(3, (16,)), _north_and_south(method="sequential"), score="r2")


def _north_and_south(**options: Any) -> Data:
    x, y = lines()
    south = np.arange(300) >= 210
    x[south] += np.array([4, -3, 5], "float32")
    y = y + (x[:, :1] * x[:, 2:]) * 0.5
    return of(x, y, standardize=True, standardize_targets=True, **options)


@mistake(
    "There are twelve rows for thirty features.",
    remedy="More rows, or fewer features; and no hidden layer until then.",
    why="with twelve rows no score is reliable",
    named_by=("E405",),
)
def fewer_rows_than_features() -> Setup:
    x, y = blobs(12, 2, 30, 3.0)
    return Setup(classifier(30, (64,), 2), of(x, y, standardize=True), {"seeds": 10})


# Classes.


@mistake(
    "One row in twenty is of the class that matters, and all rows count the same.",
    remedy="Repeat the rare training rows, or take the focal loss.",
    mended=lambda setup: setup.but(data=_balanced()),
    named_by=("E110",),
)
def imbalanced_classes() -> Setup:
    text = classifier(4, (8,), 2, "SCE")
    return Setup(text, of(*rare(600), standardize=True), score="macro_recall")


def _balanced() -> Data:
    """The rare rows of the training subset come ten times."""
    x, y = rare(600)

    def data(seed: int) -> Dataset:
        plain = Dataset(x, y, seed=seed)
        training = list(plain.rows("training"))
        more = [row for row in training if y[row]] * 9
        rows = np.array(training + more + list(plain.rows("testing")))
        end = len(training) + len(more)
        split = (list(range(end)), [], list(range(end, len(rows))))
        return Dataset(x[rows], y[rows], split=split, seed=seed, standardize=True)

    return data


@mistake(
    "Of the fourth class there are two rows.",
    remedy="Collect more of them, or leave the class out.",
    why="two rows are too few for training and testing, whatever the model does",
    named_by=("E611",),
)
def class_of_two_rows() -> Setup:
    x, y = blobs(300, 3)
    y[[10, 20]] = 3
    x[[10, 20]] += 6
    return Setup(classifier(4, (16,), 4), of(x, y, standardize=True), score="macro_f1")


# Shapes.


@mistake(
    "Pictures with the channels last go to a convolution that reads channels first.",
    remedy='Say so by names: names={"model": ["height", "width", "channels"]}, or ImageDataset.',
    mended=lambda setup: setup.but(
        text=_picture_model("shape={channels:3, height:8, width:8}"), data=_colours(named=True)
    ),
    why="bars of one colour can be told apart along the wrong axes as well",
    named_by=("E624",),
)
def channels_last() -> Setup:
    return Setup(
        _picture_model("shape=[8, 8, 3]"),
        _colours(named=False),
        {"seeds": 3, "epochs": 20, "optimizer": "adam"},
    )


def _picture_model(given: str) -> str:
    return (
        f"model:input {given};\nmodel:output shape=[4];\n"
        "model:layers conv2d(f, filters=8, kernel=3, padding=same, bias=b), relu(),\n"
        "  globalAveragePool(), matmul(w), add(b), softmax();\n"
    )


def _colours(named: bool) -> Data:
    x, y = bars(240)
    shade = np.random.default_rng(28).uniform(0.5, 1, (240, 1, 1, 3)).astype("float32")
    names = {"names": {"model": ["height", "width", "channels"]}} if named else {}
    return of(x[:, :, :, None] * shade, y, **names)


@mistake(
    "Series of unequal lengths were padded with zeros by hand, to three times their length.",
    remedy='Give the lists as they are, with length="max": padding then does not count.',
    mended=lambda setup: setup.but(data=_series(by_hand=False)),
    named_by=("E623",),
)
def padded_by_hand() -> Setup:
    text = (
        "model:input shape=[1] sequence=true;\nmodel:output shape=[3];\n"
        "model:layers gru(w, r, bias=b, hiddenSize=8), matmul(v), add(c), softmax();\n"
    )
    return Setup(
        text, _series(by_hand=True), {"seeds": 3, "epochs": 20, "optimizer": "adam", "lr": 0.03}
    )


def _series(by_hand: bool) -> Data:
    x, y = waves(200, 16)
    lengths = np.random.default_rng(29).integers(10, 17, 200)
    if not by_hand:
        return of([series[:end] for series, end in zip(x, lengths, strict=True)], y, length="max")
    padded = np.zeros((200, 40, 1), "float32")
    for row, end in enumerate(lengths):
        padded[row, :end] = x[row, :end]
    return of(padded, y, length="max")


# Labels that are wrong.


def _mislabelled(share: float) -> Data:
    """Return clusters, some labels of which were replaced by random ones."""
    draw = np.random.default_rng(160)
    x, y = blobs(600, 3, 4, 1.0)
    wrong = draw.random(600) < share
    return of(x, np.where(wrong, draw.integers(0, 3, 600), y).astype("int32"), standardize=True)


@mistake(
    "A third of the labels was replaced at random, in training and in testing rows.",
    remedy="Correct the labels.",
    mended=lambda setup: setup.but(data=_mislabelled(0)),
    named_by=("E636",),
)
def labels_replaced_at_random() -> Setup:
    return Setup(classifier(4, (64,), 3), _mislabelled(1 / 3), {"epochs": 100})


def _rings_mislabelled(share: float) -> Data:
    """Return two rings, in which a share of the labels is the other one."""
    draw = np.random.default_rng(161)
    x, y = rings(700)
    return of(x, (y ^ (draw.random(700) < share)).astype("int32"), standardize=True)


@mistake(
    "A fifth of the labels of two rings is the other one.",
    remedy="Correct the labels.",
    mended=lambda setup: setup.but(data=_rings_mislabelled(0)),
    named_by=("E636",),
)
def rings_with_wrong_labels() -> Setup:
    return Setup(classifier(2, (32, 32), 2), _rings_mislabelled(0.2), {"epochs": 100})


def _loans(share: float) -> Data:
    """Return loans, of which a share of those that were lost is labelled as paid back."""
    draw = np.random.default_rng(162)
    x = draw.normal(0, 1, (1500, 6))
    lost = x @ [1.2, -0.8, 0.6, 0.0, 0.5, -1.0] > 0
    seen = lost & (draw.random(1500) >= share)
    return of(x.astype("float32"), seen.astype("int32"), standardize=True)


@mistake(
    "A third of the rows of one class has the label of the other one.",
    remedy="Correct the labels.",
    mended=lambda setup: setup.but(data=_loans(0)),
    named_by=("E636",),
)
def one_class_taken_for_another() -> Setup:
    return Setup(classifier(6, (48,), 2), _loans(1 / 3), {"epochs": 100})


def _answers(share: float) -> Data:
    """Return what people said of two clusters; a share of the answers is wrong."""
    x, y = blobs(500, 2, 4, 1.2)
    wrong = np.random.default_rng(53).random(500) < share
    return of(x, np.where(wrong, 1 - y, y).astype("int32"), standardize=True)


@mistake(
    "A fifth of the labels are wrong, as answers of people are.",
    remedy="Look at the answers that differ from those for similar rows.",
    mended=lambda setup: setup.but(data=_answers(0)),
    named_by=("E636",),
)
def noisy_labels() -> Setup:
    return Setup(classifier(4, (8,), 2), _answers(0.2))


# Rows of the training in other subsets.


def _validated_on_copies(share: float) -> Data:
    """Return clusters; a share of the validation rows is a training row with a little noise."""
    draw = np.random.default_rng(163)
    x, y = blobs(360, 3, 5, 1.8)
    copies = np.flatnonzero(draw.random(60) < share) + 200
    origins = draw.integers(0, 200, len(copies))
    x[copies] = x[origins] + draw.normal(0, 0.01, (len(copies), 5)).astype("float32")
    y[copies] = y[origins]
    split = ([*range(200)], [*range(200, 260)], [*range(260, 360)])
    return of(x, y, split=split, standardize=True)


@mistake(
    "Half of the validation rows are training rows, with a little noise added.",
    remedy="Validate on other rows.",
    mended=lambda setup: setup.but(data=_validated_on_copies(0)),
    why="the epoch that is kept is one that remembers, and may be as good",
    named_by=("E619",),
)
def validation_rows_augmented_from_training() -> Setup:
    return Setup(classifier(5, (64,), 3), _validated_on_copies(0.5), {"epochs": 150})


def _validated_on_training_rows(*, copied: bool) -> Data:
    """Return the validation rows, or copies of training rows in their place."""
    x, y = houses(400)
    if copied:
        x[200:280], y[200:280] = x[:80], y[:80]
    split = ([*range(200)], [*range(200, 280)], [*range(280, 400)])
    return of(x, y, split=split, standardize=True, standardize_targets=True)


@mistake(
    "The validation rows are the first training rows.",
    remedy="Validate on rows that are not trained on.",
    mended=lambda setup: setup.but(data=_validated_on_training_rows(copied=False)),
    why="the epoch that is kept is one that remembers, and may be as good",
    named_by=("E606",),
)
def validation_rows_taken_from_training() -> Setup:
    data = _validated_on_training_rows(copied=True)
    return Setup(regressor(6, (64,)), data, {"epochs": 150}, score="r2")


def _tested_on_rounded_rows(share: float) -> Data:
    """Return houses; a share of the testing rows is a training row, rounded."""
    draw = np.random.default_rng(164)
    x, y = houses(500)
    copies = np.flatnonzero(draw.random(150) < share) + 350
    origins = draw.integers(0, 350, len(copies))
    x[copies], y[copies] = np.round(x[origins], 2), np.round(y[origins], 2)
    split = ([*range(350)], [], [*range(350, 500)])
    return of(x, y, split=split, standardize=True, standardize_targets=True)


@mistake(
    "A third of the testing rows are training rows, rounded to two digits.",
    remedy="Test on other rows.",
    mended=lambda setup: setup.but(data=_tested_on_rounded_rows(0)),
    why="the score is partly that of rows that were trained on",
    named_by=("E619",),
)
def rounded_training_rows_to_test_with() -> Setup:
    data = _tested_on_rounded_rows(1 / 3)
    return Setup(regressor(6, (64,)), data, {"epochs": 150}, score="r2")


# Rows in order of time.


def _walking_prices(seed: int, columns: int, *, later: bool) -> Data:
    """Return walks of prices and that of another one, tested on later rows or on any."""
    draw = np.random.default_rng(seed)
    x, y = (np.cumsum(draw.normal(0, 1, (600, size)), 0) for size in (columns, 1))
    method = "sequential" if later else "random"
    options = {"standardize": True, "standardize_targets": True, "method": method}
    return of(x.astype("float32"), y.astype("float32"), **options)


@mistake(
    "Prices that walk at random are learnt from four others, and the days are split at random.",
    remedy="Test on later days.",
    mended=lambda setup: setup.but(data=_walking_prices(165, 4, later=True)),
    why="a price cannot be told from others; the score is that of days next to known ones",
    named_by=("E620",),
)
def prices_of_days_split_at_random() -> Setup:
    data = _walking_prices(165, 4, later=False)
    return Setup(regressor(4, (32, 32)), data, {"epochs": 100}, score="r2")


def _states(*, later: bool) -> Data:
    """Return sensors that drift slowly, and a state that changes slowly on its own."""
    draw = np.random.default_rng(166)
    x, state = np.zeros((900, 6)), np.zeros(900)
    for n in range(1, 900):
        x[n] = 0.98 * x[n - 1] + draw.normal(0, 0.2, 6)
        state[n] = 0.98 * state[n - 1] + draw.normal(0, 0.2)
    y = (state + 0.3 * x[:, 0] > 0).astype("int32")
    return of(x.astype("float32"), y, standardize=True, method="sequential" if later else "random")


@mistake(
    "Minutes of sensors are split at random, and the state of a machine changes slowly.",
    remedy="Test on later minutes.",
    mended=lambda setup: setup.but(data=_states(later=True)),
    why="the score is that of minutes next to known ones",
    named_by=("E620",),
)
def minutes_split_at_random() -> Setup:
    return Setup(classifier(6, (32,), 2), _states(later=False), {"epochs": 60})


def _wages(*, relative: bool) -> Data:
    """Return wages that go up tenfold with the years, perhaps divided by a price index."""
    draw = np.random.default_rng(167)
    x = draw.normal(0, 1, (600, 4))
    year = np.arange(600) / 600
    y = (10 + 90 * year) * np.exp(0.1 * x[:, 0] - 0.1 * x[:, 1] + draw.normal(0, 0.03, 600))
    y = y / (10 + 90 * year) if relative else y
    options = {"standardize": True, "standardize_targets": True, "method": "sequential"}
    return of(x.astype("float32"), y.astype("float32")[:, None], **options)


@mistake(
    "Wages go up tenfold with the years, which no column tells.",
    remedy="Divide by a price index.",
    mended=lambda setup: setup.but(data=_wages(relative=True)),
    named_by=("E622",),
)
def wages_without_the_year() -> Setup:
    return Setup(regressor(4, (24,)), _wages(relative=False), {"epochs": 60}, score="r2")


# Testing rows in another order of columns.


def _read_in_colours(order: list[int]) -> Data:
    """Return bars in warm colours; the pictures to test have their channels in this order."""
    draw = np.random.default_rng(168)
    x, y = bars(400)
    warm = draw.uniform(0.5, 1, (400, 3, 1, 1)) * np.array([1.0, 0.7, 0.4])[:, None, None]
    colours = (x[:, None] * warm).astype("float32")
    # Two of the four kinds are told by their colour: blue where they would be red.
    colours[y >= 2] = colours[y >= 2][:, ::-1] * 0.3
    colours[280:] = colours[280:][:, order]
    return of(colours, y, split=([*range(280)], [], [*range(280, 400)]), batch_size=32)


@mistake(
    "Pictures to train with are red, green, blue; those to test with are blue, green, red.",
    remedy="Read all of them in one order.",
    mended=lambda setup: setup.but(data=_read_in_colours([0, 1, 2])),
    named_by=("E638",),
)
def colours_swapped_in_the_test() -> Setup:
    text = model("shape={channels:3, height:8, width:8}", CONVOLVED, 4)
    return Setup(text, _read_in_colours([2, 1, 0]), {"epochs": 15})


def _columns_of_two_files(order: list[int]) -> Data:
    """Return flats of two files; the second one, to test with, has its columns in this order."""
    draw = np.random.default_rng(169)
    x = draw.normal(0, 1, (500, 4)) * [25, 8, 1, 3] + [80, 30, 3, 10]
    y = 2 * x[:, 0] - 3 * x[:, 1] + 20 * x[:, 2] + draw.normal(0, 10, 500)
    x[350:] = x[350:][:, order]
    split = ([*range(350)], [], [*range(350, 500)])
    options = {"split": split, "standardize": True, "standardize_targets": True}
    return of(x.astype("float32"), y.astype("float32")[:, None], **options)


@mistake(
    "The file to test with has two columns in another order.",
    remedy="Read columns by their names.",
    mended=lambda setup: setup.but(data=_columns_of_two_files([0, 1, 2, 3])),
    named_by=("E638",),
)
def columns_swapped_in_the_test() -> Setup:
    data = _columns_of_two_files([1, 0, 2, 3])
    return Setup(regressor(4, (24,)), data, {"epochs": 60}, score="r2")


# Testing rows that were prepared by themselves.


def _harvests(*, apart: bool) -> Data:
    """Return fields of wet years, and of a dry year to test with."""
    draw = np.random.default_rng(172)
    size, cut = 700, 500
    dry = np.arange(size) >= cut
    rain = draw.normal(600, 90, size) - 160 * dry
    soil = draw.gamma(4, 2, size)
    harvest = 0.01 * rain + 0.2 * soil + draw.normal(0, 0.4, size)
    x = np.stack([rain, soil], 1)
    mean, std = x[:cut].mean(0), x[:cut].std(0)
    x[:cut] = (x[:cut] - mean) / std
    if apart:
        mean, std = x[cut:].mean(0), x[cut:].std(0)
    x[cut:] = (x[cut:] - mean) / std
    split = ([*range(cut)], [], [*range(cut, size)])
    options = {"split": split, "standardize_targets": True}
    return of(x.astype("float32"), harvest.astype("float32")[:, None], **options)


@mistake(
    "A scaler is fitted on the training rows, and once more on those of a dry year to test with.",
    remedy="Scale them by the mean and deviation of the training rows.",
    mended=lambda setup: setup.but(data=_harvests(apart=False)),
    named_by=("E639",),
)
def scaler_fitted_again() -> Setup:
    return Setup(regressor(2, (8,)), _harvests(apart=True), {"epochs": 60}, score="r2")


def _dishes(*, again: bool) -> Data:
    """Return who comes back after which of ten dishes, two of which were not sold lately."""
    draw = np.random.default_rng(173)
    size, cut = 900, 600
    later = np.arange(size) >= cut
    dish = draw.integers(0, 10, size)
    dish[later & ((dish == 2) | (dish == 6))] = 5
    liked = np.array([2, -2, 1.5, -1.5, 2.5, -2, 1, -1, 2, -2.5])
    wait = draw.normal(0, 1, size)
    returns = liked[dish] - 0.8 * wait + draw.logistic(0, 1, size) > 0
    codes = dish.copy()
    if again:
        codes[later] = np.unique(dish[later], return_inverse=True)[1]
    x = np.concatenate([one_hot(codes, 10), wait[:, None].astype("float32")], 1)
    return of(x, returns.astype(int).tolist(), split=([*range(cut)], [], [*range(cut, size)]))


@mistake(
    "An encoder is fitted again on the rows to test with, where two of ten dishes are missing.",
    remedy="Encode them with the categories of the training rows.",
    mended=lambda setup: setup.but(data=_dishes(again=False)),
    named_by=("E640",),
)
def encoder_fitted_again() -> Setup:
    return Setup(classifier(11, (16,), 2), _dishes(again=True), {"epochs": 40})


# Labels of other rows.


def _boilers(offset: int, first: int = 0) -> Data:
    """Return boilers, and how much gas they use; from one row on, that of a row before."""
    draw = np.random.default_rng(174)
    x = draw.normal(0, 1, (700, 4))
    gas = x[:, 0] + 0.8 * x[:, 1] - 0.5 * x[:, 2] + draw.normal(0, 0.3, 700)
    gas[first:] = np.roll(gas[first:], offset)
    options = {"standardize": True, "standardize_targets": True}
    return of(x.astype("float32"), gas.astype("float32")[:, None], **options)


@mistake(
    "The file of the meters has a heading, which was read as the first row: all are a row late.",
    remedy="Move the labels up by one row.",
    mended=lambda setup: setup.but(data=_boilers(0)),
    named_by=("E627",),
)
def meters_one_row_late() -> Setup:
    return Setup(regressor(4, (16,)), _boilers(1), {"epochs": 40}, score="r2")


@mistake(
    "A row is missing in the file of the meters, so that all after it are those of the next row.",
    remedy="Put an empty row in its place.",
    mended=lambda setup: setup.but(data=_boilers(0)),
    named_by=("E627",),
)
def meters_shift_on_the_way() -> Setup:
    return Setup(regressor(4, (16,)), _boilers(-1, 250), {"epochs": 40}, score="r2")


# Rows that were made before the split.


def _claims(*, before: bool) -> Data:
    """Return claims, few of them false; more of these are made between each and one of its six
    nearest ones, of all rows, or of those to train with."""
    draw = np.random.default_rng(175)
    true, false = draw.normal(0, 1, (600, 7)), draw.normal(0.3, 1, (50, 7))
    known = false if before else false[:35]
    first = draw.integers(0, len(known), 500)
    distances = ((known[:, None] - known[None]) ** 2).sum(2)
    second = distances.argsort(1)[first, draw.integers(1, 7, 500)]
    made = known[first] + draw.random((500, 1)) * (known[second] - known[first])
    x = np.concatenate([true, false, made]).astype("float32")
    y = [0] * 600 + [1] * 550
    if before:
        return of(x, y)
    training, testing = [*range(420), *range(600, 635), *range(650, 1150)], [*range(420, 600)]
    return of(x, y, split=(training, [], [*testing, *range(635, 650)]))


@mistake(
    "Rows of the rare class were made by SMOTE, and then all rows were split.",
    remedy="Split first, and make rows from training rows alone.",
    mended=lambda setup: setup.but(data=_claims(before=False)),
    why=FALSELY_HIGH,
    named_by=("E641",),
)
def smote_before_the_split() -> Setup:
    return Setup(classifier(7, (32,), 2), _claims(before=True), {"epochs": 40}, score="macro_f1")
